// dynamics/minverse.hpp -- the inverse of the joint-space inertia, without forming H.
//   O(n^2): eliminate all joints once, then respond to a unit force on each degree of freedom with two light sweeps.
//   The response is needed only at links numbered before the driven one (the rest is symmetry), and these are closed
//   under "parent of".
//   Oracle: minverse @ crba == 1.
#pragma once
#include "dynamics/affine.hpp"
#include "dynamics/articulate.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct MinverseWorkspace {
  ArticulatedTree<S> articulated;
  Motion<S>* response;  // acceleration of each link
  S* u;                 // joint forces being propagated

  template <class C>
  MinverseWorkspace(const Tree<C>& tree, Arena& arena)
      : articulated(tree, arena), response(arena.take<Motion<S>>(tree.n_links)), u(arena.take<S>(tree.nv)) {}
};

// Result: nv x nv, row-major, both triangles.
template <class S, class C>
void minverse(const Tree<C>& tree, const S* q, MinverseWorkspace<S>& w, S* result) {
  ArticulatedTree<S>& articulated = w.articulated;
  articulate(tree, q, articulated);

  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i)
    for (int driven = tree.links[i].v; driven < tree.links[i].v + tree.links[i].nv; ++driven) {
      // joint i to root: the unit force and what it hands inboard
      const int n_before = tree.links[i].v + tree.links[i].nv;
      for (int k = 0; k < n_before; ++k) w.u[k] = S(0);
      w.u[driven] = S(1);
      Force<S> f = zero_force<S>();
      for (int j = i; j >= 0; j = tree.links[j].parent) {
        const Link<C>& l = tree.links[j];
        visit(l.kind, [&](auto joint) {
          affine_inward(joint, l, articulated.state + l.state, factor_of(joint, l, articulated.factors), w.u + l.v, f);
        });
      }
      // root to joint i: accelerations, one row of the result
      S* row = result + static_cast<std::size_t>(driven) * tree.nv;
      for (int j = 0; j <= i; ++j) {
        const Link<C>& l = tree.links[j];
        visit(l.kind, [&](auto joint) {
          affine_outward(joint, l, articulated.state + l.state, factor_of(joint, l, articulated.factors), w.u + l.v,
                         l.parent < 0 ? rest : w.response[l.parent], w.response[j], row + l.v);
        });
      }
    }
  for (int r = 0; r < tree.nv; ++r)
    for (int c = r + 1; c < tree.nv; ++c)
      result[static_cast<std::size_t>(r) * tree.nv + c] = result[static_cast<std::size_t>(c) * tree.nv + r];
}

}  // namespace featherweight::FW_ISA
