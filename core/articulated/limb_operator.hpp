// articulated/limb_operator.hpp -- the Delassus matrix of a set of constraints as an operator: products with it and
// solutions of (Delta + R) x = b, with R arbitrarily small.
//   O(n + m) to factorise where limbs can move all their rows, less for every product and solution.
//   Source: A. S. Sathya and J. Carpentier, "Constrained articulated body dynamics algorithms", with the rows
//   eliminated where limbs end (docs/theory.md, "Rows at the end of a limb") instead of turned into stiff springs.
//   Frames: everything with index i lives in link i.   Oracle: dense J H^-1 J^T + R.
//
// Factors: the articulated tree, for products; and the tree whose limbs end in inertia, for solutions. Joints inside a
// limb are done with where it ends: a solution visits only the trunk, the links where limbs end and those inboard of
// them. Rows that are known in advance stay in link axes: on lanes, products in world axes (articulated/operator.hpp,
// for rows that come and go) take a quarter more time (docs/adr/0019).
#pragma once
#include "articulated/limb_end.hpp"
#include "articulated/limbs.hpp"
#include "articulated/supporting.hpp"
#include "dynamics/articulate.hpp"

namespace featherweight::FW_ISA {

template <class S>
class DelassusOperator {
 public:
  using T = ElementOf<S>;

  DelassusOperator(const Tree<T>& tree, const ConstraintRows<T>& constraints, Arena& arena)
      : tree_(tree),
        constraints_(constraints),
        plan_(*constraints.limbs),
        free_(tree, arena),
        ended_(tree, arena),
        sweeps_(tree, constraints, arena),
        active_(arena.take<S>(constraints.n_ends)),
        damping_(arena.take<S>(constraints.n_ends)),
        singular_(arena.take<S>(1)),
        rows_(arena.take<Row<S>>(constraints.n_ends)),
        L_(arena.take<S>(plan_.n_triangle)),
        G_(arena.take<S>(plan_.n_entries)),
        b_(arena.take<S>(constraints.n_ends)),
        f_(arena.take<S>(constraints.n_ends)),
        left_(arena.take<S>(constraints.n_ends)),
        more_(arena.take<S>(constraints.n_ends)),
        u_(arena.take<S>(tree.nv)),
        p_(arena.take<Force<S>>(tree.n_links)),
        a_(arena.take<Motion<S>>(tree.n_links)) {}

  // K, active, damping: of each row; K on its link. Inactive rows are all zeros, and count as if their damping were
  // one.
  void factorise(const S* q, const Force<S>* K, const S* active, const S* damping) {
    for (int r = 0; r < constraints_.n_ends; ++r) active_[r] = active[r], damping_[r] = damping[r];
    articulate(tree_, q, free_);
    sweeps_.prepare(tree_, constraints_, free_.state, free_.factors);

    *singular_ = S(0);
    const auto end_limbs = [&](int i, ArticulatedInertia<S>& I) {
      for_each_ending(plan_, i, [&](auto n, const RowGroup& group) {
        reduce(n, group, S(T(most_rigid)));
        add_reduced_rows(n, rows_ + group.begin, L_ + group.L, I);
      });
      if (plan_.of_link[i].group >= 0) gather(K, i);
    };
    const auto pass_rows = [&](int i, auto joint) {
      const LinkGroups& at = plan_.of_link[i];
      if (at.group < 0) return;
      const Link<T>& l = tree_.links[i];
      const RowGroup& group = plan_.groups[at.group];
      with_row_count(group.end - group.begin, [&](auto n) {
        pass_joint(joint, l, ended_.state + l.state, factor_of(joint, l, ended_.factors), AtRest{},
                   RowBlock<decltype(n), Fixed<0>, S>{n, {}, rows_ + group.begin, L_ + group.L, G_ + at.entries});
      });
    };
    articulate(tree_, q, ended_, SparingLeaves{end_limbs}, pass_rows);
    for_each_ending(plan_, tree_.n_links,
                    [&](auto n, const RowGroup& group) { reduce(n, group, S(T(most_rigid_at_world))); });
  }

  // Ax = Delta x. In compiled order, as everything here.
  void apply(const S* x, S* Ax) {
    for (int r = 0; r < constraints_.n_ends; ++r) left_[r] = x[r] * active_[r];
    sweeps_.spread_inward(constraints_, left_);
    sweeps_.respond_outward();
    for (int r = 0; r < constraints_.n_ends; ++r) {
      const RowEnd<T>& row = constraints_.ends[r];
      Ax[r] = row_direction(row) * sweeps_.a[row.link] * active_[r];
    }
  }

  // x = (Delta + R)^-1 b, zero for inactive rows.
  void solve(const S* b, S* x) {
    solve_once(b, x);
    if (!any(*singular_, *singular_ > S(T(0.5)))) return;
    // a singular limb cost digits: iterative refinement brings them back
    for (int step = 0; step < n_refinements; ++step) {
      apply(x, left_);
      for (int r = 0; r < constraints_.n_ends; ++r) left_[r] = (b[r] - left_[r] - damping_[r] * x[r]) * active_[r];
      solve_once(left_, more_);
      for (int r = 0; r < constraints_.n_ends; ++r) x[r] = select(*singular_ > S(T(0.5)), x[r] + more_[r], x[r]);
    }
  }

