// constrained/proximal.hpp -- (L + eps) f+ = r + eps f, lane by lane until each has converged.
//
// Per eigenvalue s of L the error shrinks by eps / (s + eps) a step, and eps (f+ - f) is exactly what the rows still
// miss. Where rows contradict each other that stalls at its least-squares value while f drifts away; the part of the
// targets that cannot be met is then taken out of them and the lane starts again, which keeps f of the size of the
// answer (and of least norm, as it starts from zero). A lane that is done keeps its bits whatever its neighbours do.
#pragma once
#include "constrained/dense_ldl.hpp"
#include "constrained/method.hpp"

namespace featherweight::FW_ISA {

template <class S>
class ProximalSystem {
 public:
  S* r;  // right-hand side, then what of it can be met

  // For systems of at most m rows.
  ProximalSystem(int m, Arena& arena)
      : r(arena.take<S>(m)), factor_(m, arena), x_(arena.take<S>(m)), unreachable_(arena.take<S>(m)) {}

  // L: lower triangle by rows, m x m, positive semidefinite. The report goes into the answer.
  void solve(int m, const S* L, const ConstrainedSettings& settings, S* f, ConstrainedAnswer<S>& answer) {
    using T = ElementOf<S>;
    S scale(0), largest(0);
    for (int k = 0; k < m; ++k) {
      scale = larger(scale, abs(r[k]));
      largest = larger(largest, L[triangle(k, k)]);
    }
    const S eps = largest * S(T(relative_eps)) + S(T(smallest));
    factor_.factorise(m, L, eps);
    const S tolerance = S(T(settings.tolerance)) * (S(1) + scale);

    for (int k = 0; k < m; ++k) f[k] = S(0), unreachable_[k] = S(0);
    S done(0), previous(T(1e30)), restarts(0);
    for (int iteration = 1; iteration <= settings.max_iterations; ++iteration) {
      for (int k = 0; k < m; ++k) x_[k] = r[k] + eps * f[k];
      factor_.solve(x_);
      S residual(0);
      for (int k = 0; k < m; ++k) residual = larger(residual, abs(eps * (x_[k] - f[k])));

      // accelerations amplify what is left in a row by the root of how much less it moves than others
      const S within = select(residual <= tolerance, S(1), S(0));
      const S at_rest = select(residual > previous * S(T(0.9)), S(1), S(0));
      const S small =
          iteration == 1 ? S(0) : larger(select(residual <= tolerance * S(T(1e-4)), S(1), S(0)), within * at_rest);
      const S stalled = at_rest * (S(1) - small);
      const S hopeless = select(residual <= S(T(1e30)), S(0), S(1));  // a lane of NaNs must not hold up the others
      const S restart = stalled * select(restarts < S(T(1.5)), S(1), S(0)) * (S(1) - done);
      const auto is_done = done > S(T(0.5)), restarts_now = restart > S(T(0.5));
      for (int k = 0; k < m; ++k) {
        const S out_of_reach = select(restarts_now, eps * (x_[k] - f[k]), S(0));
        unreachable_[k] = unreachable_[k] + out_of_reach;
        r[k] = r[k] - out_of_reach;
        f[k] = select(is_done, f[k], select(restarts_now, S(0), x_[k]));
      }
      answer.residual = select(is_done, answer.residual, residual);
      answer.iterations = select(is_done, answer.iterations, S(T(iteration)));
      answer.converged = select(is_done, answer.converged, small);
      previous = select(restarts_now, S(T(1e30)), residual);
      restarts = restarts + restart;
      done = larger(done, larger(hopeless, larger(small, stalled - restart)));
      if (!any(done, done < S(T(0.5)))) break;
    }
    for (int k = 0; k < m; ++k) answer.residual = larger(answer.residual, abs(unreachable_[k]));
  }

 private:
  static constexpr double relative_eps = 1e-10;
  static constexpr double smallest = 1e-30;  // all rows inactive

  DenseLdl<S> factor_;
  S *x_, *unreachable_;
};

}  // namespace featherweight::FW_ISA
