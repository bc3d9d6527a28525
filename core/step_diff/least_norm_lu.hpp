// step_diff/least_norm_lu.hpp -- M y = b for many columns, M square and perhaps singular.
//
// Where M has full rank its factors answer. Contacts that carry a load in more ways than one make it singular, though
// consistent. Its pseudo-inverse is then a product B U of two thin matrices. Where all of them stick M is symmetric:
// M = C C^T with C of full column rank, U = (C^T C)^-1 C^T, B = U^T. Else M = F D R by pivots that are the largest
// left, with ones on the diagonals of F and R, U = D^-1 (F^T F)^-1 F^T and B = R^T (R R^T)^-1. Right-hand sides that M
// does not reach are told by C U b, C = M B. Where there are vectors alone neither is formed: they go through the thin
// factors and those of their Gram matrices. Source: Gauss with complete pivoting. Oracle: dense least squares.
#pragma once
#include "step_diff/gram.hpp"

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
        U_(take_matrix(arena, n, n)),
        largest_(take_matrix(arena, 1, n)),
        D_(arena.take<double>(n)),
        left_(n, arena),
        right_(n, arena) {}

  Matrix M;  // to be filled in

  bool is_singular() const { return is_singular_; }
  // All right-hand sides are vectors.
  void expect_vectors() { only_vectors_ = true; }
  // is_symmetric: M is, with no negative eigenvalues. most_rank: what its rank is at most, where that is known.
  void factorise(int n, bool is_symmetric = false, int most_rank = unknown_rank) {
    n_ = n;
    double diagonal = 0;
    for (int i = 0; i < n; ++i) diagonal += size_of(M(i, i)) / n;
    const double floor = RankTuning::singular * diagonal;
    is_singular_ = n > most_rank || !eliminate(floor);
    if (!is_singular_) return;
    is_symmetric_ = is_symmetric;
    if (is_symmetric)
      split_symmetric(floor);
    else
      split(floor);
    only_vectors_ ? factorise_grams() : form_inverses();
  }
  static constexpr int unknown_rank = 1 << 30;

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
    if (only_vectors_)
      return transposed && !is_symmetric_ ? pass(right_, left_, b) : pass(left_, is_symmetric_ ? left_ : right_, b);
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
  bool is_singular_ = false, is_symmetric_ = false, only_vectors_ = false;
  Matrix LU_, rest_, inner_;
  double *x_ = nullptr, *r_ = nullptr;
  int* pivot_ = nullptr;
  Matrix B_, C_, U_;
  Matrix largest_;  // what is left of columns
  double* D_ = nullptr;
  GramFactor left_, right_;  // of F, or C, and of R^T

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
    for (int k = 0; k < rank_; ++k) D_[k] = 1;
  }
  // M = F D R, a column of F and a row of R for each pivot. Rows that had one are done.
  void split(double floor) {
    const Matrix &F = C_, &R = B_, &rest = LU_;  // R by columns
    const int packs = packs_of(n_);
    int* const left = pivot_;
    int n_left = n_;
    set_zero(F, n_), set_zero(R, n_);
    for (int p = 0; p < packs; ++p) {
      largest_.pack(0, p) = Columns{};
      for (int i = 0; i < n_; ++i) {
        rest.pack(i, p) = M.pack(i, p);
        largest_.pack(0, p) = larger_size(rest.pack(i, p), largest_.pack(0, p));
      }
    }
    for (int i = 0; i < n_; ++i) left[i] = i;
    for (rank_ = 0; rank_ < n_; ++rank_) {
      const int column = largest_column();
      int place = 0;
      for (int k = 1; k < n_left; ++k)
        if (size_of(rest(left[k], column)) > size_of(rest(left[place], column))) place = k;
      const int row = left[place];
      const double pivot = rest(row, column);
      if (!(size_of(pivot) > floor)) break;
      left[place] = left[--n_left];
      D_[rank_] = pivot;
      const double inverse = 1 / pivot;
      for (int j = 0; j < n_; ++j) R(j, rank_) = rest(row, j) * inverse;
      rest(row, column) = 0, F(row, rank_) = 1;
      for (int k = 0; k < n_left; ++k) {
        double& entry = rest(left[k], column);
        F(left[k], rank_) = entry * inverse, entry = 0;
      }
      for_packs(packs, [&]<int P>(int p) FW_LAMBDA_INLINE { subtract_pivot<P>(p, row, n_left); });
    }
  }
  // What columns go through: U and B.
  void form_inverses() {
    if (is_symmetric_) {
      make_left_inverse(U_, C_);
      transpose(U_, B_);
      return;
    }
    transpose_back(B_, U_);
    make_left_inverse(U_, B_);
    transpose(U_, B_);
    transpose_back(C_, U_);
    make_left_inverse(U_, C_);
    for (int k = 0; k < rank_; ++k) {
      for (int p = 0; p < packs_of(n_); ++p) U_.pack(k, p) = U_.pack(k, p) * (1 / D_[k]);
      for (int i = 0; i < n_; ++i) C_(i, k) *= D_[k];
    }
  }
  void factorise_grams() {
    left_.factorise(C_, n_, rank_);
    if (!is_symmetric_) right_.factorise(B_, n_, rank_);
  }
  // b becomes to (to^T to)^-1 D^-1 (from^T from)^-1 from^T b.
  void pass(const GramFactor& from, const GramFactor& to, double* b) {
    for (int k = 0; k < rank_; ++k) r_[k] = 0;
    for (int i = 0; i < n_; ++i)
      for (int k = 0; k < rank_; ++k) r_[k] += from.A()(i, k) * b[i];
    from.solve(r_);
    for (int k = 0; k < rank_; ++k) r_[k] /= D_[k];
    to.solve(r_);
    for (int i = 0; i < n_; ++i) {
      b[i] = 0;
      for (int k = 0; k < rank_; ++k) b[i] += to.A()(i, k) * r_[k];
    }
  }
  // A pivot's row from those that are left, and what is the largest of each column then.
  template <int P>
  FW_INLINE void subtract_pivot(int p, int row, int n_left) {
    const Matrix &F = C_, &rest = LU_;
    Columns own[P], largest[P] = {};
#pragma GCC unroll 6
    for (int c = 0; c < P; ++c) own[c] = rest.pack(row, p + c);
    for (int k = 0; k < n_left; ++k) {
      const double l = F(pivot_[k], rank_);
#pragma GCC unroll 6
      for (int c = 0; c < P; ++c) {
        Columns& x = rest.pack(pivot_[k], p + c);
        x -= own[c] * l;
        largest[c] = larger_size(x, largest[c]);
      }
    }
#pragma GCC unroll 6
    for (int c = 0; c < P; ++c) largest_.pack(0, p + c) = largest[c];
  }
  static FW_INLINE Columns larger_size(const Columns& x, const Columns& than) {
    const Columns size = x < 0 ? -x : x;
    return size > than ? size : than;
  }
  int largest_column() const {
    int column = 0;
    for (int j = 1; j < n_; ++j)
      if (largest_(0, j) > largest_(0, column)) column = j;
    return column;
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
