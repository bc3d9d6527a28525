// dynamics/rnea_diff.hpp -- derivatives of inverse dynamics: d tau / d q, d tau / d v, and d tau / d a = H.
//   O(n d): an entry couples two degrees of freedom on one path to the root, and all others are zero.
//   Source: S. Singh, R. Russell, P. Wensing, "Efficient analytical derivatives of rigid-body dynamics using spatial
//   vector algebra", 2022, with the Coriolis matrix of spatial/coriolis.hpp.   Frames: everything lives in the link
//   that the inward sweep has reached.   Oracle: finite differences of rnea; the dense twin; Pinocchio.
//
// I, B and F: inertia, Coriolis matrix and force of a link with everything outboard. Degree of freedom k has the axis
// S, constant in its link, carried by a body that moves with V and accelerates with A, gravity included; V' is the
// velocity behind the joint. As it moves, the force on what is outboard of it changes by
//   F_q = S x* F + I S'' + 2 B S'        S' = V x S,   S'' = A x S + V x S'
//   F_v = I (V + V') x S + 2 B S
// which is felt by all joints inboard of k; those outboard feel, with u = I S, b = 2 B^T S of their own, what it does
// to the motion of their link:
//   j inboard of k:              d tau_j / d q_k = S_j . F_q(k),              d tau_j / d v_k = S_j . F_v(k)
//   j outboard, or same joint:   d tau_j / d q_k = u_j . S''_k + b_j . S'_k,  d tau_j / d v_k = u_j . (V + V') x S_k +
//   b_j . S_k
// Behind a joint with one axis S', S'' and the sum are the same with V', and A behind it, in place of V and A.
//
// Columns of a pack of samples are registers. Those of a single sample, which has the lanes of its other numbers to
// itself, are lanes, as many to a register as it holds. Both do the same operations on every number, so that the bits
// do not depend on which it is.
#pragma once
#include "dynamics/columns_on_lanes.hpp"
#include "dynamics/crba.hpp"
#include "dynamics/eliminate.hpp"
#include "dynamics/rnea.hpp"
#include "kinematics/drift.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct Composite {
  RigidInertia<S> inertia;
  CoriolisMatrix<S> coriolis;
  Force<S> force;
};
template <class S>
FW_INLINE Composite<S> zero_composite() {
  const Vec3<S> o = zero3<S>();
  return {zero_body<S>(), {o, {o, o, o}}, zero_force<S>()};
}
template <class S>
FW_INLINE void operator+=(Composite<S>& a, const Composite<S>& b) {
  a.inertia += b.inertia;
  a.coriolis += b.coriolis;
  a.force += b.force;
}

// What a degree of freedom does to joints inboard of it (q, v, a: forces per unit of its coordinate, velocity and
// acceleration), and with b what they do to it.
template <class S>
struct RneaColumn {
  Force<S> q, v, a;
  Vec3<S> b;
};

template <class S>
struct RneaDiffWorkspace {
  S* state;
  typename RneaWorkspace<S>::Moving* links;
  RneaColumn<S>* columns;  // of every degree of freedom, in the frame of the link they have reached
  OnLanes<S, RneaColumn<S>> of_one;
  Composite<S>* accumulators;

  template <class C>
  RneaDiffWorkspace(const Tree<C>& tree, Arena& arena)
      : state(arena.take<S>(tree.n_states)),
        links(arena.take<typename RneaWorkspace<S>::Moving>(tree.n_links)),
        columns(arena.take<RneaColumn<S>>(tree.nv)),
        of_one(tree.nv, arena),
        accumulators(arena.take<Composite<S>>(tree.n_accumulators)) {}
};

// e_K x y
template <class S>
FW_INLINE Vec3<S> axis_cross(int K, const Vec3<S>& y) {
  const int i = (K + 1) % 3, j = (K + 2) % 3;
  Vec3<S> x = zero3<S>();
  x[i] = -y[j];
  x[j] = y[i];
  return x;
}
// A linear function of column k of S, but for the sign of the axis, from its values for unit motions along and about
// coordinate axes.
template <int K, bool turned, bool rotates, bool travels, class C, class Along, class About>
FW_INLINE auto of_column(AxisJoint<K, turned, rotates, travels>, const Link<C>& l, int, const Along& along,
                         const About& about) {
  if constexpr (!travels) {
    return about(K);
  } else if constexpr (!rotates) {
    return along(K);
  } else {
    auto x = about(K);
    add_scaled(x, along(K), l.pitch);
    return x;
  }
}
template <bool travels, class C, class Along, class About>
FW_INLINE auto of_column(Ball<travels>, const Link<C>&, int k, const Along& along, const About& about) {
  return travels && k < 3 ? along(k) : about(travels ? k - 3 : k);
}
template <class S, class C>
FW_INLINE void add_scaled(Force<S>& f, const Force<S>& g, const C& s) {
  add_scaled(f.lin, g.lin, s);
  add_scaled(f.ang, g.ang, s);
}

