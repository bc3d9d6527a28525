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
        bases_(arena.take<Base>(constraints.limbs.n_bases)),
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
    move_outward(tree, problem.q, problem.v, aba_,
                 [&](int i, auto joint) { rotate_gravity(joint, tree, problem.constraints, i, aba_.state, gravity_); });

    // sweep 2, leaf to root: limbs that end at link i become inertia; project out its joint; the other rows pass it
    project_inward(
        tree, problem.v, problem.tau, problem.f_ext, aba_,
        [&](int i, Outboard<S>& outboard) {
          const int base = plan.of_link[i].base;
          if (base >= 0) bases_[base] = {outboard, S(0)};
          for_each_ending(plan, i, [&](auto n, const RowGroup& group) {
            const S stiffness = reduce(problem, n, group, S(T(base >= 0 ? stiffest_on_base : stiffest_inside)));
            if (base >= 0) bases_[base].stiffness = larger(bases_[base].stiffness, stiffness);
            add_reduced_rows(n, rows_ + group.begin, L_ + group.L, outboard);
          });
          if (plan.of_link[i].group >= 0) gather(problem, i);
        },
        [&](int i, auto joint, const Outboard<S>&) {
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
          const int base = plan.of_link[i].base;
          if (base >= 0 && any(bases_[base].stiffness, bases_[base].stiffness > S(T(stiff))))
            refine_base(problem, i, answer.a + tree.links[i].v);
          for_each_ending(plan, i, [&](auto n, const RowGroup& group) {
            forces_of_reduced_rows(n, rows_ + group.begin, L_ + group.L, aba_.motion[i], f_ + group.begin);
          });
        });
    report(problem, answer);
    if (any(singular_, singular_ > S(T(0.5)))) solve_carefully(problem, settings, answer);
  }

 private:
  // Mobility of a row over its pivot: how much stiffer than the robot the limb is in its weakest direction, and how
  // many digits of the link's own inertia drown in the inertia that the limb leaves behind. Beyond these limits a limb
  // counts as singular. On a floating base what drowned is refined; at the world nothing is left behind.
  static constexpr double stiffest_inside = 1e5, stiffest_on_base = 1e8, stiffest_at_world = 1e10;
  static constexpr double stiff = 1e4;  // worth refining

  // A floating base before limbs ended on it.
  struct Base {
    Outboard<S> alone;
    S stiffness;
  };

  template <class F>
  FW_INLINE static void for_each_ending(const LimbPlan& plan, int i, F&& f) {
    for (int k = plan.of_link[i].ends; k < plan.of_link[i].joins; ++k) {
      const RowGroup& group = plan.groups[plan.arrivals[k]];
      with_row_count(group.end - group.begin, [&](auto n) { f(n, group); });
    }
  }

  // Returns the stiffness.
  template <class C, class N>
  FW_INLINE S reduce(const ConstrainedProblem<S, C>& problem, N n, const RowGroup& group, const S& stiffest) {
    reduce_rows(n, rows_ + group.begin, L_ + group.L);
    const int* order = problem.constraints.limbs.order + group.begin;
    S stiffness(0);
    for (int r = 0; r < n; ++r) {
      const S ratio = L_[group.L + triangle(r, r)] * problem.constraints.rows[order[r]].mobility;
      stiffness = larger(stiffness, select(ratio > S(0), ratio, stiffest));  // also where it is NaN
    }
    singular_ = select(stiffness < stiffest, singular_, S(1));
    return stiffness;
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
    const int first = problem.constraints.of_link[i].begin;  // own rows keep their order
    start_rows(problem, i, aba_.motion[i], gravity_[i], rows_ + group.begin);
    for (int r = 0; r < at.n_own; ++r) {
      targets_[group.begin + r] = rows_[group.begin + r].k;
      L[triangle(r, r)] = own_compliance(problem.constraints.rows[first + r], problem.active[first + r]);
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
        reduce(problem, n, group, S(T(stiffest_at_world)));
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

  // One step of iterative refinement of a floating base: what its own inertia and the forces of its limbs leave
  // unbalanced is spread once more. Lanes without need of it keep their bits.
  template <class C>
  [[gnu::noinline]] void refine_base(const ConstrainedProblem<S, C>& problem, int i, S* a_joint) {
    using T = ElementOf<S>;
    const Link<C>& l = problem.tree.links[i];
    const LimbPlan& plan = problem.constraints.limbs;
    Base& base = bases_[plan.of_link[i].base];
    Motion<S>& a = aba_.motion[i];
    base.alone.I += body(l);
    Force<S> left = base.alone.I * a;  // of I a + p - tau - K^T f of the limbs
    left += base.alone.p;
    const S* v = problem.v + l.v;  // a root moves as its joint does
    add_velocity_bias(left, body(l), Motion<S>{{v[0], v[1], v[2]}, {v[3], v[4], v[5]}});
    for_each_ending(plan, i, [&](auto n, const RowGroup& group) {
      for (int r = 0; r < n; ++r) {
        const Row<S>& row = rows_[group.begin + r];
        const S y = (row.k - row.K * a) * L_[group.L + triangle(r, r)];
        left.lin = left.lin - row.K.lin * y;
        left.ang = left.ang - row.K.ang * y;
      }
    });
    S x[6];
    for (int k = 0; k < 3; ++k) {
      x[k] = problem.tau[l.v + k] - left.lin[k] - a_joint[k] * l.armature[k];
      x[3 + k] = problem.tau[l.v + 3 + k] - left.ang[k] - a_joint[3 + k] * l.armature[3 + k];
    }
    if (const int passing = plan.of_link[i].group; passing >= 0)
      for (int slot = plan.groups[passing].begin, g = plan.of_link[i].entries; slot < plan.groups[passing].end; ++slot)
        for (int k = 0; k < 6; ++k, ++g) x[k] = x[k] + G_[g] * f_[slot];
    factor_of(Free{}, l, aba_.factors).D.solve(x);
    const auto here = base.stiffness > S(T(stiff));
    for (int k = 0; k < 6; ++k) {
      const S step = select(here, x[k], S(0));
      a_joint[k] = a_joint[k] + step;
      (k < 3 ? a.lin[k] : a.ang[k - 3]) = (k < 3 ? a.lin[k] : a.ang[k - 3]) + step;
    }
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
  Base* bases_;
  ProxPv<S> careful_;
  S *careful_a_, *careful_forces_;
};

}  // namespace featherweight::FW_ISA
