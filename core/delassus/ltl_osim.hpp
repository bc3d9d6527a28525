// delassus/ltl_osim.hpp -- the Delassus matrix in joint space, by the sparse factor of H.
//   With H = L^T D L and Z = J L^-1 it is Z D^-1 Z^T: O(n d^2 + m d^2 + m^2 d) for m rows under d degrees of freedom.
//   Source: dynamics/ltl_factor.hpp.   Oracle: dense J H^-1 J^T.
#pragma once
#include "articulated/path_rows.hpp"
#include "delassus/method.hpp"
#include "dynamics/crba.hpp"

namespace featherweight::FW_ISA {

template <class S>
class LtlOsim {
 public:
  template <class C>
  LtlOsim(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : crba_(tree, arena),
        H_(arena.take<S>(tree.row[tree.nv])),
        J_(arena.take<S>(constraints.n_entries)),
        scaled_(arena.take<S>(tree.nv)),
        rows_(arena.take<Row<S>>(constraints.n_ends)) {}

  template <class C>
  void compute(const DelassusProblem<S, C>& problem, S* delta) {
    const Tree<C>& tree = problem.tree;
    const ConstraintRows<C>& constraints = problem.constraints;
    crba(tree, problem.q, crba_, H_);
    for (int r = 0; r < constraints.n_ends; ++r) rows_[r].K = problem.K[r];
    project_rows_inward(tree, constraints, crba_.state, rows_, J_);

    factorise_ltl(tree, H_);
    for (int r = 0; r < constraints.n_ends; ++r) {
      const RowEnd<C>& row = constraints.ends[r];
      solve_path_inward(tree, H_, last_dof(tree, row.link), path_of(tree, row, J_));
    }
    delassus_of_paths(tree, constraints, H_, J_, scaled_, delta);
  }

 private:
  CrbaWorkspace<S> crba_;
  S *H_, *J_, *scaled_;
  Row<S>* rows_;
};

}  // namespace featherweight::FW_ISA
