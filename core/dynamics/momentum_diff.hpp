// dynamics/momentum_diff.hpp -- derivatives of the centre of mass and of the momentum about it.
//   O(n): composite bodies inward, outward the poses of links, in whose axes every column is known.
//   Oracle: finite differences of center_of_mass and centroidal_momentum; Pinocchio.
//
// I, P: inertia and momentum of a link with everything outboard. Degree of freedom k with axis S, carried by a body of
// velocity V, changes the momentum of the whole about the world's origin by
//   by v_k:  I S        by q_k:  S x* P + I (V x S)
// and the centre of mass, c, by the linear part of I S over the mass. About c, the momentum (p; l) has l - c x p.
#pragma once
#include "dynamics/rnea_diff.hpp"
#include "kinematics/forward.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct BodyMomentum {
  RigidInertia<S> inertia;
  Force<S> momentum;
};
template <class S>
FW_INLINE void operator+=(BodyMomentum<S>& a, const BodyMomentum<S>& b) {
  a.inertia += b.inertia;
  a.momentum += b.momentum;
}

template <class S>
struct MomentumDiffWorkspace {
  S* state;
  typename RneaWorkspace<S>::Moving* links;  // no acceleration
  Force<S>*by_q, *by_v;                      // columns, then in the world
  BodyMomentum<S>* accumulators;
  Pose<S>* poses;
  S* zero;

  template <class C>
  MomentumDiffWorkspace(const Tree<C>& tree, Arena& arena)
      : state(arena.take<S>(tree.n_states)),
        links(arena.take<typename RneaWorkspace<S>::Moving>(tree.n_links)),
        by_q(arena.take<Force<S>>(tree.nv)),
        by_v(arena.take<Force<S>>(tree.nv)),
        accumulators(arena.take<BodyMomentum<S>>(tree.n_accumulators)),
        poses(arena.take<Pose<S>>(tree.n_links)),
        zero(arena.take<S>(tree.nv)) {}
};

template <class J, class S, class C>
[[gnu::noinline]] void momentum_diff_inward(J, const Link<C>& l, const S* state, const Motion<S>& v,
                                            const Drift<J, S>& drift, BodyMomentum<S>& carry, Force<S>* by_q,
                                            Force<S>* by_v) {
  BodyMomentum<S> c = carry;
  c.inertia += body(l);
  c.momentum += body(l) * v;
  for (int k = 0; k < J::nv; ++k) {
    Motion<S> first, second, both;
    drift.motions(l, k, first, second, both);
    const Motion<S> s = J::template column<S>(l, k);
    by_v[k] = c.inertia * s;
    Force<S> f = c.inertia * first;
    f += force_cross(s, c.momentum);
    by_q[k] = f;
  }
  if (l.parent < 0)
    carry = c;
  else
    carry = {J::to_parent(l, state, c.inertia), J::to_parent(l, state, c.momentum)};
}

// momentum: about the centre of mass, which is left in com; both in world axes, as are the columns w.by_q and w.by_v of
// their derivatives. The column of the centre of mass is w.by_v[k].lin over the mass.
template <class S, class C>
void momentum_diff(const Tree<C>& tree, const S* q, const S* v, MomentumDiffWorkspace<S>& w) {
  const Motion<S> rest = zero_motion<S>();
  const Pose<S> world = identity_pose<S>();
  for (int k = 0; k < tree.nv; ++k) w.zero[k] = S(0);
  rnea_outward(tree, rest, q, v, w.zero, w.state, w.links);
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      place(joint, l, q + l.q, w.state + l.state, l.parent < 0 ? world : w.poses[l.parent], w.poses[i]);
    });
  }

  const BodyMomentum<S> nothing{zero_body<S>(), zero_force<S>()};
  BodyMomentum<S> carry = nothing;
  Force<S> total = zero_force<S>();
  Vec3<S> moment = zero3<S>();  // mass times centre of mass
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    take_over(l, w.accumulators, nothing, carry);
    const Motion<S>& v_parent = l.parent < 0 ? rest : w.links[l.parent].v;
    const Motion<S>& a_parent = l.parent < 0 ? rest : w.links[l.parent].a;
    visit(l.kind, [&](auto joint) {
      const Drift<decltype(joint), S> drift(l, w.state + l.state, v_parent, a_parent, w.links[i].v, w.links[i].a);
      momentum_diff_inward(joint, l, w.state + l.state, w.links[i].v, drift, carry, w.by_q + l.v, w.by_v + l.v);
    });
    hand_over(l, carry, w.accumulators);
    const auto to_world = [&](const Force<S>& f) FW_LAMBDA_INLINE {
      return shift_to_parent(to_parent(Rotation<S>{w.poses[i].R}, f), w.poses[i].p);
    };
    if (l.parent < 0) {  // carry is in the axes of the link still
      total += to_world(carry.momentum);
      moment += w.poses[i].R * carry.inertia.h + w.poses[i].p * carry.inertia.m;
    }
    for (int k = l.v; k < l.v + l.nv; ++k) {
      w.by_q[k] = to_world(w.by_q[k]);
      w.by_v[k] = to_world(w.by_v[k]);
    }
  }

  // from the world's origin to the centre of mass, which moves
  const C inverse_mass = C(1) / tree.mass;
  const Vec3<S> com = moment * inverse_mass;
  for (int k = 0; k < tree.nv; ++k) {
    const Vec3<S> dcom = w.by_v[k].lin * inverse_mass;
    add_cross(w.by_q[k].ang, w.by_q[k].lin, com);
    add_cross(w.by_q[k].ang, total.lin, dcom);
    add_cross(w.by_v[k].ang, w.by_v[k].lin, com);
  }
}

}  // namespace featherweight::FW_ISA
