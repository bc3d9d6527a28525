// delassus/efpa.hpp -- the Delassus matrix by extended force propagators.
//   Inward, every link on the path of a row sees the row; outward, a unit force along it accelerates these links. Where
//   two paths join, one row sees what the other moves: O(n + m d + m^2) for m rows under d joints.
//   Source: P. Wensing, R. Featherstone and D. E. Orin, "A reduced-order recursive algorithm for the computation of the
//   operational-space inertia matrix".   Frames: E and a live in link i.   Oracle: dense J H^-1 J^T.
#pragma once
#include "delassus/across.hpp"
#include "delassus/method.hpp"

namespace featherweight::FW_ISA {

template <class S>
class Efpa {
 public:
  template <class C>
  Efpa(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : articulated_(tree, arena),
        E_(arena.take<Force<S>>(constraints.n_entries)),
        u_(arena.take<S>(constraints.n_entries)),
        a_(arena.take<Motion<S>>(constraints.n_ends)) {}

  template <class C>
  void compute(const DelassusProblem<S, C>& problem, S* delta) {
    const Tree<C>& tree = problem.tree;
    const ConstraintRows<C>& constraints = problem.constraints;
    const S* const state = articulated_.state;
    // leaf to root: rows as each link sees them
    articulate(tree, problem.q, articulated_, Unobserved{}, [&](int i, auto joint) {
      const Link<C>& l = tree.links[i];
      const RowRange range = constraints.of_link[i];
      if (range.begin == range.end) return;
      Force<S>* const E = E_ + range.entries;
      for (int r = range.begin; r < range.own_end; ++r) E[r - range.begin] = problem.K[r];
      Force<S>* const E_parent = l.parent < 0 ? nullptr : seen(constraints, l.parent, range.begin);
      see_from_parent(joint, l, state + l.state, factor_of(joint, l, articulated_.factors), range.end - range.begin, E,
                      u_ + range.entries, E_parent);
    });
    // root to leaf: a row parts from those before it at the last link they share
    for (int s = 0; s < constraints.n_supporting; ++s) {
      const int i = constraints.supporting[s].link;
      const Link<C>& l = tree.links[i];
      const RowRange range = constraints.of_link[i];
      for (int r = range.begin; r < range.end; ++r) couple(constraints, l.parent, r, range.begin, delta);
      visit(l.kind, [&](auto joint) {
        follow_parent(joint, l, state + l.state, factor_of(joint, l, articulated_.factors), range.end - range.begin,
                      u_ + range.entries, a_ + range.begin);
      });
      for (int r = range.begin; r < range.own_end; ++r) couple(constraints, i, r, r + 1, delta);
    }
  }

 private:
  // Row r as link i sees it. A link has nv places for each, as many as u wants, and fills the first of them.
  template <class C>
  FW_INLINE Force<S>* seen(const ConstraintRows<C>& constraints, int i, int r) const {
    return E_ + constraints.of_link[i].entries + (r - constraints.of_link[i].begin);
  }
  // The entries of row r, whose force now accelerates link i, with the rows before `end` that link i sees as well.
  template <class C>
  FW_INLINE void couple(const ConstraintRows<C>& constraints, int i, int r, int end, S* delta) const {
    S* const entries = delta + triangle(r, 0);
    if (i < 0) {  // nothing is shared with another tree
      for (int s = 0; s < end; ++s) entries[s] = S(0);
      return;
    }
    const int begin = constraints.of_link[i].begin;
    const Force<S>* const E = seen(constraints, i, begin);
    const Motion<S> a = a_[r];
    for (int s = begin; s < end; ++s) entries[s] = E[s - begin] * a;
  }

  ArticulatedTree<S> articulated_;
  Force<S>* E_;
  S* u_;
  Motion<S>* a_;  // of the link that the outward sweep has reached, per row
};

}  // namespace featherweight::FW_ISA
