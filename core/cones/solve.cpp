// cones/solve.cpp -- the solvers by name, and the table by which they are reached.
//
//   automatic, up to most_dense_rows   automatic.hpp
//   automatic, beyond or sparse        islands.hpp, each a small problem; what does not fit is a pile: pile.hpp
//   gauss_seidel, newton, admm         gauss_seidel.hpp, newton.hpp, admm.hpp
#include "cones/islands.hpp"
#include "cones/kernels.hpp"
#include "cones/pile.hpp"

namespace featherweight::FW_ISA {

// Whether it may fall apart into islands, or is a pile.
bool is_large(const ConeProblem& problem, const SolverOptions& options) {
  return options.solver == Solver::automatic && (problem.G.start || problem.m > ProblemSizes::most_dense_rows);
}

// Newton's method and ADMM take turns in the same scratch.
std::size_t contact_scratch_bytes(const ConeProblem& problem, const SolverOptions& options) {
  constexpr int most_dense = ProblemSizes::most_dense_rows;
  Arena scratch;
  ContactWorkspace w(problem, scratch);
  if (options.solver == Solver::gauss_seidel) return scratch.used();
  if (is_large(problem, options)) {
    Islands islands(problem, scratch);
    Part part(problem, scratch);
    if (problem.m > most_dense) Anderson anderson(problem, scratch);
    return scratch.used() + most_part_bytes(problem.m < most_dense ? problem.m : most_dense);
  }
  Arena of_newton = scratch, of_admm = scratch;
  if (problem.m <= ProblemSizes::most_factorised_rows && options.solver != Solver::admm) {
    of_newton.take<double>(static_cast<std::size_t>(padded(problem.m)));  // start_from_none
    of_admm.take<double>(static_cast<std::size_t>(padded(problem.m)));
    NewtonWorkspace v(problem, of_newton);
  }
  AdmmWorkspace v(problem, of_admm);
  return of_newton.used() > of_admm.used() ? of_newton.used() : of_admm.used();
}

void solve_large(const ConeProblem& problem, const SolverOptions& options, ContactWorkspace& w, Arena scratch,
                 double* lambda, SolverReport& report) {
  Part part(problem, scratch);
  part.start(problem);
  SolverReport of_islands{};
  const bool any_pile = !problem.G.start || solve_small_islands(problem, options, w, part, scratch, lambda, of_islands);
  if (any_pile) solve_pile(problem, options, w, part, scratch, lambda, report);
  keep_most(of_islands, report);
}

// By the solver that the options name. True if the residuals are reported already.
bool solve_by_name(const ConeProblem& problem, const SolverOptions& options, ContactWorkspace& w, Arena scratch,
                   double* lambda, SolverReport& report) {
  if (is_large(problem, options)) {
    solve_large(problem, options, w, scratch, lambda, report);
  } else if (options.solver == Solver::automatic) {
    return solve_automatically(problem, options, w, scratch, lambda, report);
  } else if (options.solver == Solver::gauss_seidel) {
    const int most = options.max_gauss_seidel_iterations;
    if (!gauss_seidel(problem, most, most, w, lambda, report)) return false;
    level_loads(problem, w, lambda, report);
    return true;
  } else if (options.solver == Solver::newton && problem.m <= ProblemSizes::most_factorised_rows) {
    NewtonWorkspace v(problem, scratch);
    const double residual = newton(problem, options.max_newton_iterations, w, v, lambda, report);
    if (residual <= w.tolerance) level_loads(problem, w, lambda, report);
  } else {
    AdmmWorkspace v(problem, scratch);
    const double residual = admm(problem, options.max_admm_iterations, w.tolerance, w, v, lambda, report);
    if (residual <= w.tolerance) level_loads(problem, w, lambda, report);
  }
  return false;
}

// Of a padded vector.
bool all_finite(int n, const double* x) {
  Four sum = {0, 0, 0, 0};
  for (int i = 0; i < n; i += 4) sum += 0 * four(x + i);
  return sum_of(sum) == 0;
}

// Velocities of the warm start, which is dropped if it is not finite. False if the problem itself is not.
bool start_velocities(const ConeProblem& problem, ContactWorkspace& w, double* lambda) {
  set_velocities(problem, lambda, w.sigma);
  if (all_finite(problem.m, w.sigma)) return true;
  fill(problem.m, 0, lambda);
  set_velocities(problem, lambda, w.sigma);
  return all_finite(problem.m, w.sigma);
}

SolverReport solve_contacts(const ConeProblem& problem, const SolverOptions& options, double* lambda, void* memory) {
  SolverReport report{};
  report.converged = true;
  if (problem.m == 0) return report;
  if (problem.G.start && interrupted(0)) return report;  // the matrix may be unfinished
  Arena scratch(memory);
  ContactWorkspace w(problem, scratch);
  w.start(problem, options);
  const bool finite = start_velocities(problem, w, lambda);
  const bool reported = finite && solve_by_name(problem, options, w, scratch, lambda, report);
  if (!reported) report_residuals(problem, w.D, lambda, w.sigma, report);
  report.converged = report.residual <= options.tolerance * problem.scale;
  return report;
}

extern const ContactKernels contact_kernels;
constinit const ContactKernels contact_kernels = {contact_scratch_bytes, solve_contacts};

}  // namespace featherweight::FW_ISA
