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
#include "dynamics/rnea_diff.hpp"
#include "dynamics/sample_solve.hpp"

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

// What is found of rows, m x nv by q and v, rows so far apart; J, then Z = J L^-1, and Z D^-1, along paths; the lower
// triangle of J H^-1 J^T + R, and its inverse, m x m.
template <class N>
struct RowMatrices {
  N *dq, *dv;
  std::ptrdiff_t stride;
  N *Z, *ZD, *delassus, *P, *scaled;  // scaled: room for a path

  // Carves all but those by q and v.
  template <class C>
  RowMatrices(const Tree<C>& tree, const ConstraintRows<C>& constraints, N* dq, N* dv, std::ptrdiff_t stride,
              Arena& arena)
      : dq(dq), dv(dv), stride(stride) {
    const std::size_t m = static_cast<std::size_t>(constraints.n_ends);
    Z = arena.take<N>(constraints.n_entries), ZD = arena.take<N>(constraints.n_entries);
    delassus = arena.take<N>(triangle(constraints.n_ends, 0)), P = arena.take<N>(m * m);
    scaled = arena.take<N>(tree.nv);
  }
};

// Rows pass joint i: their entries by q and v; J as they do in project_rows.
template <class J, class S, class C, class N>
[[gnu::noinline]] void pass_row_changes(J, const Tree<C>& tree, const Link<C>& l, const S* state,
                                        const Drift<J, S>& drift, const RowRange& range, const RowEnd<C>* ends,
                                        RowChange<S>* rows, const RowMatrices<N>& out) {
  const int depth = row_length(tree, l.v);
  for (int r = range.begin; r < range.end; ++r) {
    const RowChange<S>& row = rows[r];
    S entries[J::nv];
    J::project(l, row.K, entries);
    N* const last = out.Z + ends[r].path_end - depth;
    for (int k = 0; k < J::nv; ++k) {
      Motion<S> first, second, both;
      drift.motions(l, k, first, second, both);
      const Motion<S> axis = J::template column<S>(l, k);
      const std::ptrdiff_t at = r * out.stride + l.v + k;
      out.dq[at] = number_of<N>(row.K * second + row.E * first + row.T * axis);
      out.dv[at] = number_of<N>(row.K * both + row.E * axis);
      last[-k] = number_of<N>(entries[k]);
    }
    if (l.parent < 0) continue;
    rows[r] = {J::to_parent(l, state, rows[r].K), J::to_parent(l, state, rows[r].E), J::to_parent(l, state, rows[r].T)};
  }
}

// The same for impulses: the velocity of a row, after the impact and by its restitution before, changes by K . S' as q
// moves.
template <class J, class S, class C, class N>
[[gnu::noinline]] void pass_impulse_changes(J, const Tree<C>& tree, const Link<C>& l, const S* state,
                                            const Drift<J, S>& after, const Drift<J, S>& before, const RowRange& range,
                                            const RowEnd<C>* ends, const RowInputs<S>* inputs, RowChange<S>* rows,
                                            const RowMatrices<N>& out) {
  const int depth = row_length(tree, l.v);
  for (int r = range.begin; r < range.end; ++r) {
    const std::ptrdiff_t at = r * out.stride + l.v;
    S entries[J::nv];
    J::project(l, rows[r].K, entries);
    N* const last = out.Z + ends[r].path_end - depth;
    for (int k = 0; k < J::nv; ++k) {
      Motion<S> first, first_before, second, both;
      after.motions(l, k, first, second, both);
      before.motions(l, k, first_before, second, both);
      out.dq[at + k] = number_of<N>(rows[r].K * first + rows[r].K * first_before * inputs[r].gain);
      out.dv[at + k] = number_of<N>(entries[k] + entries[k] * inputs[r].gain);
      last[-k] = number_of<N>(entries[k]);
    }
    if (l.parent >= 0) rows[r].K = J::to_parent(l, state, rows[r].K);
  }
}

// All that is found of a pack of samples (N = S), or of a single one.
template <class N>
struct ConstrainedLinearisation {
  RneaMatrices<N> dynamics;  // H: then L
  RowMatrices<N> rows;
};

