// kinematics/integrate.hpp -- moving on the configuration manifold: integrate(q, dv) and its inverse difference(q0,
// q1).
//   Axis joints add; rotations compose with exp; free joints move along the twist dv (SE(3) exponential), so that
//   difference(q, integrate(q, dv)) == dv for rotations below pi. Quaternions are kept with unit length.
#pragma once
#include "lanes/square_root.hpp"
#include "model/joints.hpp"

namespace featherweight::FW_ISA {

FW_INLINE double library_atan2(double y, double x) { return __builtin_atan2(y, x); }
FW_INLINE float library_atan2(float y, float x) { return __builtin_atan2f(y, x); }

// Below this squared angle the series is exact to the last bit of a double.
template <class S>
FW_INLINE S small_angle_squared() {
  return S(1e-4);
}

// Quaternion product a * b, xyzw.
template <class S>
FW_INLINE void multiply(const S* a, const S* b, S* r) {
  const Vec3<S> u{a[0], a[1], a[2]}, w{b[0], b[1], b[2]};
  Vec3<S> c = u * b[3] + w * a[3];
  add_cross(c, u, w);
  r[3] = a[3] * b[3] - dot(u, w);
  for (int k = 0; k < 3; ++k) r[k] = c[k];
}
template <class S>
FW_INLINE void normalise(S* q) {
  const S scale = S(1) / square_root(S(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]));
  for (int k = 0; k < 4; ++k) q[k] = q[k] * scale;
}

// Unit quaternion of a rotation matrix. Of four formulas, the one whose divisor is largest loses no digits.
template <class S>
FW_INLINE void matrix_quaternion(const Mat3<S>& R, S* q) {
  const S x = R(2, 1) - R(1, 2), y = R(0, 2) - R(2, 0), z = R(1, 0) - R(0, 1);
  const S xy = R(0, 1) + R(1, 0), xz = R(0, 2) + R(2, 0), yz = R(1, 2) + R(2, 1);
  const S formulas[4][4] = {{S(1) + R(0, 0) - R(1, 1) - R(2, 2), xy, xz, x},
                            {xy, S(1) - R(0, 0) + R(1, 1) - R(2, 2), yz, y},
                            {xz, yz, S(1) - R(0, 0) - R(1, 1) + R(2, 2), z},
                            {x, y, z, S(1) + R(0, 0) + R(1, 1) + R(2, 2)}};
  for (int k = 0; k < 4; ++k) q[k] = formulas[3][k];
  S largest = formulas[3][3];
  for (int formula = 0; formula < 3; ++formula) {
    const auto is_better = formulas[formula][formula] > largest;
    largest = select(is_better, formulas[formula][formula], largest);
    for (int k = 0; k < 4; ++k) q[k] = select(is_better, formulas[formula][k], q[k]);
  }
  normalise(q);
}

// exp(w / 2) as a quaternion
template <class S>
FW_INLINE void exponential(const Vec3<S>& w, S* q) {
  const S t2 = dot(w, w), t = square_root(t2);
  S s, c;
  sincos(S(t * S(0.5)), s, c);
  const auto is_small = t2 < small_angle_squared<S>();
  const S ratio = select(is_small, S(0.5) - t2 * (S(1.0 / 48) - t2 * (S(1.0 / 3840) - t2 * S(1.0 / 645120))),
                         s / select(is_small, S(1), t));
  for (int k = 0; k < 3; ++k) q[k] = w[k] * ratio;
  q[3] = c;
}
// Rotation vector of a unit quaternion, at most a half turn.
template <class S>
FW_INLINE Vec3<S> logarithm(const S* quaternion) {
  const S sign = select(quaternion[3] < S(0), S(-1), S(1));
  const Vec3<S> u = Vec3<S>{quaternion[0], quaternion[1], quaternion[2]} * sign;
  const S s2 = dot(u, u), s = square_root(s2), c = quaternion[3] * sign;
  const S half = map_lanes(s, c, [](ElementOf<S> y, ElementOf<S> x) { return library_atan2(y, x); });
  const auto is_small = s2 < S(1e-6);
  // 2 asin(s) / s; asin because c has lost the small angle
  const S ratio = select(is_small, S(2) + s2 * (S(1.0 / 3) + s2 * (S(3.0 / 20) + s2 * S(5.0 / 56))),
                         S(2) * half / select(is_small, S(1), s));
  return u * ratio;
}

