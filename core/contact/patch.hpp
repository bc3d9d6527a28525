// contact/patch.hpp -- a few blocks of a large sparse problem, as a small dense problem with all others held.
//
// In a heap that is almost solved a handful of contacts may still be undecided between sticking and sliding, or open
// and closed. They and what is around them are worth everything that small problems get.
#pragma once
#include "contact/workspace.hpp"

namespace featherweight::FW_ISA {

struct Patch {
  static constexpr int most_rows = 192;

  ConeProblem problem{};
  double* lambda;

  explicit Patch(int n_blocks, Scratch& scratch) {
    constexpr std::size_t m = most_rows;
    blocks_ = scratch.take<Block>(m);
    from_ = scratch.take<int>(m);
    values_ = scratch.take<double>(m * m);
    g_ = scratch.take<double>(m);
    lambda = scratch.take<double>(m);
    to_ = scratch.take<int>(static_cast<std::size_t>(n_blocks));
  }

  // The blocks that are furthest off their laws, and as many rings of blocks around them as there is room for. False if
  // there is none even for those.
  bool choose(const ConeProblem& whole, const ContactWorkspace& w, const double* impulses) {
    const ContactMatrix& G = whole.G;
    problem = {0, 0, blocks_, {values_, most_rows}, g_, whole.scale};
    const double least = max_of(w.tolerance, 0.1 * natural_residual(whole, w, impulses, w.sigma));
    for (int j = 0; j < whole.n_blocks; ++j) to_[j] = -1;
    for (int j = 0; j < whole.n_blocks; ++j) {
      const Block& b = whole.blocks[j];
      if (!w.moves(j) || natural_residual2(b, w.D[j], impulses, w.sigma) <= least * least) continue;
      if (!add(whole, j)) return false;
    }
    for (int first = 0, last; first < problem.n_blocks; first = last) {
      last = problem.n_blocks;
      for (int k = first; k < last; ++k)
        for (int s = G.start[from_[k]]; s < G.start[from_[k] + 1]; ++s)
          if (!add(whole, G.neighbour[s])) return true;
    }
    return true;
  }

  // What the others leave to them.
  void fill(const ConeProblem& whole, const ContactWorkspace& w, const double* impulses) {
    const ContactMatrix& G = whole.G;
    FW_ISA::fill(most_rows * most_rows, 0, values_);
    for (int k = 0; k < problem.n_blocks; ++k) {
      Block& b = blocks_[k];
      const Block& a = whole.blocks[from_[k]];
      for (int r = 0; r < a.rows; ++r) {
        lambda[b.first + r] = impulses[a.first + r];
        g_[b.first + r] = w.sigma[a.first + r];
      }
    }
    for (int k = 0; k < problem.n_blocks; ++k)
      for (int s = G.start[from_[k]]; s < G.start[from_[k] + 1]; ++s) {
        const int i = to_[G.neighbour[s]];
        if (i < 0) continue;
        const double* values = G.values + G.at[s];
        for (int c = 0; c < blocks_[k].rows; ++c)
          for (int r = 0; r < blocks_[i].rows; ++r, ++values) {
            values_[(blocks_[k].first + c) * most_rows + blocks_[i].first + r] = *values;
            g_[blocks_[i].first + r] -= *values * lambda[blocks_[k].first + c];
          }
      }
  }

  void put_back(const ConeProblem& whole, double* impulses) const {
    for (int k = 0; k < problem.n_blocks; ++k)
      for (int r = 0; r < blocks_[k].rows; ++r)
        impulses[whole.blocks[from_[k]].first + r] = lambda[blocks_[k].first + r];
  }

 private:
  Block* blocks_;
  int *from_, *to_;  // blocks of the whole; and of the patch, -1: not in it
  double *values_, *g_;

  // With the block that bounds it, which comes first. False if there is no room.
  bool add(const ConeProblem& whole, int j) {
    if (to_[j] >= 0) return true;
    Block b = whole.blocks[j];
    if (b.law == Law::disc) {
      int i = j;
      while (whole.blocks[i].first > b.normal) --i;
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
};

}  // namespace featherweight::FW_ISA
