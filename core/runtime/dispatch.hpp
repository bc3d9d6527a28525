// runtime/dispatch.hpp -- which build of the kernels runs.
//
// The best instruction set of this CPU is chosen once, when first asked for; FEATHERWEIGHT_ISA overrides it. Two more
// builds exist for checking: "scalar" (plain floating-point numbers) and "counting" (counts operations, then discards
// them).
#pragma once
#include <string>
#include <vector>

#include "runtime/job.hpp"

namespace featherweight {

// Builds this CPU can run, best first; "scalar" and "counting" come last.
std::vector<const Isa*> available_isas();

const Isa& active_isa();
const Isa& find_isa(const std::string& name);  // throws naming the available ones
void use_isa(const std::string& name);

struct OperationCounts {
  long additions, multiplications, divisions, sincos;
};
// Of the counting build, since the last call of reset.
OperationCounts operation_counts();
void reset_operation_counts();

}  // namespace featherweight