// S x* f, 2 B S and 2 B^T S for column k of S, but for the sign.
template <class J, class S, class C>
FW_INLINE Force<S> turned_force(J, const Link<C>& l, const Force<S>& f, int k) {
  return of_column(
      J{}, l, k, [&](int K) FW_LAMBDA_INLINE { return Force<S>{zero3<S>(), axis_cross(K, f.lin)}; },
      [&](int K) FW_LAMBDA_INLINE { return Force<S>{axis_cross(K, f.lin), axis_cross(K, f.ang)}; });
}
template <class J, class S, class C>
FW_INLINE Force<S> coriolis_column(J, const Link<C>& l, const CoriolisMatrix<S>& B, int k) {
  return of_column(
      J{}, l, k, [](int) FW_LAMBDA_INLINE { return zero_force<S>(); },
      [&](int K) FW_LAMBDA_INLINE { return Force<S>{axis_cross(K, B.P) * S(2), column(B.N, K) * S(-2)}; });
}
template <class J, class S, class C>
FW_INLINE Vec3<S> coriolis_row(J, const Link<C>& l, const CoriolisMatrix<S>& B, int k) {
  return of_column(
      J{}, l, k, [&](int K) FW_LAMBDA_INLINE { return axis_cross(K, B.P) * S(-2); },
      [&](int K) FW_LAMBDA_INLINE { return B.N.rows[K] * S(-2); });
}

// The body of link i joins what is outboard; what its degrees of freedom do to that; the rest goes to the parent.
template <class J, class S, class C, class Own>
[[gnu::noinline]] void rnea_diff_inward(J, const Link<C>& l, const Own& own, const S* state, const Drift<J, S>& drift,
                                        const Motion<S>& v, const Motion<S>& a, Composite<S>& carry,
                                        RneaColumn<S>* columns, S* tau) {
  const auto b = body(own, l);
  Composite<S> c = carry;
  const CoriolisMatrix<S> B = coriolis_matrix(b, v);
  c.force += body_force(b, B, v, a);
  c.coriolis += B;
  c.inertia += b;
  J::project(l, c.force, tau);
#pragma GCC unroll 6
  for (int k = 0; k < J::nv; ++k) {
    RneaColumn<S>& column = columns[k];
    Force<S> u = inertia_column(J{}, l, c.inertia, k);
    Vec3<S> row = coriolis_row(J{}, l, c.coriolis, k);
    if constexpr (J::nv == 1) {
      u = {u.lin * l.sign, u.ang * l.sign};
      row = row * l.sign;
    }
    column.a = u;
    column.b = row;
    if (l.parent < 0) continue;  // no joint inboard
    Motion<S> first, second, both;
    drift.motions(l, k, first, second, both);
    Force<S> q = c.inertia * second, f_v = c.inertia * both;
    add_coriolis(q, c.coriolis, first);
    add_scaled(q, turned_force(J{}, l, c.force, k), l.sign);
    add_scaled(f_v, coriolis_column(J{}, l, c.coriolis, k), l.sign);
    column.q = q;
    column.v = f_v;
  }
  if (l.parent < 0) return;
  carry.inertia = J::to_parent(l, state, c.inertia);
  carry.coriolis = J::to_parent(l, state, c.coriolis);
  carry.force = J::to_parent(l, state, c.force);
}

// d tau / d q and d v, nv x nv, rows so far apart, of which entries that are always zero are not written; H: packed as
// by crba.
template <class N>
struct RneaMatrices {
  N *dq, *dv, *H;
  std::ptrdiff_t stride;
};

