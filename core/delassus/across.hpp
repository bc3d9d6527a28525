// delassus/across.hpp -- rows, and the accelerations that unit forces along them cause, passing a joint.
//   inward:   G = E S,   u = D^-1 G^T,   E_parent = (E - G D^-1 U^T) X
//   outward:  a' = X a_parent,   a = a' + S (u - D^-1 U^T a')
#pragma once
#include "dynamics/affine.hpp"
#include "dynamics/articulate.hpp"

namespace featherweight::FW_ISA {

// n rows E on the acceleration of a link, as its parent sees them while nothing else drives the joint. u receives nv
// entries per row, as solve_joint wants them. E_parent may be E, and is not touched at a root.
template <class J, class S, class C>
[[gnu::noinline]] void see_from_parent(J joint, const Link<C>& l, const S* state, const Factor<J, S>& factor, int n,
                                       const Force<S>* E, S* u, Force<S>* E_parent) {
  const Factor<J, S> f = factor;
  for (int r = 0; r < n; ++r) {
    Force<S> e = E[r];
    S driven[J::nv];
    for (int k = 0; k < J::nv; ++k) driven[k] = S(0);
    pass_inward(joint, l, state, f, driven, e);  // e as a load: drives the joint backwards
    for (int k = 0; k < J::nv; ++k) u[J::nv * r + k] = -driven[k];
    if (l.parent >= 0) E_parent[r] = e;
  }
}

// n accelerations of the parent become those of the link. u: nv entries per acceleration.
template <class J, class S, class C>
[[gnu::noinline]] void follow_parent(J joint, const Link<C>& l, const S* state, const Factor<J, S>& factor, int n,
                                     const S* u, Motion<S>* a) {
  const Factor<J, S> f = factor;
  S unused[J::nv];
  for (int r = 0; r < n; ++r) {
    Motion<S> m = l.parent < 0 ? zero_motion<S>() : J::to_child(l, state, a[r]);
    solve_joint(joint, l, f, u + J::nv * r, m, unused);
    a[r] = m;
  }
}

}  // namespace featherweight::FW_ISA
