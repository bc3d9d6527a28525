// cones/newton.hpp -- all blocks at once: Newton's method on the natural map, with symmetric positive systems.
//
// Given the rows that are free and the contacts that slide (newton_rows.hpp), a step to lambda' solves
//   (G + eps) lambda' + g = eps lambda                 on free rows,
//   ... + beta lambda'_T + gamma e = 0,   e . lambda'_T = mu lambda'_N   on tangents that slide along e:
// along e their force stays on the cone, whatever velocity gamma that takes, and across e it is viscous. One
// factorisation of G + eps + beta, one more solution per contact that slides, and a small system for the gammas. Rows
// at a bound are not in the system. Rows along and about axes, of grams and of tons, are factorised in units in which
// their mobilities are near one: what counts as nothing does so for each of them. n^3 / 6 + n^2 n_sliding multiply-adds
// per step.
//
// eps is proximal: it changes no solution, so redundant rows (hyperstatic feet) need no special care. It follows the
// residual, as in the method of Levenberg and Marquardt: impulses that hardly move anything change by no more than a
// typical impulse, and near the solution Newton's convergence is kept. A step that makes things much worse is cut where
// the first sticking contact reaches its cone or the first closed one opens. Where progress ends, a few iterations of
// Gauss-Seidel and another ratio of eps to the residual give a new start.
// Source: semismooth Newton for contact [Alart and Curnier 1991]. Oracle: the natural map, dense.
#pragma once
#include "cones/gauss_seidel.hpp"
#include "cones/newton_rows.hpp"
#include "linalg/dense_ldl.hpp"
#include "linalg/general.hpp"

namespace featherweight::FW_ISA {

struct NewtonWorkspace {
  NewtonRows free;
  double* unit;       // of each row: a power of two, in which its mobility is near one
  double* free_unit;  // the same of free rows
  double* A;          // system on the free rows, by columns
  double *X, *small;  // A^-1 e of each contact that slides; system of the gammas
  double* change;     // of lambda on the free rows
  double *lambda_before, *sigma_before;
  int* sliding;  // frictions that slide
  int n_sliding = 0;

  NewtonWorkspace(const ConeProblem& problem, Arena& scratch) : free(problem, scratch) {
    const std::size_t n = static_cast<std::size_t>(padded(problem.m)), k = static_cast<std::size_t>(problem.n_blocks);
    unit = scratch.take<double>(n);
    free_unit = scratch.take<double>(n);
    A = scratch.take<double>(n * n);
    X = scratch.take<double>(n * k);
    small = scratch.take<double>(k * (k + 1));
    change = scratch.take<double>(n);
    lambda_before = scratch.take<double>(n);
    sigma_before = scratch.take<double>(n);
    sliding = scratch.take<int>(k);
  }
};

// lambda += change_of(row) for every row, and sigma accordingly.
template <class Change>
FW_INLINE void move_impulses(const ConeProblem& problem, ContactWorkspace& w, double* lambda, Change change_of) {
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& b = problem.blocks[j];
    bool moved = false;
    for (int r = 0; r < b.rows; ++r) {
      w.change[r] = change_of(b.first + r);
      lambda[b.first + r] += w.change[r];
      moved |= w.change[r] != 0;
    }
    if (moved) add_columns(problem, j, w.change, w.sigma);
  }
}

// The power of two next to x^(-1/2), for positive x; one where that is out of range.
FW_INLINE double unit_of(double x) {
  const int exponent = static_cast<int>(__builtin_bit_cast(std::uint64_t, x) >> 52) - 1023;
  const int half = (exponent + (exponent < 0 ? 0 : 1)) / 2;
  return exponent > -1000 && exponent < 1000 ? __builtin_bit_cast(double, static_cast<std::uint64_t>(1023 - half) << 52)
                                             : 1.0;
}
inline void set_units(const ConeProblem& problem, const ContactWorkspace& w, NewtonWorkspace& v) {
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& b = problem.blocks[j];
    for (int r = 0; r < b.rows; ++r) v.unit[b.first + r] = w.moves(j) ? unit_of(w.D[j]) : 1;
  }
  for (int i = problem.m; i < padded(problem.m); ++i) v.unit[i] = 1;
}

