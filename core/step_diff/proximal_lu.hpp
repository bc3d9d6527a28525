// step_diff/proximal_lu.hpp -- M y = b for many columns, M square and perhaps singular.
//
// Where M has full rank its factors answer. Contacts that carry a load in more ways than one make it singular, though
// consistent: then y <- y + (M + e)^-1 (b - M y), which has no bias where b is in the range of M, and leaves what is
// not. Source: equality constraints by proximal points. Oracle: dense least squares.
#pragma once
#include "step_diff/columns.hpp"

namespace featherweight::FW_ISA {

struct ProximalTuning {
  // Pivots below this share of the mean diagonal make M singular [1]; what is then added to it [1]: less loses digits,
  // more converges slowly.
  static constexpr double singular = 1e-9, shift = 1e-5;
  static constexpr int most_iterations = 16;
  // Iterations end where a residual no longer falls to this share of the last [1].
  static constexpr double progress = 0.5;
  // Columns whose residual is larger than this share of their right-hand side have no solution [1].
  static constexpr double infeasible = 1e-8;
};

FW_INLINE double size_of(double x) { return x < 0 ? -x : x; }

class ProximalLu {
 public:
  ProximalLu() = default;
  // For up to n unknowns and matrices of so many columns.
  ProximalLu(int n, int columns, Arena& arena)
      : M(take_matrix(arena, n, n)),
        LU_(take_matrix(arena, n, n)),
        rest_(take_matrix(arena, n, columns)),
        x_(arena.take<double>(n)),
        r_(arena.take<double>(n)),
        pivot_(arena.take<int>(n)) {}

  Matrix M;  // to be filled in

  bool is_singular() const { return is_singular_; }
  void factorise(int n) {
    n_ = n;
    double diagonal = 0;
    for (int i = 0; i < n; ++i) diagonal += size_of(M(i, i)) / n;
    is_singular_ = !factorise(0, ProximalTuning::singular * diagonal);
    if (is_singular_) factorise(diagonal > 0 ? ProximalTuning::shift * diagonal : 1, 0);
  }

  // b becomes y. infeasible (if not null): columns that have no solution are marked.
  void solve(const Matrix& b, unsigned char* infeasible, int n_columns) {
    if (n_ == 0) return;
    if (!is_singular_) return substitute(b);
    const Matrix r{rest_.data, b.stride};
    double last = 1e300;
    // b is kept in r: what is left of it; y gathers in b
    for (int i = 0; i < n_; ++i)
      for (int k = 0; k < b.packs(); ++k) r.pack(i, k) = b.pack(i, k);
    double* const largest = column_sizes(b);
    for (int c = 0; c < n_columns; ++c) largest[c] = column_size(b, c);
    set_zero(b, n_);
    const Matrix d{x_columns_, b.stride};
    for (int iteration = 0; iteration < ProximalTuning::most_iterations; ++iteration) {
      double size = 0;
      for (int i = 0; i < n_; ++i)
        for (int c = 0; c < n_columns; ++c) size = size_of(r(i, c)) > size ? size_of(r(i, c)) : size;
      if (!(size < ProximalTuning::progress * last)) break;
      last = size;
      for (int i = 0; i < n_; ++i)
        for (int k = 0; k < b.packs(); ++k) d.pack(i, k) = r.pack(i, k);
      substitute(d);
      for (int i = 0; i < n_; ++i)
        for (int k = 0; k < b.packs(); ++k) b.pack(i, k) += d.pack(i, k);
      for (int i = 0; i < n_; ++i)
        for (int j = 0; j < n_; ++j) add_row(r, i, -M(i, j), d, j);
    }
    for (int c = 0; infeasible && c < n_columns; ++c)
      if (column_size(r, c) > ProximalTuning::infeasible * largest[c]) infeasible[c] = 1;
  }
  // One right-hand side, M or its transpose.
  template <bool transposed>
  void solve(double* b) {
    if (n_ == 0) return;
    if (!is_singular_) return substitute<transposed>(b);
    double last = 1e300;
    for (int i = 0; i < n_; ++i) r_[i] = b[i], b[i] = 0;
    for (int iteration = 0; iteration < ProximalTuning::most_iterations; ++iteration) {
      double size = 0;
      for (int i = 0; i < n_; ++i) size = size_of(r_[i]) > size ? size_of(r_[i]) : size;
      if (!(size < ProximalTuning::progress * last)) break;
      last = size;
      for (int i = 0; i < n_; ++i) x_[i] = r_[i];
      substitute<transposed>(x_);
      for (int i = 0; i < n_; ++i) b[i] += x_[i];
      for (int i = 0; i < n_; ++i)
        for (int j = 0; j < n_; ++j) r_[transposed ? j : i] -= M(i, j) * x_[transposed ? i : j];
    }
  }
  // What of x no right-hand side sees: (e (M + e)^-1)^k x.
  void keep_null_part(double* x) {
    double diagonal = 0;
    for (int i = 0; i < n_; ++i) diagonal += size_of(M(i, i)) / n_;
    for (int iteration = 0; iteration < 4; ++iteration) {
      substitute<false>(x);
      for (int i = 0; i < n_; ++i) x[i] *= ProximalTuning::shift * diagonal;
    }
  }
  // Further room for matrices of right-hand sides: n x columns, and a row.
  void take_scratch(int n, int columns, Arena& arena) {
    x_columns_ = take_matrix(arena, n, columns).data;
    sizes_ = arena.take<double>(padded_columns(columns));
  }

