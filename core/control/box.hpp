// control/box.hpp -- minimises x^T M x / 2 + g^T x within bounds, by projected Newton steps.
//
// Variables that are at a bound and pushed against it are held there, the others take a Newton step, shortened until
// the cost falls enough. [Bertsekas 1982; Tassa, Mansard, Todorov 2014]. O(m^3) a step. Oracle: all sets of held
// variables.
#pragma once
#include "linalg/vectors.hpp"
#include "memory/arena.hpp"

namespace featherweight::FW_ISA {

class Box {
 public:
  Box(int m, Arena& arena)
      : m_(m),
        x_(arena.take<double>(m)),
        g_(arena.take<double>(m)),
        step_(arena.take<double>(m)),
        next_(arena.take<double>(m)),
        ahead_(arena.take<double>(m)),
        L_(arena.take<double>(static_cast<std::size_t>(m) * static_cast<std::size_t>(m))),
        held_(arena.take<int>(m)) {}

  bool is_held(int i) const { return held_[i] != 0; }
  double x(int i) const { return x_[i]; }

  // M: upper triangle. False if it is not positive on what is free.
  bool solve(const double* M, int stride, const double* slope, const double* lower, const double* upper) {
    for (int i = 0; i < m_; ++i) x_[i] = clipped(0, lower[i], upper[i]), held_[i] = -1;
    for (int round = 0; round < max_rounds; ++round) {
      const double now = cost(M, stride, slope, x_, g_);
      bool same = true;
      for (int i = 0; i < m_; ++i) {
        const int held = (x_[i] <= lower[i] && g_[i] > 0) || (x_[i] >= upper[i] && g_[i] < 0);
        same = same && held == held_[i];
        held_[i] = held;
      }
      if (!same && !factorise(M, stride)) return false;
      newton_step();
      double fall = 0, longest = 0;
      for (int i = 0; i < m_; ++i) fall += step_[i] * g_[i], longest = larger(longest, step_[i] * step_[i]);
      if (-fall <= rounding * larger(1, now < 0 ? -now : now) || longest == 0) return true;
      if (!shorten(M, stride, slope, lower, upper, now)) return true;
    }
    return true;
  }

 private:
  static constexpr int max_rounds = 40;
  static constexpr double rounding = 1e-14, least_fall = 0.1, shorter = 0.5, shortest = 1e-8;
  int m_;
  double *x_, *g_, *step_, *next_, *ahead_;  // x and the slope there, the step, where it leads and the slope there
  double* L_;                                // L L^T is M of what is free
  int* held_;

  static double clipped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
  static double larger(double a, double b) { return a > b ? a : b; }
  double& L(int i, int j) { return L_[i * m_ + j]; }

  // At x, with the slope there.
  double cost(const double* M, int stride, const double* slope, const double* x, double* g) const {
    double sum = 0;
    for (int i = 0; i < m_; ++i) g[i] = 0;
    for (int i = 0; i < m_; ++i) {
      const double* const row = M + static_cast<std::ptrdiff_t>(i) * stride;
      double along = row[i] * x[i];
      for (int j = i + 1; j < m_; ++j) along += row[j] * x[j], g[j] += row[j] * x[i];
      g[i] += along;
    }
    for (int i = 0; i < m_; ++i) sum += x[i] * (0.5 * g[i] + slope[i]), g[i] += slope[i];
    return sum;
  }
  // Rows and columns of what is held are those of the unit matrix.
  bool factorise(const double* M, int stride) {
    for (int i = 0; i < m_; ++i)
      for (int j = 0; j <= i; ++j) {
        if (held_[i] || held_[j]) {
          L(i, j) = i == j;
          continue;
        }
        double sum = M[static_cast<std::ptrdiff_t>(j) * stride + i];
        for (int l = 0; l < j; ++l) sum -= L(i, l) * L(j, l);
        if (i == j && !(sum > 0)) return false;
        L(i, j) = i == j ? root(sum) : sum / L(j, j);
      }
    return true;
  }
  void newton_step() {
    for (int i = 0; i < m_; ++i) {
      double sum = held_[i] ? 0 : -g_[i];
      for (int j = 0; j < i; ++j) sum -= L(i, j) * step_[j];
      step_[i] = sum / L(i, i);
    }
    for (int i = m_ - 1; i >= 0; --i) {
      double sum = step_[i];
      for (int j = i + 1; j < m_; ++j) sum -= L(j, i) * step_[j];
      step_[i] = sum / L(i, i);
    }
  }
  // Moves as far along the projected step as the cost falls enough; false if it does nowhere.
  bool shorten(const double* M, int stride, const double* slope, const double* lower, const double* upper, double now) {
    for (double length = 1; length > shortest; length *= shorter) {
      double expected = 0;
      for (int i = 0; i < m_; ++i) {
        next_[i] = clipped(x_[i] + length * step_[i], lower[i], upper[i]);
        expected += g_[i] * (next_[i] - x_[i]);
      }
      const double then = cost(M, stride, slope, next_, ahead_);
      if (then - now <= least_fall * expected) {
        for (int i = 0; i < m_; ++i) x_[i] = next_[i];
        return true;
      }
    }
    return false;
  }
};

}  // namespace featherweight::FW_ISA
