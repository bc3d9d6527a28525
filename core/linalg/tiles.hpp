// linalg/tiles.hpp -- products of matrices with some dozens of rows, a tile of the result in registers at a time.
//
// Matrices are stored row by row; strides are multiples of `wide`, and what lies beyond the last column is finite. One
// product serves all: C(i, :) = sum_k a(i, k) B(k, :), with scalars a of any matrix or its transpose, and rows of B on
// lanes.
#pragma once
#include "linalg/vectors.hpp"

namespace featherweight::FW_ISA {

#if FW_LANE_BYTES > 0
inline constexpr int tile_bytes = FW_LANE_BYTES;
#else
inline constexpr int tile_bytes = 32;
#endif
typedef double Wide __attribute__((vector_size(tile_bytes), aligned(8), may_alias));
inline constexpr int wide = tile_bytes / 8;
// Rows and registers of a tile, so that it and what it is made of fit into 32 registers, or into 16.
inline constexpr int tile_rows = tile_bytes == 64 ? 8 : 4, tile_columns = 3;

constexpr int widened(int n) { return (n + wide - 1) / wide * wide; }
FW_INLINE Wide& wide_at(double* p) { return *reinterpret_cast<Wide*>(p); }
FW_INLINE const Wide& wide_at(const double* p) { return *reinterpret_cast<const Wide*>(p); }

// a(i, k) at data[i * row + k * column].
struct Scalars {
  const double* data;
  int row, column;
};

enum class Product { set, add, subtract };  // what becomes of C

template <int M, int N, Product product>
FW_INLINE void multiply_tile(int inner, const Scalars& a, const double* B, int stride_b, double* C, int stride_c) {
  Wide sum[M][N];
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) sum[i][j] = product == Product::set ? Wide{} : wide_at(C + i * stride_c + j * wide);
  for (int k = 0; k < inner; ++k) {
    Wide b[N];
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) b[j] = wide_at(B + k * stride_b + j * wide);
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) {
      const double x = a.data[i * a.row + k * a.column];
#pragma GCC unroll 3
      for (int j = 0; j < N; ++j) {
        if constexpr (product == Product::subtract)
          sum[i][j] -= x * b[j];
        else
          sum[i][j] += x * b[j];
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) wide_at(C + i * stride_c + j * wide) = sum[i][j];
}

// M rows of C, in the columns from register `first` to register `end`.
template <int M, Product product>
void multiply_rows(int inner, const Scalars& a, const double* B, int stride_b, double* C, int stride_c, int first,
                   int end) {
  int j = first;
  for (; j + tile_columns <= end; j += tile_columns)
    multiply_tile<M, tile_columns, product>(inner, a, B + j * wide, stride_b, C + j * wide, stride_c);
  if (end - j == 2) multiply_tile<M, 2, product>(inner, a, B + j * wide, stride_b, C + j * wide, stride_c);
  if (end - j == 1) multiply_tile<M, 1, product>(inner, a, B + j * wide, stride_b, C + j * wide, stride_c);
}

// C (rows, columns) from a (rows, inner) and B (inner, columns). is_upper: of a symmetric C, what is on the diagonal
// and above; some of what is below is touched, too.
template <Product product>
void multiply(int rows, int inner, int columns, Scalars a, const double* B, int stride_b, double* C, int stride_c,
              bool is_upper = false) {
  const int end = widened(columns) / wide;
  int i = 0;
  const auto go = [&]<int M>() {
    const Scalars own{a.data + i * a.row, a.row, a.column};
    multiply_rows<M, product>(inner, own, B, stride_b, C + i * stride_c, stride_c, is_upper ? i / wide : 0, end);
    i += M;
  };
  while (i + tile_rows <= rows) go.template operator()<tile_rows>();
  if (rows - i >= tile_rows / 2) go.template operator()<tile_rows / 2>();
  while (i < rows) go.template operator()<1>();
}

}  // namespace featherweight::FW_ISA
