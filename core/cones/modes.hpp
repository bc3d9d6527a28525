// cones/modes.hpp -- what each block of a solved cone problem does.
//
// A block is on an edge of its law if both of two complements are zero; the larger one decides, in units of velocity,
// so that modes are right at the solver's tolerance and do not depend on it. D: mean diagonal of the block's own
// matrix.
#pragma once
#include "cones/matrix.hpp"

namespace featherweight::FW_ISA {

// R: radius of the disc that bounds the impulse.
FW_INLINE Mode friction_mode(int rows, double R, double D, const double* lambda, const double* sigma) {
  double impulse2 = 0, slip2 = 0;
  for (int r = 0; r < rows; ++r) impulse2 += lambda[r] * lambda[r], slip2 += sigma[r] * sigma[r];
  return root(slip2) > D * (R - root(impulse2)) ? Mode::sliding : Mode::sticking;
}

// lambda, sigma: of all rows of the problem.
inline Mode mode_of(const Block& block, double D, const double* lambda, const double* sigma) {
  const double *l = lambda + block.first, *s = sigma + block.first;
  const auto is_open = [&](int normal) { return !(l[normal] > 0 && D * l[normal] > s[normal]); };
  switch (block.law) {
    case Law::equality: return Mode::sticking;
    case Law::unilateral: return is_open(0) ? Mode::open : Mode::sticking;
    case Law::interval: {
      const double below = l[0] - block.lower, above = block.upper - l[0];
      if (D * min_of(below, above) > magnitude(s[0])) return Mode::sticking;
      return below < above ? Mode::at_lower : Mode::at_upper;
    }
    case Law::point: return is_open(2) ? Mode::open : friction_mode(2, block.mu * l[2], D, l, s);
    default: {
      const double R = block.mu * max_of(lambda[block.normal], 0);
      return R > 0 ? friction_mode(block.rows, R, D, l, s) : Mode::open;
    }
  }
}

}  // namespace featherweight::FW_ISA
