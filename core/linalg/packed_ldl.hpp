// linalg/packed_ldl.hpp -- A = F D F^T of a positive definite matrix whose size is known at run time; on lanes.
//
// Lower triangles packed by rows, with the inverses of D on the diagonal of F. n^3 / 6 multiply-adds, n^2 per solution.
// No pivoting; a shift of the diagonal makes semidefinite matrices definite.
#pragma once
#include "lanes/lanes.hpp"
#include "memory/arena.hpp"

namespace featherweight::FW_ISA {

// Row-wise lower triangle of a symmetric matrix.
constexpr std::size_t triangle(int row, int column) {
  return static_cast<std::size_t>(row) * (static_cast<std::size_t>(row) + 1) / 2 + static_cast<std::size_t>(column);
}

// F with the inverses of D on its diagonal, of A + shift: lower triangles by rows. A may be F. No pivoting.
template <class S>
[[gnu::noinline]] void factorise_packed(int n, const S* A, const S& shift, S* F) {
  for (int i = 0; i < n; ++i) {
    S d = A[triangle(i, i)] + shift;
    for (int j = 0; j < i; ++j) {
      S y = A[triangle(i, j)];
      for (int k = 0; k < j; ++k) y = y - F[triangle(i, k)] * F[triangle(j, k)];  // F D of row i, F of row j
      F[triangle(i, j)] = y;
    }
    for (int j = 0; j < i; ++j) {
      const S y = F[triangle(i, j)];
      F[triangle(i, j)] = y * F[triangle(j, j)];
      d = d - y * F[triangle(i, j)];
    }
    F[triangle(i, i)] = S(1) / d;
  }
}

// x <- (F D F^T)^-1 x
template <class S>
[[gnu::noinline]] void solve_packed(int n, const S* F, S* x) {
  for (int i = 1; i < n; ++i)
    for (int j = 0; j < i; ++j) x[i] = x[i] - F[triangle(i, j)] * x[j];
  for (int i = 0; i < n; ++i) x[i] = x[i] * F[triangle(i, i)];
  for (int i = n - 1; i > 0; --i)
    for (int j = 0; j < i; ++j) x[j] = x[j] - F[triangle(i, j)] * x[i];
}

template <class S>
class DenseLdl {
 public:
  // For systems of at most n rows.
  DenseLdl(int n, Arena& arena) : F_(arena.take<S>(triangle(n, 0))) {}

  void factorise(int n, const S* A, const S& shift) {
    n_ = n;
    factorise_packed(n, A, shift, F_);
  }
  FW_INLINE const S& inverse_pivot(int k) const { return F_[triangle(k, k)]; }

  void solve(S* x) const { solve_packed(n_, F_, x); }

 private:
  int n_ = 0;
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
