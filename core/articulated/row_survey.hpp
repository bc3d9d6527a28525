// articulated/row_survey.hpp -- rows of any kind in a few generic postures: Jacobians and how far they give way.
#pragma once
#include <vector>

#include "model/tree.hpp"
#include "rows/rows.hpp"

namespace featherweight {

struct RowSurvey {
  struct Posture {
    std::vector<double> J;  // n_rows x nv
    std::vector<double> Y;  // J H^-1
  };
  std::vector<Posture> postures;
  std::vector<double> mobility;  // per row, as in articulated/mobility.hpp

  // Entry of J H^-1 J^T.
  double delassus(int posture, int nv, int r, int s) const;
};

RowSurvey survey_rows(const Tree<double>& tree, const ConstraintRows<double>& constraints);

}  // namespace featherweight
