// step_diff/proximal_lu.hpp -- M y = b for many columns, M square and perhaps singular.
//
// Where M has full rank its factors answer. Contacts that carry a load in more ways than one make it singular, though
// consistent. Where all of them stick M is symmetric: with M = C C^T, C of full column rank, and U = (C^T C)^-1 C^T its
// pseudo-inverse is U^T U. Else y <- y + (M + e)^-1 (b - M y), which has no bias where b is in the range of M, and
// leaves what is not. Source: equality constraints by proximal points. Oracle: dense least squares.
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
        pivot_(arena.take<int>(n)),
        C_(take_matrix(arena, n, n)),
        U_(take_matrix(arena, n, n)),
        Ut_(take_matrix(arena, n, n)) {}

  Matrix M;  // to be filled in

  bool is_singular() const { return is_singular_; }
  // is_symmetric: M is, with no negative eigenvalues.
  void factorise(int n, bool is_symmetric = false) {
    n_ = n;
    has_pseudo_inverse_ = false;
    double diagonal = 0;
    for (int i = 0; i < n; ++i) diagonal += size_of(M(i, i)) / n;
    is_singular_ = !eliminate(0, ProximalTuning::singular * diagonal);
    if (is_singular_ && is_symmetric && diagonal > 0) return set_pseudo_inverse(ProximalTuning::singular * diagonal);
    if (is_singular_) eliminate(diagonal > 0 ? ProximalTuning::shift * diagonal : 1, 0);
  }

  // b becomes y. infeasible (if not null): columns that have no solution are marked.
  void solve(const Matrix& b, unsigned char* infeasible, int n_columns) {
    if (n_ == 0) return;
    const int packs = packs_of(n_columns);
    if (!is_singular_) return substitute(b, packs);
    const Matrix r{rest_.data, b.stride};
    if (has_pseudo_inverse_) return solve_by_pseudo_inverse(b, infeasible, n_columns);
    double last = 1e300;
    // b is kept in r: what is left of it; y gathers in b
    for (int i = 0; i < n_; ++i)
      for (int k = 0; k < packs; ++k) r.pack(i, k) = b.pack(i, k);
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
        for (int k = 0; k < packs; ++k) d.pack(i, k) = r.pack(i, k);
      substitute(d, packs);
      for (int i = 0; i < n_; ++i)
        for (int k = 0; k < packs; ++k) b.pack(i, k) += d.pack(i, k);
      for (int i = 0; i < n_; ++i)
        for (int k = 0; k < packs; ++k) d.pack(i, k) = -d.pack(i, k);
      multiply<true>(M, n_, n_, d, packs, r);
    }
    for (int c = 0; infeasible && c < n_columns; ++c)
      if (column_size(r, c) > ProximalTuning::infeasible * largest[c]) infeasible[c] = 1;
  }
  // One right-hand side, M or its transpose.
  template <bool transposed>
  void solve(double* b) {
    if (n_ == 0) return;
    if (!is_singular_) return substitute<transposed>(b);
    if (has_pseudo_inverse_) {
      for (int k = 0; k < rank_; ++k) {
        r_[k] = 0;
        for (int i = 0; i < n_; ++i) r_[k] += U_(k, i) * b[i];
      }
      for (int i = 0; i < n_; ++i) {
        b[i] = 0;
        for (int k = 0; k < rank_; ++k) b[i] += Ut_(i, k) * r_[k];
      }
      return;
    }
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
  int n_ = 0, rank_ = 0;
  bool is_singular_ = false, has_pseudo_inverse_ = false;
  Matrix LU_, rest_;
  double *x_ = nullptr, *r_ = nullptr, *x_columns_ = nullptr, *sizes_ = nullptr;
  int* pivot_ = nullptr;
  Matrix C_, U_, Ut_;

  double* column_sizes(const Matrix&) { return sizes_; }
  double column_size(const Matrix& m, int c) const {
    double size = 0;
    for (int i = 0; i < n_; ++i) size = size_of(m(i, c)) > size ? size_of(m(i, c)) : size;
    return size;
  }
  // Rows in the order of the largest pivots. False if one is below the floor.
  bool eliminate(double shift, double floor) {
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j < n_; ++j) LU_(i, j) = M(i, j);
      LU_(i, i) += shift;
    }
    for (int k = 0; k < n_; ++k) {
      int best = k;
      for (int i = k + 1; i < n_; ++i)
        if (size_of(LU_(i, k)) > size_of(LU_(best, k))) best = i;
      pivot_[k] = best;
      if (!(size_of(LU_(best, k)) > floor)) {
        for (int i = k; i < n_; ++i) pivot_[i] = i;
        return false;
      }
      for (int j = 0; best != k && j < n_; ++j) {
        const double x = LU_(k, j);
        LU_(k, j) = LU_(best, j), LU_(best, j) = x;
      }
      const double inverse = 1 / LU_(k, k);
      for (int i = k + 1; i < n_; ++i) {
        const double l = LU_(i, k) *= inverse;
        if (l == 0) continue;
        double *const to = LU_[i], *const from = LU_[k];
        for (int j = k + 1; j < n_; ++j) to[j] -= l * from[j];
      }
    }
    return true;
  }
  void substitute(const Matrix& b, int packs) const {
    for (int k = 0; k < n_; ++k)
      for (int p = 0; pivot_[k] != k && p < packs; ++p) {
        const Columns x = b.pack(k, p);
        b.pack(k, p) = b.pack(pivot_[k], p), b.pack(pivot_[k], p) = x;
      }
    for_packs(packs, [&]<int P>(int p) FW_LAMBDA_INLINE { substitute_packs<P>(b, p); });
  }
  template <int P>
  FW_INLINE void substitute_packs(const Matrix& b, int p) const {
    const auto subtract = [&](Columns* y, int i, int from, int to) FW_LAMBDA_INLINE {
      for (int j = from; j < to; ++j) {
        const double l = LU_(i, j);
#pragma GCC unroll 4
        for (int c = 0; c < P; ++c) y[c] -= b.pack(j, p + c) * l;
      }
    };
    Columns y[P];
    for (int i = 0; i < n_; ++i) {
#pragma GCC unroll 4
      for (int c = 0; c < P; ++c) y[c] = b.pack(i, p + c);
      subtract(y, i, 0, i);
#pragma GCC unroll 4
      for (int c = 0; c < P; ++c) b.pack(i, p + c) = y[c];
    }
    for (int i = n_ - 1; i >= 0; --i) {
#pragma GCC unroll 4
      for (int c = 0; c < P; ++c) y[c] = b.pack(i, p + c);
      subtract(y, i, i + 1, n_);
      const double inverse = 1 / LU_(i, i);
#pragma GCC unroll 4
      for (int c = 0; c < P; ++c) b.pack(i, p + c) = y[c] * inverse;
    }
  }
  // M = C C^T by the largest pivots first, and U.
  void set_pseudo_inverse(double floor) {
    has_pseudo_inverse_ = true;
    rank_ = 0;
    double* const left = x_;  // of the diagonal
    for (int i = 0; i < n_; ++i) left[i] = M(i, i);
    for (; rank_ < n_; ++rank_) {
      int best = 0;
      for (int i = 1; i < n_; ++i)
        if (left[i] > left[best]) best = i;
      if (!(left[best] > floor)) break;
      const double scale = 1 / __builtin_sqrt(left[best]);
      for (int p = 0; p < packs_of(n_); ++p) {
        Columns even = M.pack(best, p), odd{};  // M is symmetric: its row is its column
        for (int k = 0; k + 1 < rank_; k += 2)
          even -= U_.pack(k, p) * U_(k, best), odd -= U_.pack(k + 1, p) * U_(k + 1, best);
        if (rank_ % 2) even -= U_.pack(rank_ - 1, p) * U_(rank_ - 1, best);
        U_.pack(rank_, p) = (even + odd) * scale;
      }
      for (int i = 0; i < n_; ++i) left[i] -= U_(rank_, i) * U_(rank_, i);
      left[best] = 0;
    }
    set_zero(C_, n_);
    for (int i = 0; i < n_; ++i)
      for (int k = 0; k < rank_; ++k) C_(i, k) = U_(k, i);
    // (C^T C) U = C^T, by Gauss and Jordan: it has full rank
    const Matrix& N = LU_;
    multiply<false>(U_, rank_, n_, C_, packs_of(rank_), N);
    const int packs = packs_of(n_);
    for (int k = 0; k < rank_; ++k) {
      const double inverse = 1 / N(k, k);
      for (int i = k + 1; i < rank_; ++i) {
        const double l = N(i, k) * inverse;
        for (int j = k + 1; j < rank_; ++j) N(i, j) -= l * N(k, j);
        for (int p = 0; p < packs; ++p) U_.pack(i, p) -= U_.pack(k, p) * l;
      }
    }
    for (int k = rank_ - 1; k >= 0; --k) {
      for (int j = k + 1; j < rank_; ++j)
        for (int p = 0; p < packs; ++p) U_.pack(k, p) -= U_.pack(j, p) * N(k, j);
      const double inverse = 1 / N(k, k);
      for (int p = 0; p < packs; ++p) U_.pack(k, p) = U_.pack(k, p) * inverse;
    }
    for (int i = 0; i < n_; ++i)
      for (int k = 0; k < rank_; ++k) Ut_(i, k) = U_(k, i);
  }
  void solve_by_pseudo_inverse(const Matrix& b, unsigned char* infeasible, int n_columns) {
    const int packs = packs_of(n_columns);
    const Matrix z{x_columns_, b.stride}, r{rest_.data, b.stride};
    multiply<false>(U_, rank_, n_, b, packs, z);
    if (infeasible) {
      multiply<false>(C_, n_, rank_, z, packs, r);
      for (int p = 0; p < packs; ++p) {
        Columns rest{}, largest{};
        for (int i = 0; i < n_; ++i) {
          const Columns off = b.pack(i, p) - r.pack(i, p), size = b.pack(i, p);
          const Columns far = off < 0 ? -off : off, all = size < 0 ? -size : size;
          rest = far > rest ? far : rest, largest = all > largest ? all : largest;
        }
        for (int k = 0; k < columns_at_a_time; ++k)
          if (const int c = p * columns_at_a_time + k;
              c < n_columns && rest[k] > ProximalTuning::infeasible * largest[k])
            infeasible[c] = 1;
      }
    }
    multiply<false>(Ut_, n_, rank_, z, packs, b);
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
