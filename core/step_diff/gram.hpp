// step_diff/gram.hpp -- (A^T A)^-1 x for vectors x, A thin and of full column rank: factors L D L^T of its Gram matrix.
// Cost: O(n r^2) for n rows and r columns, O(r^2) a vector. Oracle: dense least squares, by least_norm_lu.hpp.
#pragma once
#include "step_diff/columns.hpp"

namespace featherweight::FW_ISA {

class GramFactor {
 public:
  GramFactor() = default;
  // For up to so many columns.
  GramFactor(int columns, Arena& arena)
      : N_(take_matrix(arena, columns, columns)),
        inverse_(arena.take<double>(columns)),
        x_(take_matrix(arena, 1, columns)) {}

  // A: rows of so many columns, with zeros up to the end of their last register.
  void factorise(const Matrix& A, int n_rows, int n_columns) {
    A_ = A, n_ = n_columns;
    int i = 0;
    for (; i + 4 <= n_; i += 4) multiply_rows<4>(A, n_rows, i);
    for (; i < n_; ++i) multiply_rows<1>(A, n_rows, i);
    for (int k = 0; k < n_; ++k) {
      inverse_[k] = 1 / N_(k, k);
      for (int r = k + 1; r < n_; ++r) {
        const double l = N_(k, r) * inverse_[k];
        for (int p = r / columns_at_a_time; p < packs_of(n_); ++p) N_.pack(r, p) -= N_.pack(k, p) * l;
      }
    }
  }
  const Matrix& A() const { return A_; }
  // What is left of the diagonal in a register is not read again.
  void solve(double* x) const {
    for (int p = 0; p < packs_of(n_); ++p) x_.pack(0, p) = Columns{};
    for (int k = 0; k < n_; ++k) x_(0, k) = x[k];
    for (int k = 0; k < n_; ++k) {
      x[k] = x_(0, k) * inverse_[k];
      for (int p = k / columns_at_a_time; p < packs_of(n_); ++p) x_.pack(0, p) -= N_.pack(k, p) * x[k];
    }
    for (int k = n_ - 1; k >= 0; --k) {
      double sum = 0;
      for (int j = n_ - 1; j > k; --j) sum += N_(k, j) * x[j];
      x[k] -= sum * inverse_[k];
    }
  }

 private:
  int n_ = 0;
  Matrix A_;
  Matrix N_;                   // D L^T right of its diagonal
  double* inverse_ = nullptr;  // of D
  Matrix x_;

  // R rows of A^T A.
  template <int R>
  FW_INLINE void multiply_rows(const Matrix& A, int n_rows, int first) {
    for (int p = first / columns_at_a_time; p < packs_of(n_); ++p) {
      Columns sum[R] = {};
      for (int k = 0; k < n_rows; ++k) {
        const Columns x = A.pack(k, p);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sum[r] += x * A(k, first + r);
      }
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) N_.pack(first + r, p) = sum[r];
    }
  }
};

}  // namespace featherweight::FW_ISA
