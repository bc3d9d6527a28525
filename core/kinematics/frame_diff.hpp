// kinematics/frame_diff.hpp -- derivatives of the velocity and acceleration of a frame, and the rate of its Jacobian.
//   O(depth): an outward walk for the motion of the links on the path, an inward one for the degrees of freedom.
//   Oracle: finite differences of frame_velocity, frame_acceleration and jacobian.
//
// V, A: velocity and acceleration of the frame in its own axes. With S, S', S'' and the sum (V + V') x S of
// kinematics/drift.hpp, without gravity and seen from the frame, degree of freedom k adds
//   d V / d q_k = S',  d V / d v_k = S,   d A / d q_k = S'' - V x S',  d A / d v_k = (V + V') x S - V x S,  d A / d a_k
//   = S
// and the rate of column k of the Jacobian is V' x S - V x S. A reference whose axes or origin are not those of the
// frame sees the frame turn besides: by S as q_k moves, by V as time goes on.
#pragma once
#include "kinematics/drift.hpp"
#include "kinematics/forward.hpp"
#include "memory/arena.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct FrameColumn {
  Motion<S> axis, first, second, both;
};

template <class S>
struct FrameDiffWorkspace {
  S* state;
  VelocityAndAcceleration<S>* links;
  FrameColumn<S>* columns;  // of degrees of freedom on the path, seen from the frame

  template <class C>
  FrameDiffWorkspace(const Tree<C>& tree, Arena& arena)
      : state(arena.take<S>(tree.n_states)),
        links(arena.take<VelocityAndAcceleration<S>>(tree.n_links)),
        columns(arena.take<FrameColumn<S>>(tree.nv)) {}
};

// Columns of joint l seen from a frame at `pose` on link l; leaves the pose on the parent link.
template <class J, class S, class C>
[[gnu::noinline]] void frame_columns(J, const Link<C>& l, const S* state, const Drift<J, S>& drift, Pose<S>& pose,
                                     FrameColumn<S>* columns) {
  const auto seen = [&](const Motion<S>& m)
                        FW_LAMBDA_INLINE { return to_child(Rotation<S>{pose.R}, shift_to_child(m, pose.p)); };
  for (int k = 0; k < J::nv; ++k) {
    Motion<S> first, second, both;
    drift.motions(l, k, first, second, both);
    columns[k] = {seen(J::template column<S>(l, k)), seen(first), seen(second), seen(both)};
  }
  const Mat3<S> R = J::orientation(l, state);
  pose = {R * pose.R, R * pose.p + J::origin(l, state)};
}

template <class S>
struct FrameMotion {
  VelocityAndAcceleration<S> motion;  // in the axes of the frame
  Pose<S> pose;                       // in the world
};

// Motion and pose of the frame; the columns of its path are left in w.
template <class S, class C>
FrameMotion<S> frame_diff(const Tree<C>& tree, const Mount<C>& mount, const S* q, const S* v, const S* a,
                          FrameDiffWorkspace<S>& w) {
  const Motion<S> rest = zero_motion<S>();
  const auto v_of = [&](int i) -> const Motion<S>& { return i < 0 ? rest : w.links[i].v; };
  const auto a_of = [&](int i) -> const Motion<S>& { return i < 0 ? rest : w.links[i].a; };
  for_each_on_path(tree, mount.link, [&](int i, const Link<C>& l) {
    w.links[i] = {v_of(l.parent), a_of(l.parent)};
    visit(l.kind,
          [&](auto joint) { carry_motion(joint, l, q + l.q, v + l.v, a + l.v, w.state + l.state, w.links[i]); });
  });
  FrameMotion<S> result;
  result.pose = compose(identity_pose<S>(), mount);
  const Rotation<C> R{mat3(mount.R)};
  result.motion = {to_child(R, shift_to_child(v_of(mount.link), vec3(mount.p))),
                   to_child(R, shift_to_child(a_of(mount.link), vec3(mount.p)))};
  for (int i = mount.link; i >= 0; i = tree.links[i].parent) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      const S* const state = w.state + l.state;
      const Drift<decltype(joint), S> drift(l, state, v_of(l.parent), a_of(l.parent), w.links[i].v, w.links[i].a);
      frame_columns(joint, l, state, drift, result.pose, w.columns + l.v);
    });
  }
  return result;
}

