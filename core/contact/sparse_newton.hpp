// contact/sparse_newton.hpp -- Newton's method on sparse problems, between sweeps.
//
// The step is that of newton.hpp as one sparse system: tangents that slide have two rows of their own in place of G's,
//   D (e . lambda'_T - mu lambda'_N) = 0,   e_perp . (sigma'_T + beta lambda'_T) = 0,
// so that what slides costs no more than what sticks. Blocks without free rows are not in it.
//
// In a heap the two methods need each other. Sweeps find out what touches and slides, but impulses along soft modes of
// the heap take them thousands of sweeps; a step takes those at once, but far from the solution so many contacts change
// between open, sticking and sliding that it is no good on its own. So sweeps follow where a step does not help, from
// where it led: what it got wrong is mostly local, and sweeps are good at that. eps falls with success.
// Measured: docs/adr/0014. Oracle: the natural map, dense.
#pragma once
#include "contact/newton.hpp"
#include "contact/sparse_lu.hpp"

namespace featherweight::FW_ISA {

// What becomes of the rows x, y, z of G in a block: a x, b x + c y and d z; 0 where a row is held.
struct RowMix {
  double a, b, c, d;

  FW_INLINE void operator()(const double* x, int stride, int rows, double* out) const {
    out[0] = a * x[0];
    if (rows > 1) out[1] = b * x[0] + c * x[stride];
    if (rows > 2) out[2] = d * x[2 * stride];
  }
};

struct SparseNewtonWorkspace {
  // Entries of the factor per block; a heap that fills more is swept only.
  static constexpr int most_fill = 32;

  NewtonRows free;
  SparseLu lu;
  RowMix* mix;
  double* x;  // right side, then the change of lambda: three numbers and a zero a block
  double *start, *reached;

  SparseNewtonWorkspace(const ConeProblem& problem, Scratch& scratch)
      : free(problem, scratch), lu(problem.n_blocks, most_fill, scratch) {
    const std::size_t n = static_cast<std::size_t>(problem.n_blocks), m = static_cast<std::size_t>(problem.m);
    mix = scratch.take<RowMix>(n);
    x = scratch.take<double>(4 * n);
    start = scratch.take<double>(m);
    reached = scratch.take<double>(m);
  }

