// rows/terms.hpp -- what rows are and see, without any dynamics: J, J v, J a + gamma, position errors.
//   O(depth) per end: only links with ends on them or outboard are visited.
//   Frames: ends live in their links; position errors are in the axes of frame a of the closure. No gravity.
//   Oracle: Jacobians and biases of the NumPy twins; finite differences.
#pragma once
#include "dynamics/eliminate.hpp"
#include "rows/closure.hpp"
#include "rows/ends.hpp"

namespace featherweight::FW_ISA {

template <class C>
FW_INLINE bool has_rows(const ConstraintRows<C>& constraints, int link) {
  return constraints.of_link[link].begin < constraints.of_link[link].end;
}

// Ends [begin, end) reach the joint of link l as forces do: an entry of J per degree of freedom, then on to the parent.
// `adds`: rows may have a second end, whose entries join those of the first, or be of joints, which have one entry
// each, with the end on the link that the joint carries.
template <bool adds, class J, class S, class C>
[[gnu::noinline]] void jacobian_entries(J, const Link<C>& l, const S* q, const RowRange& range, const RowEnd<C>* ends,
                                        std::size_t nv, Force<S>* K, S* jacobian) {
  S state[J::n_state], before[J::nv];
  J::set_state(l, q, state);
  for (int r = range.begin; r < range.end; ++r) {
    if constexpr (adds)
      if (ends[r].kind == EndKind::joint && (r >= range.own_end || ends[r].first_link >= 0)) continue;
    S* const row = jacobian + static_cast<std::size_t>(ends[r].row) * nv + l.v;
    if constexpr (adds)
      for (int k = 0; k < J::nv; ++k) before[k] = row[k];
    J::project(l, K[r], row);
    if constexpr (adds)
      for (int k = 0; k < J::nv; ++k) row[k] = row[k] + before[k];
    if (l.parent >= 0) K[r] = J::to_parent(l, state, K[r]);
  }
}

// n_rows x nv, row-major. K: of the ends on their links, lost on their way to the root.
template <class S, class C>
void constraint_jacobian(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, Force<S>* K,
                         S* jacobian) {
  const std::size_t nv = static_cast<std::size_t>(tree.nv), n = static_cast<std::size_t>(constraints.n_rows) * nv;
  for (std::size_t k = 0; k < n; ++k) jacobian[k] = S(0);
  const auto project = [&]<bool adds>() {
    for (int i = tree.n_links - 1; i >= 0; --i) {
      const Link<C>& l = tree.links[i];
      const RowRange range = constraints.of_link[i];
      if (!has_rows(constraints, i)) continue;
      visit(l.kind,
            [&](auto joint) { jacobian_entries<adds>(joint, l, q + l.q, range, constraints.ends, nv, K, jacobian); });
    }
  };
  if (RowEnds<S>::depends_on_q(constraints))
    project.template operator()<true>();
  else
    project.template operator()<false>();
}

// What an end sees of a motion of its link.
template <class S, class C>
FW_INLINE S seen_by(const RowEnd<C>& end, const Force<S>& K, const Motion<S>& m) {
  return end.kind == EndKind::fixed ? row_direction(end) * m : K * m;
}

template <class C, class F>
FW_INLINE void for_each_coupling(const ConstraintRows<C>& constraints, F&& f) {
  for (int c = 0; c < constraints.n_couplings; ++c)
    f(constraints.couplings[c], constraints.places[constraints.n_closures + c]);
}

// J v. `links` has room for one motion per compiled link.
template <class S, class C>
void constraint_velocity(const Tree<C>& tree, const ConstraintRows<C>& constraints, const Force<S>* K, const S* q,
                         const S* v, S* state, Motion<S>* links, S* out) {
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    if (!has_rows(constraints, i)) continue;
    visit(l.kind, [&](auto joint) {
      move_outward(joint, l, q + l.q, v + l.v, state + l.state, l.parent < 0 ? rest : links[l.parent], links[i]);
    });
  }
  if (!RowEnds<S>::depends_on_q(constraints)) {  // one end each
    for (int r = 0; r < constraints.n_ends; ++r)
      out[constraints.ends[r].row] = row_direction(constraints.ends[r]) * links[constraints.ends[r].link];
    return;
  }
  for (int r = 0; r < constraints.n_rows; ++r) out[r] = S(0);
  for (int r = 0; r < constraints.n_ends; ++r) {
    const RowEnd<C>& end = constraints.ends[r];
    if (end.kind != EndKind::joint) out[end.row] = out[end.row] + seen_by(end, K[r], links[end.link]);
  }
  for_each_coupling(constraints, [&](const Coupling& coupling, const ConstraintPlace& place) {
    out[place.row] = coupling_velocity(coupling, constraints.terms, q, v);
  });
}