// (1 - cos t) / t^2 and (t - sin t) / t^3
template <class S>
FW_INLINE void twist_coefficients(const S& t2, S& first, S& second) {
  const S t = square_root(t2);
  S s, c;
  sincos(t, s, c);
  const auto is_small = t2 < S(1e-2);
  const S safe = select(is_small, S(1), t2), safe_root = select(is_small, S(1), t);
  first = select(is_small,
                 S(0.5) - t2 * (S(1.0 / 24) - t2 * (S(1.0 / 720) - t2 * (S(1.0 / 40320) - t2 * S(1.0 / 3628800)))),
                 (S(1) - c) / safe);
  second =
      select(is_small,
             S(1.0 / 6) - t2 * (S(1.0 / 120) - t2 * (S(1.0 / 5040) - t2 * (S(1.0 / 362880) - t2 * S(1.0 / 39916800)))),
             (safe_root - s) / (safe * safe_root));
}

template <int K, bool turned, bool rotates, bool travels, class S>
FW_INLINE void integrate_joint(AxisJoint<K, turned, rotates, travels>, const S* q, const S* dv, S* out) {
  out[0] = q[0] + dv[0];
}
template <bool travels, class S>
[[gnu::noinline]] void integrate_joint(Ball<travels>, const S* q, const S* dv, S* out) {
  constexpr int turn = travels ? 3 : 0;  // where rotations start, in dv and in q alike
  const Vec3<S> w{dv[turn], dv[turn + 1], dv[turn + 2]};
  if constexpr (travels) {
    // p + R V(w) v with V = 1 + first [w] + second [w]^2
    const Vec3<S> v{dv[0], dv[1], dv[2]}, wv = cross(w, v);
    S first, second;
    twist_coefficients(dot(w, w), first, second);
    const Vec3<S> moved = quaternion_matrix(q + 3) * (v + wv * first + cross(w, wv) * second);
    for (int k = 0; k < 3; ++k) out[k] = q[k] + moved[k];
  }
  S step[4];
  exponential(w, step);
  multiply(q + turn, step, out + turn);
  normalise(out + turn);
}

template <int K, bool turned, bool rotates, bool travels, class S>
FW_INLINE void difference_joint(AxisJoint<K, turned, rotates, travels>, const S* from, const S* to, S* out) {
  out[0] = to[0] - from[0];
}
template <bool travels, class S>
[[gnu::noinline]] void difference_joint(Ball<travels>, const S* from, const S* to, S* out) {
  constexpr int turn = travels ? 3 : 0;
  const S inverse[4] = {-from[turn], -from[turn + 1], -from[turn + 2], from[turn + 3]};
  S relative[4];
  multiply(inverse, to + turn, relative);
  const Vec3<S> w = logarithm(relative);
  for (int k = 0; k < 3; ++k) out[turn + k] = w[k];
  if constexpr (travels) {
    const Mat3<S> R = quaternion_matrix(from + 3);
    const Vec3<S> d = transposed_times(R, Vec3<S>{to[0] - from[0], to[1] - from[1], to[2] - from[2]});
    // V(w)^-1 = 1 - 1/2 [w] + c [w]^2. V V^-1 = 1 gives two formulas for c: one loses digits near 0, the other near pi.
    S first, second;
    const S t2 = dot(w, w);
    twist_coefficients(t2, first, second);
    const auto is_small = t2 < S(1);
    const S c = select(is_small, (S(0.5) * first - second) / select(is_small, S(1) - t2 * second, S(1)),
                       (first - S(0.5) + S(0.5) * t2 * second) / select(is_small, S(1), first * t2));
    const Vec3<S> wd = cross(w, d);
    const Vec3<S> v = d - wd * S(0.5) + cross(w, wd) * c;
    for (int k = 0; k < 3; ++k) out[k] = v[k];
  }
}

template <class S, class C>
void integrate(const Tree<C>& tree, const S* q, const S* dv, S* out) {
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) { integrate_joint(joint, q + l.q, dv + l.v, out + l.q); });
  }
}
template <class S, class C>
void difference(const Tree<C>& tree, const S* from, const S* to, S* out) {
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) { difference_joint(joint, from + l.q, to + l.q, out + l.v); });
  }
}

}  // namespace featherweight::FW_ISA
