// constrained/joint_space.hpp -- the equations of constrained dynamics in joint space, as sparse as they are.
//   H a = u + J^T f,   J a + R f = b
//   H by composite bodies, u = tau - h by Newton and Euler, whose link accelerations at a = 0 also give b.
#pragma once
#include "articulated/path_rows.hpp"
#include "constrained/any_rows.hpp"
#include "dynamics/crba.hpp"
#include "dynamics/rnea.hpp"

namespace featherweight::FW_ISA {

template <class S>
class JointSpace {
 public:
  S* H;      // packed rows, dynamics/crba.hpp
  S* J;      // of the ends along paths, articulated/path_rows.hpp
  S *u, *b;  // what is left of the joint forces; what the rows ask of the joint accelerations, by ends

  template <class C>
  JointSpace(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : H(arena.take<S>(tree.row[tree.nv])),
        J(arena.take<S>(constraints.n_entries)),
        u(arena.take<S>(tree.nv)),
        b(arena.take<S>(constraints.n_ends)),
        any_(tree, constraints, arena),
        rnea_(tree, arena),
        crba_(tree, rnea_.state, arena),
        rest_(arena.take<S>(tree.nv)),
        gravity_(arena.take<Vec3<S>>(tree.n_links)),
        rows_(arena.take<Row<S>>(constraints.n_ends)) {}

  template <class C>
  void evaluate(const ConstrainedProblem<S, C>& problem) {
    const Tree<C>& tree = problem.tree;
    const ConstraintRows<C>& constraints = problem.constraints;

    for (int k = 0; k < tree.nv; ++k) rest_[k] = S(0);
    rnea(tree, problem.q, problem.v, rest_, problem.f_ext, rnea_, u);
    for (int k = 0; k < tree.nv; ++k) u[k] = problem.tau[k] - u[k];
    crba_inward(tree, crba_, H);

    for (int i = 0; i < tree.n_links; ++i)
      visit(tree.links[i].kind,
            [&](auto joint) { rotate_gravity(joint, tree, constraints, i, rnea_.state, gravity_); });
    if (!single_ends(constraints))
      any_.set(problem, rnea_.state, [&](int i) FW_LAMBDA_INLINE { return rnea_.links[i].v; }, gravity_);
    for (int i = 0; i < tree.n_links; ++i) {
      start_rows(problem, any_, i, rnea_.links[i].v, gravity_[i], rows_ + constraints.of_link[i].begin);
      for (int r = constraints.of_link[i].begin; r < constraints.of_link[i].own_end; ++r)
        b[r] = rows_[r].k - rows_[r].K * rnea_.links[i].a;
    }
    project_rows_inward(tree, constraints, rnea_.state, rows_, J);
  }

 private:
  AnyRows<S> any_;
  RneaWorkspace<S> rnea_;
  CrbaWorkspace<S> crba_;
  S* rest_;
  Vec3<S>* gravity_;
  Row<S>* rows_;
};

}  // namespace featherweight::FW_ISA
