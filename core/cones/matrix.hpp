// cones/matrix.hpp -- products with the Delassus matrix, dense, sparse or not formed at all.
#pragma once
#include "cones/problem.hpp"
#include "cones/tuning.hpp"
#include "linalg/vectors.hpp"
#include "runtime/interrupt.hpp"

namespace featherweight::FW_ISA {

// A block's own part of G, by columns.
struct DiagonalBlock {
  const double* values;
  int stride;
  FW_INLINE double operator()(int row, int column) const { return values[column * stride + row]; }
};

FW_INLINE DiagonalBlock diagonal_block(const ConeProblem& problem, int j) {
  const ContactMatrix& G = problem.G;
  const Block& block = problem.blocks[j];
  if (G.products) return {G.values + G.at[j], block.rows};
  if (!G.start) return {G.values + static_cast<std::size_t>(block.first) * (G.stride + 1), G.stride};
  int k = G.start[j];
  while (G.neighbour[k] != j) ++k;
  return {G.values + G.at[k], block.rows};
}

// Gauss-Seidel keeps the velocities of all rows up to date where a column is contiguous; else it finds those of a block
// when its turn comes.
FW_INLINE bool keeps_velocities(const ConeProblem& problem) { return !problem.G.start && !problem.G.products; }

// Operations of a product with the matrix, or of an iteration of Gauss-Seidel, roughly: to be announced to
// interrupt.hpp.
FW_INLINE double operations_of_product(const ConeProblem& problem) {
  const double m = problem.m;
  if (problem.G.products) return 100 * m;
  return problem.G.start ? 18.0 * problem.G.start[problem.n_blocks] + 50 * m : 2 * m * m + 50 * m;
}

// Operations that Newton's method or ADMM may take.
FW_INLINE double most_operations(const ConeProblem& problem) {
  return max_of(EffortTuning::most_operations, EffortTuning::most_products * operations_of_product(problem));
}

// Rows of a dense matrix that block j couples with, the first of them a multiple of four.
FW_INLINE RowSpan span_of(const ConeProblem& problem, int j) {
  if (!problem.G.spans) return {0, problem.m};
  return {problem.G.spans[j].first & ~3, problem.G.spans[j].end};
}

// sigma += G[:, block j] [x, y, z] of a dense matrix.
FW_INLINE void add_three_columns(const ConeProblem& problem, int j, double x, double y, double z, double* sigma) {
  const std::size_t stride = static_cast<std::size_t>(problem.G.stride);
  const double* column = problem.G.values + static_cast<std::size_t>(problem.blocks[j].first) * stride;
  const RowSpan span = span_of(problem, j);
  for (int i = span.first; i < span.end; i += 4)
    four(sigma + i) =
        four(sigma + i) + x * four(column + i) + y * four(column + stride + i) + z * four(column + 2 * stride + i);
}

// sigma += G[:, column c of block j] x of a dense matrix.
FW_INLINE void add_dense_column(const ConeProblem& problem, int j, int c, double x, double* sigma) {
  const std::size_t column = static_cast<std::size_t>(problem.blocks[j].first + c);
  const RowSpan span = span_of(problem, j);
  add_scaled(span.end - span.first, x, problem.G.values + column * problem.G.stride + span.first, sigma + span.first);
}

// sigma += G[:, block j] change. Sigma is padded to a multiple of four.
FW_INLINE void add_columns(const ConeProblem& problem, int j, const double* change, double* sigma) {
  const ContactMatrix& G = problem.G;
  const Block& block = problem.blocks[j];
  if (!G.start) {
    if (block.rows == 3) return add_three_columns(problem, j, change[0], change[1], change[2], sigma);
    for (int c = 0; c < block.rows; ++c) add_dense_column(problem, j, c, change[c], sigma);
    return;
  }
  for (int k = G.start[j]; k < G.start[j + 1]; ++k) {
    const Block& row_block = problem.blocks[G.neighbour[k]];
    const double* values = G.values + G.at[k];
    double* s = sigma + row_block.first;
    if (block.rows == 3 && row_block.rows == 3) {  // points of contact, mostly
      // all are read before the first is written: the compiler cannot know that they do not overlap
      const double x = change[0], y = change[1], z = change[2];
      const double a = values[0] * x + values[3] * y + values[6] * z;
      const double b = values[1] * x + values[4] * y + values[7] * z;
      const double c = values[2] * x + values[5] * y + values[8] * z;
      s[0] += a, s[1] += b, s[2] += c;
      continue;
    }
    for (int c = 0; c < block.rows; ++c, values += row_block.rows)
      for (int r = 0; r < row_block.rows; ++r) s[r] += values[r] * change[c];
  }
}

// sigma of block j alone, from a sparse matrix, where by symmetry its columns are its rows, or without the matrix.
FW_INLINE void find_velocity(const ConeProblem& problem, int j, const double* lambda, double* sigma) {
  const ContactMatrix& G = problem.G;
  const Block& block = problem.blocks[j];
  double* const s = sigma + block.first;
  for (int c = 0; c < block.rows; ++c) s[c] = problem.g[block.first + c];
  if (G.products) return G.products->add_velocity(G.products->context, j, lambda, s);
  Four x = {0, 0, 0, 0}, y = x, z = x;
  for (int k = G.start[j]; k < G.start[j + 1]; ++k) {
    const Block& other = problem.blocks[G.neighbour[k]];
    const double *values = G.values + G.at[k], *l = lambda + other.first;
    if (block.rows == 3 && other.rows == 3) {  // points of contact, mostly
      const Four impulse = {l[0], l[1], l[2], 0};
      x += impulse * four(values), y += impulse * four(values + 3), z += impulse * four(values + 6);
      continue;
    }
    for (int c = 0; c < block.rows; ++c)
      for (int r = 0; r < other.rows; ++r) s[c] += *values++ * l[r];
  }
  if (block.rows == 3) s[0] += sum_of(x), s[1] += sum_of(y), s[2] += sum_of(z);
}

// sigma += G[:, column c of block j] x
FW_INLINE void add_column(const ConeProblem& problem, int j, int c, double x, double* sigma) {
  const ContactMatrix& G = problem.G;
  if (!G.start) return add_dense_column(problem, j, c, x, sigma);
  for (int k = G.start[j]; k < G.start[j + 1]; ++k) {
    const Block& other = problem.blocks[G.neighbour[k]];
    const double* values = G.values + G.at[k] + c * other.rows;
    for (int r = 0; r < other.rows; ++r) sigma[other.first + r] += values[r] * x;
  }
}

// y = G x of a matrix that is not formed
inline void multiply_unformed(const ConeProblem& problem, const double* x, double* y) {
  problem.G.products->multiply(problem.G.products->context, x, y);
  for (int i = problem.m; i < padded(problem.m); ++i) y[i] = 0;
}

// sigma = G lambda + g
inline void set_velocities(const ConeProblem& problem, const double* lambda, double* sigma) {
  if (problem.G.products) {
    multiply_unformed(problem, lambda, sigma);
    for (int i = 0; i < problem.m; ++i) sigma[i] += problem.g[i];
    return;
  }
  for (int i = 0; i < problem.m; ++i) sigma[i] = problem.g[i];
  for (int i = problem.m; i < padded(problem.m); ++i) sigma[i] = 0;
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& block = problem.blocks[j];
    const double* l = lambda + block.first;
    bool any = false;
    for (int r = 0; r < block.rows; ++r) any |= l[r] != 0;
    if (any) add_columns(problem, j, l, sigma);
  }
}

// y = G x
inline void multiply(const ConeProblem& problem, const double* x, double* y) {
  if (problem.G.products) return multiply_unformed(problem, x, y);
  fill(padded(problem.m), 0, y);
  for (int j = 0; j < problem.n_blocks; ++j) add_columns(problem, j, x + problem.blocks[j].first, y);
}

}  // namespace featherweight::FW_ISA