 private:
  // Rigidity, the mobility of a row over its pivot, beyond which solutions are refined.
  static constexpr double most_rigid = 1e5, most_rigid_at_world = 1e10;
  static constexpr int n_refinements = 3;

  template <class N>
  FW_INLINE void reduce(N n, const RowGroup& group, const S& most_rigid_regular) {
    reduce_rows(n, rows_ + group.begin, L_ + group.L);
    for_each_row(n, [&](int r) FW_LAMBDA_INLINE {
      const S rigidity = L_[group.L + triangle(r, r)] * constraints_.ends[plan_.order[group.begin + r]].mobility;
      *singular_ = select(abs(rigidity) < most_rigid_regular, *singular_, S(1));  // also where it is NaN
    });
  }

  // The group that passes the joint of link i, if it is not simply that of its child.
  void gather(const Force<S>* K, int i) {
    const LinkGroups& at = plan_.of_link[i];
    const RowGroup& group = plan_.groups[at.group];
    if (at.n_own == 0 && at.joins == at.last) return;
    join_triangles(plan_, at, L_);
    const int first = constraints_.of_link[i].begin;
    for (int r = 0; r < at.n_own; ++r) {
      rows_[group.begin + r] = {K[first + r], S(0)};
      L_[group.L + triangle(r, r)] = damping_[first + r];
    }
  }

  void solve_once(const S* b, S* x) {
    for (int slot = 0; slot < constraints_.n_ends; ++slot) b_[slot] = b[plan_.order[slot]] * active_[plan_.order[slot]];

    // trunk, leaf to root: what the limbs ask of the links on which they end
    for (int k = 0; k < plan_.n_trunk; ++k) p_[plan_.trunk[k]] = zero_force<S>();
    for (int k = plan_.n_trunk - 1; k >= 0; --k) {
      const int i = plan_.trunk[k];
      const Link<T>& l = tree_.links[i];
      Force<S> p = p_[i];
      for_each_ending(plan_, i, [&](auto n, const RowGroup& group) {
        start_solution(n, group);
        add_reduced_targets(n, rows_ + group.begin, L_ + group.L, p);
      });
      visit(l.kind, [&](auto joint) {
        const auto& factor = factor_of(joint, l, ended_.factors);
        for (int j = 0; j < l.nv; ++j) u_[l.v + j] = S(0);
        affine_inward(joint, l, ended_.state + l.state, factor, u_ + l.v, p);
        if (const int g = plan_.of_link[i].group; g >= 0)
          pass_increment(joint, factor, u_ + l.v, G_ + plan_.of_link[i].entries,
                         plan_.groups[g].end - plan_.groups[g].begin, b_ + plan_.groups[g].begin);
      });
      if (l.parent >= 0) p_[l.parent] += p;
    }

    const Motion<S> world = zero_motion<S>();
    for_each_ending(plan_, tree_.n_links, [&](auto n, const RowGroup& group) {
      start_solution(n, group);
      forces_of_reduced_rows(n, rows_ + group.begin, L_ + group.L, world, f_ + group.begin);
    });

    // trunk, root to leaf: accelerations, then the forces of the limbs that end there
    for (int k = 0; k < plan_.n_trunk; ++k) {
      const int i = plan_.trunk[k];
      const Link<T>& l = tree_.links[i];
      visit(l.kind, [&](auto joint) {
        auto& factor = factor_of(joint, l, ended_.factors);
        S unused[decltype(joint)::nv];
        if (const int g = plan_.of_link[i].group; g >= 0)
          push_joint(joint, factor, G_ + plan_.of_link[i].entries, f_ + plan_.groups[g].begin,
                     plan_.groups[g].end - plan_.groups[g].begin, u_ + l.v);
        affine_outward(joint, l, ended_.state + l.state, factor, u_ + l.v, l.parent < 0 ? world : a_[l.parent], a_[i],
                       unused);
      });
      for_each_ending(plan_, i, [&](auto n, const RowGroup& group) {
        forces_of_reduced_rows(n, rows_ + group.begin, L_ + group.L, a_[i], f_ + group.begin);
      });
    }
    for (int slot = 0; slot < constraints_.n_ends; ++slot) x[plan_.order[slot]] = f_[slot] * active_[plan_.order[slot]];
  }

  // The right-hand sides of a group, reduced as its rows are.
  template <class N>
  FW_INLINE void start_solution(N n, const RowGroup& group) {
    for_each_row(n, [&](int r) FW_LAMBDA_INLINE {
      S k = b_[group.begin + r];
      for (int s = 0; s < r; ++s) k = k - L_[group.L + triangle(r, s)] * rows_[group.begin + s].k;
      rows_[group.begin + r].k = k;
    });
  }

  const Tree<T>& tree_;
  const ConstraintRows<T>& constraints_;
  const LimbPlan& plan_;
  ArticulatedTree<S> free_, ended_;  // without rows, and with ended limbs as inertia
  SupportingSweeps<S> sweeps_;
  S *active_, *damping_;
  S* singular_;   // 1 where a limb turned out to be
  Row<S>* rows_;  // reduced, by slots as all that follows
  S *L_, *G_, *b_, *f_;
  S *left_, *more_;
  S* u_;
  Force<S>* p_;
  Motion<S>* a_;
};

}  // namespace featherweight::FW_ISA
