// constrained/constrained_diff.hpp -- derivatives of forward dynamics under constraints, each on one link.
//   H a + h = tau + J^T f,  J a + gamma + R f = desired  say that, with the derivatives of both at fixed a and f,
//     [ H  -J^T ] [ da ]   [ -d(H a + h - J^T f)    ]
//     [ J   R   ] [ df ] = [ -d(J a + gamma - desired) ]
//   The first is inverse dynamics with the constraint forces as forces on links, which turn with them. Columns are
//   solved through H = L^T D L and Z = J L^-1 between the inward and the outward half, so that forces cost O(m d) a
//   column. O(n d) for the derivatives, O((n + m) d + m^2) for each of 3 n columns. Source: J. Carpentier, R.
//   Budhiraja, N. Mansard, "Proximal and sparse resolution of constrained dynamic equations", 2021. Oracle: finite
//   differences of constrained_dynamics; dense algebra; Pinocchio.
//
// The acceleration that row K sees on its link is K . A, for a point K . (w x v) more. With the axes of degrees of
// freedom, S, S' and S'' of kinematics/drift.hpp, it changes by
//   by q:  K . S'' + E . S' + T . S,     by v:  K . (V + V') x S + E . S,
// where E = V x* K and what the point and damping add, and T takes out gravity, which S'' has, and has what stiffness
// adds.
#pragma once
#include "articulated/path_rows.hpp"
#include "constrained/row_inverse.hpp"
#include "dynamics/column_solve.hpp"
#include "dynamics/rnea_diff.hpp"

namespace featherweight::FW_ISA {

// What a row sees of joints inboard, in the frame of the link it has reached.
template <class S>
struct RowChange {
  Force<S> K, E, T;
};

// Of each row: the force, the damping (or restitution), and what stiffness adds per motion of its frame, in its axes.
template <class S>
struct RowInputs {
  S force, gain;
  Force<S> stiffness;
};
inline constexpr int row_inputs = 8;  // numbers of it

template <class J, class S, class C>
FW_INLINE void row_entries(J, const Link<C>& l, const Drift<J, S>& drift, const RowChange<S>& row, S* dq, S* dv) {
  for (int k = 0; k < J::nv; ++k) {
    Motion<S> first, second, both;
    drift.motions(l, k, first, second, both);
    const Motion<S> axis = J::template column<S>(l, k);
    dq[k] = row.K * second + row.E * first + row.T * axis;
    dv[k] = row.K * both + row.E * axis;
  }
}

// Rows pass joint i: their entries by q and v, m x nv; J as they do in project_rows.
template <class J, class S, class C>
[[gnu::noinline]] void pass_row_changes(J, const Tree<C>& tree, const Link<C>& l, const S* state,
                                        const Drift<J, S>& drift, const RowRange& range, const RowEnd<C>* ends,
                                        RowChange<S>* rows, S* dq, S* dv, S* jacobian) {
  const int depth = row_length(tree, l.v);
  for (int r = range.begin; r < range.end; ++r) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(r) * tree.nv + l.v;
    row_entries(J{}, l, drift, rows[r], dq + at, dv + at);
    S entries[J::nv];
    J::project(l, rows[r].K, entries);
    S* const last = jacobian + ends[r].path_end - depth;
    for (int k = 0; k < J::nv; ++k) last[-k] = entries[k];
    if (l.parent < 0) continue;
    rows[r] = {J::to_parent(l, state, rows[r].K), J::to_parent(l, state, rows[r].E), J::to_parent(l, state, rows[r].T)};
  }
}

