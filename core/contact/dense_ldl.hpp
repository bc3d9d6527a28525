// contact/dense_ldl.hpp -- A = L D L^T of a symmetric positive definite matrix, four columns at a time.
//
// By columns with leading dimension n, a multiple of four; only the lower triangle is read. L takes its place, with the
// inverses of D on the diagonal. n^3 / 6 multiply-adds on registers of four. No pivoting; a pivot below the floor is
// raised to it.
#pragma once
#include "contact/vectors.hpp"

namespace featherweight::FW_ISA {

// Columns j and j + 1 minus what the four columns of a panel contribute, from row `first` on.
FW_INLINE void subtract_panel(int n, const double* panel, const double* d, int j, double* A) {
  const std::size_t ld = static_cast<std::size_t>(n);
  double *x = A + j * ld, *y = x + ld;
  const double *p0 = panel, *p1 = p0 + ld, *p2 = p1 + ld, *p3 = p2 + ld;
  const double x0 = p0[j] * d[0], x1 = p1[j] * d[1], x2 = p2[j] * d[2], x3 = p3[j] * d[3];
  const double y0 = p0[j + 1] * d[0], y1 = p1[j + 1] * d[1], y2 = p2[j + 1] * d[2], y3 = p3[j + 1] * d[3];
  for (int i = j & ~3; i < n; i += 4) {
    const Four a = four(p0 + i), b = four(p1 + i), c = four(p2 + i), e = four(p3 + i);
    four(x + i) -= (a * x0 + b * x1) + (c * x2 + e * x3);
    four(y + i) -= (a * y0 + b * y1) + (c * y2 + e * y3);
  }
}

inline void factorise_dense(int n, double floor, double* A) {
  const std::size_t ld = static_cast<std::size_t>(n);
  for (int k = 0; k < n; k += 4) {
    double* panel = A + k * ld;
    double d[4];
    // the panel itself, column by column; rows above the diagonal hold numbers nobody reads
    for (int p = 0; p < 4; ++p) {
      double* x = panel + p * ld;
      for (int q = 0; q < p; ++q) {
        const double* y = panel + q * ld;
        const double f = y[k + p] * d[q];
        for (int i = k; i < n; i += 4) four(x + i) -= f * four(y + i);
      }
      d[p] = x[k + p] > floor ? x[k + p] : floor;
      const double inverse = 1 / d[p];
      for (int i = k; i < n; i += 4) four(x + i) *= inverse;
      x[k + p] = inverse;
    }
    for (int j = k + 4; j < n; j += 2) subtract_panel(n, panel, d, j, A);
  }
}

// x <- A^-1 x, knowing that x is zero before row `first`.
inline void solve_dense(int n, const double* L, double* x, int first = 0) {
  const std::size_t ld = static_cast<std::size_t>(n);
  for (int k = first & ~3; k < n; k += 4) {
    const double *p0 = L + k * ld, *p1 = p0 + ld, *p2 = p1 + ld, *p3 = p2 + ld;
    double* t = x + k;
    t[1] -= p0[k + 1] * t[0];
    t[2] -= p0[k + 2] * t[0] + p1[k + 2] * t[1];
    t[3] -= p0[k + 3] * t[0] + p1[k + 3] * t[1] + p2[k + 3] * t[2];
    const double a = t[0], b = t[1], c = t[2], e = t[3];
    for (int i = k + 4; i < n; i += 4)
      four(x + i) -= (four(p0 + i) * a + four(p1 + i) * b) + (four(p2 + i) * c + four(p3 + i) * e);
    t[0] *= p0[k], t[1] *= p1[k + 1], t[2] *= p2[k + 2], t[3] *= p3[k + 3];
  }
  for (int k = n - 4; k >= 0; k -= 4) {
    const double *p0 = L + k * ld, *p1 = p0 + ld, *p2 = p1 + ld, *p3 = p2 + ld;
    Four a = {0, 0, 0, 0}, b = a, c = a, e = a;
    for (int i = k + 4; i < n; i += 4) {
      const Four v = four(x + i);
      a += four(p0 + i) * v, b += four(p1 + i) * v, c += four(p2 + i) * v, e += four(p3 + i) * v;
    }
    double* t = x + k;
    t[3] -= sum_of(e);
    t[2] -= sum_of(c) + p2[k + 3] * t[3];
    t[1] -= sum_of(b) + p1[k + 2] * t[2] + p1[k + 3] * t[3];
    t[0] -= sum_of(a) + p0[k + 1] * t[1] + p0[k + 2] * t[2] + p0[k + 3] * t[3];
  }
}

// A x = b with a general matrix of n rows and n + 1 columns, by rows, b in the last; pivots within columns. x: the last
// column. False if singular.
inline bool solve_general(int n, double* A) {
  const int ld = n + 1;
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (magnitude(A[i * ld + k]) > magnitude(A[pivot * ld + k])) pivot = i;
    if (!(magnitude(A[pivot * ld + k]) > 0)) return false;
    if (pivot != k)
      for (int j = k; j <= n; ++j) {
        const double held = A[k * ld + j];
        A[k * ld + j] = A[pivot * ld + j], A[pivot * ld + j] = held;
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
