// constrained/root_solve.hpp -- (L + eps) lambda+ = r + eps lambda, lane by lane until each has converged.
//
// One factorisation L + eps = F D F^T without pivoting (L is positive semidefinite), then O(m^2) per step. Per
// eigenvalue s of L the error shrinks by eps / (s + eps) a step. Where rows contradict each other the residual stalls
// at its least-squares value while lambda drifts away; the part of the targets that cannot be met is then taken out of
// them and the lane starts again, which keeps lambda of the size of the answer (and of least norm, as it starts from
// zero). A lane that is done keeps its bits whatever its neighbours do.
#pragma once
#include "batch/arena.hpp"
#include "model/joints.hpp"

namespace featherweight::FW_ISA {

struct RootSettings {
  bool proximal;
  double tolerance;  // on the row residual, relative to the size of the targets
  int max_iterations;
};
template <class S>
struct RootReport {
  S residual;    // largest |J a - b| [m/s^2, rad/s^2]
  S iterations;  // solves
  S converged;   // 1 or 0
};

template <class S>
FW_INLINE S larger(const S& a, const S& b) {
  return select(a > b, a, b);
}

template <class S>
class RootSystem {
 public:
  S* r;  // right-hand side

  RootSystem(int m, Arena& arena)
      : r(arena.take<S>(m)),
        m_(m),
        F_(arena.take<S>(static_cast<std::size_t>(m) * (static_cast<std::size_t>(m) + 1) / 2)),
        x_(arena.take<S>(m)),
        unreachable_(arena.take<S>(m)) {}

  void solve(const S* L, const RootSettings& settings, S* lambda, RootReport<S>& report) {
    using T = ElementOf<S>;
    S scale(0), largest(0);
    for (int k = 0; k < m_; ++k) {
      scale = larger(scale, abs(r[k]));
      largest = larger(largest, L[at(k, k)]);
    }
    const S eps = settings.proximal ? largest * S(T(relative_eps)) + S(T(smallest)) : S(0);
    const S weakest = factorise(L, eps);
    const S tolerance = S(T(settings.tolerance)) * (S(1) + scale);

    for (int k = 0; k < m_; ++k) lambda[k] = S(0), unreachable_[k] = S(0);
    report = {S(0), S(0), S(0)};
    S done(0), previous(T(1e30)), restarts(0);
    for (int iteration = 1; iteration <= settings.max_iterations; ++iteration) {
      for (int k = 0; k < m_; ++k) x_[k] = r[k] + eps * lambda[k];
      substitute();
      S residual(0);
      for (int k = 0; k < m_; ++k)
        residual = larger(residual, abs(eps * (x_[k] - lambda[k])));  // exactly that of the rows

      const S small = iteration == 1 && settings.proximal ? S(0) : select(residual <= tolerance, S(1), S(0));
      const S stalled = select(residual > previous * S(T(0.9)), S(1), S(0)) * (S(1) - small);
      const S hopeless = select(residual <= S(T(1e30)), S(0), S(1));  // a lane of NaNs must not hold up the others
      const S restart = stalled * select(restarts < S(T(1.5)), S(1), S(0)) * (S(1) - done);
      const auto is_done = done > S(T(0.5)), restarts_now = restart > S(T(0.5));
      for (int k = 0; k < m_; ++k) {
        const S out_of_reach = select(restarts_now, eps * (x_[k] - lambda[k]), S(0));
        unreachable_[k] = unreachable_[k] + out_of_reach;
        r[k] = r[k] - out_of_reach;
        lambda[k] = select(is_done, lambda[k], select(restarts_now, S(0), x_[k]));
      }
      report.residual = select(is_done, report.residual, residual);
      report.iterations = select(is_done, report.iterations, S(T(iteration)));
      report.converged = select(is_done, report.converged, small);
      previous = select(restarts_now, S(T(1e30)), residual);
      restarts = restarts + restart;
      done = larger(done, larger(hopeless, larger(small, stalled - restart)));
      if (!any(done, done < S(T(0.5)))) break;
    }
    for (int k = 0; k < m_; ++k) report.residual = larger(report.residual, abs(unreachable_[k]));
    if (settings.proximal) return;
    // without the proximal term a vanishing pivot means redundant or singular rows: not solved
    report.converged = select(weakest > largest * S(T(1e-13)), S(1), S(0));
    for (int i = 0; i < m_; ++i) {
      S missed = r[i];
      for (int j = 0; j < m_; ++j) missed = missed - L[i < j ? at(j, i) : at(i, j)] * lambda[j];
      report.residual = larger(report.residual, abs(missed));
    }
  }

 private:
  static constexpr double relative_eps = 1e-10;
  static constexpr double smallest = 1e-30;  // all rows inactive

  static constexpr std::size_t at(int row, int column) {
    return static_cast<std::size_t>(row) * (static_cast<std::size_t>(row) + 1) / 2 + static_cast<std::size_t>(column);
  }
  // F with the inverses of D on its diagonal; returns the smallest pivot.
  [[gnu::noinline]] S factorise(const S* L, const S& eps) {
    S weakest(ElementOf<S>(1e30));
    for (int i = 0; i < m_; ++i) {
      S d = L[at(i, i)] + eps;
      for (int j = 0; j < i; ++j) {
        S y = L[at(i, j)];
        for (int k = 0; k < j; ++k) y = y - F_[at(i, k)] * F_[at(j, k)];  // F D of row i, F of row j
        F_[at(i, j)] = y;
      }
      for (int j = 0; j < i; ++j) {
        const S y = F_[at(i, j)];
        F_[at(i, j)] = y * F_[at(j, j)];
        d = d - y * F_[at(i, j)];
      }
      weakest = select(d < weakest, d, weakest);
      F_[at(i, i)] = S(1) / d;
    }
    return weakest;
  }
  [[gnu::noinline]] void substitute() {
    for (int i = 1; i < m_; ++i)
      for (int j = 0; j < i; ++j) x_[i] = x_[i] - F_[at(i, j)] * x_[j];
    for (int i = 0; i < m_; ++i) x_[i] = x_[i] * F_[at(i, i)];
    for (int i = m_ - 2; i >= 0; --i)
      for (int j = i + 1; j < m_; ++j) x_[i] = x_[i] - F_[at(j, i)] * x_[j];
  }

  int m_;
  S *F_, *x_, *unreachable_;
};

}  // namespace featherweight::FW_ISA
