// delassus/pv_osim.hpp -- the Delassus matrix by the inward sweep of Popov and Vereshchagin.
//   Rows are carried to the world; how far the joints they pass yield to forces along them adds up to Delta.
//   O(n + m^2 d) for m rows under d joints.   Source: A. S. Sathya, W. Decre and J. Swevers, "PV-OSIMr".
//   Frames: rows live in link i until they pass its joint.   Oracle: dense J H^-1 J^T.
#pragma once
#include "articulated/row_steps.hpp"
#include "delassus/method.hpp"
#include "dynamics/articulate.hpp"

namespace featherweight::FW_ISA {

template <class S>
class PvOsim {
 public:
  Row<S>* rows;  // of which K is used, in the link they have come to

  template <class C>
  PvOsim(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : rows(arena.take<Row<S>>(constraints.n_ends)),
        articulated_(tree, arena),
        G_(arena.take<S>(constraints.n_entries)) {}

  template <class C>
  void compute(const DelassusProblem<S, C>& problem, S* delta) {
    for (std::size_t k = 0; k < triangle(problem.constraints.n_ends, 0); ++k) delta[k] = S(0);
    carry_inward(problem, delta, Unobserved{});
  }

  // Leaf to root, adding to delta. `before(i, I)` may add to the articulated inertias (dynamics/articulate.hpp).
  template <class C, class Before>
  void carry_inward(const DelassusProblem<S, C>& problem, S* delta, const Before& before) {
    const ConstraintRows<C>& constraints = problem.constraints;
    articulate(problem.tree, problem.q, articulated_, before, [&](int i, auto joint) {
      const Link<C>& l = problem.tree.links[i];
      const RowRange range = constraints.of_link[i];
      for (int r = range.begin; r < range.own_end; ++r) rows[r].K = problem.K[r];
      with_row_count(range.end - range.begin, [&](auto n) {
        pass_joint(joint, l, articulated_.state + l.state, factor_of(joint, l, articulated_.factors), AtRest{},
                   RowBlock<decltype(n), int, S>{n, range.begin, rows + range.begin, delta, G_ + range.entries});
      });
    });
  }

 private:
  ArticulatedTree<S> articulated_;
  S* G_;
};

}  // namespace featherweight::FW_ISA