template <class S>
class ConstrainedDiff {
 public:
  DofPlan plan;

  template <class C>
  ConstrainedDiff(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : plan(tree, arena),
        tau_(arena.take<S>(tree.nv)),
        rnea_(tree, arena),
        forces_(arena.take<Force<S>>(tree.n_links)),
        gravity_(arena.take<Vec3<S>>(tree.n_links)),
        rows_(arena.take<RowChange<S>>(constraints.n_ends)),
        before_(arena.take<typename RneaWorkspace<S>::Moving>(tree.n_links)),
        zero_(arena.take<S>(tree.nv)),
        jump_(arena.take<S>(tree.nv)),
        delassus_(arena.take<S>(triangle(constraints.n_ends, 0))),
        P_(arena.take<S>(static_cast<std::size_t>(constraints.n_ends) * constraints.n_ends)),
        inverse_(constraints.n_ends, arena) {}

  // Of accelerations a with the forces in `inputs` (compiled order); active: 1 or 0 of each row.
  template <class C, class N>
  void linearise(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* v, const S* a,
                 const Force<S>* f_ext, const RowInputs<S>* inputs, const S* active,
                 const ConstrainedLinearisation<N>& out) {
    const Motion<S> rest = zero_motion<S>(), world = minus_gravity<S>(tree);
    add_forces(tree, constraints, f_ext, inputs, active);
    rnea_diff(tree, world, q, v, a, forces_, rnea_, tau_, out.dynamics);
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
        pass_row_changes(joint, tree, l, state, drift, range, constraints.ends, rows_, out.rows);
      });
    }
    factorise(tree, constraints, active, out);
  }

  // Of velocities v that impulses, the forces in `inputs`, turn into `after`. What is found by v is of after - v.
  template <class C, class N>
  void linearise_impact(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* v,
                        const S* after, const RowInputs<S>* inputs, const S* active,
                        const ConstrainedLinearisation<N>& out) {
    const Motion<S> rest = zero_motion<S>();
    add_forces(tree, constraints, nullptr, inputs, active);
    for (int k = 0; k < tree.nv; ++k) zero_[k] = S(0), jump_[k] = after[k] - v[k];
    rnea_diff(tree, rest, q, zero_, jump_, forces_, rnea_, tau_, out.dynamics);
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
                             rows_, out.rows);
      });
    }
    factorise(tree, constraints, active, out);
  }

 private:
  S* tau_;
  RneaDiffWorkspace<S> rnea_;
  Force<S>* forces_;
  Vec3<S>* gravity_;
  RowChange<S>* rows_;
  typename RneaWorkspace<S>::Moving* before_;
  S *zero_, *jump_;
  S *delassus_, *P_;
  RowInverse<S> inverse_;

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
  template <class C, class N>
  void factorise(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* active,
                 const ConstrainedLinearisation<N>& out) {
    N* const L = out.dynamics.H;
    const RowMatrices<N>& rows = out.rows;
    const int m = constraints.n_ends;
    factorise_ltl(tree, L);
    for (int r = 0; r < m; ++r) {
      const RowEnd<C>& end = constraints.ends[r];
      solve_path_inward(tree, L, last_dof(tree, end.link), path_of(tree, end, rows.Z));
      N* scaled = path_of(tree, end, rows.ZD);
      for_path(tree, end, rows.Z, [&](int k, const N& z) { *scaled++ = z * L[tree.row[k]]; });
    }
    delassus_of_paths(tree, constraints, L, rows.Z, rows.scaled, rows.delassus);
    for (int k = 0; k < static_cast<int>(triangle(m, 0)); ++k) delassus_[k] = S(rows.delassus[k]);
    for (int r = 0; r < m; ++r)
      delassus_[triangle(r, r)] = delassus_[triangle(r, r)] + own_compliance(constraints.ends[r], active[r]);
    inverse_.invert(m, delassus_, P_, !__is_same(N, S));
    for (int k = 0; k < m * m; ++k) rows.P[k] = number_of<N>(P_[k]);
  }
};