// All columns outboard, [l.v, v_end), pass joint i: its rows and columns of the derivatives; then on to the parent.
template <class J, class S, class C>
[[gnu::noinline]] void rnea_diff_entries(J, const Tree<C>& tree, const Link<C>& link, const S* link_state,
                                         const Drift<J, S>& link_drift, int v_end, RneaColumn<S>* columns,
                                         const RneaMatrices<S>& out) {
  const Link<C> l = link;  // copies, because the compiler must assume that columns and constants overlap
  const Drift<J, S> drift = link_drift;
  S state[J::n_state];
  for (int k = 0; k < J::n_state; ++k) state[k] = link_state[k];
  const std::ptrdiff_t n = out.stride, first = l.v;
  const int depth = tree.row[l.v + 1] - tree.row[l.v];
  S *const dq = out.dq, *const dv = out.dv, *const H = out.H;
  for (std::ptrdiff_t k = first; k < v_end; ++k) {
    RneaColumn<S>& c = columns[k];
    drift.felt(l, c.a, c.b, dq + k * n + first, dv + k * n + first);
    S entries[J::nv];
    J::project(l, c.a, entries);
    S* const last = H + tree.row[k + 1] - depth;  // rows end at the root
#pragma GCC unroll 6
    for (int j = 0; j < J::nv; ++j)
      if (J::nv == 1 || j <= k - first) last[-j] = entries[j];  // the joint's own block is triangular
    if (k >= first + J::nv) {
      J::project(l, c.q, entries);
#pragma GCC unroll 6
      for (int j = 0; j < J::nv; ++j) dq[(first + j) * n + k] = entries[j];
      J::project(l, c.v, entries);
#pragma GCC unroll 6
      for (int j = 0; j < J::nv; ++j) dv[(first + j) * n + k] = entries[j];
    }
    if (l.parent < 0) continue;
    c.q = J::to_parent(l, state, c.q);
    c.v = J::to_parent(l, state, c.v);
    c.a = J::to_parent(l, state, c.a);
    c.b = J::axes_to_parent(l, state, c.b);
  }
}
// The same of a single sample, columns on lanes; own: columns of the joint. Registers end where the subtree does, so
// that they stay the same ones along a limb; what is before the joint's own columns in the last of them is nothing yet.
template <class J, class S, class C, class T>
[[gnu::noinline]] void rnea_diff_entries(J, const Tree<C>& tree, const Link<C>& link, const S* link_state,
                                         const Drift<J, S>& link_drift, int v_end, const RneaColumn<S>* own,
                                         const OnLanes<S, RneaColumn<S>>& columns, const RneaMatrices<T>& out) {
  constexpr int width = width_of<S>;
  const Link<C> l = link;
  const Drift<J, S> drift = link_drift;
  S state[J::n_state];
  for (int k = 0; k < J::n_state; ++k) state[k] = link_state[k];
  const std::ptrdiff_t n = out.stride;
  const int first = l.v, depth = tree.row[l.v + 1] - tree.row[l.v];
  for (int end = v_end; end > first; end -= width) {
    const int k = end - width, begin = k < first ? first - k : 0;  // lanes from there on are columns
    RneaColumn<S> c = columns.load(k);
    for (int j = 0; j < J::nv; ++j)
      if (first + j >= k && first + j < end) columns.put(own[j], first + j - k, c);
    S along_q[J::nv], along_v[J::nv], across[3 * J::nv];
    J::project(l, c.q, along_q);
    J::project(l, c.v, along_v);
    drift.felt(l, c.a, c.b, across, across + J::nv);
    J::project(l, c.a, across + 2 * J::nv);
    const int outboard = first + J::nv > k ? first + J::nv - k : 0;  // lanes from there on are behind the joint
    for (int j = 0; j < J::nv; ++j) {
      put_lanes(along_q[j], outboard, out.dq + (first + j) * n + k);
      put_lanes(along_v[j], outboard, out.dv + (first + j) * n + k);
    }
    T entries[3 * J::nv][width];
    for (int j = 0; j < 3 * J::nv; ++j) store_lanes(across[j], entries[j]);
    for (int lane = begin; lane < width; ++lane) {  // over the joint's own block as well
      const int row = k + lane;
      T* const last = out.H + tree.row[row + 1] - depth;
      for (int j = 0; j < J::nv; ++j) {
        out.dq[row * n + first + j] = entries[j][lane];
        out.dv[row * n + first + j] = entries[J::nv + j][lane];
        if (J::nv == 1 || j <= row - first) last[-j] = entries[2 * J::nv + j][lane];
      }
    }
    if (l.parent < 0) continue;
    columns.store(k, {J::to_parent(l, state, c.q), J::to_parent(l, state, c.v), J::to_parent(l, state, c.a),
                      J::axes_to_parent(l, state, c.b)});
  }
}

