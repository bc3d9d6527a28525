// dynamics/rnea_adjoint.hpp -- the products of derivatives of inverse dynamics with a vector x, without the matrices:
//   (d tau / d q)^T x,  (d tau / d v)^T x,  (d tau / d a)^T x = H x.
//   O(n): two sweeps, about twice the work of rnea.   Frames: everything with index i lives in link i.
//   Oracle: rnea_diff; finite differences of x . rnea.
//
// x . tau is the sum over links of X . F, where X is the velocity that a joint velocity x would give a link and F the
// force on it. With the letters of dynamics/rnea_diff.hpp, M = I X and b = 2 B^T X (a moment), summed over what is
// outboard of a joint, and V, A, X of what carries it:
//   by q:  S . (V x* (V x* M - b) - A x* M - X x* F)
//   by v:  S . (b - (V + V') x* M)
//   by a:  S . M
// Behind a joint with one axis V', A and X behind it can be taken instead.
#pragma once
#include "dynamics/eliminate.hpp"
#include "dynamics/rnea.hpp"

namespace featherweight::FW_ISA {

// Summed over a link and everything outboard.
template <class S>
struct AdjointForces {
  Force<S> M, F;
  Vec3<S> b;
};
template <class S>
FW_INLINE void operator+=(AdjointForces<S>& a, const AdjointForces<S>& b) {
  a.M += b.M;
  a.F += b.F;
  a.b += b.b;
}

template <class S>
struct RneaAdjointWorkspace {
  S* state;
  typename RneaWorkspace<S>::Moving* links;
  Motion<S>* x;  // of each link
  AdjointForces<S>* accumulators;

