// kinematics/drift.hpp -- how the axes of a joint are moved by what carries it: the terms of all derivatives.
//   With the axis S of a degree of freedom, carried by a body that moves with V and accelerates with A, and V' the
//   velocity behind the joint:   S' = V x S,   S'' = A x S + V x S',   (V + V') x S. Behind a joint with one axis all
//   are the same with V', and A behind it, in place of V and A.   Frames: the link's.
#pragma once
#include "model/joints.hpp"

namespace featherweight::FW_ISA {

// Of an axis joint: S' and S''.
template <class J, class S>
struct Drift {
  Motion<S> first, second;

  template <class C>
  FW_INLINE Drift(const Link<C>& l, const S*, const Motion<S>&, const Motion<S>&, const Motion<S>& v,
                  const Motion<S>& a) {
    const S one(1);
    first = zero_motion<S>();
    J::add_velocity_product(l, v, &one, first);
    second = motion_cross(v, first);
    J::add_velocity_product(l, a, &one, second);
  }
  template <class C>
  FW_INLINE void motions(const Link<C>&, int, Motion<S>& first_k, Motion<S>& second_k, Motion<S>& sum) const {
    first_k = first;
    second_k = second;
    sum = {first.lin + first.lin, first.ang + first.ang};
  }
  // u . S'' + b . S' and u . (V + V') x S + b . S, b a moment; the axis itself has no part in S'.
  template <class C>
  FW_INLINE void felt(const Link<C>& l, const Force<S>& u, const Vec3<S>& b, S* q, S* v) const {
    constexpr int K = J::axis, i = (K + 1) % 3, j = (K + 2) % 3;
    S x = dot(u.lin, second.lin) + dot(u.ang, second.ang);
    S y = u.lin[i] * first.lin[i] + u.lin[j] * first.lin[j];
    if constexpr (J::rotates) {
      x = x + b[i] * first.ang[i] + b[j] * first.ang[j];
      y = y + u.ang[i] * first.ang[i] + u.ang[j] * first.ang[j];
    }
    q[0] = x;
    v[0] = y + y;
    if constexpr (J::rotates) v[0] = v[0] + b[K] * l.sign;
  }
};
// Of a ball joint: V, A and V + V', which serve all of its axes at once.
template <bool travels, class S>
struct Drift<Ball<travels>, S> {
  using J = Ball<travels>;
  Motion<S> v, a, both;
  bool at_rest;  // the world carries it

  template <class C>
  FW_INLINE Drift(const Link<C>& l, const S* state, const Motion<S>& v_parent, const Motion<S>& a_parent,
                  const Motion<S>& v_own, const Motion<S>&)
      : v(J::to_child(l, state, v_parent)), a(J::to_child(l, state, a_parent)), both(v), at_rest(l.parent < 0) {
    both += v_own;
  }
  template <class C>
  FW_INLINE void motions(const Link<C>& l, int k, Motion<S>& first, Motion<S>& second, Motion<S>& sum) const {
    const Motion<S> s = J::template column<S>(l, k);
    first = motion_cross(v, s);
    second = motion_cross(v, first);
    second += motion_cross(a, s);
    sum = motion_cross(both, s);
  }
  template <class C>
  FW_INLINE void felt(const Link<C>& l, const Force<S>& u, const Vec3<S>& b, S* q_entries, S* v_entries) const {
    Force<S> x;
    if (at_rest) {  // V = 0, and A has no angular part
      x = {zero3<S>(), cross(u.lin, a.lin)};
    } else {
      x = force_cross(v, u);
      x.ang -= b;
      x = force_cross(v, x);
      x -= force_cross(a, u);
    }
    J::project(l, x, q_entries);
    Force<S> y{zero3<S>(), b};
    y -= force_cross(both, u);
    J::project(l, y, v_entries);
  }
};

}  // namespace featherweight::FW_ISA
