// contact/gauss_seidel.hpp -- one block after the other, each solved exactly.
//
// sigma is kept up to date: a block that changes adds its columns of G, contiguous when dense, its neighbours when
// sparse. A block already within the tolerance is left alone, so a sweep in which nothing changes has measured the
// residual of all, and a warm start at the solution costs one look at each block. O(m) per block and sweep dense.
// Source: per-contact solves in turn, as [Hwangbo et al. 2018], with the block of block.hpp. Oracle: the natural map,
// dense.
#pragma once
#include "contact/workspace.hpp"

namespace featherweight::FW_ISA {

// One pass over all blocks. The worst residual that any of them had when its turn came.
inline double gauss_seidel_sweep(const ConeProblem& problem, ContactWorkspace& w, double* lambda) {
  double worst = 0;
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& block = problem.blocks[j];
    const double residual = natural_residual(block, w.D[j], lambda, w.sigma);
    keep_worst(worst, residual);
    if (residual <= w.tolerance) continue;
    BlockFactor& f = w.factors[j];
    if (!f.ready) prepare_block(block, w.floor, f);
    solve_block(block, f, lambda, w.sigma, w.change);
    add_columns(problem, j, w.change, w.sigma);
  }
  return worst;
}

// Sweeps until the tolerance is met; at most max_sweeps, and only `hopeful` of them unless the pace of the last one
// would reach the tolerance within those. The residual before the last sweep, at most that of lambda and sigma if
// within the tolerance.
inline double gauss_seidel(const ConeProblem& problem, int max_sweeps, int hopeful, ContactWorkspace& w, double* lambda,
                           SolverReport& report) {
  double residual = 0, last = 0;
  for (int k = 0; k < max_sweeps; ++k) {
    residual = gauss_seidel_sweep(problem, w, lambda);
    if (residual <= w.tolerance) break;
    ++report.sweeps;
    if (k >= 2 && hopeful < max_sweeps) {
      const double pace = residual / last;
      double expected = residual;
      for (int left = hopeful - k; left > 0; --left) expected *= pace;
      if (!(expected <= w.tolerance)) break;
    }
    last = residual;
    // additions add up their rounding
    if ((k & 63) == 63) set_velocities(problem, lambda, w.sigma);
  }
  return residual;
}

}  // namespace featherweight::FW_ISA
