// simulation/advance.hpp -- the end of a step: coordinates move with the new velocities.
//
// Velocities of a free joint are kept in body axes. Within a step they are those of the orientation at its start, so
// that a body no force acts on flies straight: the origin moves along a line, the axes turn, and the linear velocity
// is then expressed in the new axes.
#pragma once
#include "kinematics/integrate.hpp"

namespace featherweight::FW_ISA {

template <class C, class F>
FW_INLINE void for_free_joints(const Tree<C>& tree, const F& f) {
  for (int i = 0; i < tree.n_links; ++i)
    if (tree.links[i].kind == JointKind::free) f(tree.links[i]);
}
// x += dt (w x v) of a free joint: from the derivative of components in moving axes to that of the vector.
template <class S>
FW_INLINE void add_turning_of_axes(const S* v, const S& dt, S* x) {
  const Vec3<S> lin{v[0], v[1], v[2]}, ang{v[3], v[4], v[5]}, turn = cross(ang, lin);
  for (int k = 0; k < 3; ++k) x[k] = x[k] + turn[k] * dt;
}

// q moves by `moved` dt; v is then expressed in the new axes.
template <int K, bool turned, bool rotates, bool travels, class S>
FW_INLINE void advance_joint(AxisJoint<K, turned, rotates, travels>, const S* moved, const S& dt, S* q, S*) {
  q[0] = q[0] + moved[0] * dt;
}
template <bool travels, class S>
[[gnu::noinline]] void advance_joint(Ball<travels>, const S* moved, const S& dt, S* q, S* v) {
  constexpr int turn = travels ? 3 : 0;
  if constexpr (travels) {
    const Vec3<S> path = quaternion_matrix(q + 3) * Vec3<S>{moved[0] * dt, moved[1] * dt, moved[2] * dt};
    for (int k = 0; k < 3; ++k) q[k] = q[k] + path[k];
  }
  S step[4], next[4];
  exponential(Vec3<S>{moved[turn] * dt, moved[turn + 1] * dt, moved[turn + 2] * dt}, step);
  multiply(q + turn, step, next);
  normalise(next);
  for (int k = 0; k < 4; ++k) q[turn + k] = next[k];
  if constexpr (travels) {
    const Vec3<S> seen = transposed_times(quaternion_matrix(step), Vec3<S>{v[0], v[1], v[2]});
    for (int k = 0; k < 3; ++k) v[k] = seen[k];
  }
}

template <class S, class C>
void advance(const Tree<C>& tree, const S* moved, const S& dt, S* q, S* v) {
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) { advance_joint(joint, moved + l.v, dt, q + l.q, v + l.v); });
  }
}

}  // namespace featherweight::FW_ISA
