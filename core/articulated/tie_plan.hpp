// articulated/tie_plan.hpp -- which links are tied to which, as they are eliminated: decided once for a set of rows.
#pragma once
#include <vector>

#include "articulated/ties.hpp"
#include "rows/rows.hpp"

namespace featherweight {

// Owns the arrays a TiePlan points into.
struct TiePlanStorage {
  std::vector<Tie> ties;
  std::vector<TiedLink> of_link;
  std::vector<int> between;
  std::vector<EndPair> pairs;
  int n_entries = 0, most = 0;

  TiePlan view() const;
};

TiePlanStorage plan_ties(const Tree<double>& tree, const ConstraintRows<double>& constraints);

}  // namespace featherweight