// The lower triangle of G on the free rows in their units, padded by the identity.
inline void gather(const ConeProblem& problem, NewtonWorkspace& v) {
  const NewtonRows& free = v.free;
  double* const A = v.A;
  const ContactMatrix& G = problem.G;
  const int n = padded(free.n_free);
  for (int c = 0; c < n; ++c) v.free_unit[c] = c < free.n_free ? v.unit[free.rows[c]] : 1;
  const std::size_t ld = static_cast<std::size_t>(n);
  if (!G.start) {
    for (int c = 0, j = 0; c < free.n_free; ++c) {
      const double* from = G.values + static_cast<std::size_t>(free.rows[c]) * static_cast<std::size_t>(G.stride);
      double* to = A + c * ld;
      const double unit = v.free_unit[c];
      while (problem.blocks[j].first + problem.blocks[j].rows <= free.rows[c]) ++j;
      const RowSpan span = span_of(problem, j);
      if (free.n_free == problem.m && !G.spans) {
        for (int r = c & ~3; r < n; r += 4) four(to + r) = four(from + r) * (unit * four(v.free_unit + r));
      } else {
        for (int r = c; r < free.n_free; ++r) {
          const int row = free.rows[r];
          to[r] = row >= span.first && row < span.end ? from[row] * (unit * v.free_unit[r]) : 0;
        }
      }
      for (int r = free.n_free; r < n; ++r) to[r] = 0;
    }
  } else {
    fill(n * free.n_free, 0, A);
    for (int j = 0; j < problem.n_blocks; ++j)
      for (int k = G.start[j]; k < G.start[j + 1]; ++k) {
        const Block &columns = problem.blocks[j], &rows = problem.blocks[G.neighbour[k]];
        const double* values = G.values + G.at[k];
        for (int c = 0; c < columns.rows; ++c)
          for (int r = 0; r < rows.rows; ++r, ++values) {
            const int column = free.slot[columns.first + c], row = free.slot[rows.first + r];
            if (column >= 0 && row >= column) A[column * ld + row] = *values * (v.free_unit[column] * v.free_unit[row]);
          }
      }
  }
  for (int c = free.n_free; c < n; ++c) {
    for (int r = c; r < n; ++r) A[c * ld + r] = 0;
    A[c * (ld + 1)] = 1;
  }
}

// x <- (G + eps + beta)^-1 x, knowing that x is zero before row `first`.
inline void solve_free(int n, const NewtonWorkspace& v, double* x, int first = 0) {
  for (int i = first; i < n; ++i) x[i] *= v.free_unit[i];
  solve_dense(n, v.A, x, first);
  for (int i = 0; i < n; ++i) x[i] *= v.free_unit[i];
}

// Adds to the change the forces along e that keep sliding contacts on their cones.
inline void keep_to_cones(NewtonWorkspace& v, const double* lambda) {
  const NewtonRows& free = v.free;
  const int n = padded(free.n_free), size = v.n_sliding;
  const std::size_t ld = static_cast<std::size_t>(n);
  for (int c = 0; c < size; ++c) {
    const Friction& f = free.frictions[v.sliding[c]];
    const int t = free.slot[f.first];
    double* X = v.X + c * ld;
    fill(n, 0, X);
    X[t] = f.ex;
    if (f.rows == 2) X[t + 1] = f.ey;
    solve_free(n, v, X, t);
  }
  for (int k = 0; k < size; ++k) {
    const Friction& f = free.frictions[v.sliding[k]];
    const int t = free.slot[f.first], s = f.rows == 2 ? t + 1 : t, normal = free.slot[f.normal];
    const double ey = f.rows == 2 ? f.ey : 0;
    double* row = v.small + k * (size + 1);
    for (int c = 0; c < size; ++c) {
      const double* X = v.X + c * ld;
      row[c] = f.mu * X[normal] - f.ex * X[t] - ey * X[s];
    }
    row[size] = f.mu * (lambda[f.normal] + v.change[normal]) - f.ex * (lambda[f.first] + v.change[t]) -
                ey * (lambda[f.first + f.rows - 1] + v.change[s]);
  }
  if (!solve_general(size, v.small)) return;
  for (int c = 0; c < size; ++c) add_scaled(n, -v.small[c * (size + 1) + size], v.X + c * ld, v.change);
}

