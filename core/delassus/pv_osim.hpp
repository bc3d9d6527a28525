// delassus/pv_osim.hpp -- the Delassus matrix by the inward sweep of Popov and Vereshchagin.
//   Rows are carried to the world; what the joints on their way give in to forces along them adds up to Delta.
//   O(n + m^2 d) for m rows under d joints.   Source: A. S. Sathya, W. Decre and J. Swevers, "PV-OSIMr".
//   Frames: rows live in link i until they pass its joint.   Oracle: dense J H^-1 J^T.
#pragma once
#include "constrained/row_steps.hpp"
#include "delassus/method.hpp"
#include "dynamics/articulate.hpp"

namespace featherweight::FW_ISA {

template <class S>
class PvOsim {
 public:
  template <class C>
  PvOsim(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : articulated_(tree, arena),
        rows_(arena.take<Row<S>>(constraints.n_rows)),
        G_(arena.take<S>(constraints.n_entries)) {}

  template <class C>
  void compute(const DelassusProblem<S, C>& problem, S* delta) {
    const ConstraintRows<C>& constraints = problem.constraints;
    for (std::size_t k = 0; k < triangle(constraints.n_rows, 0); ++k) delta[k] = S(0);
    articulate(problem.tree, problem.q, articulated_, Unobserved{}, [&](int i, auto joint) {
      const Link<C>& l = problem.tree.links[i];
      const RowRange range = constraints.of_link[i];
      for (int r = range.begin; r < range.own_end; ++r) rows_[r].K = problem.K[r];
      with_row_count(range.end - range.begin, [&](auto n) {
        pass_joint(joint, l, articulated_.state + l.state, factor_of(joint, l, articulated_.factors), AtRest{},
                   RowBlock<decltype(n), int, S>{n, range.begin, rows_ + range.begin, delta, G_ + range.entries});
      });
    });
  }

 private:
  ArticulatedTree<S> articulated_;
  Row<S>* rows_;
  S* G_;
};

}  // namespace featherweight::FW_ISA
