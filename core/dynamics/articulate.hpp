// dynamics/articulate.hpp -- every joint of a tree eliminated, O(n): what does not depend on velocities and forces.
//
// The first sweep of minverse and of all Delassus algorithms. No velocity, force or bias is carried, and the joint
// states are set on the way inward.
#pragma once
#include "dynamics/aba.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct ArticulatedTree {
  S* state;
  S* factors;  // eliminated joints, dynamics/eliminate.hpp; their right-hand sides are not set
  ArticulatedInertia<S>* accumulators;

  template <class C>
  ArticulatedTree(const Tree<C>& tree, Arena& arena)
      : state(arena.take<S>(tree.n_states)),
        factors(arena.take<S>(tree.n_factors)),
        accumulators(arena.take<ArticulatedInertia<S>>(tree.n_accumulators)) {}
};

// Calls f<leaf>() where `possible`, else f<false>().
template <bool possible, class F>
FW_INLINE void either(bool leaf, F&& f) {
  if constexpr (possible) {
    if (leaf) return f.template operator()<true>();
  }
  f.template operator()<false>();
}

template <bool leaf, class J, class S, class C>
[[gnu::noinline]] void articulate_joint(J joint, const Link<C>& l, const S* q, S* state, Factor<J, S>& factor,
                                        ArticulatedInertia<S>& I) {
  J::set_state(l, q, state);
  project_out<leaf>(joint, l, SharedByLanes{}, state, factor, I);
}

// Leaf to root. `before(i, I)` and `after(i, joint)` see each link at its turn; the first may add to the articulated
// inertia, which lacks the link's own body.
template <class S, class C, class Before = Unobserved, class After = Unobserved>
void articulate(const Tree<C>& tree, const S* q, ArticulatedTree<S>& w, const Before& before = {},
                const After& after = {}) {
  constexpr bool leaves_are_bodies = spares_leaves<Before, S>();
  ArticulatedInertia<S> carry;
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    const bool leaf = !l.carries;
    if (leaf && !leaves_are_bodies) carry = zero_inertia<S>();
    collect(l, w.accumulators, carry);
    before(i, carry);
    visit(l.kind, [&](auto joint) {
      auto& factor = factor_of(joint, l, w.factors);
      either<leaves_are_bodies>(leaf, [&]<bool is_leaf>() FW_LAMBDA_INLINE {
        articulate_joint<is_leaf>(joint, l, q + l.q, w.state + l.state, factor, carry);
      });
      after(i, joint);
    });
    hand_over(l, carry, w.accumulators);
  }
}

}  // namespace featherweight::FW_ISA
