// step/held_frames.hpp -- how far two frames that should coincide are apart.
#pragma once
#include "kinematics/forward.hpp"
#include "step/rows.hpp"

namespace featherweight::FW_ISA {

// The frame of a held link in the world; link -1 is the world.
template <class S>
FW_INLINE Pose<double> frame_on_link(LaneOf<S> lane, const Pose<S>* poses, int link, const double (&R)[9],
                                     const double (&p)[3]) {
  if (link < 0) return {mat3(R), vec3(p)};
  return compose(lane(poses[link]), mat3(R), vec3(p));
}

struct HeldPoses {
  Pose<double> a, b;
};
template <class S>
FW_INLINE HeldPoses poses_of(const HeldFrame& held, LaneOf<S> lane, const Pose<S>* poses) {
  return {frame_on_link(lane, poses, held.link_a, held.R_a, held.p_a),
          frame_on_link(lane, poses, held.link_b, held.R_b, held.p_b)};
}

// One number a row: along the axes of frame a [m], then about them [rad].
FW_INLINE void held_errors(const HeldFrame& held, const HeldPoses& X, double* error) {
  const Vec3<double> apart = X.a.p - X.b.p;
  const Mat3<double> turned{transposed_times(X.a.R, column(X.b.R, 0)), transposed_times(X.a.R, column(X.b.R, 1)),
                            transposed_times(X.a.R, column(X.b.R, 2))};  // b to a: rows are the axes of b seen from a
  for (int r = 0; r < held.n_rows; ++r) {
    const int k = held.rows[r] % 3, i = (k + 1) % 3, j = (k + 2) % 3;
    error[r] = held.rows[r] < 3 ? dot(column(X.a.R, k), apart) : 0.5 * (turned(j, i) - turned(i, j));
  }
}

}  // namespace featherweight::FW_ISA
