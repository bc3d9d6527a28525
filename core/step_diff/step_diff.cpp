#include "step_diff/each_environment.hpp"
#include "step_diff/linearise.hpp"

namespace featherweight::FW_ISA {

#if !defined(FW_COUNTING)

// What step.cpp puts into the table.
void differentiate(const StepDiffJob& job, std::size_t begin, std::size_t end, Memory& memory);
void differentiate(const StepDiffJob& job, std::size_t begin, std::size_t end, Memory& memory) {
  if (job.scene->integrator == Integrator::rk4) return differentiate_rk4(job, begin, end, memory);
  if (job.kappa > 0) return differentiate_relaxed(job, begin, end, memory);
  int most_rows = 0, most_contacts = 0;
  for (std::size_t e = begin; e < end; ++e) {
    most_rows = job.solutions[e].n_rows > most_rows ? job.solutions[e].n_rows : most_rows;
    most_contacts = job.contacts[e].count > most_contacts ? job.contacts[e].count : most_contacts;
  }
  if (job.scene->held.n_rows) return differentiate_closed(job, most_rows, most_contacts, begin, end, memory);
  const bool only_vectors = job.reading != Reading::jacobian;
  differentiate(job, begin, end, memory,
                [&](Arena& arena) { return StepLinearisation(job, most_rows, most_contacts, arena, only_vectors); });
}

#endif

}  // namespace featherweight::FW_ISA
