// step/momenta.hpp -- products of velocities as steps in halves take them.
//   in    q where the step begins; v', the velocities of its middle, with which coordinates go
//   out   momenta H(q) v' along joints at both ends of the way; w.products
//
// Products of velocities are what turns momenta and what H(q) v gains as q moves: c(q, v) = d(H v)/dt + s(q, v) at
// constant v, s = S^T (V x* h) with h the momentum of all that a joint carries. The first half takes s where the step
// begins, the second where it ends, and both the same share of what H v' gains on the way:
//   c = s + (H(q+) v' - H(q) v') / dt
// This is the step that makes the action of L(q, v') dt/2 + L(q+, v') dt/2 stationary: of axis joints it is symplectic,
// so that the energy of what always turns the same way does not drift, and for bodies on ball joints it is the implicit
// midpoint rule. Cost: two sweeps out and in. Source: [Marsden and West 2001]. Oracle: energies; the twin, dense.
#pragma once
#include "spatial/coriolis.hpp"
#include "step/advance.hpp"
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

// Momenta along joints without those of armatures, which stay, and s.
template <class S>
void find_momenta(const Tree<double>& tree, const S* q, const S* v, StepWorkspace<S>& w, S* momenta, S* turning) {
  MomentaWorkspace<S>& m = w.momenta;
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      move_outward(joint, l, q + l.q, v + l.v, m.state + l.state, l.parent < 0 ? rest : m.motion[l.parent],
                   m.motion[i]);
    });
  }
  const Force<S> nothing = zero_force<S>();
  Force<S> carry = nothing;
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<double>& l = tree.links[i];
    take_over(l, m.accumulators, nothing, carry);
    carry += w.inertias[i].body * m.motion[i];
    visit(l.kind, [&](auto joint) {
      joint.project(l, carry, momenta + l.v);
      joint.project(l, force_cross(m.motion[i], carry), turning + l.v);
      add_armature_bias(joint, l, v + l.v, 1.0, turning + l.v);
      if (l.parent >= 0) carry = joint.to_parent(l, m.state + l.state, carry);
    });
    hand_over(l, carry, m.accumulators);
  }
}

// v: of the middle of the step, in all its joints; single bodies, which tumble otherwise, have no products here.
template <class S>
void find_kick_products(const Scene& scene, const S* q, const S* v, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  const S dt(2 * scene.kick), per_dt = S(1) / dt;
  S* const turning = w.motion.holds ? w.products : w.momenta.turning;
  for (int k = 0; k < tree.nq; ++k) w.momenta.q[k] = q[k];
  for (int f = 0; f < tree.nv; ++f) w.momenta.v[f] = v[f];
  drift(tree, w.centers, v, dt, w.momenta.q, w.momenta.v);
  find_momenta(tree, q, v, w, w.momenta.start, w.motion.holds ? w.momenta.turning : w.products);
  find_momenta(tree, w.momenta.q, v, w, w.momenta.end, turning);
  for (int i = 0; i < tree.n_links; ++i)
    for (int f = tree.links[i].v; f < tree.links[i].v + tree.links[i].nv; ++f)
      w.products[f] = is_single_body(tree, i) ? S(0) : w.products[f] + (w.momenta.end[f] - w.momenta.start[f]) * per_dt;
}

}  // namespace featherweight::FW_ISA
