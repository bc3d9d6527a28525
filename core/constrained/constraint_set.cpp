#include "constrained/constraint_set.hpp"

#include "articulated/mobility.hpp"

namespace featherweight {

ConstraintSet::ConstraintSet(const Model& model, const std::vector<ConstraintSpec>& specs)
    : model_(model),
      rows_(model, specs),
      stops_(plan_stops(model.tree<double>(), rows_.compiled())),
      stop_plan_(stops_.view()) {
  rows_.set_stops(&stop_plan_);
  if (between_links()) return;  // what follows is for constrained dynamics, which knows rows on one link only
  rows_.set_mobility(mobilities(model.tree<double>(), rows_.compiled()));
  limbs_ = plan_limbs(model.tree<double>(), rows_.compiled());
  limb_plan_ = limbs_.view();
  rows_.set_limbs(&limb_plan_);
}

}  // namespace featherweight