// One step from lambda and sigma to the next, with one factorisation.
inline void newton_step(const ConeProblem& problem, ContactWorkspace& w, NewtonWorkspace& v, double eps,
                        double* lambda) {
  NewtonRows& free = v.free;
  free.choose(problem, w, lambda);
  move_impulses(problem, w, lambda, [&](int i) { return free.slot[i] < 0 ? free.fixed[i] - lambda[i] : 0; });
  v.n_sliding = 0;
  const int n = padded(free.n_free);
  if (n == 0) return;
  const auto add = [&](int i, double x) {
    v.A[static_cast<std::size_t>(i) * static_cast<std::size_t>(n + 1)] += x * (v.free_unit[i] * v.free_unit[i]);
  };
  // G + eps + beta, and -(sigma + beta lambda)
  gather(problem, v);
  for (int c = 0; c < n; ++c) v.change[c] = c < free.n_free ? -w.sigma[free.rows[c]] : 0;
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& b = problem.blocks[j];
    for (int r = 0; r < b.rows; ++r) {
      const int i = free.slot[b.first + r];
      if (i >= 0) add(i, eps * w.D[j]);
    }
  }
  for (int k = 0; k < free.n_frictions; ++k) {
    const Friction& f = free.frictions[k];
    if (!(f.beta > 0)) continue;
    v.sliding[v.n_sliding++] = k;
    for (int r = 0; r < f.rows; ++r) {
      const int i = free.slot[f.first + r];
      add(i, f.beta);
      v.change[i] -= f.beta * lambda[f.first + r];
    }
  }
  factorise_dense(n, MobilityTuning::immobile, v.A);
  solve_free(n, v, v.change);
  if (v.n_sliding > 0) keep_to_cones(v, lambda);
  move_impulses(problem, w, lambda, [&](int i) { return free.slot[i] < 0 ? 0 : v.change[free.slot[i]]; });
}

// How far a step may go, at most 1, until the first sticking contact reaches its cone or the first closed one opens.
inline double longest_step(const ConeProblem& problem, const NewtonWorkspace& v, const double* lambda) {
  const double* before = v.lambda_before;
  double longest = 1;
  for (int k = 0; k < v.free.n_frictions; ++k) {
    const Friction& f = v.free.frictions[k];
    if (v.free.slot[f.first] < 0 || f.beta > 0) continue;
    // (mu n)^2 - |t|^2 = c + 2 b a + d a^2 along the step; from inside its first root is c / (-b + sqrt(b^2 - c d))
    const double n = f.mu * before[f.normal], dn = f.mu * lambda[f.normal] - n;
    double c = n * n, b = n * dn, d = dn * dn;
    for (int r = 0; r < f.rows; ++r) {
      const double t = before[f.first + r], dt = lambda[f.first + r] - t;
      c -= t * t, b -= t * dt, d -= dt * dt;
    }
    const double discriminant = b * b - c * d;
    if (c > 0 && discriminant > 0) {
      const double divisor = root(discriminant) - b;
      if (divisor > 0) longest = min_of(longest, c / divisor);
    }
  }
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& b = problem.blocks[j];
    if (b.law != Law::point && b.law != Law::unilateral) continue;
    const int i = b.first + b.rows - 1;
    if (before[i] > 0 && lambda[i] < 0) longest = min_of(longest, before[i] / (before[i] - lambda[i]));
  }
  return longest;
}

