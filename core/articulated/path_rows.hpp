// articulated/path_rows.hpp -- constraint rows in joint space, each kept along the path of its link.
//
// J is zero but at the degrees of freedom between a row's link and the root. Those entries are kept like a row of the
// packed inertia (dynamics/crba.hpp), nearest first, up to path_end: what two rows share is where both end.
#pragma once
#include "dynamics/ltl_factor.hpp"
#include "linalg/packed_ldl.hpp"
#include "rows/link_rows.hpp"

namespace featherweight::FW_ISA {

// The outermost degree of freedom that moves a link, where paths start.
template <class C>
FW_INLINE int last_dof(const Tree<C>& tree, int link) {
  return tree.links[link].v + tree.links[link].nv - 1;
}

// The entries of a row, nearest to its link first.
template <class S, class C>
FW_INLINE S* path_of(const Tree<C>& tree, const RowEnd<C>& row, S* entries) {
  return entries + row.path_end - row_length(tree, last_dof(tree, row.link));
}
template <class S, class C, class F>
FW_INLINE void for_path(const Tree<C>& tree, const RowEnd<C>& row, S* entries, F&& visit_entry) {
  S* entry = path_of(tree, row, entries);
  for (int k = last_dof(tree, row.link); k >= 0; k = tree.dof_parent[k]) visit_entry(k, *entry++);
}

// Rows [begin, end) pass the joint of link l: S^T K stays in J, K moves on like a force.
template <class Joint, class S, class C>
[[gnu::noinline]] void project_rows(Joint, const Tree<C>& tree, const Link<C>& l, const S* state,
                                    const RowEnd<C>* constraints, int begin, int end, Row<S>* rows, S* J) {
  const int depth = row_length(tree, l.v);
  for (int r = begin; r < end; ++r) {
    const Force<S> f = rows[r].K;
    S entries[Joint::nv];
    Joint::project(l, f, entries);
    S* const last = J + constraints[r].path_end - depth;  // paths end at the root
    for (int k = 0; k < Joint::nv; ++k) last[-k] = entries[k];
    if (l.parent >= 0) rows[r].K = Joint::to_parent(l, state, f);
  }
}
// The Jacobian of all rows, leaf to root: O(m d). Rows come as they start on their links; K is used up.
template <class S, class C>
void project_rows_inward(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* state, Row<S>* rows,
                         S* J) {
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    const RowRange range = constraints.of_link[i];
    if (range.begin == range.end) continue;
    visit(l.kind, [&](auto joint) {
      project_rows(joint, tree, l, state + l.state, constraints.ends, range.begin, range.end, rows, J);
    });
  }
}

template <class S>
FW_INLINE S path_dot(int n, const S* x, const S* y) {
  S sum(0);
  for (int k = 0; k < n; ++k) sum = sum + x[k] * y[k];
  return sum;
}

// Delassus = Z D^-1 Z^T by its lower triangle, Z = J L^-1: O(m^2 d), only degrees of freedom that both rows share are
// visited. `scaled` has room for a path.
template <class S, class C>
[[gnu::noinline]] void delassus_of_paths(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* L,
                                         const S* Z, S* scaled, S* delassus) {
  for (int r = 0; r < constraints.n_ends; ++r) {
    const RowEnd<C>& row = constraints.ends[r];
    S* scaled_end = scaled;
    for_path(tree, row, Z, [&](int k, const S& z) { *scaled_end++ = z * L[tree.row[k]]; });

    // walking inward, earlier rows join in at the link where their paths do
    int s = r;
    for (int i = row.link; i >= 0; i = tree.links[i].parent) {
      const int shared = row_length(tree, last_dof(tree, i));
      for (; s >= constraints.of_link[i].begin; --s)
        delassus[triangle(r, s)] = path_dot(shared, scaled_end - shared, Z + constraints.ends[s].path_end - shared);
    }
    for (; s >= 0; --s) delassus[triangle(r, s)] = S(0);  // on another tree
  }
}

}  // namespace featherweight::FW_ISA
