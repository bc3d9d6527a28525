// dynamics/rnea.hpp -- inverse dynamics by the recursive Newton-Euler algorithm.
//   tau = H(q) a + h(q, v) - J^T f_ext, O(n).
//   Source: [RBDA] ch. 5.   Frames: everything with index i lives in link i.   Gravity: the world accelerates by -g.
//   Oracle: rnea(aba(tau)) == tau; dense H a + h.
#pragma once
#include "dynamics/carry.hpp"
#include "memory/arena.hpp"
#include "model/joints.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct RneaWorkspace {
  struct Moving {
    Motion<S> v, a;
  };
  S* state;
  Moving* links;
  Force<S>* accumulators;

  template <class C>
  RneaWorkspace(const Tree<C>& tree, Arena& arena)
      : state(arena.take<S>(tree.n_states)),
        links(arena.take<Moving>(tree.n_links)),
        accumulators(arena.take<Force<S>>(tree.n_accumulators)) {}
};

// Velocity and acceleration of link i from its parent's.
template <class J, class S, class C>
[[gnu::noinline]] void rnea_outward(J, const Link<C>& l, const S* q, const S* rate, const S* acceleration, S* state,
                                    const Motion<S>& v_parent, const Motion<S>& a_parent, Motion<S>& v, Motion<S>& a) {
  J::set_state(l, q, state);
  Motion<S> v_i = J::to_child(l, state, v_parent);
  J::add_motion(l, rate, v_i);
  v = v_i;
  Motion<S> a_i = J::to_child(l, state, a_parent);
  J::add_velocity_product(l, v_i, rate, a_i);
  J::add_motion(l, acceleration, a_i);
  a = a_i;
}

// Force through joint i, projected on its degrees of freedom and handed to the parent.
template <class J, class S, class C>
[[gnu::noinline]] void rnea_inward(J, const Link<C>& l, const S* state, const Motion<S>& v, const Motion<S>& a,
                                   const S* rate, const S* acceleration, S* tau, Force<S>& carry) {
  Force<S> f = carry;
  f += body(l) * a;
  add_velocity_bias(f, body(l), v);
  J::project(l, f, tau);
  for (int k = 0; k < J::nv; ++k) tau[k] = tau[k] + acceleration[k] * l.armature[k];
  add_armature_bias(J{}, l, rate, C(1), tau);
  if (l.parent >= 0) carry = J::to_parent(l, state, f);
}

// Sweep 1, root to leaf: velocities and accelerations. world: its acceleration, which stands in for gravity.
template <class S, class C>
void rnea_outward(const Tree<C>& tree, const Motion<S>& world, const S* q, const S* v, const S* a, S* state,
                  typename RneaWorkspace<S>::Moving* links) {
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    const Motion<S>& v_parent = l.parent < 0 ? rest : links[l.parent].v;
    const Motion<S>& a_parent = l.parent < 0 ? world : links[l.parent].a;
    visit(l.kind, [&](auto joint) {
      rnea_outward(joint, l, q + l.q, v + l.v, a + l.v, state + l.state, v_parent, a_parent, links[i].v, links[i].a);
    });
  }
}

template <class S, class C>
void rnea(const Tree<C>& tree, const S* q, const S* v, const S* a, const Force<S>* f_ext, RneaWorkspace<S>& w, S* tau) {
  rnea_outward(tree, minus_gravity<S>(tree), q, v, a, w.state, w.links);

  // sweep 2, leaf to root: forces
  const Force<S> nothing = zero_force<S>();
  Force<S> carry = nothing;
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    take_over(l, w.accumulators, nothing, carry);
    if (f_ext) carry -= f_ext[i];
    visit(l.kind, [&](auto joint) {
      rnea_inward(joint, l, w.state + l.state, w.links[i].v, w.links[i].a, v + l.v, a + l.v, tau + l.v, carry);
    });
    hand_over(l, carry, w.accumulators);
  }
}

}  // namespace featherweight::FW_ISA
