// constrained/limb_pv.hpp -- PV that solves for the forces of a limb where the limb ends: O(n + m).
//   A limb's rows are carried to the link where it joins another limb, a free base or the world. By then all its joints
//   have answered, and if those can move every row, one unpivoted block elimination turns the rows into inertia of that
//   link, exactly. Groups of rows that no posture makes independent go on as one, in the end to the world, where
//   proximal steps solve for them. A lane whose posture leaves a limb singular is solved once more, carefully.
//   Source: ours, docs/theory.md "Rows at the end of a limb".   Oracle: dense KKT, its pseudo-inverse.
//
// Which group goes where is decided once per set of constraints (articulated/limb_plan.cpp): control flow is the same
// for all lanes.
#pragma once
#include "constrained/limb_refine.hpp"
#include "constrained/proximal.hpp"

namespace featherweight::FW_ISA {

// Careful: the method for lanes whose posture leaves a limb singular.
template <class S, class Careful>
class LimbPv {
 public:
  template <class C>
  LimbPv(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : w_(tree, constraints, arena),
        root_(constraints.limbs->largest_irregular, arena),
        careful_(tree, constraints, arena),
        careful_a_(arena.take<S>(tree.nv)),
        careful_forces_(arena.take<S>(constraints.n_ends)) {}

  template <class C>
  void solve(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings& settings,
             ConstrainedAnswer<S>& answer) {
    using T = ElementOf<S>;
    const Tree<C>& tree = problem.tree;
    const LimbPlan& plan = *problem.constraints.limbs;
    singular_ = rigidity_at_world_ = S(0);

    // sweep 1, root to leaf: velocities, and gravity where rows will need it
    move_outward(tree, problem.q, problem.v, w_.aba, [&](int i, auto joint) {
      rotate_gravity(joint, tree, problem.constraints, i, w_.aba.state, w_.gravity);
    });

    // sweep 2, leaf to root: limbs that end at link i become inertia; project out its joint; the other rows pass it
    const auto end_limbs = [&](int i, Outboard<S>& outboard) {
      const int base = plan.of_link[i].base;
      if (base >= 0) w_.bases[base] = {outboard, S(0)};
      for_each_ending(plan, i, [&](auto n, const RowGroup& group) {
        const S rigidity = reduce(problem, n, group, S(T(base >= 0 ? most_rigid_on_base : most_rigid_inside)));
        if (base >= 0) w_.bases[base].rigidity = larger(w_.bases[base].rigidity, rigidity);
        add_reduced_rows(n, w_.rows + group.begin, w_.L + group.L, outboard.I);
        add_reduced_targets(n, w_.rows + group.begin, w_.L + group.L, outboard.p);
      });
      if (plan.of_link[i].group >= 0) gather(problem, i);
    };
    const auto pass_rows = [&](int i, auto joint, const Outboard<S>&) {
      const Link<C>& l = tree.links[i];
      if (plan.of_link[i].group < 0) return;
      const RowGroup& group = plan.groups[plan.of_link[i].group];
      with_row_count(group.end - group.begin, [&](auto n) {
        pass_joint(joint, l, w_.aba.state + l.state, factor_of(joint, l, w_.aba.factors),
                   JointMotion<S>{w_.aba.motion[i], problem.v + l.v},
                   RowBlock<decltype(n), Fixed<0>, S>{
                       n, {}, w_.rows + group.begin, w_.L + group.L, w_.G + plan.of_link[i].entries});
      });
    };
    project_inward(tree, problem.v, problem.tau, problem.f_ext, w_.aba, SparingLeaves{end_limbs}, pass_rows);

    solve_at_world(problem, settings, answer);

    // sweep 3, root to leaf: forces join the joint forces, accelerations, then the forces of limbs that end there
    accelerate_outward(
        tree, problem.v, w_.aba, answer.a,
        [&](int i, auto joint) {
          if (plan.of_link[i].group < 0) return;
          const RowGroup& group = plan.groups[plan.of_link[i].group];
          with_row_count(group.end - group.begin, [&](auto n) {
            push_joint(joint, factor_of(joint, tree.links[i], w_.aba.factors), w_.G + plan.of_link[i].entries,
                       w_.f + group.begin, n);
          });
        },
        [&](int i) {
          const int base = plan.of_link[i].base;
          if (base >= 0 && any(w_.bases[base].rigidity, w_.bases[base].rigidity > S(T(worth_refining_base))))
            refine_base(problem, i, w_, answer.a + tree.links[i].v);
          for_each_ending(plan, i, [&](auto n, const RowGroup& group) {
            forces_of_reduced_rows(n, w_.rows + group.begin, w_.L + group.L, w_.aba.motion[i], w_.f + group.begin);
          });
        });
    report(problem, answer);
    if (any(rigidity_at_world_, rigidity_at_world_ > S(T(worth_refining_at_world)))) {
      refine_at_world(problem, rigidity_at_world_, w_, answer.a);
      report(problem, answer);
    }
    if (any(singular_, singular_ > S(T(0.5)))) solve_carefully(problem, settings, answer);
  }

 private:
  // Rigidity, the mobility of a row over its pivot: how much less the limb gives way than the robot, and how many
  // digits of the link's own inertia drown in the inertia that the limb leaves behind. Beyond these limits a limb
  // counts as singular. On a floating base what drowned is refined; at the world nothing is left behind.
  static constexpr double most_rigid_inside = 1e5, most_rigid_on_base = 1e8, most_rigid_at_world = 1e10;

  // Returns the rigidity.
  template <class C, class N>
  FW_INLINE S reduce(const ConstrainedProblem<S, C>& problem, N n, const RowGroup& group, const S& most_rigid) {
    reduce_rows(n, w_.rows + group.begin, w_.L + group.L);
    const int* order = problem.constraints.limbs->order + group.begin;
    S rigidity(0);
    for_each_row(n, [&](int r) FW_LAMBDA_INLINE {
      const S ratio = w_.L[group.L + triangle(r, r)] * problem.constraints.ends[order[r]].mobility;
      rigidity = larger(rigidity, select(ratio > S(0), ratio, most_rigid));  // also where it is NaN
    });
    singular_ = select(rigidity < most_rigid, singular_, S(1));
    return rigidity;
  }

  // The group that passes the joint of link i, if it is not simply that of its child: own rows start, others join.
  template <class C>
  void gather(const ConstrainedProblem<S, C>& problem, int i) {
    const LimbPlan& plan = *problem.constraints.limbs;
    const LinkGroups& at = plan.of_link[i];
    const RowGroup& group = plan.groups[at.group];
    if (at.n_own == 0 && at.joins == at.last) return;
    if (at.joins == at.last) return with_row_count(at.n_own, [&](auto n) { start(problem, i, n, group); });
    join_triangles(plan, at, w_.L);
    start(problem, i, at.n_own, group);
  }
  // The n rows of link i itself, in their own order the first of the group.
  template <class C, class N>
  FW_INLINE void start(const ConstrainedProblem<S, C>& problem, int i, N n, const RowGroup& group) {
    const int first = problem.constraints.of_link[i].begin;
    Row<S>* rows = w_.rows + group.begin;
    start_rows(problem, i, n, w_.aba.motion[i], w_.gravity[i], rows);
    for_each_row(n, [&](int r) FW_LAMBDA_INLINE {
      w_.targets[group.begin + r] = rows[r].k;
      for (int s = 0; s < r; ++s) w_.L[group.L + triangle(r, s)] = S(0);
      w_.L[group.L + triangle(r, r)] = own_compliance(problem.constraints.ends[first + r], problem.active[first + r]);
    });
  }

  // The world's acceleration is known.
  template <class C>
  void solve_at_world(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings& settings,
                      ConstrainedAnswer<S>& answer) {
    using T = ElementOf<S>;
    const LimbPlan& plan = *problem.constraints.limbs;
    const Motion<S> world = minus_gravity<S>(problem.tree);
    for_each_ending(plan, problem.tree.n_links, [&](auto n, const RowGroup& group) {
      if (group.regular) {
        const S rigidity = reduce(problem, n, group, S(T(most_rigid_at_world)));
        rigidity_at_world_ = larger(rigidity_at_world_, rigidity);
        forces_of_reduced_rows(n, w_.rows + group.begin, w_.L + group.L, world, w_.f + group.begin);
      } else {
        for (int r = 0; r < n; ++r) root_.r[r] = w_.rows[group.begin + r].k - w_.rows[group.begin + r].K * world;
        ConstrainedAnswer<S> of_group{nullptr, w_.f + group.begin, S(0), S(1), S(1)};
        root_.solve(n, w_.L + group.L, settings, w_.f + group.begin, of_group);
        answer.iterations = larger(answer.iterations, of_group.iterations);
        answer.converged = answer.converged * of_group.converged;
      }
    });
  }

  // Forces in compiled order, and how far the accelerations miss their targets.
  template <class C>
  void report(const ConstrainedProblem<S, C>& problem, ConstrainedAnswer<S>& answer) {
    answer.residual = S(0);
    for (int slot = 0; slot < problem.constraints.n_ends; ++slot) {
      const int k = problem.constraints.limbs->order[slot];
      const RowEnd<C>& row = problem.constraints.ends[k];
      const Motion<S>& a = w_.aba.motion[row.link];
      answer.forces[k] = w_.f[slot];
      const S reached = row_direction(row) * a + row.compliance * w_.f[slot];
      w_.missed[slot] = w_.targets[slot] - problem.active[k] * reached;
      answer.residual = larger(answer.residual, abs(w_.missed[slot]));
    }
  }

  // Lanes with a singular limb take the answer of a method for any rows.
  template <class C>
  [[gnu::noinline, gnu::cold]] void solve_carefully(const ConstrainedProblem<S, C>& problem,
                                                    const ConstrainedSettings& settings, ConstrainedAnswer<S>& answer) {
    ConstrainedAnswer<S> careful{careful_a_, careful_forces_, S(0), S(1), S(1)};
    careful_.solve(problem, settings, careful);
    const auto here = singular_ > S(ElementOf<S>(0.5));
    for (int k = 0; k < problem.tree.nv; ++k) answer.a[k] = select(here, careful.a[k], answer.a[k]);
    for (int k = 0; k < problem.constraints.n_ends; ++k)
      answer.forces[k] = select(here, careful.forces[k], answer.forces[k]);
    answer.residual = select(here, careful.residual, answer.residual);
    answer.iterations = select(here, careful.iterations, answer.iterations);
    answer.converged = select(here, careful.converged, answer.converged);
  }

  LimbWorkspace<S> w_;
  S singular_;  // 1 where a limb turned out to be
  S rigidity_at_world_;
  ProximalSystem<S> root_;
  Careful careful_;
  S *careful_a_, *careful_forces_;
};

}  // namespace featherweight::FW_ISA