  static bool takes(const ConeProblem& problem) {
    bool fits = problem.G.start != nullptr;
    for (int j = 0; j < problem.n_blocks; ++j) fits &= problem.blocks[j].rows <= 3;
    return fits;
  }
};

// f(block, its friction) for every block that slides.
template <class F>
FW_INLINE void for_sliding(const ConeProblem& problem, const NewtonRows& free, const F& f) {
  const Friction* friction = free.frictions;
  for (int j = 0; j < problem.n_blocks; ++j) {
    if (problem.blocks[j].law != Law::point && problem.blocks[j].law != Law::disc) continue;
    if (friction->beta > 0) f(j, *friction);
    ++friction;
  }
}

// Which blocks are in the system, and their rows. False where it fills too much.
inline bool choose_system(const ConeProblem& problem, SparseNewtonWorkspace& v) {
  const auto is_free = [&](int j, int r) {
    const Block& b = problem.blocks[j];
    return r < b.rows && v.free.slot[b.first + r] >= 0;
  };
  for (int j = 0; j < problem.n_blocks; ++j) {
    const auto kept = [&](int r) { return is_free(j, r) ? 1.0 : 0.0; };
    v.mix[j] = {kept(0), 0, kept(1), kept(2)};
  }
  for_sliding(problem, v.free, [&](int j, const Friction& f) {
    v.mix[j].a = 0;
    if (f.rows == 2) v.mix[j].b = -f.ey, v.mix[j].c = f.ex;
  });
  return v.lu.pattern.analyse(problem.G, [&](int j) { return is_free(j, 0) || is_free(j, 1) || is_free(j, 2); });
}

// Mixed rows of G with eps, and the identity where there is no free row.
inline void assemble(const ConeProblem& problem, const ContactWorkspace& w, double eps, SparseNewtonWorkspace& v) {
  const ContactMatrix& G = problem.G;
  SparseLu& lu = v.lu;
  const Elimination& pattern = lu.pattern;
  for (int p = 0; p < pattern.count; ++p) {
    const int j = pattern.order[p];
    const Block& b = problem.blocks[j];
    for (int s = pattern.start[j]; s < pattern.end[j]; ++s) {
      lu.where[pattern.later[s]] = s;
      lu.lower[s] = lu.upper[s] = {};
    }
    lu.diagonal[j] = {};
    for (int k = G.start[j]; k < G.start[j + 1]; ++k) {
      const int i = G.neighbour[k], rows = problem.blocks[i].rows;
      const double* values = G.values + G.at[k];  // of G(i, j)
      if (i != j && pattern.position[i] < p) continue;
      double* column = i == j ? lu.diagonal[j].e : lu.lower[lu.where[i]].e;
      for (int c = 0; c < b.rows; ++c) v.mix[i](values + c * rows, 1, rows, column + 4 * c);
      if (i == j) continue;
      column = lu.upper[lu.where[i]].e;  // G(j, i), its transpose
      for (int c = 0; c < rows; ++c) v.mix[j](values + c, rows, b.rows, column + 4 * c);
    }
    for (int r = 0; r < 3; ++r) {
      const bool is_free = r < b.rows && v.free.slot[b.first + r] >= 0;
      lu.diagonal[j].e[5 * r] += is_free ? eps * w.D[j] + w.smallest : 1;
      v.x[4 * j + r] = is_free ? -w.sigma[b.first + r] : 0;
    }
    v.x[4 * j + 3] = 0;
  }
}

// The rows of tangents that slide. A disc may be bounded by a block that G does not couple it to: then by its present
// impulse.
inline void add_cones(const ConeProblem& problem, const ContactWorkspace& w, double eps, const double* lambda,
                      SparseNewtonWorkspace& v) {
  const Elimination& pattern = v.lu.pattern;
  for_sliding(problem, v.free, [&](int j, const Friction& f) {
    double *e = v.lu.diagonal[j].e, *x = v.x + 4 * j;
    const double *l = lambda + f.first, *s = w.sigma + f.first, shift = eps * w.D[j] + w.smallest;
    e[0] = f.D * f.ex;
    x[0] = f.D * (f.mu * lambda[f.normal] - f.ex * l[0]);
    if (f.rows == 2) {
      x[0] -= f.D * f.ey * l[1];
      e[4] = f.D * f.ey;
      e[1] -= f.ey * (shift + f.beta);
      e[5] += f.ex * (shift + f.beta) - shift;
      x[1] = f.ey * (s[0] + f.beta * l[0]) - f.ex * (s[1] + f.beta * l[1]);
    }
    int i = j;  // the block of the normal
    while (problem.blocks[i].first > f.normal) --i;
    const int c = f.normal - problem.blocks[i].first;
    if (i == j) {
      e[4 * c] = -f.D * f.mu;
      return;
    }
    const bool is_first = pattern.position[i] < pattern.position[j];
    const int first = is_first ? i : j, second = is_first ? j : i;
    for (int s = pattern.start[first]; s < pattern.end[first]; ++s)
      if (pattern.later[s] == second) (is_first ? v.lu.lower : v.lu.upper)[s].e[4 * c] = -f.D * f.mu;
  });
}

// One step from lambda and sigma to the next. False where the system fills too much.
inline bool sparse_newton_step(const ConeProblem& problem, ContactWorkspace& w, SparseNewtonWorkspace& v, double eps,
                               double* lambda) {
  v.free.choose(problem, w, lambda);
  move_impulses(problem, w, lambda, [&](int i) { return v.free.slot[i] < 0 ? v.free.held[i] - lambda[i] : 0; });
  if (!choose_system(problem, v)) return false;
  assemble(problem, w, eps, v);
  add_cones(problem, w, eps, lambda, v);
  v.lu.factorise(w.floor);
  v.lu.solve(v.x);
  for (int p = 0; p < v.lu.pattern.count; ++p) {
    const int j = v.lu.pattern.order[p];
    const Block& b = problem.blocks[j];
    for (int r = 0; r < b.rows; ++r) lambda[b.first + r] += v.x[4 * j + r];
    add_columns(problem, j, v.x + 4 * j, w.sigma);
  }
  return true;
}

// Of all blocks that can move, in the mean of squares: it tells better than the worst how a heap fares.
inline double mean_residual(const ConeProblem& problem, const ContactWorkspace& w, const double* lambda) {
  double sum = 0;
  for (int j = 0; j < problem.n_blocks; ++j)
    if (w.moves(j)) sum += natural_residual2(problem.blocks[j], w.D[j], lambda, w.sigma);
  return root(sum / problem.n_blocks);
}

// What a sweep costs, in products of blocks.
inline double work_of_sweep(const ConeProblem& problem) { return problem.G.start[problem.n_blocks]; }

// Steps and sweeps until the tolerance is met, nothing is gained any more or the work that may be done is, in products
// of blocks. lambda and sigma: the best found.
inline double sparse_newton(const ConeProblem& problem, int max_steps, double& work, ContactWorkspace& w,
                            SparseNewtonWorkspace& v, double* lambda, SolverReport& report) {
  constexpr double largest_eps = 1e-2, smallest_eps = 1e-9;
  constexpr int sweeps_between = 60, patience = 12;
  constexpr double dearer = 2;  // a product of a factor than one of a sweep: order, scattered memory, all blocks move
  const int m = problem.m;
  double best = 1e300, mark = 1e300, eps = 1e-3;
  int since = 0;
  const auto keep_best = [&] {
    const double residual = natural_residual(problem, w, lambda, w.sigma);
    if (!(residual < best)) return;
    best = residual;
    copy(m, lambda, w.best);
    if (best < 0.5 * mark) mark = best, since = 0;
  };
  const auto go_to = [&](const double* there) {
    copy(m, there, lambda);
    set_velocities(problem, lambda, w.sigma);
  };
  const auto sweep = [&] {
    for (int k = 0; k < sweeps_between && gauss_seidel_sweep(problem, w, lambda) > 0; ++k, ++report.sweeps)
      work -= work_of_sweep(problem);
    keep_best();
    return mean_residual(problem, w, lambda);
  };
  v.free.start(problem, w);
  copy(m, lambda, w.best);
  keep_best();
  double here = mean_residual(problem, w, lambda);
  for (int steps = 0; steps < max_steps && work > 0 && since < patience && !(best <= w.tolerance);) {
    copy(m, lambda, v.start);
    // a second step where the first changed so much that things got worse
    double after = 0;
    bool helped = false;
    for (int k = 0; k < 2 && !helped; ++k, ++steps, ++since, ++report.newton) {
      if (!sparse_newton_step(problem, w, v, eps, lambda)) return go_to(w.best), best;
      work -= dearer * v.lu.pattern.work;
      after = mean_residual(problem, w, lambda);
      helped = after < here;
    }
    keep_best();
    double next = after;
    if (!(after < 0.1 * here) && !(best <= w.tolerance)) {
      copy(m, lambda, v.reached);
      next = sweep();
      if (helped && !(next <= after)) {
        go_to(v.reached);
        next = after;
      }
    }
    if (helped)
      eps = max_of(eps * (after < 0.5 * here ? 0.2 : 0.5), smallest_eps);
    else if (next < 0.5 * here)
      eps *= 0.5;
    else if (!(next <= here))
      eps = min_of(4 * eps, largest_eps);
    if (!(next <= 3 * here)) {
      go_to(v.start);
      next = sweep();
    }
    here = next;
  }
  go_to(w.best);
  return best;
}

}  // namespace featherweight::FW_ISA