// The same for impulses: the velocity of a row, after the impact and by its restitution before, changes by K . S' as q
// moves.
template <class J, class S, class C>
[[gnu::noinline]] void pass_impulse_changes(J, const Tree<C>& tree, const Link<C>& l, const S* state,
                                            const Drift<J, S>& after, const Drift<J, S>& before, const RowRange& range,
                                            const RowEnd<C>* ends, const RowInputs<S>* inputs, RowChange<S>* rows,
                                            S* dq, S* dv, S* jacobian) {
  const int depth = row_length(tree, l.v);
  for (int r = range.begin; r < range.end; ++r) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(r) * tree.nv + l.v;
    S entries[J::nv];
    J::project(l, rows[r].K, entries);
    S* const last = jacobian + ends[r].path_end - depth;
    for (int k = 0; k < J::nv; ++k) {
      Motion<S> first, first_before, second, both;
      after.motions(l, k, first, second, both);
      before.motions(l, k, first_before, second, both);
      dq[at + k] = rows[r].K * first + rows[r].K * first_before * inputs[r].gain;
      dv[at + k] = entries[k] + entries[k] * inputs[r].gain;
      last[-k] = entries[k];
    }
    if (l.parent >= 0) rows[r].K = J::to_parent(l, state, rows[r].K);
  }
}

// What columns are solved with: of registers, or of the numbers of one sample.
template <class N>
struct ConstrainedFactor {
  const N *L, *Z, *ZD, *P;  // Z and Z D^-1 along paths; P: inverse of J H^-1 J^T + R
};

template <class S>
class ConstrainedDiff {
 public:
  S *tau, *dq, *dv, *rows_q, *rows_v;
  S *H, *Z, *ZD, *P;
  DofPlan plan;

