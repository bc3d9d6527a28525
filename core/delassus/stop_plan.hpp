// delassus/stop_plan.hpp -- which links are stops: decided once for a set of constraints.
#pragma once
#include <vector>

#include "delassus/stops.hpp"
#include "model/tree.hpp"
#include "rows/rows.hpp"

namespace featherweight {

// Owns the arrays a StopPlan points into.
struct StopPlanStorage {
  std::vector<Stop> stops;
  std::vector<int> of_link;
  std::vector<StopArrival> arrivals;

  StopPlan view() const { return {static_cast<int>(stops.size()), stops.data(), of_link.data(), arrivals.data()}; }
};

// The stops with which the Delassus matrix takes the fewest operations.
StopPlanStorage plan_stops(const Tree<double>& tree, const ConstraintRows<double>& constraints);

}  // namespace featherweight
