// constrained/constrained_aba.hpp -- forward dynamics under equality constraints: aba with stiff rows, then corrected.
//   O(n + m), and O(d + m) per further iteration for rows under d joints. Any rows: least-squares accelerations and
//   forces of least norm where they contradict each other.
//   Source: A. S. Sathya and J. Carpentier, "Constrained articulated body dynamics algorithms".
//   Frames: everything with index i lives in link i.   Oracle: dense KKT.
//
// Rows that give way by R + eps are part of their links. Asked for x more, they exert f = (J H^-1 J^T + R + eps)^-1 x
// and miss eps f; A x = x - eps f is what they gain. After aba they miss some b, so further targets g with A g = b are
// looked for (constrained/conjugate_residuals.hpp). A product with A is an affine sweep over the links inboard of rows;
// all others wait for the last outward sweep. Inertia 1 / eps costs digits at every joint, so eps is not too small.
#pragma once
#include "articulated/supporting.hpp"
#include "constrained/conjugate_residuals.hpp"
#include "constrained/yielding_rows.hpp"

namespace featherweight::FW_ISA {

template <class S>
class ConstrainedAba {
 public:
  using T = ElementOf<S>;

  ConstrainedAba(const Tree<T>& tree, const ConstraintRows<T>& constraints, Arena& arena)
      : aba_(tree, arena),
        gravity_(arena.take<Vec3<S>>(tree.n_links)),
        forces_(arena.take<S>(constraints.n_ends)),
        yielding_(constraints, arena),
        supporting_(tree, constraints, arena),
        targets_(constraints.n_ends, arena) {}

  void solve(const ConstrainedProblem<S, T>& problem, const ConstrainedSettings& settings,
             ConstrainedAnswer<S>& answer) {
    const Tree<T>& tree = problem.tree;
    const ConstraintRows<T>& constraints = problem.constraints;
    const int m = constraints.n_ends;
    if (!prepared_) prepare(tree, constraints);

    // sweeps 1 and 2: aba's, with stiff rows
    move_outward(tree, problem.q, problem.v, aba_,
                 [&](int i, auto joint) { rotate_gravity(joint, tree, problem.constraints, i, aba_.state, gravity_); });
    project_inward(tree, problem.v, problem.tau, problem.f_ext, aba_, [&](int i, Outboard<S>& outboard) {
      yielding_.join(problem, i, aba_.motion[i], gravity_[i], outboard);
    });

    // what the rows still miss, and further targets that make up for it
    supporting_.accelerate_outward(tree, problem.v);
    S scale(0);
    for (int r = 0; r < m; ++r) {
      const S miss = yielding_.k[r] - row_direction(constraints.ends[r]) * supporting_.a[constraints.ends[r].link];
      targets_.r[r] = miss * problem.active[r] * given_way(r);
      scale = larger(scale, abs(yielding_.k[r]) * problem.active[r]);
    }
    targets_.solve(S(T(settings.tolerance)) * (S(1) + scale), settings.max_iterations, answer,
                   [&](const S* x, S* Ax) { gain(problem, x, Ax); });

    // the forces of all further targets at once, and sweep 3; all in all eps f = g + r, by A x = x - eps f
    for (int r = 0; r < m; ++r) {
      answer.forces[r] = (targets_.g[r] + targets_.r[r]) * S(T(1) / eps_);
      forces_[r] = (targets_.g[r] - targets_.unreachable[r]) * yielding_.per_miss[r];
    }
    supporting_.spread_inward(constraints, forces_);
    supporting_.drive_joints();
    accelerate_outward(tree, problem.v, aba_, answer.a);
    for (int r = 0; r < m; ++r) {
      const RowEnd<T>& row = constraints.ends[r];
      const S missed = yielding_.k[r] - row_direction(row) * aba_.motion[row.link] - answer.forces[r] * row.compliance;
      answer.residual = larger(answer.residual, abs(missed * problem.active[r]));
    }
  }

 private:
  // To the largest mobility of a row: iterations and digits lost are in balance.
  static constexpr double relative_eps = 1e-5;

  // One eps for all rows, or least squares would be weighted.
  void prepare(const Tree<T>& tree, const ConstraintRows<T>& constraints) {
    T largest(0);
    for (int r = 0; r < constraints.n_ends; ++r) largest = larger(largest, constraints.ends[r].mobility);
    eps_ = largest > 0 ? T(relative_eps) * largest : T(relative_eps);
    yielding_.prepare(constraints, eps_);
    supporting_.prepare(tree, constraints, aba_.state, aba_.factors, aba_.motion);
    prepared_ = true;
  }

  // Part of what a row misses that is due to eps: all, if it is rigid.
  FW_INLINE T given_way(int r) const { return eps_ * yielding_.per_miss[r]; }

  // Ax, see above.
  void gain(const ConstrainedProblem<S, T>& problem, const S* x, S* Ax) {
    const ConstraintRows<T>& constraints = problem.constraints;
    for (int r = 0; r < constraints.n_ends; ++r) forces_[r] = x[r] * yielding_.per_miss[r];
    supporting_.spread_inward(constraints, forces_);
    supporting_.respond_outward();
    for (int r = 0; r < constraints.n_ends; ++r) {
      const S gained = row_direction(constraints.ends[r]) * supporting_.a[constraints.ends[r].link];
      Ax[r] = (x[r] + (gained - x[r]) * given_way(r)) * problem.active[r];
    }
  }

  AbaWorkspace<S> aba_;
  Vec3<S>* gravity_;
  S* forces_;
  YieldingRows<S> yielding_;
  SupportingSweeps<S> supporting_;
  ConjugateResiduals<S> targets_;
  T eps_ = 0;  // further compliance of every row
  bool prepared_ = false;
};

}  // namespace featherweight::FW_ISA