  template <class C>
  ConstrainedDiff(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : tau(arena.take<S>(tree.nv)),
        dq(arena.take<S>(square(tree.nv, tree.nv))),
        dv(arena.take<S>(square(tree.nv, tree.nv))),
        rows_q(arena.take<S>(square(constraints.n_ends, tree.nv))),
        rows_v(arena.take<S>(square(constraints.n_ends, tree.nv))),
        H(arena.take<S>(tree.row[tree.nv])),
        Z(arena.take<S>(constraints.n_entries)),
        ZD(arena.take<S>(constraints.n_entries)),
        P(arena.take<S>(square(constraints.n_ends, constraints.n_ends))),
        plan(tree, arena),
        rnea_(tree, arena),
        forces_(arena.take<Force<S>>(tree.n_links)),
        gravity_(arena.take<Vec3<S>>(tree.n_links)),
        rows_(arena.take<RowChange<S>>(constraints.n_ends)),
        before_(arena.take<typename RneaWorkspace<S>::Moving>(tree.n_links)),
        zero_(arena.take<S>(tree.nv)),
        jump_(arena.take<S>(tree.nv)),
        scaled_(arena.take<S>(tree.nv)),
        delassus_(arena.take<S>(triangle(constraints.n_ends, 0))),
        inverse_(constraints.n_ends, arena) {}

  // Once, when the arena fits.
  template <class C>
  void start(const Tree<C>& tree, const ConstraintRows<C>& constraints) {
    plan.fill(tree);
    for (std::size_t k = 0; k < square(tree.nv, tree.nv); ++k) dq[k] = dv[k] = S(0);
    for (std::size_t k = 0; k < square(constraints.n_ends, tree.nv); ++k) rows_q[k] = rows_v[k] = S(0);
  }

  // Of accelerations a with the forces in `inputs` (compiled order); active: 1 or 0 of each row.
  template <class C>
  void linearise(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* v, const S* a,
                 const Force<S>* f_ext, const RowInputs<S>* inputs, const S* active) {
    const Motion<S> rest = zero_motion<S>(), world = minus_gravity<S>(tree);
    add_forces(tree, constraints, f_ext, inputs, active);
    rnea_diff(tree, q, v, a, forces_, rnea_, tau, dq, dv, H);
    for (int i = 0; i < tree.n_links; ++i) {
      visit(tree.links[i].kind,
            [&](auto joint) { rotate_gravity(joint, tree, constraints, i, rnea_.state, gravity_); });
      for (int r = constraints.of_link[i].begin; r < constraints.of_link[i].own_end; ++r)
        rows_[r] = start_row(constraints, r, rnea_.links[i].v, gravity_[i], inputs[r], active[r]);
    }
    for (int i = tree.n_links - 1; i >= 0; --i) {
      const Link<C>& l = tree.links[i];
      const RowRange range = constraints.of_link[i];
      if (range.begin == range.end) continue;
      visit(l.kind, [&](auto joint) {
        const S* const state = rnea_.state + l.state;
        const Drift<decltype(joint), S> drift(l, state, l.parent < 0 ? rest : rnea_.links[l.parent].v,
                                              l.parent < 0 ? world : rnea_.links[l.parent].a, rnea_.links[i].v,
                                              rnea_.links[i].a);
        pass_row_changes(joint, tree, l, state, drift, range, constraints.ends, rows_, rows_q, rows_v, Z);
      });
    }
    factorise(tree, constraints, active);
  }

  // Of velocities v that impulses, the forces in `inputs`, turn into `after`. rows_v and dv are those of after - v.
  template <class C>
  void linearise_impact(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* v,
                        const S* after, const RowInputs<S>* inputs, const S* active) {
    const Motion<S> rest = zero_motion<S>();
    add_forces(tree, constraints, nullptr, inputs, active);
    for (int k = 0; k < tree.nv; ++k) zero_[k] = S(0), jump_[k] = after[k] - v[k];
    rnea_diff(tree, rest, SharedByLanes{}, q, zero_, jump_, forces_, rnea_, tau, dq, dv, H);
    rnea_outward(tree, rest, q, v, zero_, rnea_.state, before_);
    rnea_outward(tree, rest, q, after, zero_, rnea_.state, rnea_.links);
    for (int r = 0; r < constraints.n_ends; ++r) rows_[r].K = active_row(constraints.ends[r], active[r]);
    for (int i = tree.n_links - 1; i >= 0; --i) {
      const Link<C>& l = tree.links[i];
      const RowRange range = constraints.of_link[i];
      if (range.begin == range.end) continue;
      visit(l.kind, [&](auto joint) {
        const S* const state = rnea_.state + l.state;
        const auto drift = [&](const typename RneaWorkspace<S>::Moving* links) {
          return Drift<decltype(joint), S>(l, state, l.parent < 0 ? rest : links[l.parent].v, rest, links[i].v, rest);
        };
        pass_impulse_changes(joint, tree, l, state, drift(rnea_.links), drift(before_), range, constraints.ends, inputs,
                             rows_, rows_q, rows_v, Z);
      });
    }
    factorise(tree, constraints, active);
  }

  ConstrainedFactor<S> factor() const { return {H, Z, ZD, P}; }

 private:
  static std::size_t square(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

  template <class C>
  void add_forces(const Tree<C>& tree, const ConstraintRows<C>& constraints, const Force<S>* f_ext,
                  const RowInputs<S>* inputs, const S* active) {
    for (int i = 0; i < tree.n_links; ++i) forces_[i] = f_ext ? f_ext[i] : zero_force<S>();
    for (int r = 0; r < constraints.n_ends; ++r) {
      const Force<S> K = active_row(constraints.ends[r], active[r] * inputs[r].force);
      forces_[constraints.ends[r].link] += K;
    }
  }
  template <class C>
  static RowChange<S> start_row(const ConstraintRows<C>& constraints, int r, const Motion<S>& v, const Vec3<S>& gravity,
                                const RowInputs<S>& input, const S& active) {
    const RowEnd<C>& end = constraints.ends[r];
    const Mount<C>& frame = constraints.closures[end.part].a;
    const Force<S> K = active_row(end, active);
    RowChange<S> row{K, force_cross(v, K), zero_force<S>()};
    add_scaled(row.E, K, input.gain);
    if (end.of_point) {  // the change of K . (w x (v + w x p)) with v and w
      const Vec3<S> p{S(end.p[0]), S(end.p[1]), S(end.p[2])}, g = cross(K.lin, v.ang);
      Vec3<S> v_point = v.lin;
      add_cross(v_point, v.ang, p);
      row.E.lin += g;
      add_cross(row.E.ang, v_point, K.lin);
      add_cross(row.E.ang, p, g);
    }
    row.T.ang -= cross(gravity, K.lin);
    const Force<S> stiffness = to_parent(Rotation<C>{mat3(frame.R)}, input.stiffness);
    add_scaled(row.T, shift_to_parent(stiffness, vec3(frame.p)), active);
    return row;
  }
  // L in H, Z in the place of J, and P.
  template <class C>
  void factorise(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* active) {
    factorise_ltl(tree, H);
    for (int r = 0; r < constraints.n_ends; ++r) {
      const RowEnd<C>& end = constraints.ends[r];
      S* const path = path_of(tree, end, Z);
      solve_path_inward(tree, H, last_dof(tree, end.link), path);
      S* scaled = path_of(tree, end, ZD);
      for_path(tree, end, Z, [&](int k, const S& z) { *scaled++ = z * H[tree.row[k]]; });
    }
    delassus_of_paths(tree, constraints, H, Z, scaled_, delassus_);
    for (int r = 0; r < constraints.n_ends; ++r)
      delassus_[triangle(r, r)] = delassus_[triangle(r, r)] + own_compliance(constraints.ends[r], active[r]);
    inverse_.invert(constraints.n_ends, delassus_, P);
  }

  RneaDiffWorkspace<S> rnea_;
  Force<S>* forces_;
  Vec3<S>* gravity_;
  RowChange<S>* rows_;
  typename RneaWorkspace<S>::Moving* before_;
  S *zero_, *jump_;
  S *scaled_, *delassus_;
  RowInverse<S> inverse_;
};

// A panel through all of it: load(k, row) as in solve_panel; missed(r, row) fills the right-hand side of row r, zero
// before; store(k, row) and store_force(r, row) take the results. x: nv x W; y, f: m x W.
template <int W, class X, class N, class C, class Load, class Missed, class Store, class StoreForce>
FW_INLINE void solve_constrained_panel(const Tree<C>& tree, const ConstraintRows<C>& constraints, const DofPlan& plan,
                                       Panel panel, int end, const ConstrainedFactor<N>& factor, X* x, X* y, X* f,
                                       const Load& load, const Missed& missed, const Store& store,
                                       const StoreForce& store_force) {
  const int m = constraints.n_ends;
  panel.tree = 0;
  for (int k = 0; k < tree.nv * W; ++k) x[k] = X(0);
  for (int k = tree.dof_parent[panel.segment]; k >= 0; k = tree.dof_parent[k]) load(k, x + k * W);
  for (int k = panel.segment; k <= panel.last; ++k) load(k, x + k * W);
  panel_inward<W>(tree, plan, panel, factor.L, x);

  X sum[W];
  for (int r = 0; r < m; ++r) {  // what the rows miss without a change of forces
    for (int c = 0; c < W; ++c) sum[c] = X(0);
    missed(r, sum);
    for_path(tree, constraints.ends[r], factor.ZD, [&](int k, const N& z) { subtract<W>(sum, z, x + k * W); });
    copy<W>(sum, y + r * W);
  }
  for (int r = 0; r < m; ++r) {
    const N* const row = factor.P + static_cast<std::ptrdiff_t>(r) * m;
    for (int c = 0; c < W; ++c) sum[c] = X(0);
    for (int s = 0; s < m; ++s) subtract<W>(sum, row[s], y + s * W);
    copy<W>(sum, f + r * W);  // the negative
  }
  for (int r = 0; r < m; ++r) {
    for_path(tree, constraints.ends[r], factor.Z, [&](int k, const N& z) { subtract<W>(x + k * W, z, f + r * W); });
    store_force(r, f + r * W);
  }
  panel_outward<W>(tree, panel, end, factor.L, x);
  for (int k = 0; k < end; ++k) store(k, x + k * W);
}

// Where results go: nv x nv, and m x nv in the user's order of rows.
template <class N>
struct ConstrainedJacobians {
  N *a_dq, *a_dv, *a_dtau, *f_dq, *f_dv, *f_dtau;
};

// Columns of the change of a and f by q, v and, where they are asked for, tau.
template <class Columns, class S, class N, class C>
void solve_constrained_columns(const Tree<C>& tree, const ConstraintRows<C>& constraints, const Columns& columns,
                               const DofPlan& plan, const ConstrainedFactor<N>& factor, const ConstrainedDiff<S>& d,
                               S* x, S* y, S* f, const ConstrainedJacobians<N>& out) {
  constexpr int per_register = Columns::per_register;
  const std::ptrdiff_t n = tree.nv;
  const auto n_registers = [](int n_columns) { return (n_columns + per_register - 1) / per_register; };
  plan.for_each_panel(tree, widest_panel * per_register / 2, [&](const Panel& panel) {
    const int count = panel.end - panel.first;
    with_width(n_registers(2 * count), [&]<int W>() FW_LAMBDA_INLINE {
      const auto set = [&](S* row, std::ptrdiff_t at, const S* by_q, const S* by_v) FW_LAMBDA_INLINE {
        for (int c = 0; c < count; ++c) {
          Columns::set(row, c, -columns.of(by_q[at + panel.first + c]));
          Columns::set(row, count + c, -columns.of(by_v[at + panel.first + c]));
        }
      };
      const auto get = [&](const S* row, std::ptrdiff_t at, N* by_q, N* by_v) FW_LAMBDA_INLINE {
        for (int c = 0; c < count; ++c) {
          by_q[at + panel.first + c] = Columns::get(row, c);
          by_v[at + panel.first + c] = Columns::get(row, count + c);
        }
      };
      const auto get_force = [&](const S* row, std::ptrdiff_t at, N* by_q, N* by_v) FW_LAMBDA_INLINE {
        for (int c = 0; c < count; ++c) {
          by_q[at + panel.first + c] = -Columns::get(row, c);
          by_v[at + panel.first + c] = -Columns::get(row, count + c);
        }
      };
      solve_constrained_panel<W>(
          tree, constraints, plan, panel, tree.nv, factor, x, y, f,
          [&](int k, S* row) FW_LAMBDA_INLINE { set(row, k * n, d.dq, d.dv); },
          [&](int r, S* row) FW_LAMBDA_INLINE { set(row, r * n, d.rows_q, d.rows_v); },
          [&](int k, const S* row) FW_LAMBDA_INLINE { get(row, k * n, out.a_dq, out.a_dv); },
          [&](int r, const S* row)
              FW_LAMBDA_INLINE { get_force(row, constraints.ends[r].row * n, out.f_dq, out.f_dv); });
    });
  });
  if (!out.a_dtau) return;
  plan.for_each_panel(tree, widest_panel * per_register, [&](Panel panel) {
    panel.last = panel.end - 1;
    with_width(n_registers(panel.end - panel.first), [&]<int W>() FW_LAMBDA_INLINE {
      solve_constrained_panel<W>(
          tree, constraints, plan, panel, panel.end, factor, x, y, f,
          [&](int k, S* row) FW_LAMBDA_INLINE {
            if (k >= panel.first) Columns::set(row, k - panel.first, N(1));
          },
          [](int, S*) FW_LAMBDA_INLINE {},
          [&](int k, const S* row) FW_LAMBDA_INLINE {
            for (int c = k < panel.first ? panel.first : k; c < panel.end; ++c)
              out.a_dtau[k * n + c] = out.a_dtau[c * n + k] = Columns::get(row, c - panel.first);
          },
          [&](int r, const S* row) FW_LAMBDA_INLINE {
            for (int c = panel.first; c < panel.end; ++c)
              out.f_dtau[constraints.ends[r].row * n + c] = -Columns::get(row, c - panel.first);
          });
    });
  });
}

}  // namespace featherweight::FW_ISA
