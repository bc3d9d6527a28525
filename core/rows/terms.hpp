// rows/terms.hpp -- what constraint rows are and see, without any dynamics: J, J v, J a + gamma, position
// errors.
//   O(depth) per row: only links with rows on them or outboard are visited.
//   Frames: rows live in their links; position errors are in the axes of the constraint's frame. No gravity.
//   Oracle: Jacobians and drifts of the twins; finite differences.
#pragma once
#include "dynamics/eliminate.hpp"
#include "kinematics/forward.hpp"
#include "kinematics/integrate.hpp"
#include "rows/link_rows.hpp"

namespace featherweight::FW_ISA {

template <class C>
FW_INLINE bool has_rows(const ConstraintRows<C>& constraints, int link) {
  return constraints.of_link[link].begin < constraints.of_link[link].end;
}

// Rows [begin, end) meet the joint of link l as forces do: an entry of J per freedom, then on to the parent.
template <class J, class S, class C>
[[gnu::noinline]] void jacobian_entries(J, const Link<C>& l, const S* q, int begin, int end,
                                        const ConstraintRow<C>* rows, std::size_t nv, Force<S>* K, S* jacobian) {
  S state[J::n_state];
  J::set_state(l, q, state);
  for (int r = begin; r < end; ++r) {
    J::project(l, K[r], jacobian + static_cast<std::size_t>(rows[r].row) * nv + l.v);
    if (l.parent >= 0) K[r] = J::to_parent(l, state, K[r]);
  }
}

// m x nv, row-major, rows in the user's order. K: the rows on their links, lost on their way to the root.
template <class S, class C>
void constraint_jacobian(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, Force<S>* K,
                         S* jacobian) {
  const std::size_t nv = static_cast<std::size_t>(tree.nv), n = static_cast<std::size_t>(constraints.n_rows) * nv;
  for (std::size_t k = 0; k < n; ++k) jacobian[k] = S(0);
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    const RowRange range = constraints.of_link[i];
    if (!has_rows(constraints, i)) continue;
    visit(l.kind, [&](auto joint) {
      jacobian_entries(joint, l, q + l.q, range.begin, range.end, constraints.rows, nv, K, jacobian);
    });
  }
}

// J v, in the user's order of rows. `links` has room for one motion per compiled link.
template <class S, class C>
void constraint_velocity(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* v, S* state,
                         Motion<S>* links, S* out) {
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    if (!has_rows(constraints, i)) continue;
    visit(l.kind, [&](auto joint) {
      move_outward(joint, l, q + l.q, v + l.v, state + l.state, l.parent < 0 ? rest : links[l.parent], links[i]);
    });
  }
  for (int r = 0; r < constraints.n_rows; ++r) {
    const ConstraintRow<C>& row = constraints.rows[r];
    out[row.row] = row_direction(row) * links[row.link];
  }
}

// J a + gamma - targets, in the user's order of rows.
template <class S, class C>
void constraint_acceleration(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* v,
                             const S* a, const S* targets, S* state, VelocityAndAcceleration<S>* links, S* out) {
  const VelocityAndAcceleration<S> rest{zero_motion<S>(), zero_motion<S>()};
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    if (!has_rows(constraints, i)) continue;
    links[i] = l.parent < 0 ? rest : links[l.parent];
    visit(l.kind, [&](auto joint) { carry_motion(joint, l, q + l.q, v + l.v, a + l.v, state + l.state, links[i]); });
  }
  for (int r = 0; r < constraints.n_rows; ++r) {
    const ConstraintRow<C>& row = constraints.rows[r];
    const VelocityAndAcceleration<S>& link = links[row.link];
    const Vec3<S> given = given_acceleration(row, link.v, zero3<S>());
    out[row.row] = row_direction(row) * link.a + dot(row_direction(row).lin, given) - targets[row.row];
  }
}

// How far a frame is from where it should be, in its own axes; the angle only where it is asked for.
template <class S>
FW_INLINE Motion<S> position_error(const Pose<S>& frame, const Pose<S>& wanted, bool angular) {
  Motion<S> error{transposed_times(frame.R, frame.p - wanted.p), zero3<S>()};
  if (angular) {
    const Mat3<S> inverse{column(wanted.R, 0), column(wanted.R, 1), column(wanted.R, 2)};
    S quaternion[4];
    matrix_quaternion(inverse * frame.R, quaternion);
    error.ang = logarithm(quaternion);
  }
  return error;
}

// Along each row, in the user's order. wanted: 4 x 4 per constraint, the pose its frame should have in the world.
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
  int constraint = -1;  // rows of one constraint follow each other
  Motion<S> error = zero_motion<S>();
  for (int r = 0; r < constraints.n_rows; ++r) {
    const ConstraintRow<C>& row = constraints.rows[r];
    if (row.constraint != constraint) {
      constraint = row.constraint;
      const S* w = wanted + 16 * constraint;
      const Pose<S> goal{{{w[0], w[1], w[2]}, {w[4], w[5], w[6]}, {w[8], w[9], w[10]}}, {w[3], w[7], w[11]}};
      error = position_error(compose(links[row.link], constraints.frames[constraint]), goal, !row.of_point);
    }
    out[row.row] = row.axis < 3 ? error.lin[row.axis] : error.ang[row.axis - 3];
  }
}

}  // namespace featherweight::FW_ISA
