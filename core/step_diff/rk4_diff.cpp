#include "step_diff/rk4_diff.hpp"

#include "step_diff/each_environment.hpp"

namespace featherweight::FW_ISA {

#if !defined(FW_COUNTING)

void differentiate_rk4(const StepDiffJob& job, std::size_t begin, std::size_t end, Memory& memory) {
  differentiate(job, begin, end, memory, [&](Arena& arena) { return Rk4Linearisation(job, arena); });
}

#endif

}  // namespace featherweight::FW_ISA
