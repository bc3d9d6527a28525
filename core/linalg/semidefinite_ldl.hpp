// linalg/semidefinite_ldl.hpp -- A = L D L^T of a small symmetric positive semidefinite matrix, plain doubles.
//
// A by columns with a stride, only its lower triangle is read. F by rows, n x n: L below the diagonal, inverses of D on
// it; what is above is not written. n^3 / 6 multiply-adds, n^2 per solution. No pivoting: a row that depends on earlier
// ones, up to rounding, gets an inverse pivot of zero, and its unknown is zero.
// Oracle: what equalities leave of their velocities, dense.
#pragma once
#include "linalg/vectors.hpp"

namespace featherweight::FW_ISA {

// [1] of a diagonal element: a pivot that elimination left smaller than this is rounding.
// Test: test_contradictory_equalities_stay_finite (/ 100).
inline constexpr double dependent_pivot = 1e-12;

FW_INLINE double inverse_or_zero(double x, double floor) { return x > floor ? 1 / x : 0; }

// floor(i): pivots of row i below it count as zero as well.
template <class Floor>
FW_INLINE void factorise_above(int n, const double* A, int stride, const Floor& floor, double* F) {
  for (int i = 0; i < n; ++i) {
    double* row = F + i * n;
    const double diagonal = A[i * stride + i];
    double d = diagonal;
    for (int j = 0; j < i; ++j) {
      row[j] = A[j * stride + i];
      for (int k = 0; k < j; ++k) row[j] -= row[k] * F[j * n + k];
    }
    for (int j = 0; j < i; ++j) {
      const double y = row[j];
      row[j] *= F[j * n + j];
      d -= y * row[j];
    }
    row[i] = inverse_or_zero(d, max_of(floor(i), dependent_pivot * diagonal));
  }
}
inline void factorise_semidefinite(int n, const double* A, int stride, double floor, double* F) {
  factorise_above(n, A, stride, [floor](int) { return floor; }, F);
}

// x <- A^-1 x
inline void solve_semidefinite(int n, const double* F, double* x) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) x[i] -= F[i * n + j] * x[j];
  for (int i = n - 1; i >= 0; --i) {
    x[i] *= F[i * n + i];
    for (int k = i + 1; k < n; ++k) x[i] -= F[k * n + i] * x[k];
  }
}

}  // namespace featherweight::FW_ISA
