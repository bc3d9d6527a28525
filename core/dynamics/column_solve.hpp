// dynamics/column_solve.hpp -- H^-1 times matrices whose columns belong to degrees of freedom, through H = L^T D L.
//   A column of degree of freedom c has entries only inboard and outboard of c, and L^-T keeps it so: of the inward
//   half only that part is done. Columns of degrees of freedom that follow each other without a branch, a segment,
//   share the pattern; a few of them are a panel, small enough for the cache, whose rows are combined in registers.
//   Oracle: dense solves.
//
// A register is one column, of a pack of samples. A single sample has columns on its lanes (dynamics/sample_solve.hpp):
// the same operations on every number in the same order, so that the bits do not depend on which it is.
#pragma once
#include "dynamics/ltl_factor.hpp"
#include "memory/arena.hpp"

namespace featherweight::FW_ISA {

// Columns of the degrees of freedom [first, end), all in one segment.
struct Panel {
  int first, end;
  int segment, last;   // rows of the segment and what is outboard of it, as far as there are entries
  int tree, tree_end;  // rows of the tree that they are on
};

// Where degrees of freedom are in the tree.
struct DofPlan {
  int n_dofs;
  int *depth, *last, *root;  // number inboard; the last one outboard; the one at the root
  int* n_children;

  template <class C>
  DofPlan(const Tree<C>& tree, Arena& arena)
      : n_dofs(tree.nv),
        depth(arena.take<int>(tree.nv)),
        last(arena.take<int>(tree.nv)),
        root(arena.take<int>(tree.nv)),
        n_children(arena.take<int>(tree.nv)) {}

  template <class C>
  void fill(const Tree<C>& tree) {
    for (int k = 0; k < n_dofs; ++k) {
      const int parent = tree.dof_parent[k];
      depth[k] = parent < 0 ? 0 : depth[parent] + 1;
      root[k] = parent < 0 ? k : root[parent];
      last[k] = k;
      n_children[k] = 0;
      if (parent >= 0) ++n_children[parent];
    }
    for (int k = n_dofs - 1; k >= 0; --k)
      if (const int parent = tree.dof_parent[k]; parent >= 0 && last[k] > last[parent]) last[parent] = last[k];
  }
  // Calls f with panels of at most `most` degrees of freedom, in order.
  template <class C, class F>
  FW_INLINE void for_each_panel(const Tree<C>& tree, int most, F&& f) const {
    for (int start = 0; start < n_dofs;) {
      int end = start + 1;
      while (end < n_dofs && tree.dof_parent[end] == end - 1 && n_children[end - 1] == 1) ++end;
      const int n_panels = (end - start + most - 1) / most;
      for (int p = 0; p < n_panels; ++p) {
        const int first = start + (end - start) * p / n_panels, after = start + (end - start) * (p + 1) / n_panels;
        f(Panel{first, after, start, last[start], root[start], last[root[start]] + 1});
      }
      start = end;
    }
  }
};

// x[c] = x[c] - l y[c]
template <int W, class S>
FW_INLINE void subtract(S* x, const S& l, const S* y) {
#pragma GCC unroll 8
  for (int c = 0; c < W; ++c) x[c] = x[c] - l * y[c];
}
template <int W, class S>
FW_INLINE void copy(const S* from, S* to) {
#pragma GCC unroll 8
  for (int c = 0; c < W; ++c) to[c] = from[c];
}

// x <- L^-T x for the W registers of a panel in every row, x of nv rows.
template <int W, class S, class C>
[[gnu::noinline]] void panel_inward(const Tree<C>& tree, const DofPlan& plan, const Panel& panel, const S* factor,
                                    S* x) {
  const int segment = panel.segment;
  S sum[W];
  // a row gathers what is outboard of it, the outermost first
  const auto gather = [&](int j, int from, int to) FW_LAMBDA_INLINE {
    const S* const entries = factor - 1 - plan.depth[j];
    for (int k = to; k >= from; --k) subtract<W>(sum, entries[tree.row[k + 1]], x + k * W);
  };
  for (int j = panel.last; j >= segment; --j) {
    const int to = plan.last[j] < panel.last ? plan.last[j] : panel.last;
    if (to == j) continue;
    copy<W>(x + j * W, sum);
    gather(j, j + 1, to);
    copy<W>(sum, x + j * W);
  }
  for (int j = tree.dof_parent[segment]; j >= 0; j = tree.dof_parent[j]) {
    copy<W>(x + j * W, sum);
    gather(j, segment, panel.last);
    for (int k = tree.dof_parent[segment]; k != j; k = tree.dof_parent[k]) gather(j, k, k);
    copy<W>(sum, x + j * W);
  }
}

// x <- (D L)^-1 x, rows [panel.tree, end).
template <int W, class S, class C>
[[gnu::noinline]] void panel_outward(const Tree<C>& tree, const Panel& panel, int end, const S* factor, S* x) {
  for (int k = panel.tree; k < end; ++k) {
    const S* row = factor + tree.row[k];
    S sum[W];
    const S D_inverse = row[0];
#pragma GCC unroll 8
    for (int c = 0; c < W; ++c) sum[c] = x[k * W + c] * D_inverse;
    for (int i = tree.dof_parent[k]; i >= 0; i = tree.dof_parent[i]) subtract<W>(sum, *++row, x + i * W);
    copy<W>(sum, x + k * W);
  }
}

// H^-1 times the columns of a panel, rows up to `end`: load(k, row) fills the W registers of a row that may have
// entries, which are zero before, store(k, row) takes those of the result. x: nv x W.
template <int W, class S, class C, class Load, class Store>
FW_INLINE void solve_panel(const Tree<C>& tree, const DofPlan& plan, const Panel& panel, int end, const S* factor, S* x,
                           const Load& load, const Store& store) {
  for (int k = panel.tree * W; k < panel.tree_end * W; ++k) x[k] = S(0);
  for (int k = tree.dof_parent[panel.segment]; k >= 0; k = tree.dof_parent[k]) load(k, x + k * W);
  for (int k = panel.segment; k <= panel.last; ++k) load(k, x + k * W);
  panel_inward<W>(tree, plan, panel, factor, x);
  panel_outward<W>(tree, panel, end, factor, x);
  for (int k = panel.tree; k < end; ++k) store(k, x + k * W);
}

// Calls f with a constant that is the smallest width of a panel with room for n registers.
constexpr int widest_panel = 8;
template <class F>
FW_INLINE void with_width(int n, F&& f) {
  if (n <= 1) return f.template operator()<1>();
  if (n <= 2) return f.template operator()<2>();
  if (n <= 3) return f.template operator()<3>();
  if (n <= 4) return f.template operator()<4>();
  if (n <= 6) return f.template operator()<6>();
  f.template operator()<8>();
}

}  // namespace featherweight::FW_ISA
