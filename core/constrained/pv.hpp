// constrained/pv.hpp -- forward dynamics under equality constraints, Popov-Vereshchagin.
//   ABA that carries the constraint rows to the root, where L f = k - K a_w. O(n + m^2 d + m^3) for m rows under d
//   joints. Source: the algorithms of Popov and Vereshchagin in the form of V(a, f), articulated/row_steps.hpp.
//   Frames: rows with index i live in link i until they pass its joint.   Oracle: dense KKT; L is J H^-1 J^T.
#pragma once
#include "articulated/row_steps.hpp"
#include "constrained/any_rows.hpp"
#include "constrained/direct.hpp"

namespace featherweight::FW_ISA {

// The three sweeps, with the root left open.
template <class S>
class PvSweeps {
 public:
  S *L, *r;  // L f = r at the root, of the rows; the lower triangle of L

  template <class C>
  PvSweeps(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : L(arena.take<S>(triangle(constraints.n_rows, 0))),
        r(arena.take<S>(constraints.n_rows)),
        L_ends_(single_ends(constraints) ? L : arena.take<S>(triangle(constraints.n_ends, 0))),
        r_ends_(single_ends(constraints) ? r : arena.take<S>(constraints.n_ends)),
        any_(tree, constraints, arena),
        forces_(constraints, arena),
        aba_(tree, arena),
        gravity_(arena.take<Vec3<S>>(tree.n_links)),
        rows_(arena.take<Row<S>>(constraints.n_ends)),
        G_(arena.take<S>(constraints.n_entries)) {}

  template <class C>
  void inward(const ConstrainedProblem<S, C>& problem) {
    const Tree<C>& tree = problem.tree;
    const ConstraintRows<C>& constraints = problem.constraints;
    const int m = constraints.n_ends;

    // sweep 1, root to leaf: velocities, and gravity where rows will need it
    move_outward(tree, problem.q, problem.v, aba_,
                 [&](int i, auto joint) { rotate_gravity(joint, tree, problem.constraints, i, aba_.state, gravity_); });

    if (!single_ends(constraints))
      any_.set(problem, aba_.state, [&](int i) FW_LAMBDA_INLINE { return aba_.motion[i]; }, gravity_);

    // sweep 2, leaf to root: project out joint i; the rows outboard pass it too
    for (std::size_t k = 0; k < triangle(m, 0); ++k) L_ends_[k] = S(0);
    project_inward(tree, problem.v, problem.tau, problem.f_ext, aba_, Unobserved{},
                   [&](int i, auto joint, const Outboard<S>&) {
                     const Link<C>& l = tree.links[i];
                     const RowRange range = constraints.of_link[i];
                     start_rows(problem, any_, i, aba_.motion[i], gravity_[i], rows_ + range.begin);
                     pass_joint(joint, l, aba_.state + l.state, factor_of(joint, l, aba_.factors),
                                JointMotion<S>{aba_.motion[i], problem.v + l.v},
                                RowBlock<int, int, S>{range.end - range.begin, range.begin, rows_ + range.begin,
                                                      L_ends_, G_ + range.entries});
                   });

    // the world's acceleration is known
    const Motion<S> world = minus_gravity<S>(tree);
    for (int k = 0; k < m; ++k) r_ends_[k] = rows_[k].k - rows_[k].K * world;
    if (!single_ends(constraints)) {
      add_up(constraints, r_ends_, r);
      add_up_triangle(constraints, L_ends_, L);
    }
    add_compliance(problem, L);
  }

  // Sweep 3, root to leaf: the forces of the rows join the joint forces, then accelerations.
  template <class C>
  void outward(const ConstrainedProblem<S, C>& problem, const S* of_rows, S* a) {
    const S* const f = forces_.spread(problem.constraints, of_rows);
    for (int i = 0; i < problem.tree.n_links; ++i) {
      const Link<C>& l = problem.tree.links[i];
      const RowRange range = problem.constraints.of_link[i];
      if (range.begin == range.end) continue;
      visit(l.kind, [&](auto joint) {
        push_joint(joint, factor_of(joint, l, aba_.factors), G_ + range.entries, f + range.begin,
                   range.end - range.begin);
      });
    }
    accelerate_outward(problem.tree, problem.v, aba_, a);
  }

 private:
  S *L_ends_, *r_ends_;  // the same of the ends
  AnyRows<S> any_;
  EndForces<S> forces_;
  AbaWorkspace<S> aba_;
  Vec3<S>* gravity_;
  Row<S>* rows_;
  S* G_;
};

// Independent rows only.
template <class S>
class Pv {
 public:
  template <class C>
  Pv(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : sweeps_(tree, constraints, arena), root_(constraints.n_rows, arena) {}

  template <class C>
  void solve(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings&, ConstrainedAnswer<S>& answer) {
    sweeps_.inward(problem);
    root_.solve(problem.constraints.n_rows, sweeps_.L, sweeps_.r, answer.forces, answer);
    sweeps_.outward(problem, answer.forces, answer.a);
  }

 private:
  PvSweeps<S> sweeps_;
  DirectSystem<S> root_;
};

}  // namespace featherweight::FW_ISA