// D times a typical impulse of closed contacts [m/s].
inline double typical_velocity(const ConeProblem& problem, const ContactWorkspace& w, const double* lambda) {
  double sum = 0;
  int n = 0;
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& b = problem.blocks[j];
    const double normal = b.law == Law::point || b.law == Law::unilateral ? lambda[b.first + b.rows - 1] : 0;
    if (normal > 0) sum += w.D[j] * normal, ++n;
  }
  return n > 0 ? sum / n : problem.scale;
}

// Back to the best impulses so far, and some iterations of Gauss-Seidel from there. Their residual.
inline double restart(const ConeProblem& problem, ContactWorkspace& w, double* lambda, SolverReport& report) {
  copy(problem.m, w.best, lambda);
  set_velocities(problem, lambda, w.sigma);
  for (int k = 0; k < NewtonTuning::restart_iterations; ++k, ++report.gauss_seidel)
    gauss_seidel_iteration(problem, w, lambda);
  catch_up(problem, lambda, w);
  return natural_residual(problem, w, lambda, w.sigma);
}

// Shortens the step just made, by as much as longest_step says. The residual then.
inline double cut_step(const ConeProblem& problem, ContactWorkspace& w, const NewtonWorkspace& v, double* lambda) {
  const double a = longest_step(problem, v, lambda);
  for (int i = 0; i < problem.m; ++i) {
    lambda[i] = v.lambda_before[i] + a * (lambda[i] - v.lambda_before[i]);
    w.sigma[i] = v.sigma_before[i] + a * (w.sigma[i] - v.sigma_before[i]);
  }
  return natural_residual(problem, w, lambda, w.sigma);
}

// Steps until the tolerance is met, but at most max_steps, and as many as can be afforded. lambda and sigma: the best
// found. The residual.
inline double newton(const ConeProblem& problem, int max_steps, ContactWorkspace& w, NewtonWorkspace& v, double* lambda,
                     SolverReport& report) {
  using Tuning = NewtonTuning;
  const double operations = problem.m * operations_of_product(problem) / 3;
  const double affordable = most_operations(problem) / operations;
  if (affordable < max_steps) max_steps = static_cast<int>(affordable);
  v.free.start(problem, w);
  set_units(problem, w, v);
  double residual = natural_residual(problem, w, lambda, w.sigma), best = residual, mark = residual;
  copy(problem.m, lambda, w.best);
  int turn = 0, since = 0;
  for (int k = 0; k < max_steps && !(residual <= w.tolerance) && !interrupted(operations); ++k) {
    if (since == (turn == 0 ? Tuning::patience_at_first : Tuning::patience)) {
      if (++turn == Tuning::n_ratios) break;
      since = 0;
      residual = restart(problem, w, lambda, report);
    }
    const double eps = clamp(Tuning::ratios[turn] * residual / typical_velocity(problem, w, lambda), Tuning::least_eps,
                             Tuning::largest_eps);
    copy(problem.m, lambda, v.lambda_before);
    copy(problem.m, w.sigma, v.sigma_before);
    newton_step(problem, w, v, eps, lambda);
    ++report.newton;
    const double before = residual;
    residual = natural_residual(problem, w, lambda, w.sigma);
    if (!(residual <= Tuning::much_worse * before)) residual = cut_step(problem, w, v, lambda);
    if (residual <= w.tolerance) {  // velocities were updated by increments
      set_velocities(problem, lambda, w.sigma);
      residual = natural_residual(problem, w, lambda, w.sigma);
    }
    if (residual <= best) {
      best = residual;
      copy(problem.m, lambda, w.best);
    }
    ++since;
    if (residual < Tuning::progress * mark) mark = residual, since = 0;
  }
  if (!(residual <= w.tolerance)) {
    copy(problem.m, w.best, lambda);
    set_velocities(problem, lambda, w.sigma);
    residual = natural_residual(problem, w, lambda, w.sigma);
  }
  return residual;
}

}  // namespace featherweight::FW_ISA
