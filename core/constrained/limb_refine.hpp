// constrained/limb_refine.hpp -- what limb_pv keeps, and how it regains the digits that rigid limbs cost.
//
// Rigidity is the mobility of a row over its pivot: how much less the limb gives way than the robot as a whole, in its
// weakest direction. That many digits of the robot's own inertia drown in that of the limb.
#pragma once
#include "articulated/limb_end.hpp"
#include "constrained/start_rows.hpp"
#include "dynamics/affine.hpp"

namespace featherweight::FW_ISA {

inline constexpr double worth_refining_base = 1e4, worth_refining_at_world = 1e6;  // rigidity

// A floating base before limbs ended on it, and the rigidity of those.
template <class S>
struct FloatingBase {
  Outboard<S> alone;
  S rigidity;
};

template <class S>
struct LimbWorkspace {
  AbaWorkspace<S> aba;
  Vec3<S>* gravity;
  Row<S>* rows;  // in slots (articulated/limbs.hpp), as all rows that follow
  S *targets, *missed, *f, *df;
  S *L, *G;
  Motion<S>* steps;  // of the links, in refinements
  FloatingBase<S>* bases;

  template <class C>
  LimbWorkspace(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : aba(tree, arena),
        gravity(arena.take<Vec3<S>>(tree.n_links)),
        rows(arena.take<Row<S>>(constraints.n_ends)),
        targets(arena.take<S>(constraints.n_ends)),
        missed(arena.take<S>(constraints.n_ends)),
        f(arena.take<S>(constraints.n_ends)),
        df(arena.take<S>(constraints.n_ends)),
        L(arena.take<S>(constraints.limbs->n_triangle)),
        G(arena.take<S>(constraints.limbs->n_entries)),
        steps(arena.take<Motion<S>>(tree.n_links)),
        bases(arena.take<FloatingBase<S>>(constraints.limbs->n_bases)) {}
};

// One step of iterative refinement of a floating base: what its own inertia and the forces of its limbs leave
// unbalanced is spread once more. Lanes that need none keep their bits.
template <class S, class C>
[[gnu::noinline]] void refine_base(const ConstrainedProblem<S, C>& problem, int i, LimbWorkspace<S>& w, S* a_joint) {
  using T = ElementOf<S>;
  const Link<C>& l = problem.tree.links[i];
  const LimbPlan& plan = *problem.constraints.limbs;
  FloatingBase<S>& base = w.bases[plan.of_link[i].base];
  Motion<S>& a = w.aba.motion[i];
  base.alone.I += body(l);
  Force<S> left = base.alone.I * a;  // of I a + p - tau - K^T f of the limbs
  left += base.alone.p;
  const S* v = problem.v + l.v;  // a root moves as its joint does
  add_velocity_bias(left, body(l), Motion<S>{{v[0], v[1], v[2]}, {v[3], v[4], v[5]}});
  for_each_ending(plan, i, [&](auto n, const RowGroup& group) {
    for (int r = 0; r < n; ++r) {
      const Row<S>& row = w.rows[group.begin + r];
      const S y = (row.k - row.K * a) * w.L[group.L + triangle(r, r)];
      left.lin = left.lin - row.K.lin * y;
      left.ang = left.ang - row.K.ang * y;
    }
  });
  S x[6];
  for (int k = 0; k < 3; ++k) {
    x[k] = problem.tau[l.v + k] - left.lin[k] - a_joint[k] * l.armature[k];
    x[3 + k] = problem.tau[l.v + 3 + k] - left.ang[k] - a_joint[3 + k] * l.armature[3 + k];
  }
  add_armature_bias(Free{}, l, v, C(-1), x);
  if (const int passing = plan.of_link[i].group; passing >= 0)
    for (int slot = plan.groups[passing].begin, g = plan.of_link[i].entries; slot < plan.groups[passing].end; ++slot)
      for (int k = 0; k < 6; ++k, ++g) x[k] = x[k] + w.G[g] * w.f[slot];
  factor_of(Free{}, l, w.aba.factors).D.solve(x);
  const auto here = base.rigidity > S(T(worth_refining_base));
  for (int k = 0; k < 6; ++k) {
    const S step = select(here, x[k], S(0));
    a_joint[k] = a_joint[k] + step;
    (k < 3 ? a.lin[k] : a.ang[k - 3]) = (k < 3 ? a.lin[k] : a.ang[k - 3]) + step;
  }
}

// One step of iterative refinement where the forces at the world are hard to tell from L: what the accelerations of
// the links still miss, which is exact to rounding, calls for a little more force, and that for one light sweep. Lanes
// that need none keep their bits.
template <class S, class C>
[[gnu::noinline]] void refine_at_world(const ConstrainedProblem<S, C>& problem, const S& rigidity, LimbWorkspace<S>& w,
                                       S* a) {
  const Tree<C>& tree = problem.tree;
  const LimbPlan& plan = *problem.constraints.limbs;
  const auto here = rigidity > S(ElementOf<S>(worth_refining_at_world));
  for (int slot = 0; slot < problem.constraints.n_ends; ++slot) w.df[slot] = S(0);
  for_each_ending(plan, tree.n_links, [&](auto, const RowGroup& group) {
    if (!group.regular) return;
    for (int slot = group.begin; slot < group.end; ++slot) w.df[slot] = select(here, w.missed[slot], S(0));
    solve_packed(group.end - group.begin, w.L + group.L, w.df + group.begin);
  });
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    S da[6];
    visit(l.kind, [&](auto joint) {
      auto& factor = factor_of(joint, l, w.aba.factors);
      clear_right_hand_side(factor);
      if (const int g = plan.of_link[i].group; g >= 0)
        push_joint(joint, factor, w.G + plan.of_link[i].entries, w.df + plan.groups[g].begin,
                   plan.groups[g].end - plan.groups[g].begin);
      affine_outward(joint, l, w.aba.state + l.state, factor, right_hand_side(factor),
                     l.parent < 0 ? rest : w.steps[l.parent], w.steps[i], da);
    });
    for (int k = 0; k < l.nv; ++k) a[l.v + k] = a[l.v + k] + da[k];
    w.aba.motion[i] += w.steps[i];
    for_each_ending(plan, i, [&](auto n, const RowGroup& group) {
      forces_of_reduced_rows(n, w.rows + group.begin, w.L + group.L, w.aba.motion[i], w.df + group.begin);
      for (int slot = group.begin; slot < group.end; ++slot) w.df[slot] = select(here, w.df[slot] - w.f[slot], S(0));
    });
  }
  for (int slot = 0; slot < problem.constraints.n_ends; ++slot) w.f[slot] = w.f[slot] + w.df[slot];
}

}  // namespace featherweight::FW_ISA
