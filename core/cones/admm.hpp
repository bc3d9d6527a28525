// cones/admm.hpp -- alternating directions: impulses x without bounds, y within them, and velocities z.
//
//   y  = P(x - z / rho)                                   nearest admissible impulses, block by block
//   x' = (G + rho)^-1 (z + rho y - g - Gamma(z))          Gamma: De Saxce's mu |z_T| on the normals of points
//   z' = z - rho (x' - y)
// Slow but steady: linear convergence, on hyperstatic and ill-conditioned problems too. rho is r times the mean
// diagonal of each block, so that rows of different units are treated alike; r follows the ratio of the residuals, in
// few changes. Up to most_factorised_rows G + rho is factorised, anew for each r; beyond, conjugate gradients from the
// last x need products only, O(nonzeros) each. Where G is not formed, its owner may also solve with G + rho, exactly or
// so nearly that few conjugate gradients are left. Stops on the natural residual of y; |x - y| and rho |change of y|
// only say when to look, since they are small too early. Source: [Carpentier et al. 2024], [Boyd et al. 2011]. Oracle:
// the natural map, dense.
#pragma once
#include "cones/workspace.hpp"
#include "linalg/dense_ldl.hpp"

namespace featherweight::FW_ISA {

struct AdmmWorkspace {
  double *x, *y, *z, *b;  // as above; the right-hand side, then the solution
  double* weight;         // of each row: rho / r
  double* A;              // factor of G + rho; or else
  double *r, *p, *q, *s;  // conjugate gradients, preconditioned by
  double* inverse;        // the inverse diagonal; where the owner of G shifts: rho

  AdmmWorkspace(const ConeProblem& problem, Arena& scratch) {
    const std::size_t n = static_cast<std::size_t>(padded(problem.m));
    x = scratch.take<double>(n);
    y = scratch.take<double>(n);
    z = scratch.take<double>(n);
    b = scratch.take<double>(n);
    weight = scratch.take<double>(n);
    if (factorised(problem)) {
      A = scratch.take<double>(n * n);
    } else {
      r = scratch.take<double>(n);
      p = scratch.take<double>(n);
      q = scratch.take<double>(n);
      s = scratch.take<double>(n);
      inverse = scratch.take<double>(n);
    }
  }
  static bool factorised(const ConeProblem& problem) {
    return problem.m <= ProblemSizes::most_factorised_rows && !problem.G.products;
  }
};

// y: the admissible impulses nearest to x - z / rho. The largest change of y, times rho [m/s].
inline double project(const ConeProblem& problem, double r, AdmmWorkspace& v) {
  double moved = 0;
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& block = problem.blocks[j];
    const int i = block.first;
    const double rho = r * v.weight[i];
    double* y = v.y + i;
    double before[3];
    const int few = block.rows < 3 ? block.rows : 3;
    if (block.law != Law::equality)
      for (int k = 0; k < few; ++k) before[k] = y[k];
    for (int k = 0; k < block.rows; ++k) y[k] = v.x[i + k] - v.z[i + k] / rho;
    switch (block.law) {
      case Law::equality: continue;
      case Law::unilateral: y[0] = max_of(y[0], 0); break;
      case Law::interval: y[0] = clamp(y[0], block.lower, block.upper); break;
      case Law::point: {
        const double length = root(y[0] * y[0] + y[1] * y[1]), mu = block.mu;
        if (length <= mu * y[2]) break;
        const double normal = max_of((mu * length + y[2]) / (1 + mu * mu), 0);
        const double scale = length > 0 ? mu * normal / length : 0;
        y[0] *= scale, y[1] *= scale, y[2] = normal;
        break;
      }
      case Law::disc: {
        const double R = block.mu * max_of(v.y[block.normal], 0);
        const double length = root(y[0] * y[0] + (block.rows == 2 ? y[1] * y[1] : 0));
        if (length > R)
          for (int k = 0; k < block.rows; ++k) y[k] *= R / length;
        break;
      }
    }
    for (int k = 0; k < few; ++k) moved = max_of(moved, rho * magnitude(y[k] - before[k]));
  }
  return moved;
}

