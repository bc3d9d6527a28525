// linalg/general.hpp -- A x = b with a small general matrix, by Gaussian elimination.
//
// n rows and n + 1 columns, by rows, b in the last column, where x takes its place; the rest is overwritten. n^3 / 3
// multiply-adds. Pivots are the largest of their column.
// Oracle: the natural map, dense, where contacts slide.
#pragma once
#include "linalg/vectors.hpp"

namespace featherweight::FW_ISA {

// False if the matrix is singular.
inline bool solve_general(int n, double* A) {
  const int ld = n + 1;
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (magnitude(A[i * ld + k]) > magnitude(A[pivot * ld + k])) pivot = i;
    if (!(magnitude(A[pivot * ld + k]) > 0)) return false;
    if (pivot != k)
      for (int j = k; j <= n; ++j) {
        const double saved = A[k * ld + j];
        A[k * ld + j] = A[pivot * ld + j], A[pivot * ld + j] = saved;
      }
    const double inverse = 1 / A[k * ld + k];
    for (int i = k + 1; i < n; ++i) {
      const double f = A[i * ld + k] * inverse;
      for (int j = k + 1; j <= n; ++j) A[i * ld + j] -= f * A[k * ld + j];
    }
  }
  for (int k = n - 1; k >= 0; --k) {
    double x = A[k * ld + n];
    for (int j = k + 1; j < n; ++j) x -= A[k * ld + j] * A[j * ld + n];
    A[k * ld + n] = x / A[k * ld + k];
  }
  return true;
}

}  // namespace featherweight::FW_ISA
