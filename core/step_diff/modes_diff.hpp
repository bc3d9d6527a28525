// step_diff/modes_diff.hpp -- impulses by implicit differentiation, in the modes that they have.
//
//   lambda' = P y + p,   M y = -Q (s + G p),   M = Q G P + E
// sticking rows are unknowns of their own; a contact that slides along t = sigma_t / |sigma_t| has two: the normal,
// with the column (-mu t, 1), and what turns the friction, across t, with E = |sigma_t| / (mu lambda_n), since a slower
// slip turns faster. Discs (spin, roll) likewise, bounded by the normal of their contact. p: what a change of all
// coefficients of friction does. Open rows have none.
#pragma once
#include "step_diff/least_norm_lu.hpp"
#include "step_diff/rows_diff.hpp"

namespace featherweight::FW_ISA {

class ModesDiff {
 public:
  LeastNormLu lu;

  ModesDiff(int most_rows, int columns, Arena& arena)
      : lu(most_rows, columns, arena),
        unknowns_(arena.take<Unknown>(most_rows)),
        of_normal_(arena.take<int>(most_rows)),
        p_(arena.take<double>(most_rows)),
        Gp_(arena.take<double>(most_rows)),
        y_(arena.take<double>(most_rows)),
        Y_(take_matrix(arena, most_rows, columns)),
        QG_(take_matrix(arena, 1, most_rows)) {}

  int size() const { return n_; }

  // friction: the factor on all coefficients. is_symmetric: G is. most_rank: what G's rank is at most, where known.
  void set(int m, const DiffRow* rows, const Matrix& G, double friction, bool is_symmetric,
           int most_rank = LeastNormLu::unknown_rank) {
    n_ = 0;
    slides_ = false;
    for (int r = 0; r < m; ++r) p_[r] = 0;
    for (int first = 0, last; first < m; first = last) {  // contact by contact
      for (last = first; last < m && rows[last].contact == rows[first].contact;) ++last;
      add_contact(rows, first, last, friction);
    }
    for (int r = 0; r < m; ++r) {
      Gp_[r] = 0;
      for (int c = 0; slides_ && c < m; ++c) Gp_[r] += G(r, c) * p_[c];
    }
    all_stick_ = is_symmetric && !slides_;
    if (!slides_) {
      for (int i = 0; i < n_; ++i)
        for (int j = 0; j < n_; ++j) lu.M(i, j) = G(unknowns_[i].q_row[0], unknowns_[j].p_row[0]);
      return lu.factorise(n_, all_stick_, most_rank);
    }
    for (int i = 0; i < n_; ++i) set_row(i, m, G);
    for (int i = 0; i < n_; ++i)
      if (unknowns_[i].E != 0) ++most_rank;
    lu.factorise(n_, false, most_rank);
  }

  // s becomes lambda'.
  void solve(int m, const Matrix& s, int n_columns, unsigned char* infeasible, int friction_column) {
    const Matrix y{Y_.data, s.stride};
    const int packs = packs_of(n_columns);
    if (friction_column >= 0)
      for (int r = 0; r < m; ++r) s(r, friction_column) += Gp_[r];
    for (int i = 0; i < n_; ++i)
      for (int k = 0; k < packs; ++k) {
        Columns sum{};
        for (int a = 0; a < unknowns_[i].n_q; ++a) sum -= s.pack(unknowns_[i].q_row[a], k) * unknowns_[i].q[a];
        y.pack(i, k) = sum;
      }
    lu.solve(y, infeasible, n_columns);
    for (int r = 0; r < m; ++r)
      for (int k = 0; k < packs; ++k) s.pack(r, k) = Columns{};
    for (int i = 0; i < n_; ++i)
      for (int b = 0; b < unknowns_[i].n_p; ++b) {
        const double by = unknowns_[i].p[b];
        for (int k = 0; k < packs; ++k) s.pack(unknowns_[i].p_row[b], k) += y.pack(i, k) * by;
      }
    if (friction_column >= 0)
      for (int r = 0; r < m; ++r) s(r, friction_column) += p_[r];
  }
  void solve(int m, double* s, double friction) {
    for (int r = 0; r < m; ++r) s[r] += Gp_[r] * friction;
    for (int i = 0; i < n_; ++i) {
      y_[i] = 0;
      for (int a = 0; a < unknowns_[i].n_q; ++a) y_[i] -= unknowns_[i].q[a] * s[unknowns_[i].q_row[a]];
    }
    lu.solve<false>(y_);
    for (int r = 0; r < m; ++r) s[r] = p_[r] * friction;
    for (int i = 0; i < n_; ++i)
      for (int b = 0; b < unknowns_[i].n_p; ++b) s[unknowns_[i].p_row[b]] += unknowns_[i].p[b] * y_[i];
  }
  // From cotangents of lambda to those of s; by_friction: of the factor.
  void solve_transposed(int m, double* x, double& by_friction) {
    by_friction = 0;
    for (int r = 0; r < m; ++r) by_friction += x[r] * p_[r];
    for (int i = 0; i < n_; ++i) {
      y_[i] = 0;
      for (int b = 0; b < unknowns_[i].n_p; ++b) y_[i] += unknowns_[i].p[b] * x[unknowns_[i].p_row[b]];
    }
    lu.solve<true>(y_);
    for (int r = 0; r < m; ++r) x[r] = 0;
    for (int i = 0; i < n_; ++i)
      for (int a = 0; a < unknowns_[i].n_q; ++a) x[unknowns_[i].q_row[a]] -= unknowns_[i].q[a] * y_[i];
    for (int r = 0; r < m; ++r) by_friction += x[r] * Gp_[r];
  }

