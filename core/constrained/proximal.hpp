// constrained/proximal.hpp -- (L + eps) f+ = r + eps f, lane by lane until each has converged.
//
// In increments: (L + eps) df = missed, f += df, and eps df is exactly what the rows miss then. Per eigenvalue s of L
// that shrinks by eps / (s + eps) a step. Where rows contradict each other it settles at its least-squares value while
// f drifts away; the part of the targets that cannot be met is then taken out of them and the lane starts again, which
// keeps f of the size of the answer. Taken out before it has settled, it would take along a part that can be met. A
// lane that is done keeps its bits whatever its neighbours do.
#pragma once
#include "constrained/method.hpp"
#include "linalg/packed_ldl.hpp"

namespace featherweight::FW_ISA {

template <class S>
class ProximalSystem {
 public:
  S* r;  // right-hand side, then what of it can be met

  // For systems of at most m rows.
  ProximalSystem(int m, Arena& arena)
      : r(arena.take<S>(m)),
        factor_(m, arena),
        df_(arena.take<S>(m)),
        missed_(arena.take<S>(m)),
        unreachable_(arena.take<S>(m)) {}

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
    // accelerations amplify what a row misses by the root of how much less it moves than others
    const S tolerance = S(T(settings.tolerance)) * (S(1) + scale), fine = tolerance * S(T(1e-4)), huge(T(1e30));

    for (int k = 0; k < m; ++k) f[k] = S(0), missed_[k] = r[k], unreachable_[k] = S(0);
    S done(0), previous_change = huge, restarts(0);
    for (int iteration = 1; iteration <= settings.max_iterations; ++iteration) {
      for (int k = 0; k < m; ++k) df_[k] = missed_[k];
      factor_.solve(df_);
      S residual(0), change(0);
      for (int k = 0; k < m; ++k) {
        residual = larger(residual, abs(eps * df_[k]));
        change = larger(change, abs(eps * df_[k] - missed_[k]));
      }

      const S begun = select(previous_change < huge, S(1), S(0));  // the first step is never exact
      const S still = select(change <= fine, S(1), select(change > previous_change * S(T(0.9)), S(1), S(0)));
      const S small = begun * select(residual <= fine, S(1), select(residual <= tolerance, still, S(0)));
      const S settled = still * begun * (S(1) - small);
      const S hopeless = select(residual <= huge, S(0), S(1));  // a lane of NaNs must not hold up the others
      const S restart = settled * select(restarts < S(T(1.5)), S(1), S(0)) * (S(1) - done);
      const auto is_done = done > S(T(0.5)), restarts_now = restart > S(T(0.5));
      for (int k = 0; k < m; ++k) {
        const S left = eps * df_[k], out_of_reach = select(restarts_now, left, S(0));
        unreachable_[k] = unreachable_[k] + out_of_reach;
        r[k] = r[k] - out_of_reach;
        f[k] = select(is_done, f[k], select(restarts_now, S(0), f[k] + df_[k]));
        missed_[k] = select(restarts_now, r[k], left);
      }
      answer.residual = select(is_done, answer.residual, residual);
      answer.iterations = select(is_done, answer.iterations, S(T(iteration)));
      answer.converged = select(is_done, answer.converged, small);
      previous_change = select(restarts_now, huge, change);
      restarts = restarts + restart;
      done = larger(done, larger(hopeless, larger(small, settled - restart)));
      if (!any(done, done < S(T(0.5)))) break;
    }
    for (int k = 0; k < m; ++k) answer.residual = larger(answer.residual, abs(unreachable_[k]));
    remove_idle(m, eps, f);
  }

 private:
  // Where rows depend on each other, rounding, divided by eps, leaves forces that move nothing. The same steps, with
  // the forces for their target, leave just those, and they are taken off: the smallest forces remain. What rounding
  // makes of them meanwhile is a small part, and goes the second time.
  [[gnu::noinline]] void remove_idle(int m, const S& eps, S* f) {
    using T = ElementOf<S>;
    S weakest(0);
    for (int k = 0; k < m; ++k) weakest = larger(weakest, factor_.inverse_pivot(k) * eps);
    const auto dependent = weakest > S(T(1e-2));  // a pivot that is hardly more than eps
    if (!any(weakest, dependent)) return;
    for (int round = 0; round < 2; ++round) {
      for (int k = 0; k < m; ++k) missed_[k] = f[k];
      S found(0);
      for (int step = 0; step < 30 && any(found, select(dependent, found, S(1)) < S(T(0.5))); ++step) {
        for (int k = 0; k < m; ++k) df_[k] = missed_[k];
        factor_.solve(df_);
        S change(0), size(0);
        for (int k = 0; k < m; ++k) {
          const S idle = eps * df_[k];
          change = larger(change, abs(idle - missed_[k]));
          size = larger(size, abs(f[k]) * S(T(1e-12)) + abs(idle) * S(T(1e-5)));
          missed_[k] = select(found > S(T(0.5)), missed_[k], idle);
        }
        found = larger(found, select(change <= size, S(1), S(0)));
      }
      for (int k = 0; k < m; ++k) f[k] = select(dependent, f[k] - select(found > S(T(0.5)), missed_[k], S(0)), f[k]);
    }
  }

  static constexpr double relative_eps = 1e-10;
  static constexpr double smallest = 1e-14;  // all rows inactive, or along no degree of freedom but for rounding

  DenseLdl<S> factor_;
  S *df_, *missed_, *unreachable_;
};

}  // namespace featherweight::FW_ISA