// A panel through all of it: load(k, row) as in solve_panel; missed(r, row) fills the right-hand side of row r, zero
// before; store(k, row) and store_force(r, row) take the results. x: nv x W; y, f: m x W.
template <int W, class S, class C, class Load, class Missed, class Store, class StoreForce>
FW_INLINE void solve_constrained_panel(const Tree<C>& tree, const ConstraintRows<C>& constraints, const DofPlan& plan,
                                       Panel panel, int end, const ConstrainedLinearisation<S>& d, S* x, S* y, S* f,
                                       const Load& load, const Missed& missed, const Store& store,
                                       const StoreForce& store_force) {
  const int m = constraints.n_ends;
  panel.tree = 0;
  for (int k = 0; k < tree.nv * W; ++k) x[k] = S(0);
  for (int k = tree.dof_parent[panel.segment]; k >= 0; k = tree.dof_parent[k]) load(k, x + k * W);
  for (int k = panel.segment; k <= panel.last; ++k) load(k, x + k * W);
  panel_inward<W>(tree, plan, panel, d.dynamics.H, x);

  S sum[W];
  for (int r = 0; r < m; ++r) {  // what the rows miss without a change of forces
    for (int c = 0; c < W; ++c) sum[c] = S(0);
    missed(r, sum);
    for_path(tree, constraints.ends[r], d.rows.ZD, [&](int k, const S& z) { subtract<W>(sum, z, x + k * W); });
    copy<W>(sum, y + r * W);
  }
  for (int r = 0; r < m; ++r) {
    const S* const row = d.rows.P + static_cast<std::ptrdiff_t>(r) * m;
    for (int c = 0; c < W; ++c) sum[c] = S(0);
    for (int s = 0; s < m; ++s) subtract<W>(sum, row[s], y + s * W);
    copy<W>(sum, f + r * W);  // the negative
  }
  for (int r = 0; r < m; ++r) {
    for_path(tree, constraints.ends[r], d.rows.Z, [&](int k, const S& z) { subtract<W>(x + k * W, z, f + r * W); });
    store_force(r, f + r * W);
  }
  panel_outward<W>(tree, panel, end, d.dynamics.H, x);
  for (int k = 0; k < end; ++k) store(k, x + k * W);
}

// Where results go: nv x nv, and m x nv in the user's order of rows.
template <class N>
struct ConstrainedJacobians {
  N *a_dq, *a_dv, *a_dtau, *f_dq, *f_dv, *f_dtau;
};

// Columns of the change of a and f by q, v and, where they are asked for, tau, of a pack of samples.
template <class S, class C>
void solve_constrained_columns(const Tree<C>& tree, const ConstraintRows<C>& constraints, const DofPlan& plan,
                               const ConstrainedLinearisation<S>& d, S* x, S* y, S* f,
                               const ConstrainedJacobians<S>& out) {
  const std::ptrdiff_t n = tree.nv;
  plan.for_each_panel(tree, widest_panel / 2, [&](const Panel& panel) {
    const int count = panel.end - panel.first;
    with_width(2 * count, [&]<int W>() FW_LAMBDA_INLINE {
      const auto set = [&](S* row, std::ptrdiff_t at, const S* by_q, const S* by_v) FW_LAMBDA_INLINE {
        for (int c = 0; c < count; ++c) {
          row[c] = S(0) - by_q[at + panel.first + c];
          row[count + c] = S(0) - by_v[at + panel.first + c];
        }
      };
      const auto get = [&](const S* row, std::ptrdiff_t at, S* by_q, S* by_v) FW_LAMBDA_INLINE {
        for (int c = 0; c < count; ++c) {
          by_q[at + panel.first + c] = row[c];
          by_v[at + panel.first + c] = row[count + c];
        }
      };
      const auto get_force = [&](const S* row, std::ptrdiff_t at, S* by_q, S* by_v) FW_LAMBDA_INLINE {
        for (int c = 0; c < count; ++c) {
          by_q[at + panel.first + c] = S(0) - row[c];
          by_v[at + panel.first + c] = S(0) - row[count + c];
        }
      };
      solve_constrained_panel<W>(
          tree, constraints, plan, panel, tree.nv, d, x, y, f,
          [&](int k, S* row) FW_LAMBDA_INLINE { set(row, k * n, d.dynamics.dq, d.dynamics.dv); },
          [&](int r, S* row) FW_LAMBDA_INLINE { set(row, r * n, d.rows.dq, d.rows.dv); },
          [&](int k, const S* row) FW_LAMBDA_INLINE { get(row, k * n, out.a_dq, out.a_dv); },
          [&](int r, const S* row)
              FW_LAMBDA_INLINE { get_force(row, constraints.ends[r].row * n, out.f_dq, out.f_dv); });
    });
  });
  if (!out.a_dtau) return;
  plan.for_each_panel(tree, widest_panel, [&](Panel panel) {
    panel.last = panel.end - 1;
    with_width(panel.end - panel.first, [&]<int W>() FW_LAMBDA_INLINE {
      solve_constrained_panel<W>(
          tree, constraints, plan, panel, panel.end, d, x, y, f,
          [&](int k, S* row) FW_LAMBDA_INLINE {
            if (k >= panel.first) row[k - panel.first] = S(1);
          },
          [](int, S*) FW_LAMBDA_INLINE {},
          [&](int k, const S* row) FW_LAMBDA_INLINE {
            for (int c = k < panel.first ? panel.first : k; c < panel.end; ++c)
              out.a_dtau[k * n + c] = out.a_dtau[c * n + k] = row[c - panel.first];
          },
          [&](int r, const S* row) FW_LAMBDA_INLINE {
            for (int c = panel.first; c < panel.end; ++c)
              out.f_dtau[constraints.ends[r].row * n + c] = S(0) - row[c - panel.first];
          });
    });
  });
}