// What the armature of joint i adds. R: of a ball joint, whose axes turn, see add_armature_bias; with its velocity
// (x; w) it takes the force w x R x and the moment x x R x + w x R w.
template <int K, bool turned, bool rotates, bool travels, class S, class C, class Own, class N>
FW_INLINE void add_armature(AxisJoint<K, turned, rotates, travels>, const Tree<C>& tree, const Link<C>& l,
                            const Own& own, const S*, const S* acceleration, S* tau, const RneaMatrices<N>& out) {
  tau[0] = tau[0] + acceleration[0] * rotor(own, l);
  N& H = out.H[tree.row[l.v]];
  H = H + rotor(own, l);
}
template <bool travels, class S, class C, class Own, class N>
FW_INLINE void add_armature(Ball<travels> joint, const Tree<C>& tree, const Link<C>& l, const Own&, const S* rate,
                            const S* acceleration, S* tau, const RneaMatrices<N>& out) {
  constexpr int nv = Ball<travels>::nv, turn = nv - 3;
  for (int k = 0; k < nv; ++k) {
    tau[k] = tau[k] + acceleration[k] * l.armature[k];
    N& H = out.H[tree.row[l.v + k]];
    H = H + l.armature[k];
  }
  if (!l.turns_armature) return;
  add_armature_bias(joint, l, rate, C(1), tau);
  const auto at = [&](int k) FW_LAMBDA_INLINE { return Vec3<S>{rate[k], rate[k + 1], rate[k + 2]}; };
  const auto scaled = [&](int k) FW_LAMBDA_INLINE {
    return Vec3<S>{rate[k] * l.ball_armature[k], rate[k + 1] * l.ball_armature[k + 1],
                   rate[k + 2] * l.ball_armature[k + 2]};
  };
  const Vec3<S> w = at(turn), Rw = scaled(turn);
  const auto add = [&](int row, int column, const Vec3<S>& x) FW_LAMBDA_INLINE {
    for (int r = 0; r < 3; ++r) {
      N& entry = out.dv[(l.v + row + r) * out.stride + l.v + column];
      entry = entry + number_of<N>(x[r]);
    }
  };
  for (int k = 0; k < 3; ++k) {
    const C R_k = l.ball_armature[turn + k];
    add(turn, turn + k, axis_cross(k, Rw) - axis_cross(k, w) * R_k);
    if constexpr (travels) {
      const Vec3<S> x = at(0), Rx = scaled(0);
      const C M_k = l.ball_armature[k];
      add(0, k, axis_cross(k, w) * -M_k);
      add(0, turn + k, axis_cross(k, Rx));
      add(turn, k, axis_cross(k, Rx) - axis_cross(k, x) * M_k);
    }
  }
}

// tau: nv. world: its acceleration, which stands in for gravity. inertias(i): whose inertia link i has. f_ext, or null:
// force on each compiled link, which turns with it. N: S, or of a single sample, which all lanes have, its numbers.
template <class S, class C, class Inertias, class N>
void rnea_diff(const Tree<C>& tree, const Motion<S>& world, const Inertias& inertias, const S* q, const S* v,
               const S* a, const Force<S>* f_ext, RneaDiffWorkspace<S>& w, S* tau, const RneaMatrices<N>& out) {
  rnea_outward(tree, world, q, v, a, w.state, w.links);

  // leaf to root: composites, and the rows and columns of each joint
  const Motion<S> rest = zero_motion<S>();
  const Composite<S> nothing = zero_composite<S>();
  Composite<S> carry = nothing;
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    take_over(l, w.accumulators, nothing, carry);
    if (f_ext) carry.force -= f_ext[i];
    const int v_end = l.subtree_end == tree.n_links ? tree.nv : tree.links[l.subtree_end].v;
    const Motion<S>& v_parent = l.parent < 0 ? rest : w.links[l.parent].v;
    const Motion<S>& a_parent = l.parent < 0 ? world : w.links[l.parent].a;
    visit(l.kind, [&](auto joint) {
      const S* const state = w.state + l.state;
      const Drift<decltype(joint), S> drift(l, state, v_parent, a_parent, w.links[i].v, w.links[i].a);
      rnea_diff_inward(joint, l, inertias(i), state, drift, w.links[i].v, w.links[i].a, carry, w.columns + l.v,
                       tau + l.v);
      if constexpr (__is_same(S, N))
        rnea_diff_entries(joint, tree, l, state, drift, v_end, w.columns, out);
      else
        rnea_diff_entries(joint, tree, l, state, drift, v_end, w.columns + l.v, w.of_one, out);
      add_armature(joint, tree, l, inertias(i), v + l.v, a + l.v, tau + l.v, out);
    });
    hand_over(l, carry, w.accumulators);
  }
}
template <class S, class C, class N>
FW_INLINE void rnea_diff(const Tree<C>& tree, const Motion<S>& world, const S* q, const S* v, const S* a,
                         const Force<S>* f_ext, RneaDiffWorkspace<S>& w, S* tau, const RneaMatrices<N>& out) {
  rnea_diff(tree, world, SharedByLanes{}, q, v, a, f_ext, w, tau, out);
}

}  // namespace featherweight::FW_ISA
