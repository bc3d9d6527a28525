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

  ProximalSystem(int m, Arena& arena)
      : r(arena.take<S>(m)), m_(m), factor_(m, arena), x_(arena.take<S>(m)), unreachable_(arena.take<S>(m)) {}

  // L: lower triangle by rows, positive semidefinite. The report goes into the answer.
  void solve(const S* L, const ConstrainedSettings& settings, S* f, ConstrainedAnswer<S>& answer) {
    using T = ElementOf<S>;
    S scale(0), largest(0);
    for (int k = 0; k < m_; ++k) {
      scale = larger(scale, abs(r[k]));
      largest = larger(largest, L[triangle(k, k)]);
    }
    const S eps = largest * S(T(relative_eps)) + S(T(smallest));
    factor_.factorise(L, eps);
    const S tolerance = S(T(settings.tolerance)) * (S(1) + scale);

    for (int k = 0; k < m_; ++k) f[k] = S(0), unreachable_[k] = S(0);
    S done(0), previous(T(1e30)), restarts(0);
    for (int iteration = 1; iteration <= settings.max_iterations; ++iteration) {
      for (int k = 0; k < m_; ++k) x_[k] = r[k] + eps * f[k];
      factor_.solve(x_);
      S residual(0);
      for (int k = 0; k < m_; ++k) residual = larger(residual, abs(eps * (x_[k] - f[k])));

      const S small = iteration == 1 ? S(0) : select(residual <= tolerance, S(1), S(0));
      const S stalled = select(residual > previous * S(T(0.9)), S(1), S(0)) * (S(1) - small);
      const S hopeless = select(residual <= S(T(1e30)), S(0), S(1));  // a lane of NaNs must not hold up the others
      const S restart = stalled * select(restarts < S(T(1.5)), S(1), S(0)) * (S(1) - done);
      const auto is_done = done > S(T(0.5)), restarts_now = restart > S(T(0.5));
      for (int k = 0; k < m_; ++k) {
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
    for (int k = 0; k < m_; ++k) answer.residual = larger(answer.residual, abs(unreachable_[k]));
  }

 private:
  static constexpr double relative_eps = 1e-10;
  static constexpr double smallest = 1e-14;  // all rows inactive, or along no freedom but for rounding

  int m_;
  DenseLdl<S> factor_;
  S *x_, *unreachable_;
};

}  // namespace featherweight::FW_ISA