// The same of a single sample: x has -(d.dynamics.dq, dq), with the unit matrix where columns of tau are asked for, in
// its rows, missed those of constraints; forces: room for as much.
template <class S, class C, class T>
void solve_constrained_columns(const Tree<C>& tree, const ConstraintRows<C>& constraints, const DofPlan& plan,
                               const ConstrainedLinearisation<T>& d, const SampleMatrix<S>& x,
                               const SampleMatrix<S>& missed, const SampleMatrix<S>& forces,
                               const ConstrainedJacobians<T>& out) {
  const std::ptrdiff_t n = tree.nv, m = constraints.n_ends;
  solve_inward(tree, plan, d.dynamics.H, x);
  for_registers(x.registers(), [&]<int W>(int p) FW_LAMBDA_INLINE {
    S sum[W];
    for (int r = 0; r < m; ++r) {
      missed.template load<W>(r, p, sum);
      for_path(tree, constraints.ends[r], d.rows.ZD,
               [&](int k, const T& z) FW_LAMBDA_INLINE { x.template subtract_from<W>(sum, z, k, p); });
      missed.template store<W>(r, p, sum);
    }
    for (int r = 0; r < m; ++r) {
      for (int c = 0; c < W; ++c) sum[c] = S(0);
      for (int s = 0; s < m; ++s) missed.template subtract_from<W>(sum, d.rows.P[r * m + s], s, p);
      forces.template store<W>(r, p, sum);  // the negative
    }
    for (int r = 0; r < m; ++r)
      for_path(tree, constraints.ends[r], d.rows.Z, [&](int k, const T& z) FW_LAMBDA_INLINE {
        x.template load<W>(k, p, sum);
        forces.template subtract_from<W>(sum, z, r, p);
        x.template store<W>(k, p, sum);
      });
  });
  solve_outward(tree, d.dynamics.H, x);
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    write_negative_row<S>(x.row(k), n, out.a_dq + k * n);
    write_negative_row<S>(x.row(k) + n, n, out.a_dv + k * n);
    if (out.a_dtau) write_symmetric_row<S>(x.row(k) + 2 * n, k, n, out.a_dtau);
  }
  for (std::ptrdiff_t r = 0; r < m; ++r) {
    const std::ptrdiff_t to = constraints.ends[r].row * n;
    write_row<S>(forces.row(r), n, out.f_dq + to);
    write_row<S>(forces.row(r) + n, n, out.f_dv + to);
    if (out.a_dtau) write_negative_row<S>(forces.row(r) + 2 * n, n, out.f_dtau + to);
  }
}

}  // namespace featherweight::FW_ISA
