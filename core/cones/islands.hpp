// cones/islands.hpp -- which blocks of a sparse problem are coupled; small islands are solved one by one.
//
// Impulses on one island move nothing on another. Robots that stand side by side are islands, and so are separate
// clusters of bodies; a pile is one. O(neighbours), by joining sets. Measured: docs/adr/0018.
// Oracle: each island alone, to the bit.
#pragma once
#include "cones/automatic.hpp"

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
  // The blocks of an island, in rising order.
  const int* begin(int island) const { return blocks_ + start_[island]; }
  const int* end(int island) const { return blocks_ + start_[island + 1]; }

 private:
  int *first_of_, *island_;  // of each block: an earlier one of its island, or itself if it is the first; the island
  int *blocks_, *start_;     // blocks by island; where those of each island start
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
    // filled from the back, after which start_[i + 1] is where island i starts
    for (int j = n - 1; j >= 0; --j) blocks_[--start_[island_[j] + 1]] = j;
    for (int i = 0; i < count_; ++i) start_[i] = start_[i + 1];
    start_[count_] = n;
  }
};

// Iterations of whichever took most.
inline void keep_most(const SolverReport& other, SolverReport& report) {
  const auto raise = [](int& most, int n) { most = most > n ? most : n; };
  raise(report.gauss_seidel, other.gauss_seidel);
  raise(report.newton, other.newton);
  raise(report.admm, other.admm);
}

// Islands that obey their laws already, and piles, are left as they are. True if there is a pile.
inline bool solve_small_islands(const ConeProblem& problem, const SolverOptions& options, ContactWorkspace& w,
                                Part& part, Arena scratch, double* lambda, SolverReport& report) {
  const double aim = AutomaticTuning::aim * w.tolerance;
  Islands islands(problem, scratch);
  islands.find(problem);
  bool any_pile = false;
  for (int island = 0; island < islands.count() && !interrupted(0); ++island) {
    bool fits = true, solved = true;
    part.clear();
    for (const int* j = islands.begin(island); fits && j < islands.end(island); ++j) {
      fits = part.add(problem, *j);
      solved = solved && (!w.moves(*j) || within(problem.blocks[*j], w.D[*j], aim, lambda, w.sigma));
    }
    any_pile |= !fits;
    if (!fits || solved) continue;
    part.fill(problem, lambda);
    Arena rest = scratch;
    ContactWorkspace own(part.problem, rest);
    SolverReport of_part{};
    solve_part(part, options, own, rest, of_part);
    part.put_back(problem, part.lambda, lambda);
    part.put_back(problem, own.sigma, w.sigma);
    keep_most(of_part, report);
  }
  return any_pile;
}

}  // namespace featherweight::FW_ISA
