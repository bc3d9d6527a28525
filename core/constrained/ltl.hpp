// constrained/ltl.hpp -- forward dynamics under equality constraints in joint space, by the sparse factor of H.
//   O(n d^2 + m d^2 + m^2 d + m^3) for m rows under d degrees of freedom. Source: dynamics/ltl_factor.hpp.
//   With H = L^T D L, Z = J L^-1 and w = L^-T u:   Z D^-1 Z^T f = b - Z D^-1 w,   D L a = w + Z^T f.
//   Oracle: dense KKT.   Independent rows only, constrained/direct.hpp.
#pragma once
#include "constrained/direct.hpp"
#include "constrained/joint_space.hpp"

namespace featherweight::FW_ISA {

template <class S>
class Ltl {
 public:
  template <class C>
  Ltl(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : equations_(tree, constraints, arena),
        scaled_(arena.take<S>(tree.nv)),
        delassus_(arena.take<S>(triangle(constraints.n_rows, 0))),
        r_(arena.take<S>(constraints.n_rows)),
        of_ends_(single_ends(constraints) ? delassus_ : arena.take<S>(triangle(constraints.n_ends, 0))),
        r_ends_(single_ends(constraints) ? r_ : arena.take<S>(constraints.n_ends)),
        forces_(constraints, arena),
        root_(constraints.n_rows, arena) {}

  template <class C>
  void solve(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings&, ConstrainedAnswer<S>& answer) {
    const Tree<C>& tree = problem.tree;
    const ConstraintRows<C>& constraints = problem.constraints;
    equations_.evaluate(problem);
    S *const L = equations_.H, *const Z = equations_.J, *const w = equations_.u;

    // leaf to root: L, then w and Z in the places of u and J
    factorise_ltl(tree, L);
    solve_inward(tree, L, w);
    for (int r = 0; r < constraints.n_ends; ++r) {
      const RowEnd<C>& row = constraints.ends[r];
      solve_path_inward(tree, L, last_dof(tree, row.link), path_of(tree, row, Z));
    }

    // the constraint forces
    delassus_of_paths(tree, constraints, L, Z, scaled_, of_ends_);
    for (int k = 0; k < tree.nv; ++k) scaled_[k] = w[k] * L[tree.row[k]];
    for (int r = 0; r < constraints.n_ends; ++r) {
      r_ends_[r] = equations_.b[r];
      for_path(tree, constraints.ends[r], Z, [&](int k, const S& z) { r_ends_[r] = r_ends_[r] - z * scaled_[k]; });
    }
    if (!single_ends(constraints)) {
      add_up(constraints, r_ends_, r_);
      add_up_triangle(constraints, of_ends_, delassus_);
    }
    add_compliance(problem, delassus_);
    root_.solve(problem.constraints.n_rows, delassus_, r_, answer.forces, answer);
    const S* const f = forces_.spread(constraints, answer.forces);

    // root to leaf: accelerations
    for (int k = 0; k < tree.nv; ++k) answer.a[k] = w[k];
    for (int r = 0; r < constraints.n_ends; ++r)
      for_path(tree, constraints.ends[r], Z, [&](int k, const S& z) { answer.a[k] = answer.a[k] + z * f[r]; });
    solve_outward(tree, L, answer.a);
  }

 private:
  JointSpace<S> equations_;
  S* scaled_;  // one path, or all degrees of freedom, by D^-1
  S *delassus_, *r_;
  S *of_ends_, *r_ends_;
  EndForces<S> forces_;
  DirectSystem<S> root_;
};

}  // namespace featherweight::FW_ISA
