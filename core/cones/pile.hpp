// cones/pile.hpp -- more than most_dense_rows coupled rows: bodies that lie on each other.
//
// Gauss-Seidel, accelerated (anderson.hpp). Where it makes little progress, a patch of the worst contacts is solved as
// a small problem (patch.hpp). The number of iterations is bounded, so that the time of a step is linear in its
// contacts; what is left is reported, and the next step continues from there. Measured: docs/adr/0016 and 0018.
#pragma once
#include "cones/anderson.hpp"
#include "cones/automatic.hpp"
#include "cones/patch.hpp"

namespace featherweight::FW_ISA {

// False if the patch could not be solved; nothing has changed then.
inline bool solve_patch(const ConeProblem& problem, SolverOptions options, ContactWorkspace& w, Part& patch,
                        Arena scratch, double* lambda, SolverReport& report) {
  constexpr int most_newton = PatchTuning::most_newton;
  patch.clear();
  choose_patch(problem, w, lambda, patch);
  patch.fill(problem, lambda);
  patch.include_others(problem, w.sigma);
  SolverReport of_patch{};
  options.max_newton_iterations =
      options.max_newton_iterations < most_newton ? options.max_newton_iterations : most_newton;
  options.max_admm_iterations = 0;
  ContactWorkspace own(patch.problem, scratch);
  solve_part(patch, options, own, scratch, of_patch);
  report.newton += of_patch.newton;
  if (!(natural_residual(patch.problem, own, patch.lambda, own.sigma) <= own.tolerance)) return false;
  patch.put_back(problem, patch.lambda, lambda);
  set_velocities(problem, lambda, w.sigma);
  return true;
}

inline void solve_pile(const ConeProblem& problem, const SolverOptions& options, ContactWorkspace& w, Part& part,
                       Arena scratch, double* lambda, SolverReport& report) {
  using Tuning = PileTuning;
  const int most = options.max_pile_iterations,
            plain = most < Tuning::plain_iterations ? most : Tuning::plain_iterations;
  if (gauss_seidel(problem, plain, most, w, lambda, report)) return;
  double best = natural_residual(problem, w, lambda, w.sigma), last = best, mark = best;
  copy(problem.m, lambda, w.best);
  Anderson anderson(problem, scratch);
  anderson.start(problem, w);
  w.aim = Tuning::aim * w.tolerance;
  for (int since = 0; report.gauss_seidel < most && since < Tuning::patience; ++since) {
    if (interrupted(operations_of_product(problem))) return;
    anderson.before_iteration(lambda);
    const double change = gauss_seidel_iteration(problem, w, lambda);
    const bool look = ++report.gauss_seidel % Tuning::between_looks == 0;
    if (look || change <= w.tolerance) {
      catch_up(problem, lambda, w);
      const double residual = natural_residual(problem, w, lambda, w.sigma);
      if (residual < best) {
        best = residual;
        copy(problem.m, lambda, w.best);
      }
      if (best <= w.tolerance || change <= GaussSeidelTuning::least_change) break;
      if (best < Tuning::progress * mark) mark = best, since = 0;
      const bool stuck = look && problem.G.start && residual > Tuning::stuck * last;
      if (look) last = residual;
      if (stuck && solve_patch(problem, options, w, part, scratch, lambda, report)) {
        anderson.forget();
        continue;
      }
    }
    if (anderson.after_iteration(lambda) && keeps_velocities(problem)) set_velocities(problem, lambda, w.sigma);
  }
  copy(problem.m, w.best, lambda);
  set_velocities(problem, lambda, w.sigma);
}

}  // namespace featherweight::FW_ISA
