// kinematics/jacobian.hpp -- the Jacobian of a frame: its spatial velocity is J v.
//   O(depth): one walk from the frame to the root, carrying the frame's pose relative to the current link.
//   Oracle: frame_velocity; finite differences of the placement.
#pragma once
#include "kinematics/forward.hpp"

namespace featherweight::FW_ISA {

// Columns of joint l seen from a frame at `pose` on link l; leaves the pose on the parent link.
template <class J, class S, class C>
[[gnu::noinline]] void jacobian_columns(J, const Link<C>& l, const S* q, S* state, Pose<S>& pose, Motion<S>* columns) {
  for (int k = 0; k < J::nv; ++k)
    columns[k] = to_child(Rotation<S>{pose.R}, shift_to_child(J::template column<S>(l, k), pose.p));
  J::set_state(l, q, state);
  const Mat3<S> R = J::orientation(l, state);
  pose = {R * pose.R, R * pose.p + J::origin(l, state)};
}

// 6 x nv, row-major. `columns` has room for nv motions.
template <class S, class C>
void jacobian(const Tree<C>& tree, const Mount<C>& mount, Reference reference, const S* q, S* state, Motion<S>* columns,
              S* out) {
  for (int k = 0; k < tree.nv; ++k) columns[k] = zero_motion<S>();
  Pose<S> pose = compose(identity_pose<S>(), mount);
  for (int i = mount.link; i >= 0; i = tree.links[i].parent) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) { jacobian_columns(joint, l, q + l.q, state + l.state, pose, columns + l.v); });
  }
  for (int k = 0; k < tree.nv; ++k) {
    const Motion<S> m = express(columns[k], pose, reference);
    for (int r = 0; r < 3; ++r) {
      out[r * tree.nv + k] = m.lin[r];
      out[(3 + r) * tree.nv + k] = m.ang[r];
    }
  }
}

}  // namespace featherweight::FW_ISA
