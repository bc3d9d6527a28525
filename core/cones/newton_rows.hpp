// cones/newton_rows.hpp -- which rows are free in a Newton step, and what slides in which direction.
//
// By the natural map x = lambda - sigma / D: a row is free where x lies inside its set, and fixed at its bound where x
// does not; a contact whose x leaves the disc of radius R slides in the direction of x, with the viscous coefficient
// beta = D (|x| / R - 1), so that sigma_T = -beta lambda_T once lambda is on the disc.
#pragma once
#include "cones/workspace.hpp"

namespace featherweight::FW_ISA {

// Friction of a point or of a disc: one or two tangents bounded by mu times a normal.
struct Friction {
  int first, rows, normal;  // rows of the problem
  double mu, D;
  double beta;    // > 0: slides,
  double ex, ey;  // with an impulse in this direction
};

struct NewtonRows {
  Friction* frictions;
  int *rows, *slot;  // free rows of the problem; the place of each row among them, or -1: fixed
  double* fixed;     // impulse of each row that is fixed
  int n_frictions, n_free;

  NewtonRows(const ConeProblem& problem, Arena& scratch) {
    const std::size_t n = static_cast<std::size_t>(problem.m);
    frictions = scratch.take<Friction>(static_cast<std::size_t>(problem.n_blocks));
    rows = scratch.take<int>(n);
    slot = scratch.take<int>(n);
    fixed = scratch.take<double>(n);
  }

  void start(const ConeProblem& problem, const ContactWorkspace& w) {
    n_frictions = 0;
    for (int j = 0; j < problem.n_blocks; ++j) {
      const Block& b = problem.blocks[j];
      if (b.law == Law::point) frictions[n_frictions++] = {b.first, 2, b.first + 2, b.mu, w.D[j], 0, 0, 0};
      if (b.law == Law::disc) frictions[n_frictions++] = {b.first, b.rows, b.normal, b.mu, w.D[j], 0, 0, 0};
    }
  }

  void choose(const ConeProblem& problem, const ContactWorkspace& w, const double* lambda) {
    n_free = 0;
    Friction* friction = frictions;
    for (int j = 0; j < problem.n_blocks; ++j) {
      const Block& b = problem.blocks[j];
      const int i = b.first;
      if (!w.moves(j)) {
        for (int r = 0; r < b.rows; ++r) fix(i + r, lambda[i + r]);
        if (b.law == Law::point || b.law == Law::disc) (friction++)->beta = 0;
        continue;
      }
      switch (b.law) {
        case Law::equality:
          for (int r = 0; r < b.rows; ++r) set_free(i + r);
          break;
        case Law::unilateral: choose_normal(i, w.D[j] * lambda[i] - w.sigma[i]); break;
        case Law::interval: {
          const double x = w.D[j] * lambda[i] - w.sigma[i], low = w.D[j] * b.lower, high = w.D[j] * b.upper;
          if (x > low && x < high)
            set_free(i);
          else
            fix(i, x <= low ? b.lower : b.upper);
          break;
        }
        case Law::point: {
          const double x = w.D[j] * lambda[i + 2] - w.sigma[i + 2];
          choose_tangents(*friction++, x, w, lambda);
          choose_normal(i + 2, x);
          break;
        }
        case Law::disc: {
          const double x = w.D[j] * lambda[b.normal];
          choose_tangents(*friction++, slot[b.normal] < 0 ? 0 : x, w, lambda);
          break;
        }
      }
    }
  }

 private:
  FW_INLINE void set_free(int row) {
    slot[row] = n_free;
    rows[n_free++] = row;
  }
  FW_INLINE void fix(int row, double impulse) {
    slot[row] = -1;
    fixed[row] = impulse;
  }
  FW_INLINE void choose_normal(int row, double x) {
    if (x > 0)
      set_free(row);
    else
      fix(row, 0);
  }
  // normal: D times the impulse expected along the normal
  FW_INLINE void choose_tangents(Friction& f, double normal, const ContactWorkspace& w, const double* lambda) {
    const double R = f.mu * normal;
    f.beta = 0;
    if (!(R > 0)) {
      for (int r = 0; r < f.rows; ++r) fix(f.first + r, 0);
      return;
    }
    const double x = f.D * lambda[f.first] - w.sigma[f.first];
    const double y = f.rows == 2 ? f.D * lambda[f.first + 1] - w.sigma[f.first + 1] : 0;
    const double length2 = x * x + y * y;
    if (length2 > R * R) {
      const double length = root(length2);
      f.beta = f.D * (length / R - 1);
      f.ex = x / length, f.ey = y / length;
    }
    for (int r = 0; r < f.rows; ++r) set_free(f.first + r);
  }
};

}  // namespace featherweight::FW_ISA
