// constrained/pv_soft.hpp -- forward dynamics with rows that all give way: J a + gamma + R f = targets, R > 0.
//   One aba on links that include the rows, O(n + m).
//   Frames: everything with index i lives in link i.   Oracle: the dense system [[H, -J^T], [J, R]].
#pragma once
#include "constrained/yielding_rows.hpp"

namespace featherweight::FW_ISA {

template <class S>
class PvSoft {
 public:
  using T = ElementOf<S>;

  PvSoft(const Tree<T>& tree, const ConstraintRows<T>& constraints, Arena& arena)
      : aba_(tree, arena), gravity_(arena.take<Vec3<S>>(tree.n_links)), yielding_(constraints, arena) {}

  void solve(const ConstrainedProblem<S, T>& problem, const ConstrainedSettings&, ConstrainedAnswer<S>& answer) {
    const Tree<T>& tree = problem.tree;
    if (!prepared_) yielding_.prepare(problem.constraints, T(0));
    prepared_ = true;

    move_outward(tree, problem.q, problem.v, aba_,
                 [&](int i, auto joint) { rotate_gravity(joint, tree, problem.constraints, i, aba_.state, gravity_); });
    project_inward(tree, problem.v, problem.tau, problem.f_ext, aba_, [&](int i, Outboard<S>& outboard) {
      yielding_.join(problem, i, aba_.motion[i], gravity_[i], outboard);
    });
    accelerate_outward(tree, problem.v, aba_, answer.a);

    for (int r = 0; r < problem.constraints.n_ends; ++r) {
      const RowEnd<T>& row = problem.constraints.ends[r];
      const S missed = (yielding_.k[r] - row_direction(row) * aba_.motion[row.link]) * problem.active[r];
      answer.forces[r] = missed * yielding_.per_miss[r];
      answer.residual = larger(answer.residual, abs(missed - answer.forces[r] * row.compliance));
      if (row.compliance < T(too_stiff) * row.mobility)
        answer.converged = answer.converged * (S(1) - problem.active[r]);
    }
  }

 private:
  // What a force moves otherwise must not drown in the inertia of the rows: half of the digits are left here.
  static constexpr double too_stiff = 1e-7;

  AbaWorkspace<S> aba_;
  Vec3<S>* gravity_;
  YieldingRows<S> yielding_;
  bool prepared_ = false;
};

}  // namespace featherweight::FW_ISA
