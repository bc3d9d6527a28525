// cones/workspace.hpp -- what the solvers of one problem share, laid out in the caller's scratch.
//
// Nothing is cleared in advance: every solver writes before it reads.
#pragma once
#include "cones/block.hpp"
#include "memory/arena.hpp"

namespace featherweight::FW_ISA {

struct ContactWorkspace {
  double* sigma;         // velocities with the present impulses, padded
  double* D;             // mean diagonal of each block
  BlockFactor* factors;  // of each block
  double* F;             // numbers of the equality factors
  double* change;        // of the impulses of one block
  double* best;          // impulses with the smallest residual so far
  double floor;          // mobility below this counts as none
  double smallest;       // added to weights of ADMM, for rows without mobility of their own
  double tolerance;      // of the natural residual [m/s]
  double aim;            // and below which Gauss-Seidel leaves a block alone

  ContactWorkspace(const ConeProblem& problem, Arena& scratch) {
    const std::size_t n = static_cast<std::size_t>(padded(problem.m));
    sigma = scratch.take<double>(n);
    D = scratch.take<double>(static_cast<std::size_t>(problem.n_blocks));
    factors = scratch.take<BlockFactor>(static_cast<std::size_t>(problem.n_blocks));
    F = scratch.take<double>(factor_numbers(problem));
    change = scratch.take<double>(n);
    best = scratch.take<double>(n);
  }

  // Of all blocks: at most the square of the rows, which is taken as it is where that is little.
  static std::size_t factor_numbers(const ConeProblem& problem) {
    const std::size_t m = static_cast<std::size_t>(problem.m);
    if (problem.m <= ProblemSizes::most_factorised_rows) return m * m;
    std::size_t n = 0;
    for (int j = 0; j < problem.n_blocks; ++j) n += static_cast<std::size_t>(factor_size(problem.blocks[j]));
    return n;
  }

  // The diagonals, and what counts as zero among them.
  void start(const ConeProblem& problem, const SolverOptions& options) {
    double largest = 0;
    double* next = F;
    for (int j = 0; j < problem.n_blocks; ++j) {
      const Block& block = problem.blocks[j];
      BlockFactor& f = factors[j];
      f.G = diagonal_block(problem, j);
      f.ready = false;
      f.F = next;
      next += factor_size(block);
      D[j] = mean_diagonal(f.G, block.rows);
      largest = max_of(largest, D[j]);
    }
    floor = MobilityTuning::immobile * largest + MobilityTuning::tiny;
    smallest = MobilityTuning::regularisation * floor;
    tolerance = aim = options.tolerance * problem.scale;
  }

  // Whether impulses can move a block at all; one that they cannot shows in the report only.
  FW_INLINE bool moves(int j) const { return D[j] > floor; }
};

// The block that a row belongs to, at or before block j.
inline int block_of_row(const ConeProblem& problem, int j, int row) {
  while (problem.blocks[j].first > row) --j;
  return j;
}

// The natural residual of all blocks that impulses can move.
inline double natural_residual(const ConeProblem& problem, const ContactWorkspace& w, const double* lambda,
                               const double* sigma) {
  double worst2 = 0;
  for (int j = 0; j < problem.n_blocks; ++j)
    if (w.moves(j)) keep_worst(worst2, natural_residual2(problem.blocks[j], w.D[j], lambda, sigma));
  return root(worst2);
}

}  // namespace featherweight::FW_ISA
