// dynamics/products.hpp -- accelerations by products of velocities alone, where the joints are eliminated already.
//   x = -H(q)^-1 c(q, v), O(n)
//
// Iterations that look for a velocity meet the same H again and again. With the states and factors that aba left
// (dynamics/eliminate.hpp) no inertia is projected out another time:
//   outward:  velocities, and the accelerations that links have while those of joints are zero
//   inward:   the forces which that takes, on their way through eliminated joints (dynamics/affine.hpp)
//   outward:  accelerations
// Half of what aba costs. Frames: everything with index i lives in link i. Oracle: aba without forces and weight.
#pragma once
#include "dynamics/aba.hpp"
#include "dynamics/affine.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct ProductsWorkspace {
  struct Moving {
    Motion<S> v, a;
  };
  Moving* links;
  Motion<S>* response;
  Force<S>* accumulators;
  S* u;

  template <class C>
  ProductsWorkspace(const Tree<C>& tree, Arena& arena)
      : links(arena.take<Moving>(tree.n_links)),
        response(arena.take<Motion<S>>(tree.n_links)),
        accumulators(arena.take<Force<S>>(tree.n_accumulators)),
        u(arena.take<S>(tree.nv)) {}
};

template <class J, class S, class C>
[[gnu::noinline]] void move_without_acceleration(J, const Link<C>& l, const S* state, const S* rate,
                                                 const Motion<S>& v_parent, const Motion<S>& a_parent, Motion<S>& v,
                                                 Motion<S>& a) {
  Motion<S> v_i = J::to_child(l, state, v_parent), a_i = J::to_child(l, state, a_parent);
  J::add_motion(l, rate, v_i);
  J::add_velocity_product(l, v_i, rate, a_i);
  v = v_i, a = a_i;
}

// eliminated: its states and factors are those of q. inertias(i): whose inertia link i has.
template <class S, class C, class Inertias>
void products_of_velocities(const Tree<C>& tree, const Inertias& inertias, const AbaWorkspace<S>& eliminated,
                            const S* v, ProductsWorkspace<S>& w, S* x) {
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    const bool is_root = l.parent < 0;
    visit(l.kind, [&](auto joint) {
      move_without_acceleration(joint, l, eliminated.state + l.state, v + l.v, is_root ? rest : w.links[l.parent].v,
                                is_root ? rest : w.links[l.parent].a, w.links[i].v, w.links[i].a);
    });
  }

  const Force<S> nothing = zero_force<S>();
  Force<S> carry = nothing;
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    take_over(l, w.accumulators, nothing, carry);
    carry += body(inertias(i), l) * w.links[i].a;
    add_velocity_bias(carry, body(inertias(i), l), w.links[i].v);
    visit(l.kind, [&](auto joint) {
      S* const u = w.u + l.v;
      for (int k = 0; k < l.nv; ++k) u[k] = S(0);
      add_armature_bias(joint, l, v + l.v, C(-1), u);
      affine_inward(joint, l, eliminated.state + l.state, factor_of(joint, l, eliminated.factors), u, carry);
    });
    hand_over(l, carry, w.accumulators);
  }

  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      affine_outward(joint, l, eliminated.state + l.state, factor_of(joint, l, eliminated.factors), w.u + l.v,
                     l.parent < 0 ? rest : w.response[l.parent], w.response[i], x + l.v);
    });
  }
}

}  // namespace featherweight::FW_ISA
