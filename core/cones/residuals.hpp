// cones/residuals.hpp -- how far impulses and velocities are from the laws of their blocks.
//
// The natural map of a block, in units of velocity, with D the mean of the block's diagonal of G:
//   D |lambda - P(lambda - sigma / D)|,   P: nearest point of the set of admissible impulses.
// It vanishes exactly at solutions. A frictional point has two parts, the normal on its half line and the tangents on
// the disc of radius mu lambda_n: no De Saxce term mixes large sliding velocities into the normal, each part says what
// is wrong, and a disc of its own (spin, roll) is the same function.
#pragma once
#include <cstdint>

#include "cones/matrix.hpp"

namespace featherweight::FW_ISA {

FW_INLINE double normal_residual(double D, double lambda, double sigma) { return magnitude(min_of(D * lambda, sigma)); }

// Square of the residual of two tangents, or of one with y zero, on a disc of impulses.
FW_INLINE double disc_residual2(double D, double radius, double lx, double ly, double sx, double sy) {
  const double x = D * lx - sx, y = D * ly - sy, R = D * max_of(radius, 0), length2 = x * x + y * y;
  if (length2 <= R * R) return sx * sx + sy * sy;
  const double scale = R / root(length2), ex = D * lx - scale * x, ey = D * ly - scale * y;
  return ex * ex + ey * ey;
}

FW_INLINE double interval_residual(double D, const Block& block, double lambda, double sigma) {
  return magnitude(D * lambda - clamp(D * lambda - sigma, D * block.lower, D * block.upper));
}

FW_INLINE double square(double x) { return x * x; }

// The square of the natural map of a block: the root is taken of the worst only. NaN where the input is NaN.
FW_INLINE double natural_residual2(const Block& block, double D, const double* lambda, const double* sigma) {
  const double *l = lambda + block.first, *s = sigma + block.first;
  switch (block.law) {
    case Law::point: {
      const double t2 = disc_residual2(D, block.mu * l[2], l[0], l[1], s[0], s[1]);
      const double n2 = square(normal_residual(D, l[2], s[2]));
      return t2 <= n2 ? n2 : t2;
    }
    case Law::unilateral: return square(normal_residual(D, l[0], s[0]));
    case Law::interval: return square(interval_residual(D, block, l[0], s[0]));
    case Law::disc: {
      const bool two = block.rows == 2;
      return disc_residual2(D, block.mu * lambda[block.normal], l[0], two ? l[1] : 0, s[0], two ? s[1] : 0);
    }
    default: {
      double worst = 0;
      for (int r = 0; r < block.rows; ++r) worst = worst >= square(s[r]) ? worst : square(s[r]);
      return worst;
    }
  }
}

FW_INLINE double mean_diagonal(const DiagonalBlock& G, int rows) {
  if (rows == 3) return (G(0, 0) + G(1, 1) + G(2, 2)) * (1.0 / 3);
  double sum = 0;
  for (int r = 0; r < rows; ++r) sum += G(r, r);
  return rows == 1 ? sum : sum / rows;
}

// worst = max(worst, |x|), NaN above all. Bit patterns of nonnegative numbers are ordered like the numbers, and those
// of NaN come last. No branch: which one is larger is unpredictable.
FW_INLINE void keep_worst(double& worst, double x) {
  const std::int64_t a = __builtin_bit_cast(std::int64_t, worst), b = __builtin_bit_cast(std::int64_t, x) & INT64_MAX;
  worst = __builtin_bit_cast(double, a > b ? a : b);
}

// All residuals of a report; D: the mean diagonals of the blocks.
inline void report_residuals(const ConeProblem& problem, const double* D, const double* lambda, const double* sigma,
                             SolverReport& report) {
  double natural2 = 0, primal = 0, dual = 0, complementarity = 0;
  for (int j = 0; j < problem.n_blocks; ++j) {
    const Block& block = problem.blocks[j];
    const double *l = lambda + block.first, *s = sigma + block.first;
    keep_worst(natural2, natural_residual2(block, D[j], lambda, sigma));
    if (block.law == Law::point || block.law == Law::disc) {
      const bool two = block.rows > 1, point = block.law == Law::point;
      const double ly = two ? l[1] : 0, sy = two ? s[1] : 0;
      const double radius = block.mu * max_of(point ? l[2] : lambda[block.normal], 0);
      const double force2 = l[0] * l[0] + ly * ly, speed = radius > 0 ? root(s[0] * s[0] + sy * sy) : 0;
      if (!(force2 <= radius * radius)) keep_worst(primal, root(force2) - radius);
      // lambda_T . sigma_T + mu lambda_n |sigma_T| vanishes where friction sticks, or is largest and opposes sliding
      double power = l[0] * s[0] + ly * sy + radius * speed;
      if (point) {
        keep_worst(primal, min_of(l[2], 0));
        keep_worst(dual, min_of(s[2], 0));
        power += l[2] * s[2];
      }
      keep_worst(complementarity, power);
    } else if (block.law == Law::unilateral) {
      keep_worst(primal, min_of(l[0], 0));
      keep_worst(dual, min_of(s[0], 0));
      keep_worst(complementarity, l[0] * s[0]);
    } else if (block.law == Law::interval) {
      keep_worst(primal, max_of(max_of(l[0] - block.upper, block.lower - l[0]), 0));
      keep_worst(complementarity, s[0] > 0 ? (l[0] - block.lower) * s[0] : (l[0] - block.upper) * s[0]);
    } else {
      for (int r = 0; r < block.rows; ++r) keep_worst(dual, s[r]);
    }
  }
  report.residual = root(natural2);
  report.primal = primal;
  report.dual = dual;
  report.complementarity = complementarity;
}

}  // namespace featherweight::FW_ISA
