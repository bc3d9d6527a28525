#include "control/riccati.hpp"
#include "control/gauss_newton.hpp"

namespace featherweight::FW_ISA {

namespace {

int riccati(const LinearQuadratic& problem, const LinearQuadraticSolution& out, Memory& memory) {
  Arena sizes;
  const Riccati measured(problem, sizes);
  reserve(memory, sizes.used());
  Arena arena(memory);
  return Riccati(problem, arena).solve(out);
}

}  // namespace

extern const ControlKernels control_kernels;
constinit const ControlKernels control_kernels = {riccati, gauss_newton};

}  // namespace featherweight::FW_ISA
