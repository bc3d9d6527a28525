// dynamics/aba.hpp -- forward dynamics by articulated bodies.
//   a = H(q)^-1 (tau + J^T f_ext - h(q, v)), O(n), H never formed.
//   Source: [RBDA] ch. 7.   Frames: everything with index i lives in link i.   Gravity: the world accelerates by -g.
//   Oracle: rnea(aba(tau)) == tau; a dense solve with H.
//
// The articulated inertia is carried from child to parent, not stored: only a link with several children has an
// accumulator. What the outward sweep needs is D^-1 U^T, D^-1 u and the velocity, which then becomes the acceleration.
#pragma once
#include "dynamics/carry.hpp"
#include "dynamics/eliminate.hpp"
#include "memory/arena.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct AbaWorkspace {
  S* state;
  Motion<S>* motion;  // velocity, then acceleration minus gravity, of each link
  S* factors;         // eliminated joints, dynamics/eliminate.hpp
  Outboard<S>* accumulators;

  template <class C>
  AbaWorkspace(const Tree<C>& tree, Arena& arena)
      : state(arena.take<S>(tree.n_states)),
        motion(arena.take<Motion<S>>(tree.n_links)),
        factors(arena.take<S>(tree.n_factors)),
        accumulators(arena.take<Outboard<S>>(tree.n_accumulators)) {}
};

struct Unobserved {
  static constexpr bool spares_leaves = true;
  template <class... Anything>
  FW_INLINE void operator()(const Anything&...) const {}
};

// An observer that adds nothing to the inertia of a leaf.
template <class F>
struct SparingLeaves : F {
  static constexpr bool spares_leaves = true;
};
template <class F>
SparingLeaves(F) -> SparingLeaves<F>;

// Whether leaves may be treated as single bodies. On lanes their constants would have to be broadcast, which costs what
// it saves.
template <class Observer, class S>
constexpr bool spares_leaves() {
  return width_of<S> == 1 && requires { Observer::spares_leaves; };
}

// Sweep 1, root to leaf: joint states and link velocities. `after(i, joint)` sees each link at its turn.
template <class S, class C, class After = Unobserved>
void move_outward(const Tree<C>& tree, const S* q, const S* v, AbaWorkspace<S>& w, const After& after = {}) {
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      move_outward(joint, l, q + l.q, v + l.v, w.state + l.state, l.parent < 0 ? rest : w.motion[l.parent],
                   w.motion[i]);
      after(i, joint);
    });
  }
}

// Sweep 2, leaf to root: project out joint i, hand the rest to its parent. f_ext: force on each compiled link in its
// coordinates, or null. `before(i, outboard)` and `after(i, joint, outboard)` see each link at its turn, and may add to
// what is outboard. inertias(i): whose inertia link i has.
template <class S, class C, class Before = Unobserved, class After = Unobserved, class Inertias = SharedByLanes>
FW_INLINE void project_link(const Tree<C>& tree, int i, const S* v, const S* tau, const Force<S>* f_ext,
                            AbaWorkspace<S>& w, Outboard<S>& carry, const Before& before = {}, const After& after = {},
                            const Inertias& inertias = {}) {
  constexpr bool leaves_are_bodies = spares_leaves<Before, S>();
  const Link<C>& l = tree.links[i];
  const bool leaf = !l.carries;
  if (leaf) carry.p = zero_force<S>();
  if (leaf && !leaves_are_bodies) carry.I = zero_inertia<S>();
  collect(l, w.accumulators, carry);
  if (f_ext) carry.p -= f_ext[i];
  before(i, carry);
  visit(l.kind, [&](auto joint) {
    const Motion<S>* const motion = w.motion + i;
    auto& factor = factor_of(joint, l, w.factors);
    if (leaf && leaves_are_bodies)  // written out: through a lambda plain doubles lose 6 %
      project_out<true>(joint, l, inertias(i), w.state + l.state, factor, carry, motion, v + l.v, tau + l.v);
    else
      project_out<false>(joint, l, inertias(i), w.state + l.state, factor, carry, motion, v + l.v, tau + l.v);
    after(i, joint, carry);
  });
  hand_over(l, carry, w.accumulators);
}
template <class S, class C, class Before = Unobserved, class After = Unobserved, class Inertias = SharedByLanes>
void project_inward(const Tree<C>& tree, const S* v, const S* tau, const Force<S>* f_ext, AbaWorkspace<S>& w,
                    const Before& before = {}, const After& after = {}, const Inertias& inertias = {}) {
  Outboard<S> carry;
  for (int i = tree.n_links - 1; i >= 0; --i) project_link(tree, i, v, tau, f_ext, w, carry, before, after, inertias);
}

// Sweep 3, root to leaf: joint and link accelerations. `before(i, joint)` and `after(i)` see each link at its turn.
// world: its acceleration, which stands in for gravity.
template <class S, class C, class Before = Unobserved, class After = Unobserved>
void accelerate_outward(const Tree<C>& tree, const Motion<S>& world, const S* v, AbaWorkspace<S>& w, S* a,
                        const Before& before = {}, const After& after = {}) {
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      before(i, joint);
      accelerate(joint, l, w.state + l.state, v + l.v, factor_of(joint, l, w.factors),
                 l.parent < 0 ? world : w.motion[l.parent], w.motion[i], a + l.v);
    });
    after(i);
  }
}
template <class S, class C, class Before = Unobserved, class After = Unobserved>
FW_INLINE void accelerate_outward(const Tree<C>& tree, const S* v, AbaWorkspace<S>& w, S* a, const Before& before = {},
                                  const After& after = {}) {
  accelerate_outward(tree, minus_gravity<S>(tree), v, w, a, before, after);
}

template <class S, class C, class Inertias>
void aba(const Tree<C>& tree, const Motion<S>& world, const Inertias& inertias, const S* q, const S* v, const S* tau,
         const Force<S>* f_ext, AbaWorkspace<S>& w, S* a) {
  move_outward(tree, q, v, w);
  project_inward(tree, v, tau, f_ext, w, Unobserved{}, Unobserved{}, inertias);
  accelerate_outward(tree, world, v, w, a);
}
template <class S, class C>
FW_INLINE void aba(const Tree<C>& tree, const S* q, const S* v, const S* tau, const Force<S>* f_ext, AbaWorkspace<S>& w,
                   S* a) {
  aba(tree, minus_gravity<S>(tree), SharedByLanes{}, q, v, tau, f_ext, w, a);
}

}  // namespace featherweight::FW_ISA
