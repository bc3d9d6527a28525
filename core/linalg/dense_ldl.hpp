// linalg/dense_ldl.hpp -- A = L D L^T of a symmetric positive definite matrix, four columns at a time.
//
// By columns with leading dimension n, a multiple of four; only the lower triangle is read. L takes its place, with the
// inverses of D on the diagonal. n^3 / 6 multiply-adds on registers of four. No pivoting; a pivot below the floor is
// raised to it.
#pragma once
#include "linalg/vectors.hpp"

namespace featherweight::FW_ISA {

// Four columns on the diagonal: their unit lower triangle, their pivots and the inverses of those.
struct Corner {
  double l10, l20, l30, l21, l31, l32;
  double d[4], inverse[4];

  // p: the upper left element of the corner
  FW_INLINE Corner(const double* p, std::size_t ld, double floor) {
    const double *p1 = p + ld, *p2 = p1 + ld, *p3 = p2 + ld;
    set_pivot(0, p[0], floor);
    l10 = p[1] * inverse[0], l20 = p[2] * inverse[0], l30 = p[3] * inverse[0];
    set_pivot(1, p1[1] - l10 * p[1], floor);
    const double y21 = p1[2] - l10 * p[2], y31 = p1[3] - l10 * p[3];
    l21 = y21 * inverse[1], l31 = y31 * inverse[1];
    set_pivot(2, p2[2] - l20 * p[2] - l21 * y21, floor);
    const double y32 = p2[3] - l20 * p[3] - l21 * y31;
    l32 = y32 * inverse[2];
    set_pivot(3, p3[3] - l30 * p[3] - l31 * y31 - l32 * y32, floor);
  }
  FW_INLINE void store(double* p, std::size_t ld) const {
    double *p1 = p + ld, *p2 = p1 + ld, *p3 = p2 + ld;
    p[0] = inverse[0], p[1] = l10, p[2] = l20, p[3] = l30;
    p1[1] = inverse[1], p1[2] = l21, p1[3] = l31;
    p2[2] = inverse[2], p2[3] = l32;
    p3[3] = inverse[3];
  }

 private:
  FW_INLINE void set_pivot(int k, double pivot, double floor) {
    d[k] = pivot > floor ? pivot : floor;
    inverse[k] = 1 / d[k];
  }
};

// Columns [j, j + 4) minus what the four columns of a panel with pivots d contribute.
FW_INLINE void subtract_panel(int n, const double* panel, const double* d, int j, double* A) {
  const std::size_t ld = static_cast<std::size_t>(n);
  const double *p0 = panel, *p1 = p0 + ld, *p2 = p1 + ld, *p3 = p2 + ld;
  double f[4][4];
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c)
    f[c][0] = p0[j + c] * d[0], f[c][1] = p1[j + c] * d[1], f[c][2] = p2[j + c] * d[2], f[c][3] = p3[j + c] * d[3];
  for (int i = j; i < n; i += 4) {
    const Four a = four(p0 + i), b = four(p1 + i), c = four(p2 + i), e = four(p3 + i);
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      double* x = A + (j + q) * ld + i;
      four(x) = four(x) - a * f[q][0] - b * f[q][1] - c * f[q][2] - e * f[q][3];
    }
  }
}

inline void factorise_dense(int n, double floor, double* A) {
  const std::size_t ld = static_cast<std::size_t>(n);
  for (int k = 0; k < n; k += 4) {
    double *p0 = A + k * ld, *p1 = p0 + ld, *p2 = p1 + ld, *p3 = p2 + ld;
    const Corner corner(p0 + k, ld, floor);
    for (int i = k + 4; i < n; i += 4) {
      const Four a = four(p0 + i);
      const Four b = four(p1 + i) - corner.l10 * a;
      const Four c = four(p2 + i) - corner.l20 * a - corner.l21 * b;
      const Four e = four(p3 + i) - corner.l30 * a - corner.l31 * b - corner.l32 * c;
      four(p0 + i) = a * corner.inverse[0], four(p1 + i) = b * corner.inverse[1];
      four(p2 + i) = c * corner.inverse[2], four(p3 + i) = e * corner.inverse[3];
    }
    corner.store(p0 + k, ld);
    for (int j = k + 4; j < n; j += 4) subtract_panel(n, p0, corner.d, j, A);
  }
}

// The sum of each.
FW_INLINE Four sums_of(const Four& a, const Four& b, const Four& c, const Four& d) {
  const Four ab = __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const Four cd = __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

// x <- A^-1 x, knowing that x is zero before row `first`.
inline void solve_dense(int n, const double* L, double* x, int first = 0) {
  const std::size_t ld = static_cast<std::size_t>(n);
  for (int k = first & ~3; k < n; k += 4) {
    const double *p0 = L + k * ld, *p1 = p0 + ld, *p2 = p1 + ld, *p3 = p2 + ld;
    const double a = x[k], b = x[k + 1] - p0[k + 1] * a;
    const double c = x[k + 2] - p0[k + 2] * a - p1[k + 2] * b;
    const double e = x[k + 3] - p0[k + 3] * a - p1[k + 3] * b - p2[k + 3] * c;
    for (int i = k + 4; i < n; i += 4)
      four(x + i) = four(x + i) - four(p0 + i) * a - four(p1 + i) * b - four(p2 + i) * c - four(p3 + i) * e;
    x[k] = a * p0[k], x[k + 1] = b * p1[k + 1], x[k + 2] = c * p2[k + 2], x[k + 3] = e * p3[k + 3];
  }
  for (int k = n - 4; k >= 0; k -= 4) {
    const double *p0 = L + k * ld, *p1 = p0 + ld, *p2 = p1 + ld, *p3 = p2 + ld;
    Four a = {0, 0, 0, 0}, b = a, c = a, e = a;
    for (int i = k + 4; i < n; i += 4) {
      const Four v = four(x + i);
      a += four(p0 + i) * v, b += four(p1 + i) * v, c += four(p2 + i) * v, e += four(p3 + i) * v;
    }
    const Four t = four(x + k) - sums_of(a, b, c, e);
    const double t3 = t[3], t2 = t[2] - p2[k + 3] * t3, t1 = t[1] - p1[k + 3] * t3 - p1[k + 2] * t2;
    x[k] = t[0] - p0[k + 3] * t3 - p0[k + 2] * t2 - p0[k + 1] * t1;
    x[k + 1] = t1, x[k + 2] = t2, x[k + 3] = t3;
  }
}

}  // namespace featherweight::FW_ISA
