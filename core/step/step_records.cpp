#include "step/step_records.hpp"

namespace featherweight {

StepRecords::StepRecords(const Simulation& simulation, std::size_t batch, int n_steps, int every, bool with_contacts)
    : batch_(batch),
      trace_{simulation.model().nq(), simulation.model().nv(), simulation.n_kept_impulses()},
      rows_{n_steps, every, n_steps ? (n_steps - 1) / every + 1 : 0} {
  if (!with_contacts) return;
  const std::size_t n_rows = static_cast<std::size_t>(rows_.n_rows);
  contacts_.resize(batch);
  starts_.resize(batch * (n_rows + 1));
  traces_.reset(new double[batch * n_rows * static_cast<std::size_t>(trace_.width())]);
  rows_.contacts = contacts_.data(), rows_.starts = starts_.data(), rows_.traces = traces_.get();
}
StepRecords::~StepRecords() {
  for (ContactList& list : contacts_) release(list);
}

ContactList StepRecords::contacts(std::size_t environment, int row) const {
  const int* const starts = starts_.data() + environment * (static_cast<std::size_t>(rows_.n_rows) + 1) + row;
  ContactList view;
  view.data = contacts_[environment].data + starts[0];
  view.count = starts[1] - starts[0];
  return view;
}
const double* StepRecords::trace_of(std::size_t environment, int row) const {
  const std::size_t at = environment * static_cast<std::size_t>(rows_.n_rows) + static_cast<std::size_t>(row);
  return traces_.get() + at * static_cast<std::size_t>(trace_.width());
}

}  // namespace featherweight
