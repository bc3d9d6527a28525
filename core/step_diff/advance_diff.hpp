// step_diff/advance_diff.hpp -- derivatives of step/advance.hpp, per joint.
//
//   axes    dq+ = dq + dt dm,   dv+ = dv
//   balls   E = exp(dt w), Jr its right Jacobian, T = dt Jr, c the centre of mass,
//           path = dt (u_m + w_m x c) + c - E c,  U = E^T (u + w x c)
//     dq+ = [E^T  -E^T [path]; 0  E^T] dq + [dt E^T  -dt E^T [c] + [c] T; 0  T] dm
//     dv+ = [E^T  -E^T [c] + [c] E^T; 0  E^T] dv + [0  [U] T + [c] [E^T w] T; 0  [E^T w] T] dm
// m: the velocity coordinates move with, v: that at the end, both in the axes at the start. Oracle: finite differences.
#pragma once
#include "kinematics/integrate.hpp"
#include "step_diff/columns.hpp"
#include "step_diff/motion.hpp"

namespace featherweight::FW_ISA {

using Matrix3 = Mat3<double>;

FW_INLINE Matrix3 skew(const Vector& x) { return {{0, -x[2], x[1]}, {x[2], 0, -x[0]}, {-x[1], x[0], 0}}; }
FW_INLINE Matrix3 operator*(const Matrix3& a, double s) { return {a.rows[0] * s, a.rows[1] * s, a.rows[2] * s}; }
FW_INLINE Matrix3 transposed(const Matrix3& a) { return {column(a, 0), column(a, 1), column(a, 2)}; }
FW_INLINE Matrix3 unit3() { return {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}; }
FW_INLINE Matrix3 rotation_by(const Vector& w) {
  double q[4];
  exponential(w, q);
  return quaternion_matrix(q);
}
// exp(w + d) = exp(w) exp(Jr d)
FW_INLINE Matrix3 right_jacobian(const Vector& w) {
  double first, second;
  twist_coefficients(FW_ISA::dot(w, w), first, second);
  const Matrix3 K = skew(w);
  return unit3() + K * -first + K * K * second;
}

// A 6 x 6 or 3 x 3 block.
struct JointBlock {
  double e[6][6];

  void set(int r, int c, const Matrix3& m) {
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) e[3 * r + i][3 * c + j] = m(i, j);
  }
};
struct BallAdvance {
  JointBlock q_q, q_m, v_v, v_m;
};

// turn: 3 of a free joint, 0 of a spherical one; moved, v: of the joint.
inline void differentiate_advance(int turn, const Vector& c, const double* moved, const double* v, double dt,
                                  BallAdvance& out) {
  const auto three = [](const double* x) { return Vector{x[0], x[1], x[2]}; };
  const Vector w = three(moved + turn), ang = three(v + turn);
  const Matrix3 E = rotation_by(w * dt), Et = transposed(E), T = right_jacobian(w * dt) * dt;
  const Matrix3 spin = skew(Et * ang) * T, none = Matrix3{zero3<double>(), zero3<double>(), zero3<double>()};
  const int last = turn / 3;
  out.q_q.set(last, last, Et), out.q_m.set(last, last, T), out.v_v.set(last, last, Et), out.v_m.set(last, last, spin);
  if (turn == 0) return;
  const Vector path = (three(moved) + FW_ISA::cross(w, c)) * dt + c - E * c,
               U = Et * (three(v) + FW_ISA::cross(ang, c));
  const Matrix3 C = skew(c);
  out.q_q.set(0, 0, Et), out.q_q.set(0, 1, Et * skew(path) * -1), out.q_q.set(1, 0, none);
  out.q_m.set(0, 0, Et * dt), out.q_m.set(0, 1, Et * C * -dt + C * T), out.q_m.set(1, 0, none);
  out.v_v.set(0, 0, Et), out.v_v.set(0, 1, Et * C * -1 + C * Et), out.v_v.set(1, 0, none);
  out.v_m.set(0, 0, none), out.v_m.set(0, 1, skew(U) * T + C * spin), out.v_m.set(1, 0, none);
}

// The same transposed, of a free joint: cotangents to_q and to_v of dq+ and dv+ become those of dq, dm and dv.
template <class S>
struct FreeCotangents {
  Motion<S> q, m, v;
};
template <class S>
inline FreeCotangents<S> pull_advance(const Vec3<S>& c, const Motion<S>& moved, const Motion<S>& v, double dt,
                                      const Motion<S>& to_q, const Motion<S>& to_v) {
  const Vec3<S> angle = moved.ang * S(dt);
  S quaternion[4], first, second;
  exponential(angle, quaternion);
  twist_coefficients(FW_ISA::dot(angle, angle), first, second);
  const Mat3<S> E = quaternion_matrix(quaternion);
  const Vec3<S> path = (moved.lin + FW_ISA::cross(moved.ang, c)) * S(dt) + c - E * c;
  const Vec3<S> U = transposed_times(E, v.lin + FW_ISA::cross(v.ang, c)), spin = transposed_times(E, v.ang);
  const Vec3<S> q_lin = E * to_q.lin, v_lin = E * to_v.lin, lever = FW_ISA::cross(c, to_v.lin);
  const Vec3<S> turn =
      to_q.ang - FW_ISA::cross(c, to_q.lin) - FW_ISA::cross(U, to_v.lin) + FW_ISA::cross(spin, lever - to_v.ang);
  const Vec3<S> across = FW_ISA::cross(angle, turn);
  const Vec3<S> turned = turn + across * first + FW_ISA::cross(angle, across) * second;
  return {{q_lin, FW_ISA::cross(path, q_lin) + E * to_q.ang},
          {q_lin * S(dt), (FW_ISA::cross(c, q_lin) + turned) * S(dt)},
          {v_lin, FW_ISA::cross(c, v_lin) + E * (to_v.ang - lever)}};
}

}  // namespace featherweight::FW_ISA