// b = z + rho y - g - Gamma(z)
inline void set_right_side(const ConeProblem& problem, const ContactWorkspace& w, double r, AdmmWorkspace& v) {
  for (int i = 0; i < problem.m; ++i) v.b[i] = v.z[i] + r * v.weight[i] * v.y[i] - problem.g[i];
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& block = problem.blocks[j];
    const double* z = v.z + block.first;
    if (!w.moves(j))  // keeps its impulse
      for (int i = block.first; i < block.first + block.rows; ++i) v.b[i] = r * v.weight[i] * v.y[i];
    else if (block.law == Law::point)
      v.b[block.first + 2] -= block.mu * root(z[0] * z[0] + z[1] * z[1]);
  }
}

inline void factorise_shifted(const ConeProblem& problem, const ContactWorkspace& w, double r, AdmmWorkspace& v) {
  const int n = padded(problem.m);
  const std::size_t ld = static_cast<std::size_t>(n);
  fill(n * n, 0, v.A);
  const ContactMatrix& G = problem.G;
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& columns = problem.blocks[j];
    for (int c = columns.first; c < columns.first + columns.rows; ++c) {
      if (!G.start) {
        const RowSpan span = span_of(problem, j);
        copy(span.end - span.first,
             G.values + static_cast<std::size_t>(c) * static_cast<std::size_t>(G.stride) + span.first,
             v.A + c * ld + span.first);
        continue;
      }
      for (int k = G.start[j]; k < G.start[j + 1]; ++k) {
        const Block& rows = problem.blocks[G.neighbour[k]];
        copy(rows.rows, G.values + G.at[k] + (c - columns.first) * rows.rows, v.A + c * ld + rows.first);
      }
    }
  }
  for (int i = 0; i < n; ++i) v.A[i * (ld + 1)] += i < problem.m ? r * v.weight[i] : 1;
  factorise_dense(n, w.floor, v.A);
}

// Whether the owner of a matrix that is not formed solves with G + rho.
inline bool owner_shifts(const ConeProblem& problem) { return problem.G.products && problem.G.products->shift; }

// s = P^-1 r with P near G + rho
inline void precondition(const ConeProblem& problem, AdmmWorkspace& v) {
  if (owner_shifts(problem))
    problem.G.products->solve_shifted(problem.G.products->context, v.r, v.s);
  else
    for (int i = 0; i < problem.m; ++i) v.s[i] = v.inverse[i] * v.r[i];
}

// b <- (G + rho)^-1 b, starting from x, until no row is off by more than `enough` [m/s]. Products with G it took.
inline int conjugate_gradients(const ConeProblem& problem, double r, double enough, AdmmWorkspace& v) {
  const int m = problem.m;
  multiply(problem, v.x, v.q);
  double rz = 0;
  for (int i = 0; i < m; ++i) {
    v.r[i] = v.b[i] - v.q[i] - r * v.weight[i] * v.x[i];
    v.b[i] = v.x[i];
  }
  precondition(problem, v);
  for (int i = 0; i < m; ++i) {
    v.p[i] = v.s[i];
    rz += v.r[i] * v.s[i];
  }
  for (int k = 0; k < AdmmTuning::most_conjugate_gradients; ++k) {
    double worst = 0, pq = 0;
    for (int i = 0; i < m; ++i) worst = max_of(worst, magnitude(v.r[i]));
    if (!(worst > enough)) return k + 1;
    multiply(problem, v.p, v.q);
    for (int i = 0; i < m; ++i) {
      v.q[i] += r * v.weight[i] * v.p[i];
      pq += v.p[i] * v.q[i];
    }
    const double step = rz / pq, last = rz;
    rz = 0;
    for (int i = 0; i < m; ++i) {
      v.b[i] += step * v.p[i];
      v.r[i] -= step * v.q[i];
    }
    precondition(problem, v);
    for (int i = 0; i < m; ++i) rz += v.r[i] * v.s[i];
    for (int i = 0; i < m; ++i) v.p[i] = v.s[i] + rz / last * v.p[i];
  }
  return AdmmTuning::most_conjugate_gradients + 1;
}

// Once for each r.
inline void prepare_shifted(const ConeProblem& problem, const ContactWorkspace& w, double r, AdmmWorkspace& v) {
  if (AdmmWorkspace::factorised(problem)) return factorise_shifted(problem, w, r, v);
  if (owner_shifts(problem)) {
    for (int i = 0; i < problem.m; ++i) v.inverse[i] = r * v.weight[i];
    return problem.G.products->shift(problem.G.products->context, v.inverse);
  }
  for (int j = 0; j < problem.n_blocks; ++j)
    for (int q = 0; q < problem.blocks[j].rows; ++q) {
      const int i = problem.blocks[j].first + q;
      v.inverse[i] = 1 / (w.factors[j].G(q, q) + r * v.weight[i]);
    }
}

