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

  // The blocks that are furthest off their laws, for a quarter of the room, and as many rings of blocks with impulses
  // around them as there is room for.
  void choose(const ConeProblem& whole, const ContactWorkspace& w, const double* impulses) {
    const ContactMatrix& G = whole.G;
    problem = {0, 0, blocks_, {values_, most_rows}, g_, whole.scale};
    for (int j = 0; j < whole.n_blocks; ++j) to_[j] = -1;
    double least = natural_residual(whole, w, impulses, w.sigma);
    for (int halved = 0; halved < 3; ++halved) {
      least = max_of(0.5 * least, w.tolerance);
      for (int j = 0; j < whole.n_blocks && problem.m < most_rows / 4; ++j)
        if (w.moves(j) && natural_residual2(whole.blocks[j], w.D[j], impulses, w.sigma) > least * least) add(whole, j);
    }
    for (int first = 0, last; first < problem.n_blocks; first = last) {
      last = problem.n_blocks;
      for (int k = first; k < last; ++k)
        for (int s = G.start[from_[k]]; s < G.start[from_[k] + 1]; ++s) {
          const int j = G.neighbour[s];
          if (carries(whole.blocks[j], impulses) && !add(whole, j)) return;
        }
    }
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

  static bool carries(const Block& b, const double* impulses) {
    bool any = false;
    for (int r = 0; r < b.rows; ++r) any |= impulses[b.first + r] != 0;
    return any;
  }

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
