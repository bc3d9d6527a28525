// dynamics/affine.hpp -- what one more set of forces does to an articulated tree whose joints are already eliminated.
//
// Accelerations are affine in the forces. With the factors of dynamics/eliminate.hpp the difference costs two light
// sweeps: forces inward, accelerations outward; no inertia, velocity or gravity enters again.
//   inward:   u = tau - S^T f,   f_parent += X^T (f + U D^-1 u)
//   outward:  a' = X a_parent,   rate' = D^-1 u - D^-1 U^T a',   a = a' + S rate'
#pragma once
#include "dynamics/eliminate.hpp"

namespace featherweight::FW_ISA {

// u comes in as tau and leaves as what solve_joint wants (D^-1 u, for a free joint u); f leaves at the parent.
template <int K, bool turned, bool rotates, bool travels, class S, class C>
FW_INLINE void pass_inward(AxisJoint<K, turned, rotates, travels>, const Link<C>& l, const S* state,
                           const AxisFactor<S>& factor, S* u, Force<S>& f) {
  using J = AxisJoint<K, turned, rotates, travels>;
  S x;
  J::project(l, f, &x);
  x = (u[0] - x) * l.sign;
  u[0] = factor.D_inverse * x;
  if (l.parent < 0) return;
  Force<S> g = f;
  add_scaled(g.lin, factor.UD.lin, x);
  add_scaled(g.ang, factor.UD.ang, x);
  f = J::to_parent(l, state, g);
}
template <class S, class C>
FW_INLINE void pass_inward(Spherical, const Link<C>& l, const S* state, const SphericalFactor<S>& factor, S* u,
                           Force<S>& f) {
  const Vec3<S> x{u[0] - f.ang[0], u[1] - f.ang[1], u[2] - f.ang[2]};
  const Vec3<S> solved = factor.D_inverse * x;
  for (int k = 0; k < 3; ++k) {
    u[k] = solved[k];
    add_scaled(f.lin, factor.UD[k].lin, x[k]);
    add_scaled(f.ang, factor.UD[k].ang, x[k]);
  }
  if (l.parent >= 0) f = Spherical::to_parent(l, state, f);
}
template <class S, class C>
FW_INLINE void pass_inward(Free, const Link<C>& l, const S* state, const FreeFactor<S>& factor, S* u, Force<S>& f) {
  const S tau[6] = {u[0], u[1], u[2], u[3], u[4], u[5]};
  for (int k = 0; k < 3; ++k) {
    u[k] = u[k] - f.lin[k];
    u[3 + k] = u[3 + k] - f.ang[k];
  }
  if (l.parent >= 0) f = Free::to_parent(l, state, passed_by_free_joint(l, factor, tau, u));
}

template <class J, class S, class C>
[[gnu::noinline]] void affine_inward(J, const Link<C>& l, const S* state, const Factor<J, S>& factor, S* u,
                                     Force<S>& f) {
  pass_inward(J{}, l, state, factor, u, f);
}

template <class J, class S, class C>
[[gnu::noinline]] void affine_outward(J, const Link<C>& l, const S* state, const Factor<J, S>& factor, const S* u,
                                      const Motion<S>& a_parent, Motion<S>& a, S* joint_acceleration) {
  Motion<S> r = J::to_child(l, state, a_parent);
  solve_joint(J{}, l, factor, u, r, joint_acceleration);
  a = r;
}

// What solve_joint wants is increased for good.
template <class S>
FW_INLINE void drive(AxisFactor<S>& factor, const S* u) {
  factor.D_inverse_u = factor.D_inverse_u + u[0];
}
template <class S>
FW_INLINE void drive(SphericalFactor<S>& factor, const S* u) {
  factor.D_inverse_u += Vec3<S>{u[0], u[1], u[2]};
}
template <class S>
FW_INLINE void drive(FreeFactor<S>& factor, const S* u) {
  for (int k = 0; k < 6; ++k) factor.u[k] = factor.u[k] + u[k];
}

}  // namespace featherweight::FW_ISA
