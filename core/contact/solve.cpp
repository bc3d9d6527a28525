// contact/solve.cpp -- which solver when, and the table by which the solvers are reached.
#include "contact/admm.hpp"
#include "contact/gauss_seidel.hpp"
#include "contact/kernels.hpp"
#include "contact/newton.hpp"

namespace featherweight::FW_ISA {

// Newton and alternating directions take turns in the same scratch.
std::size_t contact_scratch_bytes(const ConeProblem& problem, const SolverOptions& options) {
  Scratch scratch(nullptr);
  ContactWorkspace w(problem, scratch);
  if (options.solver == Solver::gauss_seidel) return scratch.used();
  Scratch of_newton = scratch, of_admm = scratch;
  if (problem.m <= largest_dense) NewtonWorkspace v(problem, of_newton);
  AdmmWorkspace v(problem, of_admm);
  return of_newton.used() > of_admm.used() ? of_newton.used() : of_admm.used();
}

// Of a padded vector.
bool all_finite(int n, const double* x) {
  Four sum = {0, 0, 0, 0};
  for (int i = 0; i < n; i += 4) sum += 0 * four(x + i);
  return sum_of(sum) == 0;
}

// Beyond, a dense factorisation costs more than it brings; sweeps then go on, and the next step starts from them.
constexpr int largest_automatic = 320, sweeps_of_many = 400;

// Sweeps that get there at all get there fast, and go on to this share of the tolerance.
constexpr double aim = 0.1;

// Sweeps while their pace promises an end, then Newton; where that ends, alternating directions bring it to another
// start; at last sweeps. Problems too large to factorise have sweeps only.
void solve_automatically(const ConeProblem& problem, const SolverOptions& options, ContactWorkspace& w,
                         const Scratch& scratch, double* lambda, SolverReport& report) {
  if (problem.m > largest_automatic) {
    const int most = options.max_sweeps < sweeps_of_many ? options.max_sweeps : sweeps_of_many;
    gauss_seidel(problem, most, most, w, lambda, report);
    return;
  }
  const int hopeful = 6 + problem.m / 4;  // a step of Newton's method costs about as much as m / 6 sweeps
  const double promised = w.tolerance;
  w.tolerance *= aim;
  if (gauss_seidel(problem, options.max_sweeps, hopeful, w, lambda, report)) return;
  w.tolerance = promised;
  double residual = natural_residual(problem, w, lambda, w.sigma);
  constexpr int turns = 4;
  for (int turn = 0; turn < turns && !(residual <= w.tolerance); ++turn) {
    if (report.newton < options.max_newton) {
      Scratch own = scratch;
      NewtonWorkspace v(problem, own);
      residual = newton(problem, options.max_newton - report.newton, w, v, lambda, report);
    }
    if (!(residual <= w.tolerance) && report.admm < options.max_admm) {
      Scratch own = scratch;
      AdmmWorkspace v(problem, own);
      // the last turn goes on as long as it may, unless what is left is next to nothing
      const bool to_the_end = turn == turns - 1 && residual > 1e3 * w.tolerance;
      const int left = options.max_admm - report.admm, share = !to_the_end && left > 150 ? 150 : left;
      residual = admm(problem, share, max_of(w.tolerance, 1e-3 * residual), w, v, lambda, report);
    }
  }
  if (!(residual <= w.tolerance)) {
    copy(problem.m, lambda, w.best);
    const int left = options.max_sweeps - report.sweeps;
    gauss_seidel(problem, left > 100 ? 100 : left, options.max_sweeps, w, lambda, report);
    if (!(natural_residual(problem, w, lambda, w.sigma) <= residual)) {
      copy(problem.m, w.best, lambda);
      set_velocities(problem, lambda, w.sigma);
    }
  }
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
    if (options.solver == Solver::automatic) {
      solve_automatically(problem, options, w, scratch, lambda, report);
    } else if (options.solver == Solver::gauss_seidel) {
      gauss_seidel(problem, options.max_sweeps, options.max_sweeps, w, lambda, report);
    } else if (options.solver == Solver::newton && problem.m <= largest_dense) {
      NewtonWorkspace v(problem, scratch);
      newton(problem, options.max_newton, w, v, lambda, report);
    } else {
      AdmmWorkspace v(problem, scratch);
      admm(problem, options.max_admm, w.tolerance, w, v, lambda, report);
    }
  }
  report_residuals(problem, w.D, lambda, w.sigma, report);
  report.converged = report.residual <= options.tolerance * problem.scale;
  return report;
}

extern const ContactKernels contact_kernels;
constinit const ContactKernels contact_kernels = {contact_scratch_bytes, solve_contacts};

}  // namespace featherweight::FW_ISA