  // Whether impulses that the system does not see move nothing; Y: responses of rows.
  bool is_unique(int nv, int m, const Matrix& Y, double* x, double* lambda) {
    if (n_ == 0 || !lu.is_singular() || all_stick_) return true;  // J^T y = 0 where J H^-1 J^T y = 0
    for (int trial = 0; trial < 2; ++trial) {
      unsigned seed = 12345u + 777u * trial;
      for (int i = 0; i < n_; ++i) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = static_cast<double>(seed >> 8) / (1 << 24) - 0.5;
      }
      lu.keep_null_part(x);
      for (int r = 0; r < m; ++r) lambda[r] = 0;
      for (int i = 0; i < n_; ++i)
        for (int b = 0; b < unknowns_[i].n_p; ++b) lambda[unknowns_[i].p_row[b]] += unknowns_[i].p[b] * x[i];
      double moved = 0, could = 0;
      for (int f = 0; f < nv; ++f) {
        double sum = 0, size = 0;
        for (int r = 0; r < m; ++r) sum += Y(f, r) * lambda[r], size += size_of(Y(f, r) * lambda[r]);
        moved = size_of(sum) > moved ? size_of(sum) : moved;
        could = size > could ? size : could;
      }
      if (moved > not_unique * could) return false;
    }
    return true;
  }

 private:
  // Share of what impulses could do [1].
  static constexpr double not_unique = 1e-3;

  struct Unknown {
    int n_p, n_q;
    int p_row[6], q_row[2];
    double p[6], q[2];
    double E;
  };
  Unknown* unknowns_;
  int* of_normal_;
  double *p_, *Gp_, *y_;
  Matrix Y_, QG_;
  int n_ = 0;
  bool slides_ = false, all_stick_ = false;

  // Of M.
  void set_row(int i, int m, const Matrix& G) {
    const Unknown& u = unknowns_[i];
    const Matrix& QG = QG_;
    for (int k = 0; k < packs_of(m); ++k) {
      QG.pack(0, k) = G.pack(u.q_row[0], k) * u.q[0];
      if (u.n_q > 1) QG.pack(0, k) += G.pack(u.q_row[1], k) * u.q[1];
    }
    double* const to = lu.M[i];
    for (int j = 0; j < n_; ++j) {
      const Unknown& w = unknowns_[j];
      double sum = QG(0, w.p_row[0]) * w.p[0];
      for (int b = 1; b < w.n_p; ++b) sum += QG(0, w.p_row[b]) * w.p[b];
      to[j] = sum;
    }
    to[i] += u.E;
  }
  Unknown& add_row_of(int row) {
    unknowns_[n_] = {1, 1, {row}, {row}, {1}, {1}, 0};
    return unknowns_[n_++];
  }
  void add_contact(const DiffRow* rows, int first, int last, double friction) {
    if (rows[first].law == Law::equality) {
      for (int r = first; r < last; ++r) add_row_of(r);
      return;
    }
    if (rows[first].component < 0) return;  // a limit, whose joint is locked
    int normal = first;
    while (rows[normal].component != 2) ++normal;
    if (rows[normal].mode == Mode::open) return;
    const int own = n_;
    add_row_of(normal);
    const double load = rows[normal].impulse;
    for (int r = first; r < last;) {
      const bool is_disc = rows[r].component >= 3;
      if (r == normal) {
        ++r;
        continue;
      }
      const int end = r + 1 < last && r + 1 != normal && same_block(rows[r], rows[r + 1]) ? r + 2 : r + 1;
      // tangents of a contact have the mode of its normal's block
      const Mode mode = is_disc ? rows[r].mode : rows[normal].mode;
      if (mode == Mode::sticking)
        for (int i = r; i < end; ++i) add_row_of(i);
      else if (mode == Mode::sliding)
        add_sliding(rows, r, end, own, load, friction);
      r = end;
    }
  }
  // t1 with t2, or both of a roll; a spin is alone.
  static bool same_block(const DiffRow& a, const DiffRow& b) {
    return (a.component == 0 && b.component == 1) || (a.component == 3 && b.component == 4);
  }
  void add_sliding(const DiffRow* rows, int first, int end, int own, double load, double friction) {
    slides_ = true;
    double slip2 = 0, impulse2 = 0;
    for (int i = first; i < end; ++i)
      slip2 += rows[i].slip * rows[i].slip, impulse2 += rows[i].impulse * rows[i].impulse;
    const double speed = __builtin_sqrt(slip2), mu = rows[first].mu;
    // about to slide, friction says where to
    const double per = speed > 0 ? 1 / speed : impulse2 > 0 ? -1 / __builtin_sqrt(impulse2) : 0;
    double t[2] = {0, 0};
    Unknown& normal = unknowns_[own];
    for (int i = first; i < end; ++i) {
      t[i - first] = (speed > 0 ? rows[i].slip : rows[i].impulse) * per;
      normal.p_row[normal.n_p] = i, normal.p[normal.n_p++] = -mu * t[i - first];
      if (friction > 0) p_[i] = -t[i - first] * load * mu / friction;
    }
    if (end - first != 2 || per == 0) return;
    unknowns_[n_++] = {2, 2, {first, first + 1}, {first, first + 1}, {-t[1], t[0]}, {-t[1], t[0]}, speed / (mu * load)};
  }
};

}  // namespace featherweight::FW_ISA
