// cones/kernels.hpp -- the contact solvers of one instruction set.
#pragma once
#include "cones/problem.hpp"

namespace featherweight {

struct ContactKernels {
  // Bytes of scratch that `solve` needs, 64-byte aligned.
  std::size_t (*scratch_bytes)(const ConeProblem&, const SolverOptions&);
  // lambda: the warm start on entry, the impulses on exit.
  SolverReport (*solve)(const ConeProblem&, const SolverOptions&, double* lambda, void* scratch);
};

}  // namespace featherweight
