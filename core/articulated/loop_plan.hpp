// articulated/loop_plan.hpp -- which rows loop_pv carries where: decided once for a set of constraints.
#pragma once
#include <vector>

#include "articulated/loops.hpp"
#include "articulated/row_survey.hpp"

namespace featherweight {

// Owns the arrays a LoopPlan points into.
struct LoopPlanStorage {
  std::vector<CarriedRow> rows;
  std::vector<CarriedEnd> ends;
  std::vector<LoopBlock> blocks;
  std::vector<LoopLink> of_link;
  std::vector<BlockSource> sources;
  std::vector<StartingEnd> starting;
  std::vector<LoopPath> paths;
  std::vector<int> places, row_of, way, anchors, couplings;
  int first_coupling = 0, n_varying = 0, n_triangle = 0, n_entries = 0, widest = 0;

  LoopPlan view() const;
};

LoopPlanStorage plan_loops(const Tree<double>& tree, const ConstraintRows<double>& constraints,
                           const RowSurvey& survey);

}  // namespace featherweight
