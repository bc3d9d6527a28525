// step_diff/columns.hpp -- matrices of derivatives: rows of columns, eight columns at a time in registers.
#pragma once
#include "memory/arena.hpp"
#include "step_diff/job.hpp"

namespace featherweight::FW_ISA {

using Columns = double __attribute__((vector_size(8 * columns_at_a_time)));

// Rows are `stride` apart, a multiple of eight, and aligned.
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

FW_INLINE int padded_columns(int n) { return (n + columns_at_a_time - 1) / columns_at_a_time * columns_at_a_time; }

FW_INLINE Matrix take_matrix(Arena& arena, int rows, int columns) {
  const int stride = padded_columns(columns);
  return {arena.take<double>(static_cast<std::size_t>(rows) * stride), stride};
}
inline void set_zero(const Matrix& m, int rows) {
  for (std::size_t k = 0; k < static_cast<std::size_t>(rows) * m.stride; ++k) m.data[k] = 0;
}
// row r of y += s times row i of x
FW_INLINE void add_row(const Matrix& y, int r, double s, const Matrix& x, int i) {
  for (int k = 0; k < y.packs(); ++k) y.pack(r, k) += x.pack(i, k) * s;
}

}  // namespace featherweight::FW_ISA
