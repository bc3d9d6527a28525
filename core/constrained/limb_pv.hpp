// constrained/limb_pv.hpp -- PV that solves for the forces of a limb where the limb ends: O(n + m).
//   A limb's rows are carried to the link where it meets another limb, a free base or the world. By then all its joints
//   have answered, and if those can move every row, one unpivoted block elimination turns the rows into inertia of that
//   link, exactly. Groups of rows that no posture makes independent go on as one, in the end to the world, where
//   proximal steps solve for them; so do all rows of a lane whose posture leaves a limb singular.
//   Source: ours, docs/theory.md "Rows at the end of a limb".   Oracle: dense KKT, its pseudo-inverse.
//
// Which group goes where is decided once per set of constraints (constrained/limb_plan.cpp): control flow is the same
// for all lanes.
#pragma once
#include "constrained/limb_end.hpp"
#include "constrained/prox_pv.hpp"

namespace featherweight::FW_ISA {

template <class S>
class LimbPv {
 public:
  template <class C>
  LimbPv(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : aba_(tree, arena),
        gravity_(arena.take<Vec3<S>>(tree.n_links)),
        rows_(arena.take<Row<S>>(constraints.n_rows)),
        targets_(arena.take<S>(constraints.n_rows)),
        f_(arena.take<S>(constraints.n_rows)),
        L_(arena.take<S>(constraints.limbs.n_triangle)),
        G_(arena.take<S>(constraints.limbs.n_entries)),
        root_(constraints.limbs.largest_irregular, arena),
        careful_(tree, constraints, arena),
        careful_a_(arena.take<S>(tree.nv)),
        careful_forces_(arena.take<S>(constraints.n_rows)) {}

  template <class C>
  void solve(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings& settings,
             ConstrainedAnswer<S>& answer) {
    using T = ElementOf<S>;
    const Tree<C>& tree = problem.tree;
    const LimbPlan& plan = problem.constraints.limbs;
    singular_ = S(0);

    // sweep 1, root to leaf: velocities, and gravity where rows will need it
    move_outward(tree, problem.q, problem.v, aba_);
    rotate_gravity_outward(tree, problem.constraints, aba_.state, gravity_);

    // sweep 2, leaf to root: limbs that end at link i become inertia; project out its joint; the other rows pass it
    project_inward(
        tree, problem.v, problem.tau, problem.f_ext, aba_,
        [&](int i, Outboard<S>& outboard) {
          for_each_ending(plan, i, [&](auto n, const RowGroup& group) {
            reduce(problem, n, group, S(T(smallest_pivot)));
            add_reduced_rows(n, rows_ + group.begin, L_ + group.L, outboard);
          });
          if (plan.of_link[i].group >= 0) gather(problem, i);
        },
        [&](int i, auto joint) {
          const Link<C>& l = tree.links[i];
          if (plan.of_link[i].group < 0) return;
          const RowGroup& group = plan.groups[plan.of_link[i].group];
          with_row_count(group.end - group.begin, [&](auto n) {
            pass_joint(joint, l, aba_.state + l.state, aba_.motion[i], problem.v + l.v,
                       factor_of(joint, l, aba_.factors),
                       RowBlock<decltype(n), Fixed<0>, S>{
                           n, {}, rows_ + group.begin, L_ + group.L, G_ + plan.of_link[i].entries});
          });
        });

    solve_at_world(problem, settings, answer);

    // sweep 3, root to leaf: forces join the joint forces, accelerations, then the forces of limbs that end there
    accelerate_outward(
        tree, problem.v, aba_, answer.a,
        [&](int i, auto joint) {
          if (plan.of_link[i].group < 0) return;
          const RowGroup& group = plan.groups[plan.of_link[i].group];
          with_row_count(group.end - group.begin, [&](auto n) {
            push_joint(joint, factor_of(joint, tree.links[i], aba_.factors), G_ + plan.of_link[i].entries,
                       f_ + group.begin, n);
          });
        },
        [&](int i) {
          for_each_ending(plan, i, [&](auto n, const RowGroup& group) {
            forces_of_reduced_rows(n, rows_ + group.begin, L_ + group.L, aba_.motion[i], f_ + group.begin);
          });
        });
    report(problem, answer);
    if (any(singular_, singular_ > S(T(0.5)))) solve_carefully(problem, settings, answer);
  }

 private:
  // A pivot this small compared with the mobility of its row is as good as zero: the inertia it would leave behind
  // drowns that of the link, and as many digits with it. At the world nothing is left behind.
  static constexpr double smallest_pivot = 1e-5, smallest_pivot_at_world = 1e-10;

  template <class F>
  FW_INLINE static void for_each_ending(const LimbPlan& plan, int i, F&& f) {
    for (int k = plan.of_link[i].ends; k < plan.of_link[i].joins; ++k) {
      const RowGroup& group = plan.groups[plan.arrivals[k]];
      with_row_count(group.end - group.begin, [&](auto n) { f(n, group); });
    }
  }

  template <class C, class N>
  FW_INLINE void reduce(const ConstrainedProblem<S, C>& problem, N n, const RowGroup& group, const S& smallest) {
    reduce_rows(n, rows_ + group.begin, L_ + group.L);
    const LimbPlan& plan = problem.constraints.limbs;
    for (int r = 0; r < n; ++r) {
      const S inverse_pivot = L_[group.L + triangle(r, r)];
      const S share = inverse_pivot * (smallest * problem.constraints.rows[plan.order[group.begin + r]].mobility);
      singular_ = select(share > S(0), select(share < S(1), singular_, S(1)), S(1));  // also where it is NaN
    }
  }

  // The group that passes the joint of link i, if it is not simply that of its child: own rows start, others join.
  template <class C>
  void gather(const ConstrainedProblem<S, C>& problem, int i) {
    const LimbPlan& plan = problem.constraints.limbs;
    const LinkGroups& at = plan.of_link[i];
    const RowGroup& group = plan.groups[at.group];
    if (at.n_own == 0 && at.joins == at.last) return;
    S* L = L_ + group.L;
    for (std::size_t k = 0; k < triangle(group.end - group.begin, 0); ++k) L[k] = S(0);
    for (int k = at.joins; k < at.last; ++k) {
      const RowGroup& joining = plan.groups[plan.arrivals[k]];
      const S* from = L_ + joining.L;
      for (int r = 0; r < joining.end - joining.begin; ++r)
        for (int s = 0; s <= r; ++s) {
          const int first = joining.begin - group.begin;
          L[triangle(first + r, first + s)] = from[triangle(r, s)];
        }
    }
    for (int r = 0; r < at.n_own; ++r) {
      const int slot = group.begin + r, k = plan.order[slot];
      const ConstraintRow<C>& row = problem.constraints.rows[k];
      rows_[slot] = start_row(row, problem.targets[k], problem.active[k], aba_.motion[i], gravity_[i]);
      targets_[slot] = rows_[slot].k;
      L[triangle(r, r)] = problem.active[k] * row.compliance + (S(1) - problem.active[k]) * row.mobility;
    }
  }

  // The world's acceleration is known.
  template <class C>
  void solve_at_world(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings& settings,
                      ConstrainedAnswer<S>& answer) {
    using T = ElementOf<S>;
    const LimbPlan& plan = problem.constraints.limbs;
    const Motion<S> world = minus_gravity<S>(problem.tree);
    for_each_ending(plan, problem.tree.n_links, [&](auto n, const RowGroup& group) {
      if (group.regular) {
        reduce(problem, n, group, S(T(smallest_pivot_at_world)));
        forces_of_reduced_rows(n, rows_ + group.begin, L_ + group.L, world, f_ + group.begin);
      } else {
        for (int r = 0; r < n; ++r) root_.r[r] = rows_[group.begin + r].k - rows_[group.begin + r].K * world;
        ConstrainedAnswer<S> of_group{nullptr, f_ + group.begin, S(0), S(1), S(1)};
        root_.solve(n, L_ + group.L, settings, f_ + group.begin, of_group);
        answer.iterations = larger(answer.iterations, of_group.iterations);
        answer.converged = answer.converged * of_group.converged;
      }
    });
  }

  // Forces in compiled order, and how far the accelerations miss their targets.
  template <class C>
  void report(const ConstrainedProblem<S, C>& problem, ConstrainedAnswer<S>& answer) {
    for (int slot = 0; slot < problem.constraints.n_rows; ++slot) {
      const int k = problem.constraints.limbs.order[slot];
      const ConstraintRow<C>& row = problem.constraints.rows[k];
      const Force<C> K = row_direction(row);
      const Motion<S>& a = aba_.motion[row.link];
      answer.forces[k] = f_[slot];
      const S reached = dot(K.lin, a.lin) + dot(K.ang, a.ang) + row.compliance * f_[slot];
      answer.residual = larger(answer.residual, abs(problem.active[k] * reached - targets_[slot]));
    }
  }

  // Lanes with a singular limb take the answer of prox_pv, which carries all rows to the world.
  template <class C>
  [[gnu::noinline, gnu::cold]] void solve_carefully(const ConstrainedProblem<S, C>& problem,
                                                    const ConstrainedSettings& settings, ConstrainedAnswer<S>& answer) {
    ConstrainedAnswer<S> careful{careful_a_, careful_forces_, S(0), S(1), S(1)};
    careful_.solve(problem, settings, careful);
    const auto here = singular_ > S(ElementOf<S>(0.5));
    for (int k = 0; k < problem.tree.nv; ++k) answer.a[k] = select(here, careful.a[k], answer.a[k]);
    for (int k = 0; k < problem.constraints.n_rows; ++k)
      answer.forces[k] = select(here, careful.forces[k], answer.forces[k]);
    answer.residual = select(here, careful.residual, answer.residual);
    answer.iterations = select(here, careful.iterations, answer.iterations);
    answer.converged = select(here, careful.converged, answer.converged);
  }

  AbaWorkspace<S> aba_;
  Vec3<S>* gravity_;
  Row<S>* rows_;  // in slots, as all that follows
  S *targets_, *f_, *L_, *G_;
  S singular_;  // 1 where a limb turned out to be
  ProximalSystem<S> root_;
  ProxPv<S> careful_;
  S *careful_a_, *careful_forces_;
};

}  // namespace featherweight::FW_ISA
