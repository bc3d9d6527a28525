// spatial/spatial.hpp -- spatial vectors [linear; angular] and inertias.
#pragma once
#include "spatial/rotation.hpp"

namespace featherweight::FW_ISA {

// Velocity or acceleration of a link: linear at its origin, angular, both in its axes.
template <class S>
struct Motion {
  Vec3<S> lin, ang;
};
// Force and moment about the origin.
template <class S>
struct Force {
  Vec3<S> lin, ang;
};

template <class S>
FW_INLINE Motion<S> zero_motion() {
  return {zero3<S>(), zero3<S>()};
}
template <class S>
FW_INLINE Force<S> zero_force() {
  return {zero3<S>(), zero3<S>()};
}
template <class S>
FW_INLINE void operator+=(Force<S>& a, const Force<S>& b) {
  a.lin += b.lin;
  a.ang += b.ang;
}
template <class S>
FW_INLINE void operator-=(Force<S>& a, const Force<S>& b) {
  a.lin -= b.lin;
  a.ang -= b.ang;
}
template <class S>
FW_INLINE void operator+=(Motion<S>& a, const Motion<S>& b) {
  a.lin += b.lin;
  a.ang += b.ang;
}

// Pose of a child in its parent: x_parent = R x_child + p.
template <class S>
struct Pose {
  Mat3<S> R;
  Vec3<S> p;
};

// Rigid-body inertia about the link origin: mass m, first moment h = m c, rotational inertia I (10 numbers).
//   [ m 1   -[h] ]
//   [ [h]    I   ]
template <class S>
struct RigidInertia {
  S m;
  Vec3<S> h;
  Sym3<S> I;
};

// Inertia of an articulated body, symmetric 6x6 as three blocks (21 numbers).
//   [ A    B ]
//   [ B^T  C ]
template <class S>
struct ArticulatedInertia {
  Sym3<S> A;
  Mat3<S> B;
  Sym3<S> C;
};

template <class S>
FW_INLINE ArticulatedInertia<S> zero_inertia() {
  const S o(0);
  return {{o, o, o, o, o, o}, {{o, o, o}, {o, o, o}, {o, o, o}}, {o, o, o, o, o, o}};
}

template <class S>
FW_INLINE void operator+=(ArticulatedInertia<S>& a, const ArticulatedInertia<S>& b) {
  a.A = a.A + b.A;
  a.B = a.B + b.B;
  a.C = a.C + b.C;
}

// The blocks of the inertia of a single body: m 1, -[h], I.
template <class S, class C>
FW_INLINE Sym3<S> mass_block(const RigidInertia<C>& b) {
  return {S(b.m), S(0), S(0), S(b.m), S(0), S(b.m)};
}
template <class S, class C>
FW_INLINE Mat3<S> coupling_block(const RigidInertia<C>& b) {
  return {{S(0), S(b.h[2]), S(-b.h[1])}, {S(-b.h[2]), S(0), S(b.h[0])}, {S(b.h[1]), S(-b.h[0]), S(0)}};
}
template <class S, class C>
FW_INLINE Sym3<S> rotational_block(const RigidInertia<C>& b) {
  return {S(b.I(0, 0)), S(b.I(0, 1)), S(b.I(0, 2)), S(b.I(1, 1)), S(b.I(1, 2)), S(b.I(2, 2))};
}

template <class S, class C>
FW_INLINE Sym3<S> plus_mass(const Sym3<S>& A, const C& m) {
  return {A(0, 0) + m, A(0, 1), A(0, 2), A(1, 1) + m, A(1, 2), A(2, 2) + m};
}
template <class S, class C>
FW_INLINE Mat3<S> minus_skew(const Mat3<S>& B, const Vec3<C>& h) {
  return {{B(0, 0), B(0, 1) + h[2], B(0, 2) - h[1]},
          {B(1, 0) - h[2], B(1, 1), B(1, 2) + h[0]},
          {B(2, 0) + h[1], B(2, 1) - h[0], B(2, 2)}};
}
template <class S, class C>
FW_INLINE void operator+=(ArticulatedInertia<S>& a, const RigidInertia<C>& b) {
  a.A = plus_mass(a.A, b.m);
  a.B = minus_skew(a.B, b.h);
  a.C = a.C + b.I;
}

template <class S, class A>
FW_INLINE Force<S> operator*(const RigidInertia<A>& b, const Motion<S>& v) {
  Force<S> f{v.lin * b.m, b.I * v.ang};
  add_cross(f.lin, v.ang, b.h);
  add_cross(f.ang, b.h, v.lin);
  return f;
}

template <class S>
FW_INLINE Force<S> operator*(const ArticulatedInertia<S>& I, const Motion<S>& v) {
  return {I.A * v.lin + I.B * v.ang, transposed_times(I.B, v.lin) + I.C * v.ang};
}

// f += v x* (I v), the bias force of a body: with y = w x v it is m y + w x (w x h) and h x y + w x (I w).
template <class S, class C>
FW_INLINE void add_velocity_bias(Force<S>& f, const RigidInertia<C>& b, const Motion<S>& v) {
  const Vec3<S> y = cross(v.ang, v.lin);
  add_scaled(f.lin, y, b.m);
  add_cross(f.ang, b.h, y);
  add_cross(f.lin, v.ang, cross(v.ang, b.h));
  add_cross(f.ang, v.ang, b.I * v.ang);
}

// Moving the reference point: a child's origin lies at p in its parent, axes parallel.
template <class S, class P>
FW_INLINE Motion<S> shift_to_child(const Motion<S>& v, const Vec3<P>& p) {
  Motion<S> r = v;
  add_cross(r.lin, v.ang, p);
  return r;
}
template <class S, class P>
FW_INLINE Force<S> shift_to_parent(const Force<S>& f, const Vec3<P>& p) {
  Force<S> r = f;
  add_cross(r.ang, p, f.lin);
  return r;
}
template <class S, class P>
FW_INLINE RigidInertia<S> shift_to_parent(const RigidInertia<S>& b, const Vec3<P>& p) {
  // I' = I - [h][p] - [p][h'] with h' = h + m p
  RigidInertia<S> r = b;
  add_scaled(r.h, p, b.m);
  const S diagonal = dot(p, b.h) + dot(p, r.h);
  const auto moved = [&](int i, int j) FW_LAMBDA_INLINE { return b.I(i, j) - p[i] * b.h[j] - r.h[i] * p[j]; };
  r.I = {moved(0, 0) + diagonal, moved(0, 1), moved(0, 2), moved(1, 1) + diagonal, moved(1, 2), moved(2, 2) + diagonal};
  return r;
}
// B' = B - A [p],  C' = C + [p] B' + ([p] B)^T. Column `zero` of B and of C is known to be zero, if not negative.
template <int zero = -1, class S, class P>
FW_INLINE Mat3<S> shift_coupling(const Sym3<S>& A, const Mat3<S>& B, const Vec3<P>& p) {
  const auto from = [&](int r, int c) FW_LAMBDA_INLINE { return c == zero ? S(0) : B(r, c); };
  const auto moved = [&](int r) FW_LAMBDA_INLINE {
    return Vec3<S>{from(r, 0) - A(r, 1) * p[2] + A(r, 2) * p[1], from(r, 1) - A(r, 2) * p[0] + A(r, 0) * p[2],
                   from(r, 2) - A(r, 0) * p[1] + A(r, 1) * p[0]};
  };
  return {moved(0), moved(1), moved(2)};
}
template <int zero = -1, class S, class P>
FW_INLINE Sym3<S> shift_rotational(const Sym3<S>& C, const Mat3<S>& B, const Mat3<S>& B_shifted, const Vec3<P>& p) {
  // rows a, columns b, in the order in which a zero column does not contribute
  const auto moved = [&](int a, int b) FW_LAMBDA_INLINE {
    const int a1 = (a + 1) % 3, a2 = (a + 2) % 3, b1 = (b + 1) % 3, b2 = (b + 2) % 3;
    const S start = a == zero || b == zero ? S(0) : C(a, b);
    const S x = start + p[a1] * B_shifted(a2, b) - p[a2] * B_shifted(a1, b);
    return a == zero ? x : x + p[b1] * B(b2, a) - p[b2] * B(b1, a);
  };
  return {moved(0, 0), moved(0, 1), moved(0, 2), moved(1, 1), moved(1, 2), moved(2, 2)};
}
template <class S, class P>
FW_INLINE ArticulatedInertia<S> shift_to_parent(const ArticulatedInertia<S>& I, const Vec3<P>& p) {
  const Mat3<S> B = shift_coupling(I.A, I.B, p);
  return {I.A, B, shift_rotational(I.C, I.B, B, p)};
}

// Changes of axes, by an AxisRotation or a Rotation.
template <class R, class S>
FW_INLINE Motion<S> to_child(const R& rotation, const Motion<S>& v) {
  return {rotation.to_child(v.lin), rotation.to_child(v.ang)};
}
template <class R, class S>
FW_INLINE Motion<S> to_parent(const R& rotation, const Motion<S>& v) {
  return {rotation.to_parent(v.lin), rotation.to_parent(v.ang)};
}
template <class R, class S>
FW_INLINE Force<S> to_parent(const R& rotation, const Force<S>& f) {
  return {rotation.to_parent(f.lin), rotation.to_parent(f.ang)};
}
template <class R, class S>
FW_INLINE RigidInertia<S> to_parent(const R& rotation, const RigidInertia<S>& b) {
  return {b.m, rotation.to_parent(b.h), rotation.to_parent(b.I)};
}
template <class R, class S>
FW_INLINE ArticulatedInertia<S> to_parent(const R& rotation, const ArticulatedInertia<S>& I) {
  return {rotation.to_parent(I.A), rotation.to_parent(I.B), rotation.to_parent(I.C)};
}

}  // namespace featherweight::FW_ISA
