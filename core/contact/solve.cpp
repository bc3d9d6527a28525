// contact/solve.cpp -- which solver when, and the table by which the solvers are reached.
#include "contact/gauss_seidel.hpp"
#include "contact/kernels.hpp"
#include "contact/newton.hpp"

namespace featherweight::FW_ISA {

std::size_t contact_scratch_bytes(const ConeProblem& problem, const SolverOptions& options) {
  Scratch scratch(nullptr);
  ContactWorkspace w(problem, scratch);
  if (options.solver != Solver::gauss_seidel && problem.m <= largest_dense) NewtonWorkspace(problem, scratch);
  return scratch.used();
}

bool all_finite(int n, const double* x) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += 0 * x[i];
  return sum == 0;
}

SolverReport solve_contacts(const ConeProblem& problem, const SolverOptions& options, double* lambda, void* memory) {
  SolverReport report{};
  report.converged = true;
  if (problem.m == 0) return report;
  Scratch scratch(memory);
  ContactWorkspace w(problem, scratch);
  w.start(problem, options);
  set_velocities(problem, lambda, w.sigma);
  if (!all_finite(problem.m, w.sigma)) {  // a bad warm start, or a bad problem
    fill(problem.m, 0, lambda);
    set_velocities(problem, lambda, w.sigma);
  }
  if (all_finite(problem.m, w.sigma)) {
    const bool dense = problem.m <= largest_dense;
    const bool only_sweeps = options.solver == Solver::gauss_seidel || !dense;
    if (options.solver != Solver::newton || !dense) {
      // a step of Newton's method costs about as much as m / 6 sweeps
      const int hopeful = only_sweeps ? options.max_sweeps : 6 + problem.m / 4;
      gauss_seidel(problem, options.max_sweeps, hopeful, w, lambda, report);
    }
    if (!only_sweeps) {
      if (!(natural_residual(problem, w, lambda, w.sigma) <= w.tolerance)) {
        NewtonWorkspace v(problem, scratch);
        newton(problem, options.max_newton, w, v, lambda, report);
      }
    }
  }
  report_residuals(problem, w.D, lambda, w.sigma, report);
  report.converged = report.residual <= w.tolerance;
  return report;
}

extern const ContactKernels contact_kernels;
constinit const ContactKernels contact_kernels = {contact_scratch_bytes, solve_contacts};

}  // namespace featherweight::FW_ISA
