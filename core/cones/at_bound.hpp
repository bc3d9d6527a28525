// cones/at_bound.hpp -- whether a loaded point slides: its friction is all that it can be.
#pragma once
#include "cones/tuning.hpp"

namespace featherweight::FW_ISA {

// t1, t2: impulses along the tangents; most: the bound of their length.
FW_INLINE bool is_at_bound(double t1, double t2, double most) {
  const double nearly = (1 - LevelTuning::at_bound) * most;
  return most > 0 && t1 * t1 + t2 * t2 >= nearly * nearly;
}

}  // namespace featherweight::FW_ISA