// The motion of a link as seen from a frame at R, p on it.
template <class A, class S>
FW_INLINE Motion<S> seen_from(const Mat3<A>& R, const Vec3<A>& p, const Motion<S>& m) {
  Vec3<S> lin = m.lin;
  add_cross(lin, m.ang, p);
  return {transposed_times(R, lin), transposed_times(R, m.ang)};
}

// What the axes of frame a, and with them the second end of a closure, add to its rows as both links move. Spatial:
//   d/dt (v_a - X_ab v_b) = a_a - X_ab a_b + v_a x X_ab v_b   (components along the axes of a)
// Of a point the acceleration is wanted, seen along axes that happen to turn: w_a x (v_a - X_ab v_b) more, of which the
// first end has w_a x v_a.
template <class S, class C>
FW_INLINE Motion<S> turning_bias(const Closure<C>& closure, const Pose<S>* poses, const Motion<S>& v_a,
                                 const Motion<S>& v_b) {
  const Pose<S> a = frame_in_world(closure.a, poses), &b = poses[closure.b.link];
  const Mat3<S> b_axes{column(b.R, 0), column(b.R, 1), column(b.R, 2)};
  const Motion<S> x = seen_from(mat3(closure.a.R), vec3(closure.a.p), v_a),
                  y = seen_from(b_axes * a.R, transposed_times(b.R, a.p - b.p), v_b);
  Motion<S> bias{cross(x.lin, y.ang), cross(x.ang, y.ang)};
  if (!closure.of_point) add_cross(bias.lin, x.ang, y.lin);
  return bias;
}

// A rod turns as its ends move across it: their velocity across, squared, over its length. a, b: poses of its links.
template <class S, class C>
FW_INLINE S rod_bias(const Closure<C>& closure, const Pose<S>& a, const Pose<S>& b, const Motion<S>& v_a,
                     const Motion<S>& v_b) {
  const auto velocity = [&](const Mount<C>& frame, const Pose<S>& link, const Motion<S>& v) FW_LAMBDA_INLINE {
    Vec3<S> own = v.lin;
    add_cross(own, v.ang, vec3(frame.p));
    return link.R * own;
  };
  const Line<S> line = line_between(compose(a, closure.a), compose(b, closure.b));
  Vec3<S> u = velocity(closure.a, a, v_a);
  if (closure.b.link >= 0) u = u - velocity(closure.b, b, v_b);
  const Vec3<S> across = u - line.direction * dot(line.direction, u);
  const auto is_some = line.length > S(1e-150);
  return select(is_some, dot(across, across) / select(is_some, line.length, S(1)), S(0));
}

// What a closure between two links, or a rod, adds to its rows beyond the biases of their ends: (0..2) along, (3..5)
// about the axes of a; of a rod the first.
template <class S, class C>
FW_INLINE Motion<S> closure_bias(const Closure<C>& closure, const Pose<S>* poses, const Motion<S>& v_a,
                                 const Motion<S>& v_b) {
  if (closure.length > 0) {
    const Pose<S> world = identity_pose<S>(), &b = closure.b.link < 0 ? world : poses[closure.b.link];
    return {{rod_bias(closure, poses[closure.a.link], b, v_a, v_b), S(0), S(0)}, zero3<S>()};
  }
  if (closure.b.link < 0) return zero_motion<S>();
  return turning_bias(closure, poses, v_a, v_b);
}

