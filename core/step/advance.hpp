// step/advance.hpp -- the end of a step: coordinates move with the new velocities.
//
// Velocities of a free joint are kept in body axes, at the origin of its link. Within a step they are those of the
// orientation at its start, so that a body no force acts on flies straight: its centre of mass moves along a line, the
// axes turn, and the linear velocity is then expressed at the origin and in the axes where they are now.
#pragma once
#include "kinematics/integrate.hpp"
#include "scene/scene.hpp"

namespace featherweight::FW_ISA {

// x += dt w x (v + w x c) of free joints: from the derivative of components in moving axes to that of the velocity of
// the centre of mass c, one of each link.
template <class S, class C>
FW_INLINE void add_turning_of_axes(const Tree<C>& tree, const Vec3<S>* centers, const S* v, const S& dt, S* x) {
  for (int i = 0; i < tree.n_links; ++i) {
    if (tree.links[i].kind != JointKind::free) continue;
    const S* const v_i = v + tree.links[i].v;
    S* const x_i = x + tree.links[i].v;
    const Vec3<S> ang{v_i[3], v_i[4], v_i[5]};
    Vec3<S> lin{v_i[0], v_i[1], v_i[2]};
    add_cross(lin, ang, centers[i]);
    const Vec3<S> turn = cross(ang, lin);
    for (int k = 0; k < 3; ++k) x_i[k] = x_i[k] + turn[k] * dt;
  }
}

// q moves by `moved` dt; v is then expressed in the new axes. center: of mass, of the link.
template <int K, bool turned, bool rotates, bool travels, class S>
FW_INLINE void advance_joint(AxisJoint<K, turned, rotates, travels>, const Vec3<S>*, const S* moved, const S& dt, S* q,
                             S*) {
  q[0] = q[0] + moved[0] * dt;
}
template <bool travels, class S>
[[gnu::noinline]] void advance_joint(Ball<travels>, const Vec3<S>* center, const S* moved, const S& dt, S* q, S* v) {
  constexpr int turn = travels ? 3 : 0;
  const Vec3<S> w{moved[turn], moved[turn + 1], moved[turn + 2]};
  S step[4], next[4];
  exponential(w * dt, step);
  const Mat3<S> E = quaternion_matrix(step);
  // the axes turn about another axis than the link where overlaps are taken out
  const Vec3<S> ang{v[turn], v[turn + 1], v[turn + 2]}, ang_seen = transposed_times(E, ang);
  for (int k = 0; k < 3; ++k) v[turn + k] = ang_seen[k];
  if constexpr (travels) {
    const Vec3<S> c = *center;
    Vec3<S> path = Vec3<S>{moved[0], moved[1], moved[2]};  // of the centre, in the axes at the start
    add_cross(path, w, c);
    const Vec3<S> origin = quaternion_matrix(q + 3) * (path * dt + c - E * c);
    for (int k = 0; k < 3; ++k) q[k] = q[k] + origin[k];
    Vec3<S> velocity{v[0], v[1], v[2]};
    add_cross(velocity, ang, c);
    const Vec3<S> seen = transposed_times(E, velocity) - cross(ang_seen, c);
    for (int k = 0; k < 3; ++k) v[k] = seen[k];
  }
  multiply(q + turn, step, next);
  normalise(next);
  for (int k = 0; k < 4; ++k) q[turn + k] = next[k];
}

template <class S, class C>
void advance(const Tree<C>& tree, const Vec3<S>* centers, const S* moved, const S& dt, S* q, S* v) {
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) { advance_joint(joint, centers + i, moved + l.v, dt, q + l.q, v + l.v); });
  }
}

// A body alone on its free joint. (An armature that differs from axis to axis makes the linear velocity part of what
// turns.)
FW_INLINE bool is_single_body(const Tree<double>& tree, int i) {
  const Link<double>& l = tree.links[i];
  const bool is_a_mass = l.ball_armature[0] == l.ball_armature[1] && l.ball_armature[1] == l.ball_armature[2];
  return l.kind == JointKind::free && l.parent < 0 && l.subtree_end == i + 1 && is_a_mass;
}

// The drift of a step in halves (kick.hpp). Ball joints of trees keep the components of their velocities, which are
// those of the middle of the step: there the axes have turned by half, and along these the centre of mass moves.
template <int K, bool turned, bool rotates, bool travels, class S>
FW_INLINE void drift_joint(AxisJoint<K, turned, rotates, travels> joint, const Vec3<S>* center, const S* moved,
                           const S& dt, S* q) {
  advance_joint(joint, center, moved, dt, q, static_cast<S*>(nullptr));
}
template <bool travels, class S>
[[gnu::noinline]] void drift_joint(Ball<travels> joint, const Vec3<S>* center, const S* moved, const S& dt, S* q) {
  S path[6], v[6];
  for (int k = 0; k < joint.nv; ++k) path[k] = moved[k], v[k] = S(0);
  if constexpr (travels) {
    const Vec3<S> w{moved[3], moved[4], moved[5]};
    S half[4];
    exponential(w * (dt * S(0.5)), half);
    Vec3<S> u{moved[0], moved[1], moved[2]};
    add_cross(u, w, *center);
    const Vec3<S> lin = quaternion_matrix(half) * u - cross(w, *center);
    for (int k = 0; k < 3; ++k) path[k] = lin[k];
  }
  advance_joint(joint, center, path, dt, q, v);
}
template <class S>
void drift(const Tree<double>& tree, const Vec3<S>* centers, const S* moved, const S& dt, S* q, S* v) {
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      if (is_single_body(tree, i))
        advance_joint(joint, centers + i, moved + l.v, dt, q + l.q, v + l.v);
      else
        drift_joint(joint, centers + i, moved + l.v, dt, q + l.q);
    });
  }
}

// As the scene moves.
template <class S>
FW_INLINE void advance(const Scene& scene, const Vec3<S>* centers, const S* moved, const S& dt, S* q, S* v) {
  if (scene.is_verlet())
    drift(scene.tree, centers, moved, dt, q, v);
  else
    advance(scene.tree, centers, moved, dt, q, v);
}

}  // namespace featherweight::FW_ISA
