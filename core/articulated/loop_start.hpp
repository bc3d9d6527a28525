// articulated/loop_start.hpp -- one link as seen from another: how rows between them start on the second.
//
// Rows of a closure are fixed to the link of frame a. On that of frame b they are the same forces, taken the other way:
// only where link a is in link b matters, not where both are in the world. Most loops of machines move in a plane,
// their joints hinges about one axis; then a sine, a cosine and a point say it all.
//   Oracle: both ends by their poses in the world (rows/ends.hpp).
#pragma once
#include "articulated/loops.hpp"
#include "kinematics/forward.hpp"
#include "rows/terms.hpp"

namespace featherweight::FW_ISA {

// The pose of the last link of a way as seen from where it starts; the world's where that is.
template <class S, class C>
FW_INLINE Pose<S> pose_along(const Tree<C>& tree, const S* state, const int* way, int begin, int end) {
  if (begin == end) return identity_pose<S>();
  Pose<S> pose;
  visit(tree.links[way[begin]].kind, [&](auto joint) {
    const Link<C>& l = tree.links[way[begin]];
    const auto p = joint.origin(l, state + l.state);
    pose = {joint.orientation(l, state + l.state), {S(p[0]), S(p[1]), S(p[2])}};
  });
  for (int k = begin + 1; k < end; ++k)
    visit(tree.links[way[k]].kind, [&](auto joint) {
      const Link<C>& l = tree.links[way[k]];
      place_in(joint, l, state + l.state, Pose<S>(pose), pose);
    });
  return pose;
}

// Link a in link b, R and p, and how fast it turns there, in the axes of a.
template <class S>
struct Between {
  Rotation<S> R;
  Vec3<S> p, turning;
};
template <class S, class C>
FW_INLINE Between<S> between(const Tree<C>& tree, const LoopPlan& plan, const LoopPath& path, const S* state,
                             const Motion<S>& v_a, const Motion<S>& v_b) {
  const Pose<S> a = pose_along(tree, state, plan.way, path.a, path.a_end),
                b = pose_along(tree, state, plan.way, path.b, path.b_end);
  const Mat3<S> b_axes{column(b.R, 0), column(b.R, 1), column(b.R, 2)}, R = b_axes * a.R;
  return {{R}, b_axes * (a.p - b.p), v_a.ang - transposed_times(R, v_b.ang)};
}

// The same in a plane.
template <int K, class S>
struct PlaneBetween {
  AxisRotation<K, S> R;
  Vec3<S> p;
  S turning;  // about the axis
};
template <int K, class S>
FW_INLINE Vec3<S> cross(const AxisRotation<K, S>&, const S& turning, const Vec3<S>& x) {
  constexpr int i = (K + 1) % 3, j = (K + 2) % 3;
  Vec3<S> y = zero3<S>();
  y[i] = -(turning * x[j]);
  y[j] = turning * x[i];
  return y;
}
template <class S>
FW_INLINE Vec3<S> cross(const Rotation<S>&, const Vec3<S>& turning, const Vec3<S>& x) {
  return cross(turning, x);
}
template <int K, class S, class C>
FW_INLINE PlaneBetween<K, S> plane_along(const Tree<C>& tree, const int* way, int begin, int end, const S* state,
                                         const S* v) {
  constexpr int i = (K + 1) % 3, j = (K + 2) % 3;
  PlaneBetween<K, S> at{{S(1), S(0)}, zero3<S>(), S(0)};
  for (int k = begin; k < end; ++k) {
    const Link<C>& l = tree.links[way[k]];
    const S c = state[l.state], s = state[l.state + 1], rate = v[l.v] * l.sign;
    if (k == begin) {
      at = {{c, s}, {S(l.p[0]), S(l.p[1]), S(l.p[2])}, rate};
      continue;
    }
    at.p[i] = at.p[i] + at.R.c * l.p[i] - at.R.s * l.p[j];
    at.p[j] = at.p[j] + at.R.s * l.p[i] + at.R.c * l.p[j];
    at.p[K] = at.p[K] + l.p[K];
    at.R = {at.R.c * c - at.R.s * s, at.R.s * c + at.R.c * s};
    at.turning = at.turning + rate;
  }
  return at;
}
template <int K, class S, class C>
FW_INLINE PlaneBetween<K, S> plane_between(const Tree<C>& tree, const LoopPlan& plan, const LoopPath& path,
                                           const S* state, const S* v) {
  const PlaneBetween<K, S> a = plane_along<K>(tree, plan.way, path.a, path.a_end, state, v),
                           b = plane_along<K>(tree, plan.way, path.b, path.b_end, state, v);
  return {
      {b.R.c * a.R.c + b.R.s * a.R.s, b.R.c * a.R.s - b.R.s * a.R.c}, b.R.to_child(a.p - b.p), a.turning - b.turning};
}

template <class S>
FW_INLINE Force<S> in_lanes(const double* K) {
  return {{S(K[0]), S(K[1]), S(K[2])}, {S(K[3]), S(K[4]), S(K[5])}};
}

// A row that is fixed to link a, on link b.
template <class B, class S>
FW_INLINE Force<S> on_other_link(const B& between, const Force<S>& K) {
  const Force<S> turned{between.R.to_parent(K.lin), between.R.to_parent(K.ang)};
  Force<S> other = shift_to_parent(turned, between.p);
  return {other.lin * S(-1), other.ang * S(-1)};
}

// What the motion of both links adds to the rows of a closure (rows/terms.hpp), in the axes of link a and at the origin
// of frame a. With t = w_a - w_b, the velocity u of that point on link a and r as seen from link b: t x u - w_a x r of
// a frame, t x u of a point, t x w_a of turns.
template <class S>
struct LoopBias {
  Vec3<S> lin, ang;
  Vec3<S> drift;  // w_a x r; only if it is wanted
};
template <class B, class S, class C>
FW_INLINE LoopBias<S> loop_bias(const B& between, const Closure<C>& closure, bool with_drift, const Motion<S>& v_a,
                                const Motion<S>& v_b) {
  Vec3<S> u = v_a.lin;
  add_cross(u, v_a.ang, vec3(closure.a.p));
  LoopBias<S> bias{cross(between.R, between.turning, u), cross(between.R, between.turning, v_a.ang), zero3<S>()};
  if (!with_drift && closure.of_point) return bias;
  const Vec3<S> arm = between.p + between.R.to_parent(Vec3<S>{S(closure.a.p[0]), S(closure.a.p[1]), S(closure.a.p[2])});
  Vec3<S> u_b = v_b.lin;
  add_cross(u_b, v_b.ang, arm);
  bias.drift = cross(v_a.ang, u - between.R.to_child(u_b));
  if (!closure.of_point) bias.lin = bias.lin - bias.drift;
  return bias;
}

}  // namespace featherweight::FW_ISA
