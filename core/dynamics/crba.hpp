// dynamics/crba.hpp -- the joint-space inertia H(q) by composite rigid bodies.
//   O(n d): only entries between a degree of freedom and its ancestors exist; they are all that is computed and kept.
//   Source: [RBDA] ch. 6.   Frames: everything with index i lives in link i.
//   Oracle: columns by rnea; sum of J^T I J.
//
// Packed form: row k holds H(k, k), H(k, parent of k), H(k, its parent) ... down to the root, starting at
// tree.row[k]; tree.dof_parent leads from a degree of freedom to the next inboard. The sparse factorisation uses it as
// is.
#pragma once
#include "dynamics/carry.hpp"
#include "memory/arena.hpp"
#include "model/joints.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct CrbaWorkspace {
  S* state;
  Force<S>* columns;  // of I S for every degree of freedom, in the frame of the link they have reached
  RigidInertia<S>* accumulators;

  template <class C>
  CrbaWorkspace(const Tree<C>& tree, Arena& arena) : CrbaWorkspace(tree, arena.take<S>(tree.n_states), arena) {}
  // Where another sweep sets the joint states.
  template <class C>
  CrbaWorkspace(const Tree<C>& tree, S* shared_state, Arena& arena)
      : state(shared_state),
        columns(arena.take<Force<S>>(tree.nv)),
        accumulators(arena.take<RigidInertia<S>>(tree.n_accumulators)) {}
};

template <class S>
FW_INLINE RigidInertia<S> zero_body() {
  return {S(0), zero3<S>(), {S(0), S(0), S(0), S(0), S(0), S(0)}};
}
template <class S, class A>
FW_INLINE void operator+=(RigidInertia<S>& a, const RigidInertia<A>& b) {
  a.m = a.m + b.m;
  a.h += b.h;
  a.I = a.I + b.I;
}

// Force on a body that accelerates by one unit along (linear) or about (angular) axis K.
template <class S>
FW_INLINE Force<S> linear_column(const RigidInertia<S>& b, int K) {
  const int i = (K + 1) % 3, j = (K + 2) % 3;
  Force<S> f{along_axis(K, b.m), zero3<S>()};
  f.ang[i] = b.h[j];
  f.ang[j] = -b.h[i];
  return f;
}
template <class S>
FW_INLINE Force<S> angular_column(const RigidInertia<S>& b, int K) {
  const int i = (K + 1) % 3, j = (K + 2) % 3;
  Force<S> f{zero3<S>(), column(b.I, K)};
  f.lin[i] = -b.h[j];
  f.lin[j] = b.h[i];
  return f;
}
// Column k of I S, but for the sign of the axis.
template <int K, bool turned, bool rotates, bool travels, class S, class C>
FW_INLINE Force<S> inertia_column(AxisJoint<K, turned, rotates, travels>, const Link<C>& l, const RigidInertia<S>& b,
                                  int) {
  if constexpr (!travels) return angular_column(b, K);
  if constexpr (!rotates) return linear_column(b, K);
  Force<S> f = angular_column(b, K);
  const Force<S> g = linear_column(b, K);
  add_scaled(f.lin, g.lin, l.pitch);
  add_scaled(f.ang, g.ang, l.pitch);
  return f;
}
template <bool travels, class S, class C>
FW_INLINE Force<S> inertia_column(Ball<travels>, const Link<C>&, const RigidInertia<S>& b, int k) {
  return travels && k < 3 ? linear_column(b, k) : angular_column(b, travels ? k - 3 : k);
}

// Composite body of the link and its columns I S; the composite is handed to the parent.
template <class J, class S, class C>
[[gnu::noinline]] void crba_inward(J, const Link<C>& l, const S* state, RigidInertia<S>& carry, Force<S>* columns) {
  RigidInertia<S> composite = carry;
  composite += body(l);
#pragma GCC unroll 6
  for (int k = 0; k < J::nv; ++k) {
    Force<S> f = inertia_column(J{}, l, composite, k);
    if constexpr (J::nv == 1) f = {f.lin * l.sign, f.ang * l.sign};
    columns[k] = f;
  }
  if (l.parent >= 0) carry = J::to_parent(l, state, composite);
}

// All columns outboard pass joint i: one entry of H each per degree of freedom, then on to the parent.
template <class J, class S, class C>
[[gnu::noinline]] void crba_entries(J, const Tree<C>& tree, const Link<C>& link, const S* link_state, int v_end,
                                    Force<S>* columns, S* H) {
  const Link<C> l = link;  // copies, because the compiler must assume that columns and constants overlap
  S state[J::n_state];
  for (int k = 0; k < J::n_state; ++k) state[k] = link_state[k];
  const int depth = tree.row[l.v + 1] - tree.row[l.v];
  for (int k = l.v; k < v_end; ++k) {
    const Force<S> f = columns[k];
    S entries[J::nv];
    J::project(l, f, entries);
    S* const last = H + tree.row[k + 1] - depth;      // rows end at the root
    const int own = J::nv > 1 ? k - l.v + 1 : J::nv;  // the joint's own block is triangular
#pragma GCC unroll 6
    for (int j = 0; j < J::nv; ++j)
      if (j < own) last[-j] = entries[j];
    if (l.parent >= 0) columns[k] = J::to_parent(l, state, f);
  }
}

// Leaf to root: composite bodies, and one entry of H for every degree of freedom outboard.
template <class S, class C>
void crba_inward(const Tree<C>& tree, CrbaWorkspace<S>& w, S* H) {
  const RigidInertia<S> nothing = zero_body<S>();
  RigidInertia<S> carry = nothing;
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    take_over(l, w.accumulators, nothing, carry);
    const int v_end = l.subtree_end == tree.n_links ? tree.nv : tree.links[l.subtree_end].v;
    visit(l.kind, [&](auto joint) {
      crba_inward(joint, l, w.state + l.state, carry, w.columns + l.v);
      crba_entries(joint, tree, l, w.state + l.state, v_end, w.columns, H);
    });
    hand_over(l, carry, w.accumulators);
    for (int k = 0; k < l.nv; ++k) H[tree.row[l.v + k]] = H[tree.row[l.v + k]] + l.armature[k];
  }
}

// Packed rows as a full matrix, nv x nv, of which entries that are always zero are not written.
template <class S, class C>
FW_INLINE void spread_symmetric(const Tree<C>& tree, const S* packed, S* full) {
  const std::ptrdiff_t n = tree.nv;
  for (int row = 0; row < n; ++row)
    for (int column = row; column >= 0; column = tree.dof_parent[column], ++packed)
      full[row * n + column] = full[column * n + row] = *packed;
}

template <class S, class C>
void crba(const Tree<C>& tree, const S* q, CrbaWorkspace<S>& w, S* H) {
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) { decltype(joint)::set_state(l, q + l.q, w.state + l.state); });
  }
  crba_inward(tree, w, H);
}

}  // namespace featherweight::FW_ISA
