// spatial/placement.hpp -- a pose as it is kept in memory: x_parent = R x + p. Plain data, shared by all instruction
// sets;
// in registers it is a Pose (spatial/spatial.hpp).
#pragma once

namespace featherweight {

template <class C>
struct Placement {
  C R[9];  // row-major
  C p[3];  // [m]
};

}  // namespace featherweight
