// contact/sparse_lu.hpp -- A = L U by blocks of up to three rows, for matrices whose pattern is that of G.
//
// Values need not be symmetric. Pivots are whole blocks, inverted with row exchanges; there are none between blocks.
// Left-looking in the order of elimination.hpp: 54 multiply-adds for each pair of entries of a block's fill.
// Oracle: the dense solution.
#pragma once
#include "contact/elimination.hpp"

namespace featherweight::FW_ISA {

// Three columns of three numbers and a zero.
struct Block3 {
  double e[12];
};

struct SparseLu {
  Elimination pattern;
  Block3 *diagonal, *lower, *upper;  // A; then the inverse of D, L and U
  int* where;                        // the entry of each block in the column at hand

  SparseLu(int n_blocks, int fill, Scratch& scratch) : pattern(n_blocks, fill, scratch) {
    const std::size_t entries = static_cast<std::size_t>(pattern.capacity), n = static_cast<std::size_t>(n_blocks);
    diagonal = scratch.take<Block3>(n);
    lower = scratch.take<Block3>(entries);
    upper = scratch.take<Block3>(entries);
    where = scratch.take<int>(n);
  }

  // C -= A B
  FW_INLINE static void subtract_product(const Block3& A, const Block3& B, Block3& C) {
    const Four a = four(A.e), b = four(A.e + 4), c = four(A.e + 8);
#pragma GCC unroll 3
    for (int k = 0; k < 12; k += 4) four(C.e + k) -= a * B.e[k] + b * B.e[k + 1] + c * B.e[k + 2];
  }

  // The inverse in place, by Gauss and Jordan with the largest pivot of each column.
  static void invert(double floor, Block3& A) {
    double M[3][6];
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) M[r][c] = A.e[4 * c + r], M[r][3 + c] = r == c ? 1 : 0;
    for (int c = 0; c < 3; ++c) {
      int pivot = c;
      for (int r = c + 1; r < 3; ++r)
        if (magnitude(M[r][c]) > magnitude(M[pivot][c])) pivot = r;
      const double inverse = magnitude(M[pivot][c]) > floor ? 1 / M[pivot][c] : 0;
      for (int k = 0; k < 6; ++k) {
        const double held = M[c][k];
        M[c][k] = M[pivot][k] * inverse;
        if (pivot != c) M[pivot][k] = held;
      }
      for (int r = 0; r < 3; ++r) {
        const double f = r == c ? 0 : M[r][c];
        for (int k = 0; k < 6; ++k) M[r][k] -= f * M[c][k];
      }
    }
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) A.e[4 * c + r] = M[r][3 + c];
  }

  void factorise(double floor) {
    for (int p = 0; p < pattern.count; ++p) {
      const int j = pattern.order[p];
      for (int s = pattern.start[j]; s < pattern.end[j]; ++s) where[pattern.later[s]] = s;
      for (int q = pattern.row_start[j]; q < pattern.row_start[j + 1]; ++q) {
        const int t = pattern.row[q], k = pattern.from[t];
        const Block3 &L_jk = lower[t], &U_kj = upper[t];
        subtract_product(L_jk, U_kj, diagonal[j]);
        for (int s = t + 1; s < pattern.end[k]; ++s) {
          const int at = where[pattern.later[s]];
          subtract_product(lower[s], U_kj, lower[at]);
          subtract_product(L_jk, upper[s], upper[at]);
        }
      }
      invert(floor, diagonal[j]);
      for (int s = pattern.start[j]; s < pattern.end[j]; ++s) {
        const Block3 A = lower[s];
        for (int c = 0; c < 3; ++c) four(lower[s].e + 4 * c) = product(A, diagonal[j].e + 4 * c);
      }
    }
  }

  // x <- A^-1 x, three numbers and a zero for each block.
  void solve(double* x) const {
    for (int p = 0; p < pattern.count; ++p) {
      const int j = pattern.order[p];
      for (int s = pattern.start[j]; s < pattern.end[j]; ++s)
        four(x + 4 * pattern.later[s]) -= product(lower[s], x + 4 * j);
    }
    for (int p = pattern.count - 1; p >= 0; --p) {
      const int j = pattern.order[p];
      Four sum = four(x + 4 * j);
      for (int s = pattern.start[j]; s < pattern.end[j]; ++s) sum -= product(upper[s], x + 4 * pattern.later[s]);
      double held[4];
      four(held) = sum;
      four(x + 4 * j) = product(diagonal[j], held);
    }
  }
  FW_INLINE static Four product(const Block3& A, const double* x) {
    return four(A.e) * x[0] + four(A.e + 4) * x[1] + four(A.e + 8) * x[2];
  }
};

}  // namespace featherweight::FW_ISA
