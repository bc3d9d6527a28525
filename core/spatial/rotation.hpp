// spatial/rotation.hpp -- rotations of vectors and of the blocks of an inertia: about an axis, and general.
//
// A rotation R maps child to parent coordinates. `to_parent` computes R x, R M R^T; `to_child` the transposes.
#pragma once
#include "spatial/algebra.hpp"

namespace featherweight::FW_ISA {

// Rotation about coordinate axis K by an angle with cosine c and sine s. With (i, j, K) cyclic, the in-plane part of
// R M R^T needs a single g: 10 operations for a symmetric block instead of 45.
template <int K, class S>
struct AxisRotation {
  static constexpr int i = (K + 1) % 3, j = (K + 2) % 3;
  S c, s;

  FW_INLINE Vec3<S> to_parent(const Vec3<S>& x) const {
    Vec3<S> y = x;
    y[i] = c * x[i] - s * x[j];
    y[j] = s * x[i] + c * x[j];
    return y;
  }
  FW_INLINE Vec3<S> to_child(const Vec3<S>& x) const {
    Vec3<S> y = x;
    y[i] = c * x[i] + s * x[j];
    y[j] = c * x[j] - s * x[i];
    return y;
  }
  // `planar`: row and column K of a symmetric matrix, column K of any other, are zero and are not touched.
  template <bool planar = false>
  FW_INLINE Sym3<S> to_parent(const Sym3<S>& m) const {
    const S g = s * (m(i, i) - m(j, j)) + (c + c) * m(i, j);
    Sym3<S> y = m;
    y(i, i) = m(i, i) - s * g;
    y(j, j) = m(j, j) + s * g;
    y(i, j) = c * g - m(i, j);
    if constexpr (planar) return y;
    y(i, K) = c * m(i, K) - s * m(j, K);
    y(j, K) = s * m(i, K) + c * m(j, K);
    return y;
  }
  template <bool planar = false>
  FW_INLINE Mat3<S> to_parent(const Mat3<S>& m) const {
    const S g = s * (m(i, i) - m(j, j)) + c * (m(i, j) + m(j, i));
    Mat3<S> y = m;
    y(i, i) = m(i, i) - s * g;
    y(j, j) = m(j, j) + s * g;
    y(i, j) = c * g - m(j, i);
    y(j, i) = c * g - m(i, j);
    y(K, i) = c * m(K, i) - s * m(K, j);
    y(K, j) = s * m(K, i) + c * m(K, j);
    if constexpr (planar) return y;
    y(i, K) = c * m(i, K) - s * m(j, K);
    y(j, K) = s * m(i, K) + c * m(j, K);
    return y;
  }
  // A rotation matrix M to M R
  template <class A>
  FW_INLINE Mat3<S> after(const Mat3<A>& m) const {
    Mat3<S> y;
    turn_row(m, 0, y);
    turn_row(m, 1, y);
    turn_row(m, 2, y);
    return y;
  }

 private:
  template <class A>
  FW_INLINE void turn_row(const Mat3<A>& m, int r, Mat3<S>& y) const {
    y(r, i) = c * m(r, i) + s * m(r, j);
    y(r, j) = c * m(r, j) - s * m(r, i);
    y(r, K) = S(m(r, K));
  }
};

// General rotation; A is a constant or a lane scalar.
template <class A>
struct Rotation {
  Mat3<A> R;

  template <class S>
  FW_INLINE auto to_parent(const Vec3<S>& x) const {
    return R * x;
  }
  template <class S>
  FW_INLINE auto to_child(const Vec3<S>& x) const {
    return transposed_times(R, x);
  }
  template <class S>
  FW_INLINE Sym3<S> to_parent(const Sym3<S>& m) const {
    const Vec3<S> x = m * R.rows[0], y = m * R.rows[1], z = m * R.rows[2];
    return {dot(x, R.rows[0]), dot(x, R.rows[1]), dot(x, R.rows[2]),
            dot(y, R.rows[1]), dot(y, R.rows[2]), dot(z, R.rows[2])};
  }
  template <class S>
  FW_INLINE Mat3<S> to_parent(const Mat3<S>& m) const {
    return {R * transposed_times(m, R.rows[0]), R * transposed_times(m, R.rows[1]), R * transposed_times(m, R.rows[2])};
  }
};

// Unit quaternion xyzw to matrix.
template <class S>
FW_INLINE Mat3<S> quaternion_matrix(const S* q) {
  const S x2 = q[0] + q[0], y2 = q[1] + q[1], z2 = q[2] + q[2];
  const S xx = x2 * q[0], yy = y2 * q[1], zz = z2 * q[2], xy = x2 * q[1], xz = x2 * q[2], yz = y2 * q[2];
  const S wx = x2 * q[3], wy = y2 * q[3], wz = z2 * q[3];
  return {{S(1) - yy - zz, xy - wz, xz + wy}, {xy + wz, S(1) - xx - zz, yz - wx}, {xz - wy, yz + wx, S(1) - xx - yy}};
}

}  // namespace featherweight::FW_ISA
