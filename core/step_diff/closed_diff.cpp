#include "step_diff/closed_diff.hpp"

#include "step_diff/each_environment.hpp"

namespace featherweight::FW_ISA {

#if !defined(FW_COUNTING)

void differentiate_closed(const StepDiffJob& job, int most_rows, int most_contacts, std::size_t begin, std::size_t end,
                          Memory& memory) {
  differentiate(job, begin, end, memory,
                [&](Arena& arena) { return ClosedLinearisation(job, most_rows, most_contacts, arena); });
}

#endif

}  // namespace featherweight::FW_ISA
