// dynamics/ltl_factor.hpp -- H = L^T D L, the joint-space inertia factorised from the leaves to the root.
//   O(n d^2) for n degrees of freedom under d others: each couples only to those inboard of it, and nothing fills in.
//   Source: R. Featherstone, "Efficient factorization of the joint-space inertia matrix for branched kinematic trees",
//   without its square roots.   Oracle: dense solves with H.
//
// In place on the packed rows of dynamics/crba.hpp: row k becomes 1 / D(k), L(k, parent of k), L(k, its parent) ...
// down to the root; L has a unit diagonal. All rows end at the root, so degrees of freedom inboard of two others are
// where both rows end, and loops over them run side by side.
#pragma once
#include "model/joints.hpp"

namespace featherweight::FW_ISA {

// Number of degrees of freedom from k to the root, k included: the length of row k.
template <class C>
FW_INLINE int row_length(const Tree<C>& tree, int k) {
  return tree.row[k + 1] - tree.row[k];
}

template <class S, class C>
[[gnu::noinline]] void factorise_ltl(const Tree<C>& tree, S* H) {
  for (int k = tree.nv - 1; k >= 0; --k) {
    S* const row = H + tree.row[k];
    const int n = row_length(tree, k);
    const S D_inverse = S(1) / row[0];
    for (int i = tree.dof_parent[k], s = 1; i >= 0; i = tree.dof_parent[i], ++s) {
      S* const inboard = H + tree.row[i];
      const S L_ki = row[s] * D_inverse;
      for (int t = s; t < n; ++t) inboard[t - s] = inboard[t - s] - L_ki * row[t];
      row[s] = L_ki;
    }
    row[0] = D_inverse;
  }
}

// x <- L^-T x, leaf to root.
template <class S, class C>
[[gnu::noinline]] void solve_inward(const Tree<C>& tree, const S* L, S* x) {
  for (int k = tree.nv - 1; k >= 0; --k) {
    const S* row = L + tree.row[k];
    for (int i = tree.dof_parent[k]; i >= 0; i = tree.dof_parent[i]) x[i] = x[i] - *++row * x[k];
  }
}
// The same for a vector that is zero off the path from degree of freedom k to the root and kept like row k: O(d^2).
template <class S, class C>
[[gnu::noinline]] void solve_path_inward(const Tree<C>& tree, const S* L, int k, S* x) {
  for (; k >= 0; k = tree.dof_parent[k], ++x) {
    const S* const row = L + tree.row[k];
    for (int s = row_length(tree, k) - 1; s > 0; --s) x[s] = x[s] - row[s] * x[0];
  }
}
// x <- (D L)^-1 x, root to leaf: after solve_inward, H^-1 x.
template <class S, class C>
[[gnu::noinline]] void solve_outward(const Tree<C>& tree, const S* L, S* x) {
  for (int k = 0; k < tree.nv; ++k) {
    const S* row = L + tree.row[k];
    S y = x[k] * row[0];
    for (int i = tree.dof_parent[k]; i >= 0; i = tree.dof_parent[i]) y = y - *++row * x[i];
    x[k] = y;
  }
}

}  // namespace featherweight::FW_ISA
