// constrained/conjugate_residuals.hpp -- A g = b for a symmetric operator with eigenvalues in [0, 1], lane by lane.
//
// Each step leaves the shortest residual r = b - A g that one more product A r allows; the plain step, g + r, is never
// better. Eigenvalues near one, where most are if 1 - A is a proximal step, cost nothing: the others count, one by one.
// Where b cannot be reached, A r vanishes before r does, and r A r becomes rounding of r r. Plain steps then work off
// what is left to reach, the rest is taken out of b, and the lane starts again: so g has nothing that A ignores, and is
// the shortest solution. A lane that is done keeps its bits whatever its neighbours do.
#pragma once
#include "constrained/method.hpp"

namespace featherweight::FW_ISA {

template <class S>
class ConjugateResiduals {
 public:
  S* r;            // b - A g; b to begin with
  S* g;            // A g = b - unreachable
  S* unreachable;  // part of b

  ConjugateResiduals(int m, Arena& arena)
      : r(arena.take<S>(m)),
        g(arena.take<S>(m)),
        unreachable(arena.take<S>(m)),
        m_(m),
        b_(arena.take<S>(m)),
        Ar_(arena.take<S>(m)),
        p_(arena.take<S>(m)),
        Ap_(arena.take<S>(m)) {}

  // Steps until |r| <= tolerance; apply(x, y) sets y = A x. The report goes into the answer, where getting b was
  // iteration one.
  template <class Apply>
  void solve(const S& tolerance, int max_iterations, ConstrainedAnswer<S>& answer, const Apply& apply) {
    S size(0);
    for (int k = 0; k < m_; ++k) {
      size = larger(size, abs(r[k]));
      b_[k] = r[k];
      g[k] = unreachable[k] = p_[k] = Ap_[k] = S(0);
    }
    answer.converged = one_where(size <= tolerance);
    S done = larger(answer.converged, hopeless(size)), restarts(0), rAr_before(0), left_before(huge);
    for (int iteration = 2; iteration <= max_iterations; ++iteration) {
      if (!any(done, done < S(T(0.5)))) return;
      apply(r, Ar_);
      S rAr(0), left(0);
      for (int k = 0; k < m_; ++k) {
        rAr = rAr + r[k] * Ar_[k];
        left = larger(left, abs(Ar_[k]));
      }
      const auto plain = left <= size * S(untrusted);
      const S worn_off = larger(one_where(left <= size * S(rounding)), one_where(left > left_before * S(T(0.9))));
      const S stalled = select(plain, worn_off, S(0)) * (S(1) - done);
      const S restart = stalled * one_where(restarts < S(T(1.5)));
      const auto stays = larger(done, stalled) > S(T(0.5));

      const S beta = select(plain, S(0), ratio(rAr, rAr_before));
      S rAp(0), ApAp(0);
      for (int k = 0; k < m_; ++k) {
        p_[k] = r[k] + beta * p_[k];
        Ap_[k] = Ar_[k] + beta * Ap_[k];
        rAp = rAp + r[k] * Ap_[k];
        ApAp = ApAp + Ap_[k] * Ap_[k];
      }
      const S alpha = select(stays, S(0), select(plain, S(1), ratio(rAp, ApAp)));
      if (any(restart, restart > S(T(0.5)))) start_again(restart > S(T(0.5)));
      size = S(0);
      for (int k = 0; k < m_; ++k) {
        g[k] = g[k] + alpha * p_[k];
        r[k] = r[k] - alpha * Ap_[k];
        size = larger(size, abs(r[k]));
      }

      rAr_before = select(plain, S(0), rAr);
      left_before = select(plain, left, S(huge));
      restarts = restarts + restart;
      answer.iterations = select(done > S(T(0.5)), answer.iterations, S(T(iteration)));
      answer.converged = select(done > S(T(0.5)), answer.converged, one_where(size <= tolerance));
      done = larger(larger(done, stalled - restart), larger(one_where(size <= tolerance), hopeless(size)));
    }
  }

 private:
  using T = ElementOf<S>;
  using Mask = decltype(S() < S());
  static constexpr T huge = 1e30;
  static constexpr T untrusted = 1e-7, rounding = 1e-15;  // of |A r| next to |r|; r A r is rounding at its root

  static FW_INLINE S one_where(const Mask& mask) { return select(mask, S(1), S(0)); }
  static FW_INLINE S ratio(const S& a, const S& b) { return select(b > S(0), a / b, S(0)); }
  static FW_INLINE S hopeless(const S& size) { return S(1) - one_where(size <= S(huge)); }  // not to be waited for

  // What is left of r in those lanes is out of reach.
  [[gnu::noinline]] void start_again(const Mask& lanes) {
    for (int k = 0; k < m_; ++k) {
      unreachable[k] = select(lanes, unreachable[k] + r[k], unreachable[k]);
      b_[k] = select(lanes, b_[k] - r[k] + Ar_[k], b_[k]);
      r[k] = select(lanes, b_[k], r[k]);
      g[k] = select(lanes, S(0), g[k]);
    }
  }

  int m_;
  S *b_, *Ar_, *p_, *Ap_;
};

}  // namespace featherweight::FW_ISA
