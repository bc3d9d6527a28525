// constrained/constraint_set.hpp -- constraints on the links of one model, compiled to rows, with the plans of the
// methods that solve for their forces.
#pragma once
#include "articulated/limb_plan.hpp"
#include "articulated/loop_plan.hpp"
#include "articulated/tie_plan.hpp"
#include "delassus/stop_plan.hpp"
#include "rows/compile.hpp"

namespace featherweight {

class ConstraintSet {
 public:
  // Throws std::invalid_argument naming the culprit. The model must outlive the set.
  ConstraintSet(const Model& model, const std::vector<ConstraintSpec>& specs);
  ConstraintSet(const ConstraintSet&) = delete;
  ConstraintSet& operator=(const ConstraintSet&) = delete;

  const Model& model() const { return model_; }
  int n_rows() const { return compiled().n_rows; }
  int n_constraints() const { return compiled().n_constraints; }
  bool between_links() const { return rows_.between_links(); }  // some of them
  const ConstraintRows<double>& compiled() const { return rows_.compiled(); }

 private:
  const Model& model_;
  RowStorage rows_;
  StopPlanStorage stops_;
  LimbPlanStorage limbs_;
  StopPlan stop_plan_;
  LimbPlan limb_plan_{};
  LoopPlanStorage loops_;
  LoopPlan loop_plan_{};
  TiePlanStorage ties_;
  TiePlan tie_plan_{};
};

}  // namespace featherweight