template <class S>
FW_INLINE Motion<S> operator-(const Motion<S>& a, const Motion<S>& b) {
  return {a.lin - b.lin, a.ang - b.ang};
}

// The change `d` of a motion m of the frame, both in its axes, as the reference sees it while the frame moves by
// `turn`.
template <class S>
FW_INLINE Motion<S> express_change(const Motion<S>& d, const Motion<S>& m, const Motion<S>& turn, const Pose<S>& pose,
                                   Reference reference) {
  Motion<S> change = d;
  if (reference == Reference::world) change += motion_cross(turn, m);
  if (reference == Reference::local_world_aligned) change += {cross(turn.ang, m.lin), cross(turn.ang, m.ang)};
  return express(change, pose, reference);
}

// Calls f(k, column) for the degrees of freedom on the path of a frame.
template <class S, class C, class F>
FW_INLINE void for_each_column(const Tree<C>& tree, const Mount<C>& mount, const FrameDiffWorkspace<S>& w, F&& f) {
  for (int i = mount.link; i >= 0; i = tree.links[i].parent)
    for (int k = tree.links[i].v; k < tree.links[i].v + tree.links[i].nv; ++k) f(k, w.columns[k]);
}

// Column k of a matrix of 6 x n.
template <class S>
FW_INLINE void write_column(const Motion<S>& m, int k, std::ptrdiff_t n, S* out) {
  for (int r = 0; r < 3; ++r) {
    out[r * n + k] = m.lin[r];
    out[(3 + r) * n + k] = m.ang[r];
  }
}

// 6 x nv each; columns off the path are not written.
template <class S, class C>
void frame_velocity_diff(const Tree<C>& tree, const Mount<C>& mount, Reference reference, const FrameMotion<S>& frame,
                         const FrameDiffWorkspace<S>& w, S* dq, S* dv) {
  for_each_column(tree, mount, w, [&](int k, const FrameColumn<S>& c) {
    write_column(express_change(c.first, frame.motion.v, c.axis, frame.pose, reference), k, tree.nv, dq);
    write_column(express(c.axis, frame.pose, reference), k, tree.nv, dv);
  });
}

// classical: of the acceleration of the point at the origin, which has angular x linear velocity more.
template <class S, class C>
void frame_acceleration_diff(const Tree<C>& tree, const Mount<C>& mount, Reference reference, bool classical,
                             const FrameMotion<S>& frame, const FrameDiffWorkspace<S>& w, S* dq, S* dv, S* da) {
  const Motion<S>& V = frame.motion.v;
  const Motion<S> seen = express(V, frame.pose, reference);
  const auto add_classical = [&](const Motion<S>& d_velocity, Motion<S>& d) FW_LAMBDA_INLINE {
    if (!classical) return;
    add_cross(d.lin, d_velocity.ang, seen.lin);
    add_cross(d.lin, seen.ang, d_velocity.lin);
  };
  for_each_column(tree, mount, w, [&](int k, const FrameColumn<S>& c) {
    const Motion<S> axis = express(c.axis, frame.pose, reference);
    Motion<S> by_q = express_change(c.second - motion_cross(V, c.first), frame.motion.a, c.axis, frame.pose, reference);
    Motion<S> by_v = express(c.both - motion_cross(V, c.axis), frame.pose, reference);
    add_classical(express_change(c.first, V, c.axis, frame.pose, reference), by_q);
    add_classical(axis, by_v);
    write_column(by_q, k, tree.nv, dq);
    write_column(by_v, k, tree.nv, dv);
    write_column(axis, k, tree.nv, da);
  });
}

// The rate of the Jacobian.
template <class S, class C>
void jacobian_rate(const Tree<C>& tree, const Mount<C>& mount, Reference reference, const FrameMotion<S>& frame,
                   const FrameDiffWorkspace<S>& w, S* rate) {
  const Motion<S>& V = frame.motion.v;
  for_each_column(tree, mount, w, [&](int k, const FrameColumn<S>& c) {
    const Motion<S> own = c.both - c.first - motion_cross(V, c.axis);
    write_column(express_change(own, c.axis, V, frame.pose, reference), k, tree.nv, rate);
  });
}

}  // namespace featherweight::FW_ISA
