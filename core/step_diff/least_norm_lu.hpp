// step_diff/least_norm_lu.hpp -- M y = b for many columns, M square and perhaps singular.
//
// Where M has full rank its factors answer. Contacts that carry a load in more ways than one make it singular, though
// consistent. Its pseudo-inverse is then a product B U of two thin matrices. Where all of them stick M is symmetric:
// M = C C^T with C of full column rank, U = (C^T C)^-1 C^T, B = U^T. Else M = F D R by pivots that are the largest
// left, with ones on the diagonals of F and R, U = D^-1 (F^T F)^-1 F^T and B = R^T (R R^T)^-1. Right-hand sides that M
// does not reach are told by C U b, C = M B. Source: Gauss with complete pivoting. Oracle: dense least squares.
#pragma once
#include "step_diff/columns.hpp"

namespace featherweight::FW_ISA {

struct RankTuning {
  // Pivots below this share of the mean diagonal make M singular [1].
  static constexpr double singular = 1e-9;
  // Columns whose residual is larger than this share of their right-hand side have no solution [1].
  static constexpr double infeasible = 1e-8;
};

FW_INLINE double size_of(double x) { return x < 0 ? -x : x; }

class LeastNormLu {
 public:
  LeastNormLu() = default;
  // For up to n unknowns and matrices of so many columns.
  LeastNormLu(int n, int columns, Arena& arena)
      : M(take_matrix(arena, n, n)),
        LU_(take_matrix(arena, n, n)),
        rest_(take_matrix(arena, n, columns)),
        inner_(take_matrix(arena, n, columns)),
        x_(arena.take<double>(n)),
        r_(arena.take<double>(n)),
        pivot_(arena.take<int>(n)),
        B_(take_matrix(arena, n, n)),
        C_(take_matrix(arena, n, n)),
        U_(take_matrix(arena, n, n)) {}

  Matrix M;  // to be filled in

  bool is_singular() const { return is_singular_; }
  // is_symmetric: M is, with no negative eigenvalues.
  void factorise(int n, bool is_symmetric = false) {
    n_ = n;
    double diagonal = 0;
    for (int i = 0; i < n; ++i) diagonal += size_of(M(i, i)) / n;
    const double floor = RankTuning::singular * diagonal;
    is_singular_ = !eliminate(floor);
    if (!is_singular_) return;
    if (is_symmetric)
      split_symmetric(floor);
    else
      split(floor);
  }

  // b becomes y. infeasible (if not null): columns that have no solution are marked.
  void solve(const Matrix& b, unsigned char* infeasible, int n_columns) {
    if (n_ == 0) return;
    const int packs = packs_of(n_columns);
    if (!is_singular_) return substitute(b, packs);
    solve_by_product(b, infeasible, n_columns);
  }
  // One right-hand side, M or its transpose.
  template <bool transposed>
  void solve(double* b) {
    if (n_ == 0) return;
    if (!is_singular_) return substitute<transposed>(b);
    const auto inner = [&](int i, int k) { return transposed ? B_(i, k) : U_(k, i); };
    const auto outer = [&](int i, int k) { return transposed ? U_(k, i) : B_(i, k); };
    for (int k = 0; k < rank_; ++k) {
      r_[k] = 0;
      for (int i = 0; i < n_; ++i) r_[k] += inner(i, k) * b[i];
    }
    for (int i = 0; i < n_; ++i) {
      b[i] = 0;
      for (int k = 0; k < rank_; ++k) b[i] += outer(i, k) * r_[k];
    }
  }
  // What of x no right-hand side sees, M being singular: x less the pseudo-inverse times M x.
  void keep_null_part(double* x) {
    for (int i = 0; i < n_; ++i) {
      x_[i] = 0;
      for (int j = 0; j < n_; ++j) x_[i] += M(i, j) * x[j];
    }
    solve<false>(x_);
    for (int i = 0; i < n_; ++i) x[i] -= x_[i];
  }

 private:
  int n_ = 0, rank_ = 0;
  bool is_singular_ = false;
  Matrix LU_, rest_, inner_;
  double *x_ = nullptr, *r_ = nullptr;
  int* pivot_ = nullptr;
  Matrix B_, C_, U_;

