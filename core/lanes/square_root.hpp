// lanes/square_root.hpp -- the square root of every lane.
#pragma once
#include "lanes/lanes.hpp"

namespace featherweight::FW_ISA {

FW_INLINE double library_sqrt(double x) { return __builtin_sqrt(x); }
FW_INLINE float library_sqrt(float x) { return __builtin_sqrtf(x); }

template <class S>
FW_INLINE S square_root(const S& x) {
  return map_lanes(x, [](ElementOf<S> e) { return library_sqrt(e); });
}

}  // namespace featherweight::FW_ISA