  template <class C>
  RneaAdjointWorkspace(const Tree<C>& tree, Arena& arena)
      : state(arena.take<S>(tree.n_states)),
        links(arena.take<typename RneaWorkspace<S>::Moving>(tree.n_links)),
        x(arena.take<Motion<S>>(tree.n_links)),
        accumulators(arena.take<AdjointForces<S>>(tree.n_accumulators)) {}
};

// Velocity of link i for joint velocities x.
template <class J, class S, class C>
[[gnu::noinline]] void adjoint_outward(J, const Link<C>& l, const S* state, const S* rate, const Motion<S>& parent,
                                       Motion<S>& own) {
  Motion<S> m = J::to_child(l, state, parent);
  J::add_motion(l, rate, m);
  own = m;
}

// What carries joint i, as the formulae want it: for an axis joint the link itself will do.
template <class S>
struct Carrier {
  Motion<S> v, a, x;
};
template <int K, bool turned, bool rotates, bool travels, class S, class C>
FW_INLINE Carrier<S> carrier(AxisJoint<K, turned, rotates, travels>, const Link<C>&, const S*, const Carrier<S>&,
                             const Carrier<S>& own) {
  return own;
}
template <bool travels, class S, class C>
FW_INLINE Carrier<S> carrier(Ball<travels>, const Link<C>& l, const S* state, const Carrier<S>& parent,
                             const Carrier<S>&) {
  using J = Ball<travels>;
  return {J::to_child(l, state, parent.v), J::to_child(l, state, parent.a), J::to_child(l, state, parent.x)};
}

// What the armature adds to the product by v: that of a ball joint takes a force as its axes turn, see
// add_armature_bias.
template <int K, bool turned, bool rotates, bool travels, class S, class C>
FW_INLINE void add_adjoint_armature(AxisJoint<K, turned, rotates, travels>, const Link<C>&, const S*, const S*, S*) {}
template <bool travels, class S, class C>
FW_INLINE void add_adjoint_armature(Ball<travels>, const Link<C>& l, const S* rate, const S* x, S* by_v) {
  if (!l.turns_armature) return;
  constexpr int turn = Ball<travels>::nv - 3;
  const auto at = [](const S* y, int k) FW_LAMBDA_INLINE { return Vec3<S>{y[k], y[k + 1], y[k + 2]}; };
  const auto scaled = [&](const Vec3<S>& y, int k) FW_LAMBDA_INLINE {
    return Vec3<S>{y[0] * l.ball_armature[k], y[1] * l.ball_armature[k + 1], y[2] * l.ball_armature[k + 2]};
  };
  const auto add = [&](int k, const Vec3<S>& y) FW_LAMBDA_INLINE {
    for (int c = 0; c < 3; ++c) by_v[k + c] = by_v[k + c] + y[c];
  };
  const Vec3<S> w = at(rate, turn), x_w = at(x, turn);
  add(turn, cross(scaled(w, turn), x_w) + scaled(cross(x_w, w), turn));
  if constexpr (travels) {
    const Vec3<S> v = at(rate, 0), x_v = at(x, 0), Rv = scaled(v, 0);
    add(turn, cross(Rv, x_v));
    add(0, scaled(cross(x_v, w), 0) + cross(Rv, x_w) + scaled(cross(x_w, v), 0));
  }
}

template <class J, class S, class C, class Own>
[[gnu::noinline]] void adjoint_inward(J, const Link<C>& l, const Own& own_inertia, const S* state,
                                      const Carrier<S>& parent, const Carrier<S>& own, const S* rate, const S* x,
                                      AdjointForces<S>& carry, S* by_q, S* by_v, S* by_a) {
  const auto body_i = body(own_inertia, l);
  const CoriolisMatrix<S> B = coriolis_matrix(body_i, own.v);
  AdjointForces<S> c = carry;
  c.F += body_force(body_i, B, own.v, own.a);
  c.M += body_i * own.x;
  c.b += transposed_coriolis(B, own.x);

  const Carrier<S> in_front = carrier(J{}, l, state, parent, own);
  Force<S> f = force_cross(in_front.v, c.M);
  Force<S> g = force_cross(own.v, c.M);
  g += f;
  g = {zero3<S>() - g.lin, c.b - g.ang};
  f.ang -= c.b;
  f = force_cross(in_front.v, f);
  f -= force_cross(in_front.a, c.M);
  f -= force_cross(in_front.x, c.F);
  J::project(l, f, by_q);
  J::project(l, g, by_v);
  J::project(l, c.M, by_a);
  add_adjoint_armature(J{}, l, rate, x, by_v);
  if constexpr (J::nv == 1)
    by_a[0] = by_a[0] + x[0] * rotor(own_inertia, l);
  else
    for (int k = 0; k < J::nv; ++k) by_a[k] = by_a[k] + x[k] * l.armature[k];
  if (l.parent < 0) return;
  carry.F = J::to_parent(l, state, c.F);
  carry.M = J::to_parent(l, state, c.M);
  carry.b = J::axes_to_parent(l, state, c.b);
}

// by_q, by_v, by_a: nv each. For the other arguments see rnea_diff.
template <class S, class C, class Inertias>
void rnea_adjoint(const Tree<C>& tree, const Motion<S>& world, const Inertias& inertias, const S* q, const S* v,
                  const S* a, const Force<S>* f_ext, const S* x, RneaAdjointWorkspace<S>& w, S* by_q, S* by_v,
                  S* by_a) {
  const Motion<S> rest = zero_motion<S>();
  // sweep 1, root to leaf: three motions of every link
  rnea_outward(tree, world, q, v, a, w.state, w.links);
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      adjoint_outward(joint, l, w.state + l.state, x + l.v, l.parent < 0 ? rest : w.x[l.parent], w.x[i]);
    });
  }

  // sweep 2, leaf to root: forces, and the products with their axes
  const AdjointForces<S> nothing{zero_force<S>(), zero_force<S>(), zero3<S>()};
  AdjointForces<S> carry = nothing;
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    take_over(l, w.accumulators, nothing, carry);
    if (f_ext) carry.F -= f_ext[i];
    const Carrier<S> parent = l.parent < 0 ? Carrier<S>{rest, world, rest}
                                           : Carrier<S>{w.links[l.parent].v, w.links[l.parent].a, w.x[l.parent]};
    visit(l.kind, [&](auto joint) {
      adjoint_inward(joint, l, inertias(i), w.state + l.state, parent, Carrier<S>{w.links[i].v, w.links[i].a, w.x[i]},
                     v + l.v, x + l.v, carry, by_q + l.v, by_v + l.v, by_a + l.v);
    });
    hand_over(l, carry, w.accumulators);
  }
}
template <class S, class C>
FW_INLINE void rnea_adjoint(const Tree<C>& tree, const S* q, const S* v, const S* a, const Force<S>* f_ext, const S* x,
                            RneaAdjointWorkspace<S>& w, S* by_q, S* by_v, S* by_a) {
  rnea_adjoint(tree, minus_gravity<S>(tree), SharedByLanes{}, q, v, a, f_ext, x, w, by_q, by_v, by_a);
}

}  // namespace featherweight::FW_ISA
