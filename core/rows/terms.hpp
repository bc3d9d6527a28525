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
// `adds`: rows may have a second end, whose entries join those of the first.
template <bool adds, class J, class S, class C>
[[gnu::noinline]] void jacobian_entries(J, const Link<C>& l, const S* q, int begin, int end, const RowEnd<C>* ends,
                                        std::size_t nv, Force<S>* K, S* jacobian) {
  S state[J::n_state], before[J::nv];
  J::set_state(l, q, state);
  for (int r = begin; r < end; ++r) {
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
      visit(l.kind, [&](auto joint) {
        jacobian_entries<adds>(joint, l, q + l.q, range.begin, range.end, constraints.ends, nv, K, jacobian);
      });
    }
  };
  if (RowEnds<S>::depends_on_q(constraints))
    project.template operator()<true>();
  else
    project.template operator()<false>();
}

// What an end sees of a motion of its link. First ends are constants, second ones depend on the configuration.
template <class S, class C>
FW_INLINE S seen_by(const RowEnd<C>& end, const Force<S>& K, const Motion<S>& m) {
  return end.first_link < 0 ? row_direction(end) * m : K * m;
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
    out[end.row] = out[end.row] + seen_by(end, K[r], links[end.link]);
  }
}

// The motion of a link as seen from a frame at R, p on it.
template <class A, class S>
FW_INLINE Motion<S> seen_from(const Mat3<A>& R, const Vec3<A>& p, const Motion<S>& m) {
  Vec3<S> lin = m.lin;
  add_cross(lin, m.ang, p);
  return {transposed_times(R, lin), transposed_times(R, m.ang)};
}

// A frame seen from a link that moves itself: X_ab turns, and with it what the rows see of that link's velocity,
//   d/dt (v_a - X_ab v_b) = a_a - X_ab a_b + v_a x X_ab v_b   (spatial; components along the axes of a)
template <class S, class C>
FW_INLINE Motion<S> turning_bias(const Closure<C>& closure, const Pose<S>* poses, const Motion<S>& v_a,
                                 const Motion<S>& v_b) {
  const Pose<S> a = frame_in_world(closure.a, poses), &b = poses[closure.b.link];
  const Mat3<S> b_axes{column(b.R, 0), column(b.R, 1), column(b.R, 2)};
  const Motion<S> x = seen_from(mat3(closure.a.R), vec3(closure.a.p), v_a),
                  y = seen_from(b_axes * a.R, transposed_times(b.R, a.p - b.p), v_b);
  Motion<S> bias{cross(x.ang, y.lin), cross(x.ang, y.ang)};
  add_cross(bias.lin, x.lin, y.ang);
  return bias;
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
    const VelocityAndAcceleration<S>& link = links[end.link];
    const Vec3<S> given = given_acceleration(end, link.v, zero3<S>());
    const S along = end.first_link < 0 ? dot(row_direction(end).lin, given) : dot(ends.K[r].lin, given);
    out[end.row] = out[end.row] + seen_by(end, ends.K[r], link.a) + along;
    if (end.first_link < 0 || end.of_point) continue;
    const Motion<S> bias = turning_bias(constraints.closures[end.closure], ends.poses, links[end.first_link].v, link.v);
    out[end.row] = out[end.row] + (end.axis < 3 ? bias.lin[end.axis] : bias.ang[end.axis - 3]);
  }
}

// Along each row. wanted: 4 x 4 per closure, the pose that frame a should have as seen from frame b.
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
    const S* w = wanted + 16 * c;
    const Mat3<S> R{{w[0], w[1], w[2]}, {w[4], w[5], w[6]}, {w[8], w[9], w[10]}};
    const Vec3<S> p{w[3], w[7], w[11]};
    position_errors(closure, frame_in_world(closure.a, links), compose(frame_in_world(closure.b, links), R, p), out);
    out += closure.n_rows;
  }
}

}  // namespace featherweight::FW_ISA
