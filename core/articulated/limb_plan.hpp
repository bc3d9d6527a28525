// articulated/limb_plan.hpp -- which rows limb_pv carries where: decided once for a set of constraints.
#pragma once
#include <vector>

#include "articulated/limbs.hpp"
#include "articulated/survey.hpp"
#include "model/tree.hpp"
#include "rows/rows.hpp"

namespace featherweight {

// Owns the arrays a LimbPlan points into.
struct LimbPlanStorage {
  std::vector<int> order, arrivals, trunk;
  std::vector<RowGroup> groups;
  std::vector<LinkGroups> of_link;
  int n_entries = 0, n_bases = 0;

  LimbPlan view() const;
};

// The mobility of the rows must be known.
LimbPlanStorage plan_limbs(const Tree<double>& tree, const ConstraintRows<double>& constraints, host::Survey& survey);

}  // namespace featherweight
