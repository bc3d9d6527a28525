// cones/part.hpp -- some blocks of a large sparse problem, gathered as a small dense problem.
#pragma once
#include "cones/workspace.hpp"

namespace featherweight::FW_ISA {

class Part {
 public:
  static constexpr int most_rows = ProblemSizes::most_dense_rows;

  ConeProblem problem{};
  double* lambda;

  explicit Part(const ConeProblem& whole, Arena& scratch) : scale_(whole.scale) {
    constexpr std::size_t m = most_rows;
    blocks_ = scratch.take<Block>(m);
    from_ = scratch.take<int>(m);
    values_ = scratch.take<double>(m * m);
    g_ = scratch.take<double>(m);
    lambda = scratch.take<double>(m);
    to_ = scratch.take<int>(static_cast<std::size_t>(whole.n_blocks));
  }

  // Empty, whatever was in it.
  void start(const ConeProblem& whole) {
    problem = {0, 0, blocks_, {}, g_, scale_};
    for (int j = 0; j < whole.n_blocks; ++j) to_[j] = -1;
  }
  // Empty again after start.
  void clear() {
    for (int k = 0; k < problem.n_blocks; ++k) to_[from_[k]] = -1;
    problem = {0, 0, blocks_, {}, g_, scale_};
  }

  int rows() const { return problem.m; }
  int blocks() const { return problem.n_blocks; }
  // The number of its block k in the whole.
  int block(int k) const { return from_[k]; }

  // Adds block j, after the block that bounds it. False if there is no room.
  bool add(const ConeProblem& whole, int j) {
    if (to_[j] >= 0) return true;
    Block b = whole.blocks[j];
    if (b.law == Law::disc) {
      const int i = block_of_row(whole, j, b.normal);
      if (!add(whole, i)) return false;
      b.normal += blocks_[to_[i]].first - whole.blocks[i].first;
    }
    if (problem.m + b.rows > most_rows) return false;
    b.first = problem.m;
    to_[j] = problem.n_blocks;
    from_[problem.n_blocks] = j;
    blocks_[problem.n_blocks++] = b;
    problem.m += b.rows;
    return true;
  }

  // The matrix of the blocks added, their velocities without impulses, and their impulses. Others do not count.
  void fill(const ConeProblem& whole, const double* impulses) {
    const int stride = (problem.m + 7) / 8 * 8;
    problem.G = {values_, stride};
    FW_ISA::fill(problem.m * stride, 0, values_);
    for (int k = 0; k < problem.n_blocks; ++k) {
      const Block &own = blocks_[k], &b = whole.blocks[from_[k]];
      for (int r = 0; r < own.rows; ++r) {
        lambda[own.first + r] = impulses[b.first + r];
        g_[own.first + r] = whole.g[b.first + r];
      }
    }
    for (int i = problem.m; i < padded(problem.m); ++i) lambda[i] = 0;
    for_pairs(whole, [&](int i, int k, const double* values) {
      for (int c = 0; c < blocks_[k].rows; ++c)
        for (int r = 0; r < blocks_[i].rows; ++r)
          values_[(blocks_[k].first + c) * stride + blocks_[i].first + r] = *values++;
    });
  }

  // After fill: others count, with the impulses they have. sigma: velocities of the whole.
  void include_others(const ConeProblem& whole, const double* sigma) {
    for (int k = 0; k < problem.n_blocks; ++k)
      for (int r = 0; r < blocks_[k].rows; ++r) g_[blocks_[k].first + r] = sigma[whole.blocks[from_[k]].first + r];
    for_pairs(whole, [&](int i, int k, const double* values) {
      for (int c = 0; c < blocks_[k].rows; ++c)
        for (int r = 0; r < blocks_[i].rows; ++r) g_[blocks_[i].first + r] -= *values++ * lambda[blocks_[k].first + c];
    });
  }

  // Numbers of its own rows to those of the whole.
  void put_back(const ConeProblem& whole, const double* own, double* all) const {
    for (int k = 0; k < problem.n_blocks; ++k)
      for (int r = 0; r < blocks_[k].rows; ++r) all[whole.blocks[from_[k]].first + r] = own[blocks_[k].first + r];
  }

 private:
  double scale_;
  Block* blocks_;
  int *from_, *to_;  // of its blocks: the number in the whole; of blocks of the whole: the number here, or -1
  double *values_, *g_;

  // f(row block, column block, elements) for all pairs that are coupled.
  template <class F>
  FW_INLINE void for_pairs(const ConeProblem& whole, F f) const {
    const ContactMatrix& G = whole.G;
    for (int k = 0; k < problem.n_blocks; ++k)
      for (int s = G.start[from_[k]]; s < G.start[from_[k] + 1]; ++s)
        if (to_[G.neighbour[s]] >= 0) f(to_[G.neighbour[s]], k, G.values + G.at[s]);
  }
};

}  // namespace featherweight::FW_ISA