 private:
  int n_ = 0;
  bool is_singular_ = false;
  Matrix LU_, rest_;
  double *x_ = nullptr, *r_ = nullptr, *x_columns_ = nullptr, *sizes_ = nullptr;
  int* pivot_ = nullptr;

  double* column_sizes(const Matrix&) { return sizes_; }
  double column_size(const Matrix& m, int c) const {
    double size = 0;
    for (int i = 0; i < n_; ++i) size = size_of(m(i, c)) > size ? size_of(m(i, c)) : size;
    return size;
  }
  // Rows in the order of the largest pivots. False if one is below the floor.
  bool factorise(double shift, double floor) {
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j < n_; ++j) LU_(i, j) = M(i, j);
      LU_(i, i) += shift;
    }
    for (int k = 0; k < n_; ++k) {
      int best = k;
      for (int i = k + 1; i < n_; ++i)
        if (size_of(LU_(i, k)) > size_of(LU_(best, k))) best = i;
      pivot_[k] = best;
      if (!(size_of(LU_(best, k)) > floor)) return false;
      for (int j = 0; best != k && j < n_; ++j) {
        const double x = LU_(k, j);
        LU_(k, j) = LU_(best, j), LU_(best, j) = x;
      }
      const double inverse = 1 / LU_(k, k);
      for (int i = k + 1; i < n_; ++i) {
        const double l = LU_(i, k) *= inverse;
        if (l == 0) continue;
        for (int j = k + 1; j < n_; ++j) LU_(i, j) -= l * LU_(k, j);
      }
    }
    return true;
  }
  void substitute(const Matrix& b) const {
    for (int p = 0; p < b.packs(); ++p) {
      for (int k = 0; k < n_; ++k) {
        const Columns x = b.pack(k, p);
        b.pack(k, p) = b.pack(pivot_[k], p), b.pack(pivot_[k], p) = x;
      }
      for (int i = 0; i < n_; ++i) {
        Columns y = b.pack(i, p);
        for (int j = 0; j < i; ++j) y -= b.pack(j, p) * LU_(i, j);
        b.pack(i, p) = y;
      }
      for (int i = n_ - 1; i >= 0; --i) {
        Columns y = b.pack(i, p);
        for (int j = i + 1; j < n_; ++j) y -= b.pack(j, p) * LU_(i, j);
        b.pack(i, p) = y / LU_(i, i);
      }
    }
  }
  template <bool transposed>
  void substitute(double* b) const {
    if constexpr (!transposed) {
      for (int k = 0; k < n_; ++k) swap(b[k], b[pivot_[k]]);
      for (int i = 0; i < n_; ++i)
        for (int j = 0; j < i; ++j) b[i] -= LU_(i, j) * b[j];
      for (int i = n_ - 1; i >= 0; --i) {
        for (int j = i + 1; j < n_; ++j) b[i] -= LU_(i, j) * b[j];
        b[i] /= LU_(i, i);
      }
    } else {
      for (int i = 0; i < n_; ++i) {
        b[i] /= LU_(i, i);
        for (int j = i + 1; j < n_; ++j) b[j] -= LU_(i, j) * b[i];
      }
      for (int i = n_ - 1; i >= 0; --i)
        for (int j = 0; j < i; ++j) b[j] -= LU_(i, j) * b[i];
      for (int k = n_ - 1; k >= 0; --k) swap(b[k], b[pivot_[k]]);
    }
  }
  static void swap(double& x, double& y) {
    const double z = x;
    x = y, y = z;
  }
};

}  // namespace featherweight::FW_ISA
