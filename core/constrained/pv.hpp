// constrained/pv.hpp -- forward dynamics under equality constraints, Popov-Vereshchagin.
//   H a + h = tau + J^T lambda,  J a = b:  ABA that carries the constraint rows to the root, where L lambda = k - K
//   a_w. O(n + m^2 d + m^3) for m rows under d joints. Source: algorithms of Popov and Vereshchagin in the form of V(a,
//   lambda), constrained/row_steps.hpp. Frames: rows with index i live in link i until they pass its joint.   Oracle:
//   dense KKT; L at the root is J H^-1 J^T.
//
// prox_pv iterates (L + eps) lambda+ = r + eps lambda: redundant, singular and contradictory rows then give the
// least-squares acceleration. eps (lambda+ - lambda) is the exact residual of the rows.
#pragma once
#include "constrained/root_solve.hpp"
#include "constrained/row_steps.hpp"
#include "constraints/rows.hpp"
#include "dynamics/aba.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct PvWorkspace {
  AbaWorkspace<S> aba;
  Vec3<S>* gravity;  // in the axes of each link that carries rows outboard
  Row<S>* rows;
  S *L, *G;
  RootSystem<S> root;

  template <class C>
  PvWorkspace(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : aba(tree, arena),
        gravity(arena.take<Vec3<S>>(tree.n_links)),
        rows(arena.take<Row<S>>(constraints.n_rows)),
        L(arena.take<S>(triangle(constraints.n_rows, 0))),
        G(arena.take<S>(constraints.n_entries)),
        root(constraints.n_rows, arena) {}
};

template <class J, class S, class C>
[[gnu::noinline]] void rotate_gravity(J, const Link<C>& l, const S* state, const Vec3<S>& parent, Vec3<S>& gravity) {
  gravity = transposed_times(J::orientation(l, state), parent);
}

// The rows of constraints on link i, in their initial form. Targets are for a - g, as everything else in ABA.
template <class S, class C>
FW_INLINE void start_row(const ConstraintRow<C>& constraint, const S& target, const S& active, const Motion<S>& v,
                         const Vec3<S>& gravity, Row<S>& row) {
  const Vec3<C> n{constraint.K[0], constraint.K[1], constraint.K[2]},
      m{constraint.K[3], constraint.K[4], constraint.K[5]};
  row.K = {zero3<S>() + n, zero3<S>() + m};
  row.k = target - dot(n, gravity);
  if (constraint.of_point) {
    Vec3<S> v_point = v.lin;
    add_cross(v_point, v.ang, vec3(constraint.p));
    row.k = row.k - dot(n, cross(v.ang, v_point));
  }
  row.K = {row.K.lin * active, row.K.ang * active};
  row.k = row.k * active;
}

// targets: one per row. active: 1 or 0 per row; an inactive row exerts no force.
template <class S, class C>
void pv(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* v, const S* tau,
        const Force<S>* f_ext, const S* targets, const S* active, const RootSettings& settings, PvWorkspace<S>& w, S* a,
        S* lambda, RootReport<S>& report) {
  const int m = constraints.n_rows;
  const Motion<S> world = minus_gravity<S>(tree);
  const Vec3<S> gravity{-world.lin[0], -world.lin[1], -world.lin[2]};

  // sweep 1, root to leaf: velocities, and gravity where rows will need it
  move_outward(tree, q, v, w.aba);
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    if (constraints.of_link[i].begin == constraints.of_link[i].end) continue;
    visit(l.kind, [&](auto joint) {
      rotate_gravity(joint, l, w.aba.state + l.state, l.parent < 0 ? gravity : w.gravity[l.parent], w.gravity[i]);
    });
  }

  // sweep 2, leaf to root: project out joint i; the rows outboard pass it too
  for (std::size_t k = 0; k < triangle(m, 0); ++k) w.L[k] = S(0);
  project_inward(tree, v, tau, f_ext, w.aba, Unobserved{}, [&](int i, auto joint) {
    const Link<C>& l = tree.links[i];
    const RowRange range = constraints.of_link[i];
    for (int r = range.begin; r < range.end && constraints.rows[r].link == i; ++r)
      start_row(constraints.rows[r], targets[r], active[r], w.aba.motion[i], w.gravity[i], w.rows[r]);
    pass_joint(joint, l, w.aba.state + l.state, w.aba.motion[i], v + l.v, factor_of(joint, l, w.aba.factors),
               range.begin, range.end, w.rows, w.L, w.G + range.entries);
  });

  // at the root: the world's acceleration is known, the multipliers follow
  for (int r = 0; r < m; ++r) {
    w.root.r[r] = w.rows[r].k - w.rows[r].K * world;
    w.L[triangle(r, r)] = w.L[triangle(r, r)] + constraints.rows[r].compliance * active[r] + (S(1) - active[r]);
  }
  w.root.solve(w.L, settings, lambda, report);

  // sweep 3, root to leaf: the multipliers join the joint forces, then accelerations
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    const RowRange range = constraints.of_link[i];
    visit(l.kind, [&](auto joint) {
      push_joint(joint, factor_of(joint, l, w.aba.factors), w.G + range.entries, lambda + range.begin,
                 range.end - range.begin);
    });
  }
  accelerate_outward(tree, v, w.aba, a);
}

}  // namespace featherweight::FW_ISA
