#include "constrained/constraint_set.hpp"

#include "articulated/mobility.hpp"

namespace featherweight {

ConstraintSet::ConstraintSet(const Model& model, const std::vector<ConstraintSpec>& specs)
    : model_(model),
      rows_(model, specs),
      stops_(plan_stops(model.tree<double>(), rows_.compiled())),
      stop_plan_(stops_.view()) {
  rows_.set_stops(&stop_plan_);
  if (between_links()) {
    const RowSurvey survey = survey_rows(model.tree<double>(), rows_.compiled());
    std::vector<double> of_ends;
    for (int r = 0; r < compiled().n_ends; ++r)
      of_ends.push_back(survey.mobility[static_cast<std::size_t>(compiled().ends[r].row)]);
    rows_.set_mobility(of_ends);
    loops_ = plan_loops(model.tree<double>(), rows_.compiled(), survey);
    loop_plan_ = loops_.view();
    ties_ = plan_ties(model.tree<double>(), rows_.compiled());
    tie_plan_ = ties_.view();
    loop_plan_.ties = &tie_plan_;
    rows_.set_loops(&loop_plan_);
    return;
  }
  host::Survey survey(model.tree<double>());
  rows_.set_mobility(mobilities(model.tree<double>(), rows_.compiled(), survey));
  limbs_ = plan_limbs(model.tree<double>(), rows_.compiled(), survey);
  limb_plan_ = limbs_.view();
  rows_.set_limbs(&limb_plan_);
}

}  // namespace featherweight
