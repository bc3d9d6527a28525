// cones/islands.hpp -- which blocks of a sparse problem hang together.
//
// What happens on one island moves nothing on another. Robots that stand side by side are islands, and so are the
// clusters of bodies that lie around; a heap is one. O(neighbours), by joining sets.
#pragma once
#include "cones/workspace.hpp"

namespace featherweight::FW_ISA {

class Islands {
 public:
  Islands(const ConeProblem& problem, Arena& scratch) {
    const std::size_t n = static_cast<std::size_t>(problem.n_blocks);
    first_of_ = scratch.take<int>(n);
    island_ = scratch.take<int>(n);
    blocks_ = scratch.take<int>(n);
    start_ = scratch.take<int>(n + 1);
  }

  void find(const ConeProblem& problem) {
    const int n = problem.n_blocks;
    for (int j = 0; j < n; ++j) first_of_[j] = j;
    for (int j = 0; j < n; ++j) {
      const Block& b = problem.blocks[j];
      if (b.law == Law::disc) join(j, block_of_row(problem, j, b.normal));
      for (int k = problem.G.start[j]; k < problem.G.start[j + 1] && problem.G.neighbour[k] < j; ++k)
        join(j, problem.G.neighbour[k]);
    }
    list(n);
  }

  int count() const { return count_; }
  // Of one island, in rising order.
  const int* begin(int island) const { return blocks_ + start_[island]; }
  const int* end(int island) const { return blocks_ + start_[island + 1]; }

 private:
  int *first_of_, *island_;  // of blocks: one that hangs together with it, the first if that is itself; its island
  int *blocks_, *start_;     // of islands
  int count_ = 0;

  int first(int j) {
    while (first_of_[j] != j) j = first_of_[j] = first_of_[first_of_[j]];
    return j;
  }
  void join(int a, int b) {
    a = first(a), b = first(b);
    (a < b ? first_of_[b] : first_of_[a]) = a < b ? a : b;
  }

  // Blocks by island, and islands by their first block.
  void list(int n) {
    count_ = 0;
    for (int j = 0; j < n; ++j) island_[j] = first(j) == j ? count_++ : island_[first(j)];
    for (int i = 0; i <= count_; ++i) start_[i] = 0;
    for (int j = 0; j < n; ++j) ++start_[island_[j] + 1];
    for (int i = 0; i < count_; ++i) start_[i + 1] += start_[i];
    // filled from the back; the starts are then moved to the front
    for (int j = n - 1; j >= 0; --j) blocks_[--start_[island_[j] + 1]] = j;
    for (int i = 0; i < count_; ++i) start_[i] = start_[i + 1];
    start_[count_] = n;
  }
};

}  // namespace featherweight::FW_ISA
