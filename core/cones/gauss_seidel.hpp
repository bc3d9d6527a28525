// cones/gauss_seidel.hpp -- one block after the other, each solved exactly.
//
// Dense: sigma is kept up to date, a block that changes adds its columns of G, contiguous. Sparse: sigma of a block is
// found when its turn comes, from its neighbours, which writes nothing; what changes after that is not in it.
// A block already within the tolerance is left alone, so a sweep in which nothing changes has measured the residual of
// all, and a warm start at the solution costs one look at each block. O(m) per block and sweep dense.
// Source: per-contact solves in turn, as [Hwangbo et al. 2018], with the block of block.hpp. Oracle: the natural map,
// dense.
#pragma once
#include "cones/workspace.hpp"

namespace featherweight::FW_ISA {

// Whether the natural residual of a block is within the tolerance, surely: the test of tangents that slide costs no
// root and no division, and may say no to one that just is.
FW_INLINE bool within(const Block& block, double D, double tolerance, const double* lambda, const double* sigma) {
  if (block.law != Law::point) return natural_residual2(block, D, lambda, sigma) <= tolerance * tolerance;
  const double *l = lambda + block.first, *s = sigma + block.first;
  if (!(normal_residual(D, l[2], s[2]) <= tolerance)) return false;
  const double lx = D * l[0], ly = D * l[1], x = lx - s[0], y = ly - s[1], length2 = x * x + y * y;
  const double R = D * block.mu * max_of(l[2], 0), tolerance2 = tolerance * tolerance;
  if (length2 <= R * R) return s[0] * s[0] + s[1] * s[1] <= tolerance2;
  // D lambda - R e with e along (x, y): what is across, and what is along by the difference of squares
  const double across = lx * y - ly * x, along = lx * x + ly * y;
  return 2 * across * across <= tolerance2 * length2 && along >= 0 &&
         magnitude(along * along - R * R * length2) <= tolerance * R * length2;
}

// Stands for a block that is off its law but stays as it is.
constexpr double least_change = 1e-300;

// One pass over all blocks. The largest change of an impulse, times D [m/s]; 0: all are as near as they should be.
template <bool sparse>
inline double sweep_blocks(const ConeProblem& problem, ContactWorkspace& w, double* lambda) {
  double largest = 0;
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& block = problem.blocks[j];
    if (sparse) find_velocity(problem, j, lambda, w.sigma);
    if (!w.moves(j) || within(block, w.D[j], w.aim, lambda, w.sigma)) continue;
    BlockFactor& f = w.factors[j];
    if (!f.ready) prepare_block(block, w.floor, f);
    double* l = lambda + block.first;
    if (block.law == Law::point) {  // the common case, in registers
      const PointImpulse to = solve_point(block.mu, f, l, w.sigma + block.first);
      const double x = to.x - l[0], y = to.y - l[1], z = to.z - l[2];
      l[0] = to.x, l[1] = to.y, l[2] = to.z;
      if (!sparse) add_three_columns(problem, block.first, x, y, z, w.sigma);
      keep_worst(largest, w.D[j] * max_of(magnitude(z), max_of(magnitude(x), magnitude(y))) + least_change);
      continue;
    }
    solve_block(block, f, lambda, w.sigma, w.change);
    for (int r = 0; r < block.rows; ++r) {
      const double x = w.change[r];
      w.change[r] = x - l[r];
      l[r] = x;
      keep_worst(largest, w.D[j] * magnitude(w.change[r]) + least_change);
    }
    if (!sparse) add_columns(problem, j, w.change, w.sigma);
  }
  return largest;
}
inline double gauss_seidel_sweep(const ConeProblem& problem, ContactWorkspace& w, double* lambda) {
  return problem.G.start ? sweep_blocks<true>(problem, w, lambda) : sweep_blocks<false>(problem, w, lambda);
}

// Velocities of all blocks after sweeps.
FW_INLINE void catch_up(const ConeProblem& problem, const double* lambda, ContactWorkspace& w) {
  if (problem.G.start) set_velocities(problem, lambda, w.sigma);
}

// Sweeps until nothing changes, or the pace of the last two says that nothing would and the report agrees; at most
// max_sweeps, and only `hopeful` of them unless their pace would lead to the end within those. True if all blocks are
// within the tolerance; they have been reported then.
inline bool gauss_seidel(const ConeProblem& problem, int max_sweeps, int hopeful, ContactWorkspace& w, double* lambda,
                         SolverReport& report) {
  double last = 0;
  for (int k = 0; k < max_sweeps; ++k) {
    const double change = gauss_seidel_sweep(problem, w, lambda);
    if (change > 0) ++report.sweeps;
    if (change * change <= last * w.aim) {
      catch_up(problem, lambda, w);
      report_residuals(problem, w.D, lambda, w.sigma, report);
      if (report.residual <= w.tolerance) return true;
    }
    if (change <= least_change) break;
    if (k >= 2 && hopeful < max_sweeps) {
      const double pace = change / last;
      double expected = change;
      for (int left = hopeful - k; left > 0 && expected > w.aim; --left) expected *= pace;
      if (!(expected <= w.aim)) break;
    }
    last = change;
    // additions add up their rounding
    if ((k & 63) == 63 && !problem.G.start) set_velocities(problem, lambda, w.sigma);
  }
  catch_up(problem, lambda, w);
  return false;
}

}  // namespace featherweight::FW_ISA
