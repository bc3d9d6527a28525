// cones/automatic.hpp -- which solver takes over when, in problems of up to most_dense_rows and in parts of larger
// ones.
//
// Gauss-Seidel is fastest where contacts share little, and its pace soon says whether it will get there. Then Newton's
// method; where that ends, ADMM brings it to another start. All of them work on the same impulses, best so far, and
// where that is not enough Newton's method starts again without any.
#pragma once
#include "cones/admm.hpp"
#include "cones/level.hpp"
#include "cones/newton.hpp"
#include "cones/part.hpp"

namespace featherweight::FW_ISA {

// One last attempt by Gauss-Seidel, kept if it is better than `residual`, the one so far.
inline void finish_by_gauss_seidel(const ConeProblem& problem, const SolverOptions& options, double residual,
                                   ContactWorkspace& w, double* lambda, SolverReport& report) {
  constexpr int most = AutomaticTuning::last_iterations;
  copy(problem.m, lambda, w.best);
  const int left = options.max_gauss_seidel_iterations - report.gauss_seidel;
  gauss_seidel(problem, left > most ? most : left, options.max_gauss_seidel_iterations, w, lambda, report);
  if (natural_residual(problem, w, lambda, w.sigma) <= residual) return;
  copy(problem.m, w.best, lambda);
  set_velocities(problem, lambda, w.sigma);
}

// Where impulses that were kept lead nowhere: Newton's method without them, and in small problems ADMM with all that is
// left of its iterations. Kept if it is better than `residual`, the one so far, which is returned.
inline double start_from_none(const ConeProblem& problem, const SolverOptions& options, double residual,
                              ContactWorkspace& w, const Arena& scratch, double* lambda, SolverReport& report) {
  Arena own = scratch;
  double* const kept = own.take<double>(static_cast<std::size_t>(padded(problem.m)));
  copy(problem.m, lambda, kept);
  fill(problem.m, 0, lambda);
  set_velocities(problem, lambda, w.sigma);
  Arena of_newton = own;
  NewtonWorkspace v(problem, of_newton);
  double found = newton(problem, options.max_newton_iterations, w, v, lambda, report);
  const int left = options.max_admm_iterations - report.admm;
  if (!(found <= w.tolerance) && left > 0 && problem.m <= AutomaticTuning::cheap_rows) {
    AdmmWorkspace u(problem, own);
    found = admm(problem, left, w.tolerance, w, u, lambda, report);
  }
  if (found <= residual) return found;
  copy(problem.m, kept, lambda);
  set_velocities(problem, lambda, w.sigma);
  return residual;
}

// True if the problem is solved and its residuals are reported.
inline bool solve_automatically(const ConeProblem& problem, const SolverOptions& options, ContactWorkspace& w,
                                const Arena& scratch, double* lambda, SolverReport& report) {
  using Tuning = AutomaticTuning;
  const int hopeful = Tuning::hopeful + problem.m / Tuning::rows_per_hopeful;
  w.aim = Tuning::aim * w.tolerance;
  if (gauss_seidel(problem, options.max_gauss_seidel_iterations, hopeful, w, lambda, report)) {
    level_loads(problem, w, lambda, report);
    return true;
  }
  w.aim = w.tolerance;
  double residual = natural_residual(problem, w, lambda, w.sigma);
  for (int turn = 0; turn < Tuning::turns && !(residual <= w.tolerance); ++turn) {
    if (report.newton < options.max_newton_iterations) {
      Arena own = scratch;
      NewtonWorkspace v(problem, own);
      residual = newton(problem, options.max_newton_iterations - report.newton, w, v, lambda, report);
    }
    if (!(residual <= w.tolerance) && report.admm < options.max_admm_iterations) {
      Arena own = scratch;
      AdmmWorkspace v(problem, own);
      // the last turn may use all iterations that are left, unless it is nearly solved
      const bool to_the_end = turn == Tuning::turns - 1 && residual > Tuning::nearly_solved * w.tolerance;
      const int left = options.max_admm_iterations - report.admm;
      const int share = !to_the_end && left > Tuning::admm_per_turn ? Tuning::admm_per_turn : left;
      residual = admm(problem, share, max_of(w.tolerance, Tuning::admm_gain * residual), w, v, lambda, report);
    }
  }
  if (!(residual <= w.tolerance)) residual = start_from_none(problem, options, residual, w, scratch, lambda, report);
  if (!(residual <= w.tolerance)) finish_by_gauss_seidel(problem, options, residual, w, lambda, report);
  if (residual <= w.tolerance) level_loads(problem, w, lambda, report);
  return false;
}

// The same for a part that has been filled.
inline void solve_part(Part& part, const SolverOptions& options, ContactWorkspace& w, const Arena& scratch,
                       SolverReport& report) {
  w.start(part.problem, options);
  set_velocities(part.problem, part.lambda, w.sigma);
  solve_automatically(part.problem, options, w, scratch, part.lambda, report);
}

// Scratch that solve_part needs for m rows at most: as if each row were friction, and in an equality of three as well.
inline std::size_t most_part_bytes(int m) {
  Block blocks[Part::most_rows];
  for (Block& b : blocks) b = {Law::disc, 0, 1, 0, 0, 0, 0};
  const ConeProblem problem{m, m, blocks, {}, nullptr, 1};
  Arena scratch;
  ContactWorkspace w(problem, scratch);
  scratch.take<double>(3 * static_cast<std::size_t>(m) + 3);
  Arena of_newton = scratch, of_admm = scratch;
  of_newton.take<double>(static_cast<std::size_t>(padded(m)));
  of_admm.take<double>(static_cast<std::size_t>(padded(m)));
  NewtonWorkspace newton(problem, of_newton);
  AdmmWorkspace admm(problem, of_admm);
  return of_newton.used() > of_admm.used() ? of_newton.used() : of_admm.used();
}

}  // namespace featherweight::FW_ISA
