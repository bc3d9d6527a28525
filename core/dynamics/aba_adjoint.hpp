// dynamics/aba_adjoint.hpp -- the products of derivatives of forward dynamics with a vector y, without the matrices:
//   (d a / d tau)^T y = H^-1 y = x,  (d a / d q)^T y = -(d tau / d q)^T x,  (d a / d v)^T y = -(d tau / d v)^T x,
//   the last two of inverse dynamics at the accelerations found.
//   O(n): the joints that aba has eliminated respond to y by two light sweeps; the rest is rnea_adjoint.
//   Oracle: aba_diff; finite differences of y . aba.
#pragma once
#include "dynamics/aba.hpp"
#include "dynamics/affine.hpp"
#include "dynamics/rnea_adjoint.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct AbaAdjointWorkspace {
  AbaWorkspace<S> aba;
  RneaAdjointWorkspace<S> rnea;
  S *a, *u, *by_a;
  Motion<S>* response;  // acceleration of each link
  Force<S>* accumulators;

  template <class C>
  AbaAdjointWorkspace(const Tree<C>& tree, Arena& arena)
      : aba(tree, arena),
        rnea(tree, arena),
        a(arena.take<S>(tree.nv)),
        u(arena.take<S>(tree.nv)),
        by_a(arena.take<S>(tree.nv)),
        response(arena.take<Motion<S>>(tree.n_links)),
        accumulators(arena.take<Force<S>>(tree.n_accumulators)) {}
};

// x = H^-1 y, with the joints eliminated by aba.
template <class S, class C>
void respond(const Tree<C>& tree, const AbaWorkspace<S>& eliminated, const S* y, S* u, Motion<S>* response,
             Force<S>* accumulators, S* x) {
  const Force<S> nothing = zero_force<S>();
  Force<S> carry = nothing;
  for (int k = 0; k < tree.nv; ++k) u[k] = y[k];
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    take_over(l, accumulators, nothing, carry);
    visit(l.kind, [&](auto joint) {
      affine_inward(joint, l, eliminated.state + l.state, factor_of(joint, l, eliminated.factors), u + l.v, carry);
    });
    hand_over(l, carry, accumulators);
  }
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      affine_outward(joint, l, eliminated.state + l.state, factor_of(joint, l, eliminated.factors), u + l.v,
                     l.parent < 0 ? rest : response[l.parent], response[i], x + l.v);
    });
  }
}

// by_q, by_v, by_tau: nv each.
template <class S, class C>
void aba_adjoint(const Tree<C>& tree, const S* q, const S* v, const S* tau, const Force<S>* f_ext, const S* y,
                 AbaAdjointWorkspace<S>& w, S* by_q, S* by_v, S* by_tau) {
  aba(tree, q, v, tau, f_ext, w.aba, w.a);
  respond(tree, w.aba, y, w.u, w.response, w.accumulators, by_tau);
  rnea_adjoint(tree, q, v, w.a, f_ext, by_tau, w.rnea, by_q, by_v, w.by_a);
  for (int k = 0; k < tree.nv; ++k) {
    by_q[k] = -by_q[k];
    by_v[k] = -by_v[k];
  }
}

}  // namespace featherweight::FW_ISA
