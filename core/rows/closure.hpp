// rows/closure.hpp -- how far two frames that should coincide are apart.
//   Turns by the logarithm, right up to a half turn; what a closure leaves free does not count as an error.
//   Oracle: finite differences (where frames coincide, errors change with the velocities of the rows).
#pragma once
#include "kinematics/forward.hpp"
#include "kinematics/integrate.hpp"
#include "rows/rows.hpp"

namespace featherweight::FW_ISA {

// The rotation vector of a quaternion's part about axis k, the twist.
template <class S>
FW_INLINE void twist_about(int k, const S* q, S* twist) {
  const S length2 = q[k] * q[k] + q[3] * q[3];
  const auto is_some = length2 > S(1e-30);  // none: the axis is turned upside down, and any twist will do
  const S scale = S(1) / square_root(select(is_some, length2, S(1)));
  for (int i = 0; i < 3; ++i) twist[i] = S(0);
  twist[k] = select(is_some, q[k] * scale, S(0));
  twist[3] = select(is_some, q[3] * scale, S(1));
}

// The turn of frame a as seen from frame b, in the axes of a [rad]. locked: bit k for a row about axis k. With all
// three it is the logarithm; a hinge leaves the twist about its free axis out, however far it turned; one row alone
// sees nothing but the twist about its axis. So small errors change with the velocity of the rows, whatever the free
// turn.
template <class S>
FW_INLINE Vec3<S> turn_error(const Mat3<S>& R_a, const Mat3<S>& R_b, int locked) {
  const Mat3<S> inverse{column(R_b, 0), column(R_b, 1), column(R_b, 2)};
  S q[4], part[4], rest[4];
  matrix_quaternion(inverse * R_a, q);
  switch (locked) {
    case 1:
    case 2:
    case 4: twist_about(locked / 2, q, part); return logarithm(part);
    case 3:
    case 5:
    case 6: {
      twist_about(locked == 6 ? 0 : locked == 5 ? 1 : 2, q, part);
      for (int k = 0; k < 3; ++k) part[k] = -part[k];
      multiply(part, q, rest);  // q = twist * rest
      return logarithm(rest);
    }
    default: return logarithm(q);
  }
}

// The frame of a closure in the world, on a link at `poses`.
template <class S, class C>
FW_INLINE Pose<S> frame_in_world(const Mount<C>& frame, const Pose<S>* poses) {
  return compose(frame.link < 0 ? identity_pose<S>() : poses[frame.link], frame);
}

// The second frame of a closure in the world. grip: where it took hold, if it is switched; null: it never moves.
template <class S, class C, class G>
FW_INLINE Pose<S> second_frame_in_world(const Closure<C>& closure, const G* grip, const Pose<S>* poses) {
  if (!grip) return frame_in_world(closure.b, poses);
  const Mat3<G> R{{grip[0], grip[1], grip[2]}, {grip[3], grip[4], grip[5]}, {grip[6], grip[7], grip[8]}};
  const Vec3<G> p{grip[9], grip[10], grip[11]};
  return compose(closure.b.link < 0 ? identity_pose<S>() : poses[closure.b.link], R, p);
}

// The line from the origin of frame b to that of frame a: its direction, zero where they coincide, and its length.
template <class S>
struct Line {
  Vec3<S> direction;
  S length;
};
template <class S>
FW_INLINE Line<S> line_between(const Pose<S>& a, const Pose<S>& b) {
  const Vec3<S> apart = a.p - b.p;
  const S length = square_root(dot(apart, apart));
  const auto is_some = length > S(1e-150);
  return {apart * select(is_some, S(1) / select(is_some, length, S(1)), S(0)), length};
}

// Of each row of the closure: along the axes of frame a [m], about them [rad]. Of a rod: its length less what it should
// be [m].
template <class S, class C>
FW_INLINE void position_errors(const Closure<C>& closure, const Pose<S>& a, const Pose<S>& b, S* errors) {
  if (closure.length > 0) {
    errors[0] = line_between(a, b).length - S(closure.length);
    return;
  }
  int locked = 0;
  for (int r = 0; r < closure.n_rows; ++r) locked |= closure.axes[r] < 3 ? 0 : 1 << (closure.axes[r] - 3);
  const Vec3<S> apart = transposed_times(a.R, a.p - b.p), turn = locked ? turn_error(a.R, b.R, locked) : zero3<S>();
  for (int r = 0; r < closure.n_rows; ++r)
    errors[r] = closure.axes[r] < 3 ? apart[closure.axes[r]] : turn[closure.axes[r] - 3];
}

// Whether the velocity of row r is the rate of its error. Of a single row about an axis it is not: forbidding to turn
// about one axis of a body is not a matter of where it is.
template <class C>
FW_INLINE bool is_integrable(const Closure<C>& closure, int r) {
  int turns = 0;
  for (int k = 0; k < closure.n_rows; ++k) turns += closure.axes[k] >= 3;
  return closure.axes[r] < 3 || turns != 1;
}

// Errors along the axes no longer than `along`, and about them than `about`: in their direction.
template <class S, class C>
FW_INLINE void limit_errors(const Closure<C>& closure, const S& along, const S& about, S* errors) {
  S square[2] = {S(0), S(0)};
  for (int r = 0; r < closure.n_rows; ++r) {
    S& own = square[closure.axes[r] < 3 ? 0 : 1];
    own = own + errors[r] * errors[r];
  }
  const auto share = [](const S& square, const S& most) FW_LAMBDA_INLINE {
    const auto is_long = square > most * most;
    return select(is_long, most / square_root(select(is_long, square, S(1))), S(1));
  };
  const S shares[2] = {share(square[0], along), share(square[1], about)};
  for (int r = 0; r < closure.n_rows; ++r) errors[r] = errors[r] * shares[closure.axes[r] < 3 ? 0 : 1];
}

}  // namespace featherweight::FW_ISA
