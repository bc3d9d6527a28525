// linalg/partial_cholesky.hpp -- the first rows of a symmetric matrix are eliminated.
//
// With M = [A B; B^T C] and A = U^T U, rows of A become [U, U^-T B] and C becomes its Schur complement C - B^T A^-1 B.
// Only the upper triangle is read and right afterwards. Panels of up to eight rows: what the rows before leave of a
// panel is a product (tiles.hpp), then the panel is solved in registers. O(m n^2). Oracle: dense, NumPy.
#pragma once
#include "linalg/tiles.hpp"

namespace featherweight::FW_ISA {

// Columns of a panel, N registers of them: divided by the triangle u of its own columns.
template <int B, int N>
FW_INLINE void solve_panel(const double (&u)[B][B], const double (&inverse)[B], double* columns, int stride) {
  Wide x[B][N];
#pragma GCC unroll 8
  for (int i = 0; i < B; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) x[i][j] = wide_at(columns + i * stride + j * wide);
#pragma GCC unroll 8
  for (int i = 0; i < B; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) x[i][j] *= inverse[i];
#pragma GCC unroll 8
    for (int l = i + 1; l < B; ++l)
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) x[l][j] -= u[i][l] * x[i][j];
  }
#pragma GCC unroll 8
  for (int i = 0; i < B; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) wide_at(columns + i * stride + j * wide) = x[i][j];
}

// Rows k to k + B. A pivot of at most `floor` counts as zero, and so does its row. Returns how many there were.
template <int B>
int factorise_panel(double* M, int stride, int k, int columns, double floor) {
  double u[B][B], inverse[B];
  int dropped = 0;
  for (int i = 0; i < B; ++i)
    for (int j = i; j < B; ++j) u[i][j] = M[(k + i) * stride + k + j];
  for (int i = 0; i < B; ++i) {
    const bool is_positive = u[i][i] > floor;
    dropped += !is_positive;
    inverse[i] = is_positive ? 1 / root(u[i][i]) : 0;
    for (int j = i; j < B; ++j) u[i][j] *= inverse[i];
    for (int l = i + 1; l < B; ++l)
      for (int j = l; j < B; ++j) u[l][j] -= u[i][l] * u[i][j];
  }
  int j = k / wide;
  const int end = widened(columns) / wide;
  for (; j + 2 <= end; j += 2) solve_panel<B, 2>(u, inverse, M + k * stride + j * wide, stride);
  if (j < end) solve_panel<B, 1>(u, inverse, M + k * stride + j * wide, stride);
  // where tiles begin before the diagonal they read zeros
  for (int i = 0; i < B; ++i) {
    for (int l = k / 8 * 8; l < k + i; ++l) M[(k + i) * stride + l] = 0;
    for (int l = i; l < B; ++l) M[(k + i) * stride + k + l] = u[i][l];
  }
  return dropped;
}

// The first m rows of a matrix with n columns. Returns how many pivots were not above the floor.
inline int partial_cholesky(int m, int n, double floor, double* M, int stride) {
  int dropped = 0;
  for (int k = 0; k < m;) {
    const int left = m - k, rows = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1, from = k / wide * wide;
    if (k > 0)
      multiply<Product::subtract>(rows, k, n - from, {M + k, 1, stride}, M + from, stride, M + k * stride + from,
                                  stride);
    if (rows == 8) dropped += factorise_panel<8>(M, stride, k, n, floor);
    if (rows == 4) dropped += factorise_panel<4>(M, stride, k, n, floor);
    if (rows == 2) dropped += factorise_panel<2>(M, stride, k, n, floor);
    if (rows == 1) dropped += factorise_panel<1>(M, stride, k, n, floor);
    k += rows;
  }
  for (int i = m; i < n; i += tile_rows) {
    const int rows = n - i < tile_rows ? n - i : tile_rows, from = i / wide * wide;
    multiply<Product::subtract>(rows, m, n - from, {M + i, 1, stride}, M + from, stride, M + i * stride + from, stride);
  }
  return dropped;
}

}  // namespace featherweight::FW_ISA