  // Rows in the order of the largest pivots. False if one is below the floor.
  bool eliminate(double floor) {
    for (int i = 0; i < n_; ++i)
      for (int k = 0; k < packs_of(n_); ++k) LU_.pack(i, k) = M.pack(i, k);
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
#pragma GCC unroll 6
        for (int c = 0; c < P; ++c) y[c] -= b.pack(j, p + c) * l;
      }
    };
    Columns y[P];
    for (int i = 0; i < n_; ++i) {
#pragma GCC unroll 6
      for (int c = 0; c < P; ++c) y[c] = b.pack(i, p + c);
      subtract(y, i, 0, i);
#pragma GCC unroll 6
      for (int c = 0; c < P; ++c) b.pack(i, p + c) = y[c];
    }
    for (int i = n_ - 1; i >= 0; --i) {
#pragma GCC unroll 6
      for (int c = 0; c < P; ++c) y[c] = b.pack(i, p + c);
      subtract(y, i, i + 1, n_);
      const double inverse = 1 / LU_(i, i);
#pragma GCC unroll 6
      for (int c = 0; c < P; ++c) b.pack(i, p + c) = y[c] * inverse;
    }
  }
  // M = C C^T by the largest pivots first.
  void split_symmetric(double floor) {
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
    transpose(U_, C_);
    make_left_inverse(U_, C_);
    transpose(U_, B_);
  }
  // M = F D R, a column of F and a row of R for each pivot.
  void split(double floor) {
    const Matrix &F = C_, &R = B_, &rest = LU_;  // R by columns
    for (int i = 0; i < n_; ++i)
      for (int p = 0; p < packs_of(n_); ++p) rest.pack(i, p) = M.pack(i, p);
    set_zero(F, n_), set_zero(R, n_);
    double* const D = x_;
    for (rank_ = 0; rank_ < n_; ++rank_) {
      int row = 0, column = 0;
      find_largest(rest, row, column);
      const double pivot = rest(row, column);
      if (!(size_of(pivot) > floor)) break;
      D[rank_] = pivot;
      for (int j = 0; j < n_; ++j) R(j, rank_) = rest(row, j) / pivot;
      for (int p = 0; p < packs_of(n_); ++p) U_.pack(0, p) = rest.pack(row, p);
      for (int i = 0; i < n_; ++i) {
        const double l = F(i, rank_) = rest(i, column) / pivot;
        for (int p = 0; p < packs_of(n_); ++p) rest.pack(i, p) -= U_.pack(0, p) * l;
        rest(i, column) = 0;
      }
      for (int p = 0; p < packs_of(n_); ++p) rest.pack(row, p) = Columns{};
    }
    transpose_back(R, U_);
    make_left_inverse(U_, R);
    transpose(U_, B_);
    transpose_back(F, U_);
    make_left_inverse(U_, F);
    for (int k = 0; k < rank_; ++k) {
      for (int p = 0; p < packs_of(n_); ++p) U_.pack(k, p) = U_.pack(k, p) * (1 / D[k]);
      for (int i = 0; i < n_; ++i) C_(i, k) *= D[k];
    }
  }
  void find_largest(const Matrix& x, int& row, int& column) const {
    Columns largest{}, where{};
    double best = 0;
    for (int p = 0; p < packs_of(n_); ++p) {
      largest = where = Columns{};
      for (int i = 0; i < n_; ++i) {
        const Columns value = x.pack(i, p), size = value < 0 ? -value : value;
        const auto larger = size > largest;
        largest = larger ? size : largest, where = larger ? Columns{} + static_cast<double>(i) : where;
      }
      for (int k = 0; k < columns_at_a_time && columns_at_a_time * p + k < n_; ++k)
        if (largest[k] > best) best = largest[k], row = static_cast<int>(where[k]), column = columns_at_a_time * p + k;
    }
  }
  // Of rank_ rows, and back.
  void transpose(const Matrix& rows, const Matrix& to) const {
    set_zero(to, n_);
    for (int i = 0; i < n_; ++i)
      for (int k = 0; k < rank_; ++k) to(i, k) = rows(k, i);
  }
  void transpose_back(const Matrix& columns, const Matrix& to) const {
    set_zero(to, rank_);
    for (int k = 0; k < rank_; ++k)
      for (int i = 0; i < n_; ++i) to(k, i) = columns(i, k);
  }
  // U, which is A^T, becomes (A^T A)^-1 A^T, by Gauss and Jordan: A has full column rank.
  void make_left_inverse(const Matrix& U, const Matrix& A) {
    const Matrix& N = LU_;
    multiply<false>(U, rank_, n_, A, packs_of(rank_), N);
    const int packs = packs_of(n_);
    for (int k = 0; k < rank_; ++k) {
      const double inverse = 1 / N(k, k);
      for (int i = k + 1; i < rank_; ++i) {
        const double l = N(i, k) * inverse;
        for (int j = k + 1; j < rank_; ++j) N(i, j) -= l * N(k, j);
        for (int p = 0; p < packs; ++p) U.pack(i, p) -= U.pack(k, p) * l;
      }
    }
    for (int k = rank_ - 1; k >= 0; --k) {
      for (int j = k + 1; j < rank_; ++j)
        for (int p = 0; p < packs; ++p) U.pack(k, p) -= U.pack(j, p) * N(k, j);
      const double inverse = 1 / N(k, k);
      for (int p = 0; p < packs; ++p) U.pack(k, p) = U.pack(k, p) * inverse;
    }
  }
  void solve_by_product(const Matrix& b, unsigned char* infeasible, int n_columns) {
    const int packs = packs_of(n_columns);
    const Matrix z{inner_.data, b.stride}, r{rest_.data, b.stride};
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
          if (const int c = p * columns_at_a_time + k; c < n_columns && rest[k] > RankTuning::infeasible * largest[k])
            infeasible[c] = 1;
      }
    }
    multiply<false>(B_, n_, rank_, z, packs, b);
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
