// constrained/start_rows.hpp -- constraint rows K a = k of a link, in its coordinates, before any joint is passed.
//
// Sweeps work with a - g (the world accelerates by -g), so a row's target is reduced by what gravity contributes to it;
// for that the direction of gravity is needed in the axes of every link with rows.
#pragma once
#include "constrained/method.hpp"
#include "dynamics/aba.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct Row {
  Force<S> K;
  S k;
};

template <class A, class S>
FW_INLINE S operator*(const Force<A>& f, const Motion<S>& m) {
  return dot(f.lin, m.lin) + dot(f.ang, m.ang);
}

template <class J, class S, class C>
[[gnu::noinline]] void rotate_gravity(J, const Link<C>& l, const S* state, const Vec3<S>& parent, Vec3<S>& gravity) {
  gravity = J::axes_to_child(l, state, parent);
}

// Gravity in the axes of each link that has rows outboard; others are left alone.
template <class S, class C>
void rotate_gravity_outward(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* state,
                            Vec3<S>* gravity) {
  const Vec3<S> world{S(tree.gravity[0]), S(tree.gravity[1]), S(tree.gravity[2])};
  for (int s = 0; s < constraints.n_supporting; ++s) {
    const int i = constraints.supporting[s].link;
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      rotate_gravity(joint, l, state + l.state, l.parent < 0 ? world : gravity[l.parent], gravity[i]);
    });
  }
}

template <class C>
FW_INLINE Force<C> row_direction(const ConstraintRow<C>& constraint) {
  return {{constraint.K[0], constraint.K[1], constraint.K[2]}, {constraint.K[3], constraint.K[4], constraint.K[5]}};
}

// What a linear row need not ask of a - g: gravity and, for a material point, w x v.
template <class S, class C>
FW_INLINE Vec3<S> row_bias(const ConstraintRow<C>& constraint, const Motion<S>& v, const Vec3<S>& gravity) {
  Vec3<S> bias = gravity;
  if (constraint.of_point) {
    Vec3<S> v_point = v.lin;
    add_cross(v_point, v.ang, vec3(constraint.p));
    add_cross(bias, v.ang, v_point);
  }
  return bias;
}
template <class S, class C>
FW_INLINE S row_target(const ConstraintRow<C>& constraint, const S& target, const Motion<S>& v,
                       const Vec3<S>& gravity) {
  return target - dot(row_direction(constraint).lin, row_bias(constraint, v, gravity));
}

// An inactive row is all zeros.
template <class S, class C>
FW_INLINE Row<S> start_row(const ConstraintRow<C>& constraint, const S& target, const S& active, const Motion<S>& v,
                           const Vec3<S>& gravity) {
  const Force<C> K = row_direction(constraint);
  return {{Vec3<S>{active * K.lin[0], active * K.lin[1], active * K.lin[2]},
           Vec3<S>{active * K.ang[0], active * K.ang[1], active * K.ang[2]}},
          row_target(constraint, target, v, gravity) * active};
}

}  // namespace featherweight::FW_ISA
