// cones/gauss_seidel.hpp -- one block after the other, each solved exactly.
//
// Dense: sigma is kept up to date, a block that changes adds its columns of G, contiguous. Sparse: sigma of a block is
// computed from its neighbours when its turn comes and nothing is written elsewhere, so it is outdated afterwards.
// Without the matrix it is computed from what all impulses do to the degrees of freedom, on the block's path to the
// root. A block already within the tolerance is left alone, so an iteration in which nothing changes has measured the
// residual of all, and a warm start at the solution costs one look at each block. O(m) per block and iteration where
// dense. Source: per-contact solves in turn, as [Hwangbo et al. 2018], with the block of block.hpp. Oracle: the natural
// map, dense.
#pragma once
#include "cones/workspace.hpp"

namespace featherweight::FW_ISA {

// Whether the natural residual of a block is certainly within the tolerance: the test of tangents that slide needs no
// square root and no division, and may be false where the residual is within by a little.
FW_INLINE bool within(const Block& block, double D, double tolerance, const double* lambda, const double* sigma) {
  if (block.law != Law::point) return natural_residual2(block, D, lambda, sigma) <= tolerance * tolerance;
  const double *l = lambda + block.first, *s = sigma + block.first;
  if (!(normal_residual(D, l[2], s[2]) <= tolerance)) return false;
  const double lx = D * l[0], ly = D * l[1], x = lx - s[0], y = ly - s[1], length2 = x * x + y * y;
  const double R = D * block.mu * max_of(l[2], 0), tolerance2 = tolerance * tolerance;
  if (length2 <= R * R) return s[0] * s[0] + s[1] * s[1] <= tolerance2;
  // D lambda - R e with e along (x, y): its part across e, and that along e by the difference of squares
  const double across = lx * y - ly * x, along = lx * x + ly * y;
  return 2 * across * across <= tolerance2 * length2 && along >= 0 &&
         magnitude(along * along - R * R * length2) <= tolerance * R * length2;
}

// One pass over all blocks. The largest change of an impulse, times D [m/s]; zero only if no block had to change.
// finds: velocities are found when they are needed, see keeps_velocities.
template <bool finds>
inline double visit_blocks(const ConeProblem& problem, ContactWorkspace& w, double* lambda) {
  constexpr double least_change = GaussSeidelTuning::least_change;
  const MatrixProducts* const products = problem.G.products;
  if (finds && products) products->start_impulses(products->context, lambda);
  double largest = 0;
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& block = problem.blocks[j];
    if (finds) find_velocity(problem, j, lambda, w.sigma);
    if (!w.moves(j) || within(block, w.D[j], w.aim, lambda, w.sigma)) continue;
    BlockFactor& f = w.factors[j];
    if (!f.ready) prepare_block(block, w.floor, f);
    double* l = lambda + block.first;
    if (block.law == Law::point) {  // the common case, in registers
      const PointImpulse to = solve_point(block.mu, f, l, w.sigma + block.first);
      const double x = to.x - l[0], y = to.y - l[1], z = to.z - l[2];
      l[0] = to.x, l[1] = to.y, l[2] = to.z;
      if (!finds) add_three_columns(problem, j, x, y, z, w.sigma);
      if (finds && products) {
        const double change[] = {x, y, z};
        products->change_impulse(products->context, j, change);
      }
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
    if (!finds) add_columns(problem, j, w.change, w.sigma);
    if (finds && products) products->change_impulse(products->context, j, w.change);
  }
  return largest;
}
inline double gauss_seidel_iteration(const ConeProblem& problem, ContactWorkspace& w, double* lambda) {
  return keeps_velocities(problem) ? visit_blocks<false>(problem, w, lambda) : visit_blocks<true>(problem, w, lambda);
}

// sigma of all blocks after iterations.
FW_INLINE void catch_up(const ConeProblem& problem, const double* lambda, ContactWorkspace& w) {
  if (!keeps_velocities(problem)) set_velocities(problem, lambda, w.sigma);
}

// Iterates until nothing changes, or the pace of the last two iterations says that nothing would and the report agrees;
// at most max_iterations times, and gives up early where the pace does not lead to the end within `hopeful` iterations.
// True if all blocks are within the tolerance; the residuals have been reported then.
inline bool gauss_seidel(const ConeProblem& problem, int max_iterations, int hopeful, ContactWorkspace& w,
                         double* lambda, SolverReport& report) {
  using Tuning = GaussSeidelTuning;
  double last = 0, moved = 0;  // moved: since velocities were computed anew
  for (int k = 0; k < max_iterations; ++k) {
    if (k > 0 && interrupted(operations_of_product(problem))) break;
    const double change = gauss_seidel_iteration(problem, w, lambda);
    moved += change;
    if (change > 0) ++report.gauss_seidel;
    bool corrected = false;
    if (change * change <= last * w.aim) {
      catch_up(problem, lambda, w);
      corrected = keeps_velocities(problem) && moved * Tuning::rounding > w.tolerance;
      if (corrected) set_velocities(problem, lambda, w.sigma), moved = 0;
      report_residuals(problem, w.D, lambda, w.sigma, report);
      if (report.residual <= w.tolerance) return true;
    }
    if (change <= Tuning::least_change && !corrected) break;
    if (k >= Tuning::before_pace && hopeful < max_iterations) {
      const double pace = change / last;
      double expected = change;
      for (int left = hopeful - k; left > 0 && expected > w.aim; --left) expected *= pace;
      if (!(expected <= w.aim)) break;
    }
    last = change;
    if ((k + 1) % Tuning::between_refreshes == 0 && keeps_velocities(problem))
      set_velocities(problem, lambda, w.sigma), moved = 0;
  }
  set_velocities(problem, lambda, w.sigma);
  return false;
}

}  // namespace featherweight::FW_ISA
