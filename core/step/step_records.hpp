// step/step_records.hpp -- what touched in the steps of a rollout, kept as they are made (record.hpp).
#pragma once
#include <memory>
#include <vector>

#include "scene/simulation.hpp"
#include "step/job.hpp"

namespace featherweight {

class StepRecords {
 public:
  // Rows of a rollout of n_steps: of every `every` steps, and of the last.
  StepRecords(const Simulation& simulation, std::size_t batch, int n_steps, int every, bool with_contacts);
  StepRecords(const StepRecords&) = delete;
  StepRecords& operator=(const StepRecords&) = delete;
  ~StepRecords();

  std::size_t batch() const { return batch_; }
  const StepTrace& trace() const { return trace_; }
  bool has_contacts() const { return rows_.contacts != nullptr; }
  // As a job takes them; q, v and figures may be set: who owns them is elsewhere.
  StepRows& rows() { return rows_; }
  // Of one environment and row that was recorded.
  ContactList contacts(std::size_t environment, int row) const;  // a view
  const double* trace_of(std::size_t environment, int row) const;

 private:
  std::size_t batch_;
  StepTrace trace_;
  std::vector<ContactList> contacts_;
  std::vector<int> starts_;
  std::unique_ptr<double[]> traces_;  // not initialised: pages that are never written cost nothing
  StepRows rows_;
};

}  // namespace featherweight
