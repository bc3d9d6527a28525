// constrained/row_stack.hpp -- the rows on one link, K a + L f = k, in methods that solve for f going inward.
//
// Six rows say all there is to say about the acceleration of a link, so no more ever leave it; until they are folded
// (constrained/fold_rows.hpp) there may be twelve. How many rows are where depends on the constraints alone. Lanes
// differ in which of them are still alive: a row that has gone, or never was active, is zero in its lane but for L_rr.
#pragma once
#include "articulated/row_steps.hpp"
#include "constrained/start_rows.hpp"

namespace featherweight::FW_ISA {

inline constexpr int most_rows = 6, most_unfolded = 12;

// How many rows are where.
template <class C>
struct RowPlan {
  const Tree<C>& tree;
  const ConstraintRows<C>& constraints;

  static constexpr int kept(int n) { return n < most_rows ? n : most_rows; }
  int outboard(int i) const { return constraints.of_link[i].end - constraints.of_link[i].begin; }
  int leaving(int i) const { return kept(outboard(i)); }
  int own(int i) const { return constraints.of_link[i].own_end - constraints.of_link[i].begin; }
  int of_children(int i) const { return kept(outboard(i) - own(i)); }
  // Those that other children left at the parent before link i.
  int waiting(int i) const {
    const int parent = tree.links[i].parent;
    return parent < 0 ? 0 : kept(constraints.of_link[parent].end - constraints.of_link[i].end);
  }
  bool folds_at_parent(int i) const { return waiting(i) + leaving(i) > most_rows; }
  // Link i folds its own rows in, as many at a time as there is room for.
  int n_own_folds(int i) const {
    const int n = of_children(i) + own(i);
    return n <= most_rows ? 0 : (n - most_rows - 1) / (most_unfolded - most_rows) + 1;
  }
  int n_folds() const {
    int n = 0;
    for (int i = 0; i < tree.n_links; ++i) n += n_own_folds(i) + (folds_at_parent(i) ? 1 : 0);
    return n;
  }
};

template <class S>
struct RowStack {
  int n;
  Row<S> rows[most_unfolded];
  S L[most_unfolded * (most_unfolded + 1) / 2];  // lower triangle by rows
  S alive[most_unfolded];                        // 1, or 0 in lanes where the row has gone

  // Row r as seven numbers: K, then k.
  FW_INLINE S* numbers(int r) {
    static_assert(sizeof(Row<S>) == 7 * sizeof(S));
    return reinterpret_cast<S*>(rows + r);
  }
  FW_INLINE S& coupling(int r, int s) { return L[r < s ? triangle(s, r) : triangle(r, s)]; }

  // In any lane?
  FW_INLINE bool is_alive(int r) const { return any(alive[r], alive[r] > S(0.5)); }

  // One more row, not coupled to those before it.
  FW_INLINE void append(const Row<S>& row, const S& own, const S& is_alive) {
    for (int s = 0; s < n; ++s) L[triangle(n, s)] = S(0);
    rows[n] = row;
    L[triangle(n, n)] = own;
    alive[n] = is_alive;
    ++n;
  }
  [[gnu::noinline]] void append(const RowStack& other) {
    const int first = n;
    for (int r = 0; r < other.n; ++r) {
      append(other.rows[r], other.L[triangle(r, r)], other.alive[r]);
      for (int s = 0; s < r; ++s) L[triangle(first + r, first + s)] = other.L[triangle(r, s)];
    }
  }
};

}  // namespace featherweight::FW_ISA
