// step/strut.hpp -- springs and dampers along lines through points of links, at the start of the step.
//   in    q, v
//   out   w.forces
//   Oracle: MuJoCo's qfrc_passive of spatial tendons; the twin; oscillators, momentum and energy.
#pragma once
#include "kinematics/forward.hpp"
#include "step/activate.hpp"

namespace featherweight::FW_ISA {

// Root to leaf: where links are and how they move, in world axes. Joint states and motions are scratch of aba.
template <class S>
void place_strutted(const Scene& scene, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  const Pose<S> world = identity_pose<S>();
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    if (!scene.strutted[i]) continue;
    visit(l.kind, [&](auto joint) {
      move_outward(joint, l, w.q + l.q, w.v + l.v, w.aba.state + l.state, l.parent < 0 ? rest : w.aba.motion[l.parent],
                   w.aba.motion[i]);
      place_in(joint, l, w.aba.state + l.state, l.parent < 0 ? world : w.strut_poses[l.parent], w.strut_poses[i]);
    });
  }
}

// A point of a strut in the world, and its velocity.
template <class S>
struct MovingPoint {
  Vec3<S> x, v;
};
template <class S>
FW_INLINE MovingPoint<S> moving_point(const StrutPoint& point, const StepWorkspace<S>& w) {
  const Vec3<double> p = vec3(point.p);
  if (point.link < 0) return {{S(p[0]), S(p[1]), S(p[2])}, zero3<S>()};
  const Pose<S>& pose = w.strut_poses[point.link];
  const Motion<S>& motion = w.aba.motion[point.link];
  Vec3<S> v = motion.lin;
  add_cross(v, motion.ang, p);
  return {pose.R * p + pose.p, pose.R * v};
}

template <class S>
FW_INLINE void pull(const StrutPoint& point, const Vec3<S>& force, StepWorkspace<S>& w) {
  if (point.link < 0) return;
  const Vec3<S> f = transposed_times(w.strut_poses[point.link].R, force);
  w.forces[point.link] += Force<S>{f, cross(vec3(point.p), f)};
}

template <class S>
void add_struts(const Scene& scene, StepWorkspace<S>& w) {
  if (scene.n_struts == 0) return;
  place_strutted(scene, w);
  for (int k = 0; k < scene.n_struts; ++k) {
    const Strut& strut = scene.struts[k];
    const StrutPoint* const points = scene.strut_points + strut.first_point;
    S length(0), rate(0);
    MovingPoint<S> from = moving_point(points[0], w);
    for (int i = 1; i < strut.n_points; ++i) {
      const MovingPoint<S> to = moving_point(points[i], w);
      const Vec3<S> span = to.x - from.x;
      const S part = square_root(dot(span, span));
      const auto is_apart = part > S(0);  // points that coincide pull in no direction
      const Vec3<S> direction = span * select(is_apart, S(1) / select(is_apart, part, S(1)), S(0));
      w.strut_directions[i] = direction;
      length = length + part;
      rate = rate + dot(direction, to.v - from.v);
      from = to;
    }
    const S stretch = length - clamped(length, S(strut.slack[0]), S(strut.slack[1]));
    const S force = stretch * strut.stiffness + rate * strut.damping;
    for (int i = 1; i < strut.n_points; ++i) {
      const Vec3<S> f = w.strut_directions[i] * force;
      pull(points[i - 1], f, w);
      pull(points[i], f * S(-1), w);
    }
  }
}

}  // namespace featherweight::FW_ISA
