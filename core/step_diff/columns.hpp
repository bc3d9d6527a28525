// step_diff/columns.hpp -- matrices of derivatives: rows of columns, eight columns at a time in registers.
#pragma once
#include "memory/arena.hpp"
#include "step_diff/job.hpp"

namespace featherweight::FW_ISA {

using Columns = double __attribute__((vector_size(8 * columns_at_a_time)));

// Rows are `stride` apart.
template <class S>
struct MatrixOf {
  S* data = nullptr;
  int stride = 0;

  FW_INLINE S& operator()(int row, int column) const { return data[static_cast<std::size_t>(row) * stride + column]; }
};

// Rows are a multiple of eight apart, and aligned.
struct Matrix {
  double* data = nullptr;
  int stride = 0;

  FW_INLINE double* operator[](int row) const { return data + static_cast<std::size_t>(row) * stride; }
  FW_INLINE double& operator()(int row, int column) const { return (*this)[row][column]; }
  FW_INLINE Columns& pack(int row, int k) const {
    return *reinterpret_cast<Columns*>((*this)[row] + columns_at_a_time * k);
  }
  int packs() const { return stride / columns_at_a_time; }
};
FW_INLINE int packs_of(int columns) { return (columns + columns_at_a_time - 1) / columns_at_a_time; }

FW_INLINE int padded_columns(int n) { return (n + columns_at_a_time - 1) / columns_at_a_time * columns_at_a_time; }

FW_INLINE Matrix take_matrix(Arena& arena, int rows, int columns) {
  const int stride = padded_columns(columns);
  return {arena.take<double>(static_cast<std::size_t>(rows) * stride), stride};
}
// m's first rows, all columns
inline void set_zero(const Matrix& m, int rows) {
  for (std::size_t k = 0; k < static_cast<std::size_t>(rows) * m.stride; ++k) m.data[k] = 0;
}
// row r of y += s times row i of x
FW_INLINE void add_row(const Matrix& y, int r, double s, const Matrix& x, int i) {
  for (int k = 0; k < y.packs(); ++k) y.pack(r, k) += x.pack(i, k) * s;
}

// From anywhere, and to anywhere.
FW_INLINE Columns load_columns(const double* from) {
  Columns x;
  __builtin_memcpy(&x, from, sizeof(x));
  return x;
}
FW_INLINE void store_columns(const Columns& x, int n, double* to) {
  if (n >= columns_at_a_time)
    __builtin_memcpy(to, &x, sizeof(x));
  else
    for (int k = 0; k < n; ++k) to[k] = x[k];
}

// f.template operator()<P>(p) for packs [p, p + P) of all: as many at a time as registers hold, so that sums do not
// wait for each other.
constexpr int most_packs = FW_LANE_BYTES >= 8 * columns_at_a_time ? 6 : 1;
template <class F>
FW_INLINE void for_packs(int n, const F& f) {
  int p = 0;
  for (; p + most_packs <= n; p += most_packs) f.template operator()<most_packs>(p);
  if constexpr (most_packs > 1) {
    if (n - p == 5) return f.template operator()<5>(p);
    if (n - p == 4) return f.template operator()<4>(p);
    if (n - p == 3) return f.template operator()<3>(p);
    if (n - p == 2) return f.template operator()<2>(p);
    if (n - p == 1) f.template operator()<1>(p);
  }
}

// R rows and P packs of to (+)= A B.
template <int R, int P, bool adds>
FW_INLINE void multiply_block(const Matrix& A, int row, int inner, const Matrix& B, int p, const Matrix& to) {
  Columns sum[R][P];
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 6
    for (int c = 0; c < P; ++c) sum[r][c] = adds ? to.pack(row + r, p + c) : Columns{};
  for (int k = 0; k < inner; ++k) {
    Columns x[P];
#pragma GCC unroll 6
    for (int c = 0; c < P; ++c) x[c] = B.pack(k, p + c);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      const double a = A(row + r, k);
#pragma GCC unroll 6
      for (int c = 0; c < P; ++c) sum[r][c] += x[c] * a;
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 6
    for (int c = 0; c < P; ++c) to.pack(row + r, p + c) = sum[r][c];
}
// to (+)= A B: A of rows x inner, B of inner rows of so many packs. `to` is neither.
template <bool adds>
inline void multiply(const Matrix& A, int rows, int inner, const Matrix& B, int packs, const Matrix& to) {
  for_packs(packs, [&]<int P>(int p) FW_LAMBDA_INLINE {
    int r = 0;
    for (; r + 4 <= rows; r += 4) multiply_block<4, P, adds>(A, r, inner, B, p, to);
    for (; r < rows; ++r) multiply_block<1, P, adds>(A, r, inner, B, p, to);
  });
}

}  // namespace featherweight::FW_ISA