// b <- (G + rho)^-1 b, to `enough` [m/s] where it is solved by conjugate gradients. Products with G it took, beside
// one.
inline int solve_shifted(const ConeProblem& problem, double r, double enough, AdmmWorkspace& v) {
  const MatrixProducts* const products = problem.G.products;
  if (AdmmWorkspace::factorised(problem)) {
    solve_dense(padded(problem.m), v.A, v.b);
  } else if (owner_shifts(problem) && products->exact) {
    products->solve_shifted(products->context, v.b, v.s);
    copy(problem.m, v.s, v.b);
  } else {
    return conjugate_gradients(problem, r, enough, v);
  }
  return 0;
}

// Weights of the rows; x = y = lambda, and the velocities with De Saxce's term.
inline void start_admm(const ConeProblem& problem, const ContactWorkspace& w, const double* lambda, AdmmWorkspace& v) {
  const int m = problem.m;
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& block = problem.blocks[j];
    const double* s = w.sigma + block.first;
    for (int k = block.first; k < block.first + block.rows; ++k) {
      v.weight[k] = (block.law == Law::equality ? AdmmTuning::equality_weight : 1) * w.D[j] + w.smallest;
      v.x[k] = v.y[k] = lambda[k];
      v.z[k] = w.moves(j) ? w.sigma[k] : 0;
    }
    if (block.law == Law::point && w.moves(j)) v.z[block.first + 2] += block.mu * root(s[0] * s[0] + s[1] * s[1]);
  }
  for (int i = m; i < padded(m); ++i) v.b[i] = v.x[i] = 0;
}

// x from the solution, and z with it. The largest |x - y|, times rho / r [m/s].
inline double update_velocities(const ConeProblem& problem, double r, AdmmWorkspace& v) {
  double primal = 0;
  for (int i = 0; i < problem.m; ++i) {
    v.x[i] = v.b[i];
    const double apart = v.x[i] - v.y[i];
    v.z[i] -= r * v.weight[i] * apart;
    primal = max_of(primal, v.weight[i] * magnitude(apart));
  }
  return primal;
}

// Iterates until the natural residual is at most `wanted`. lambda and sigma: the best found. The residual.
inline double admm(const ConeProblem& problem, int max_iterations, double wanted, ContactWorkspace& w, AdmmWorkspace& v,
                   double* lambda, SolverReport& report) {
  using Tuning = AdmmTuning;
  const int m = problem.m;
  start_admm(problem, w, lambda, v);
  double best = natural_residual(problem, w, lambda, w.sigma), r = Tuning::first_r, prepared = 0, error = best;
  copy(m, lambda, w.best);
  int changes = 0;
  const double product = operations_of_product(problem);
  double left = most_operations(problem);  // operations
  for (int k = 0; k < max_iterations && !(best <= wanted) && left > 0; ++k, ++report.admm) {
    if (interrupted((r != prepared ? m / 6.0 + 1 : 1) * product)) break;
    left -= (r != prepared && AdmmWorkspace::factorised(problem) ? m / 6.0 + 1 : 1) * product;
    if (r != prepared) {
      prepared = r;
      prepare_shifted(problem, w, r, v);
    }
    const double dual = project(problem, r, v);
    set_right_side(problem, w, r, v);
    const double enough = max_of(Tuning::share_of_wanted * wanted, Tuning::share_of_error * error);
    left -= product * solve_shifted(problem, r, enough, v);
    const double primal = update_velocities(problem, r, v);
    error = max_of(primal, dual);
    if ((k + 1) % Tuning::between_looks == 0 || error <= wanted) {
      set_velocities(problem, v.y, w.sigma);
      const double residual = natural_residual(problem, w, v.y, w.sigma);
      if (residual < best) {
        best = residual;
        copy(m, v.y, w.best);
      }
    }
    if ((k + 1) % Tuning::between_changes == 0 && changes < Tuning::most_changes) {
      if (primal * r > Tuning::unbalanced * dual) r *= Tuning::change_of_r, ++changes;
      if (dual > Tuning::unbalanced * primal * r) r /= Tuning::change_of_r, ++changes;
      r = clamp(r, Tuning::least_r, Tuning::largest_r);
    }
  }
  copy(m, w.best, lambda);
  set_velocities(problem, lambda, w.sigma);
  return best;
}

}  // namespace featherweight::FW_ISA
