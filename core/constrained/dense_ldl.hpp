// constrained/dense_ldl.hpp -- symmetric positive (semi)definite systems whose size is known at run time: F D F^T.
#pragma once
#include "batch/arena.hpp"
#include "model/joints.hpp"

namespace featherweight::FW_ISA {

// Row-wise lower triangle of a symmetric matrix.
constexpr std::size_t triangle(int row, int column) {
  return static_cast<std::size_t>(row) * (static_cast<std::size_t>(row) + 1) / 2 + static_cast<std::size_t>(column);
}

template <class S>
class DenseLdl {
 public:
  DenseLdl(int n, Arena& arena) : n_(n), F_(arena.take<S>(triangle(n, 0))) {}

  // Factorises A + shift (A: lower triangle by rows), without pivoting.
  [[gnu::noinline]] void factorise(const S* A, const S& shift) {
    for (int i = 0; i < n_; ++i) {
      S d = A[triangle(i, i)] + shift;
      for (int j = 0; j < i; ++j) {
        S y = A[triangle(i, j)];
        for (int k = 0; k < j; ++k) y = y - F_[triangle(i, k)] * F_[triangle(j, k)];  // F D of row i, F of row j
        F_[triangle(i, j)] = y;
      }
      for (int j = 0; j < i; ++j) {
        const S y = F_[triangle(i, j)];
        F_[triangle(i, j)] = y * F_[triangle(j, j)];
        d = d - y * F_[triangle(i, j)];
      }
      F_[triangle(i, i)] = S(1) / d;
    }
  }
  FW_INLINE const S& inverse_pivot(int k) const { return F_[triangle(k, k)]; }

  [[gnu::noinline]] void solve(S* x) const {
    for (int i = 1; i < n_; ++i)
      for (int j = 0; j < i; ++j) x[i] = x[i] - F_[triangle(i, j)] * x[j];
    for (int i = 0; i < n_; ++i) x[i] = x[i] * F_[triangle(i, i)];
    for (int i = n_ - 1; i > 0; --i)
      for (int j = 0; j < i; ++j) x[j] = x[j] - F_[triangle(i, j)] * x[i];
  }

 private:
  int n_;
  S* F_;
};

// x = A y with a symmetric A given by its lower triangle.
template <class S>
[[gnu::noinline]] void symmetric_times(int n, const S* A, const S* y, S* x) {
  for (int i = 0; i < n; ++i) {
    S sum(0);
    for (int j = 0; j < n; ++j) sum = sum + A[i < j ? triangle(j, i) : triangle(i, j)] * y[j];
    x[i] = sum;
  }
}

}  // namespace featherweight::FW_ISA
