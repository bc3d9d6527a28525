// constrained/constraint_set.hpp -- constraints on the links of one model, compiled to rows.
#pragma once
#include <vector>

#include "articulated/limb_plan.hpp"
#include "delassus/stop_plan.hpp"
#include "model/model.hpp"
#include "rows/rows.hpp"

namespace featherweight {

// Rows of the acceleration of a frame, in the frame's own axes: 0..2 linear, 3..5 angular.
struct ConstraintSpec {
  int mount = 0;       // link or frame of the model
  PoseArray offset{};  // of the constraint's frame in that frame
  bool point = true;   // linear rows are of the material point, not of the spatial acceleration
  std::vector<int> axes;
  std::vector<double> compliance;  // per row
  int to_mount = -1;               // the motion is relative to this link or frame; -1: to the world
  PoseArray to_offset{};           // of the point of a point constraint in that frame
};

class ConstraintSet {
 public:
  // Throws std::invalid_argument naming the culprit.
  // The model must outlive the set.
  ConstraintSet(const Model& model, const std::vector<ConstraintSpec>& specs);
  ConstraintSet(const ConstraintSet&) = delete;
  ConstraintSet& operator=(const ConstraintSet&) = delete;

  const Model& model() const { return model_; }
  int n_rows() const { return n_rows_; }
  int n_constraints() const { return n_constraints_; }
  bool between_links() const { return n_rows_ < compiled_.n_rows; }  // some of them
  const ConstraintRows<double>& compiled() const { return compiled_; }

 private:
  const Model& model_;
  int n_constraints_, n_rows_ = 0;
  std::vector<ConstraintRow<double>> rows_;  // ends of the user's rows
  std::vector<RowRange> of_link_;
  std::vector<SupportingLink> supporting_;
  std::vector<Mount<double>> frames_;
  StopPlanStorage stops_;
  LimbPlanStorage limbs_;
  StopPlan stop_plan_{};
  LimbPlan limb_plan_{};
  ConstraintRows<double> compiled_{};
};

}  // namespace featherweight
