// kinematics/forward.hpp -- placements of links and frames, and motion along the path to one of them.
//   O(n) for all links, O(depth) for one: links off the path are skipped a subtree at a time.
//   Frames: R, p of link i map its coordinates to the world's. Oracle: products of 4x4 matrices; finite differences.
#pragma once
#include "model/joints.hpp"

namespace featherweight::FW_ISA {

template <class S>
FW_INLINE Pose<S> identity_pose() {
  const S o(0), l(1);
  return {{{l, o, o}, {o, l, o}, {o, o, l}}, zero3<S>()};
}
// Pose of b in the world, given its pose in a.
template <class S, class B>
FW_INLINE Pose<S> compose(const Pose<S>& a, const Mat3<B>& R, const Vec3<B>& p) {
  return {a.R * R, a.R * p + a.p};
}
template <class S, class C>
FW_INLINE Pose<S> compose(const Pose<S>& a, const Mount<C>& mount) {
  return compose(a, mat3(mount.R), vec3(mount.p));
}
// Pose of the link in the world, given its parent's and the state of its joint, or the joint's coordinates.
template <class J, class S, class C>
FW_INLINE void place_in(J, const Link<C>& l, const S* state, const Pose<S>& parent, Pose<S>& pose) {
  const auto origin = J::origin(l, state);
  pose = {parent.R * J::orientation(l, state), parent.R * origin + parent.p};
}
template <class J, class S, class C>
[[gnu::noinline]] void place(J joint, const Link<C>& l, const S* q, S* state, const Pose<S>& parent, Pose<S>& pose) {
  J::set_state(l, q, state);
  place_in(joint, l, state, parent, pose);
}
template <class S>
FW_INLINE void write_pose(const Pose<S>& pose, S* out) {  // 4x4, row-major
#pragma GCC unroll 3
  for (int r = 0; r < 3; ++r) {
#pragma GCC unroll 3
    for (int c = 0; c < 3; ++c) out[4 * r + c] = pose.R(r, c);
    out[4 * r + 3] = pose.p[r];
    out[12 + r] = S(0);
  }
  out[15] = S(1);
}

template <class S>
FW_INLINE void write_motion(const Motion<S>& m, S* out) {
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
    out[k] = m.lin[k];
    out[3 + k] = m.ang[k];
  }
}

// Placements of all the user's links, 16 numbers each. `poses` has room for one pose per compiled link.
template <class S, class C>
void forward_kinematics(const Tree<C>& tree, const S* q, S* state, Pose<S>* poses, S* out) {
  const Pose<S> world = identity_pose<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      place(joint, l, q + l.q, state + l.state, l.parent < 0 ? world : poses[l.parent], poses[i]);
    });
  }
  for (int k = 0; k < tree.n_user_links; ++k) {
    const Mount<C>& mount = tree.mounts[k];
    write_pose(compose(mount.link < 0 ? world : poses[mount.link], mount), out + 16 * k);
  }
}

// Calls f(i, link) for the links from the root to `last`.
template <class C, class F>
FW_INLINE void for_each_on_path(const Tree<C>& tree, int last, F&& f) {
  for (int i = 0; i <= last;) {
    const Link<C>& l = tree.links[i];
    if (l.subtree_end <= last) {
      i = l.subtree_end;
    } else {
      f(i, l);
      ++i;
    }
  }
}

// Pose of one mount in the world.
template <class S, class C>
Pose<S> placement(const Tree<C>& tree, const Mount<C>& mount, const S* q, S* state) {
  Pose<S> pose = identity_pose<S>();
  for_each_on_path(tree, mount.link, [&](int, const Link<C>& l) {
    visit(l.kind, [&](auto joint) { place(joint, l, q + l.q, state + l.state, pose, pose); });
  });
  return compose(pose, mount);
}

// Spatial velocity and acceleration (gravity not included) of a mount, in its own axes.
template <class S>
struct VelocityAndAcceleration {
  Motion<S> v, a;
};
template <class J, class S, class C>
[[gnu::noinline]] void carry_motion(J, const Link<C>& l, const S* q, const S* rate, const S* acceleration, S* state,
                                    VelocityAndAcceleration<S>& m) {
  J::set_state(l, q, state);
  m.v = J::to_child(l, state, m.v);
  J::add_motion(l, rate, m.v);
  m.a = J::to_child(l, state, m.a);
  J::add_velocity_product(l, m.v, rate, m.a);
  J::add_motion(l, acceleration, m.a);
}
template <class S, class C>
VelocityAndAcceleration<S> motion_of(const Tree<C>& tree, const Mount<C>& mount, const S* q, const S* v, const S* a,
                                     S* state) {
  VelocityAndAcceleration<S> m{zero_motion<S>(), zero_motion<S>()};
  for_each_on_path(tree, mount.link, [&](int, const Link<C>& l) {
    visit(l.kind, [&](auto joint) { carry_motion(joint, l, q + l.q, v + l.v, a + l.v, state + l.state, m); });
  });
  const Rotation<C> R{mat3(mount.R)};
  return {to_child(R, shift_to_child(m.v, vec3(mount.p))), to_child(R, shift_to_child(m.a, vec3(mount.p)))};
}

// A motion given in the axes of a frame, seen from the reference asked for; `pose` is the frame's in the world.
template <class S>
FW_INLINE Motion<S> express(const Motion<S>& local, const Pose<S>& pose, Reference reference) {
  if (reference == Reference::local) return local;
  Motion<S> m = to_parent(Rotation<S>{pose.R}, local);
  if (reference == Reference::world) add_cross(m.lin, pose.p, m.ang);
  return m;
}

}  // namespace featherweight::FW_ISA
