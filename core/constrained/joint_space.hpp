// constrained/joint_space.hpp -- the equations of constrained dynamics in joint space, as sparse as they are.
//   H a = u + J^T f,   J a + R f = b
//   H by composite bodies, u = tau - h by Newton and Euler, whose link accelerations at a = 0 also give b.
#pragma once
#include "constrained/path_rows.hpp"
#include "dynamics/crba.hpp"
#include "dynamics/rnea.hpp"

namespace featherweight::FW_ISA {

template <class S>
class JointSpace {
 public:
  S* H;      // packed rows, dynamics/crba.hpp
  S* J;      // along paths, constrained/path_rows.hpp
  S *u, *b;  // what is left of the joint forces; what the rows ask of the joint accelerations

  template <class C>
  JointSpace(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : H(arena.take<S>(tree.row[tree.nv])),
        J(arena.take<S>(constraints.n_entries)),
        u(arena.take<S>(tree.nv)),
        b(arena.take<S>(constraints.n_rows)),
        rnea_(tree, arena),
        crba_(tree, rnea_.state, arena),
        rest_(arena.take<S>(tree.nv)),
        gravity_(arena.take<Vec3<S>>(tree.n_links)),
        K_(arena.take<Force<S>>(constraints.n_rows)) {}

  template <class C>
  void evaluate(const ConstrainedProblem<S, C>& problem) {
    const Tree<C>& tree = problem.tree;
    const ConstraintRows<C>& constraints = problem.constraints;

    for (int k = 0; k < tree.nv; ++k) rest_[k] = S(0);
    rnea(tree, problem.q, problem.v, rest_, problem.f_ext, rnea_, u);
    for (int k = 0; k < tree.nv; ++k) u[k] = problem.tau[k] - u[k];
    crba_inward(tree, crba_, H);

    rotate_gravity_outward(tree, constraints, rnea_.state, gravity_);
    for (int r = 0; r < constraints.n_rows; ++r) {
      const int i = constraints.rows[r].link;
      const Row<S> row =
          start_row(constraints.rows[r], problem.targets[r], problem.active[r], rnea_.links[i].v, gravity_[i]);
      b[r] = row.k - row.K * rnea_.links[i].a;
      K_[r] = row.K;
    }
    project_rows_inward(tree, constraints, rnea_.state, K_, J);
  }

 private:
  RneaWorkspace<S> rnea_;
  CrbaWorkspace<S> crba_;
  S* rest_;
  Vec3<S>* gravity_;
  Force<S>* K_;
};

}  // namespace featherweight::FW_ISA