// Calls f(row, bias) for all rows that have one beyond those of their ends. velocity(link): of a compiled link.
template <class S, class C, class V, class F>
FW_INLINE void for_each_bias(const ConstraintRows<C>& constraints, const Pose<S>* poses, const S* q, const S* v,
                             V&& velocity, F&& f) {
  if (!RowEnds<S>::depends_on_q(constraints)) return;
  for (int c = 0; c < constraints.n_closures; ++c) {
    const Closure<C>& closure = constraints.closures[c];
    if (closure.b.link < 0 && !(closure.length > 0)) continue;
    const Motion<S> v_b = closure.b.link < 0 ? zero_motion<S>() : velocity(closure.b.link);
    const Motion<S> bias = closure_bias(closure, poses, velocity(closure.a.link), v_b);
    for (int r = 0; r < closure.n_rows; ++r)
      f(constraints.places[c].row + r, closure.axes[r] < 3 ? bias.lin[closure.axes[r]] : bias.ang[closure.axes[r] - 3]);
  }
  for_each_coupling(constraints, [&](const Coupling& coupling, const ConstraintPlace& place) {
    f(place.row, coupling_bias(coupling, constraints.terms, q, v));
  });
}

// J a + gamma - targets.
template <class S, class C>
void constraint_acceleration(const Tree<C>& tree, const ConstraintRows<C>& constraints, const RowEnds<S>& ends,
                             const S* q, const S* v, const S* a, const S* targets, S* state,
                             VelocityAndAcceleration<S>* links, S* out) {
  const VelocityAndAcceleration<S> rest{zero_motion<S>(), zero_motion<S>()};
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    if (!has_rows(constraints, i)) continue;
    links[i] = l.parent < 0 ? rest : links[l.parent];
    visit(l.kind, [&](auto joint) { carry_motion(joint, l, q + l.q, v + l.v, a + l.v, state + l.state, links[i]); });
  }
  for (int r = 0; r < constraints.n_rows; ++r) out[r] = -targets[r];
  for (int r = 0; r < constraints.n_ends; ++r) {
    const RowEnd<C>& end = constraints.ends[r];
    if (end.kind == EndKind::joint) continue;
    const VelocityAndAcceleration<S>& link = links[end.link];
    const Vec3<S> given = given_acceleration(end, link.v, zero3<S>());
    const S along = end.kind == EndKind::fixed ? dot(row_direction(end).lin, given) : dot(ends.K[r].lin, given);
    out[end.row] = out[end.row] + seen_by(end, ends.K[r], link.a) + along;
  }
  for_each_coupling(constraints, [&](const Coupling& coupling, const ConstraintPlace& place) {
    out[place.row] = out[place.row] + coupling_velocity(coupling, constraints.terms, q, a);  // E a, as it is E v
  });
  for_each_bias(
      constraints, ends.poses, q, v, [&](int i) FW_LAMBDA_INLINE { return links[i].v; },
      [&](int row, const S& bias) FW_LAMBDA_INLINE { out[row] = out[row] + bias; });
}

// Along each row. wanted: 4 x 4 per constraint, the pose that frame a should have as seen from frame b; couplings have
// no use for it.
template <class S, class C>
void constraint_position_error(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* wanted,
                               S* state, Pose<S>* links, S* out) {
  const Pose<S> world = identity_pose<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    if (!has_rows(constraints, i)) continue;
    visit(l.kind, [&](auto joint) {
      place(joint, l, q + l.q, state + l.state, l.parent < 0 ? world : links[l.parent], links[i]);
    });
  }
  for (int c = 0; c < constraints.n_closures; ++c) {  // the rows of one closure follow each other
    const Closure<C>& closure = constraints.closures[c];
    const S* w = wanted + 16 * constraints.places[c].constraint;
    const Mat3<S> R{{w[0], w[1], w[2]}, {w[4], w[5], w[6]}, {w[8], w[9], w[10]}};
    const Vec3<S> p{w[3], w[7], w[11]};
    position_errors(closure, frame_in_world(closure.a, links), compose(frame_in_world(closure.b, links), R, p),
                    out + constraints.places[c].row);
  }
  for_each_coupling(constraints, [&](const Coupling& coupling, const ConstraintPlace& place) {
    out[place.row] = coupling_error(coupling, constraints.terms, q);
  });
}

}  // namespace featherweight::FW_ISA
