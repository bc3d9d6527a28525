// spatial/coriolis.hpp -- crosses of spatial vectors, and the matrix by which velocities enter the force on a body.
//
// A body of inertia I that moves with V takes the force I A + V x* (I V). The part of second degree is B(V) V with
//   2 B x = V x* (I x) - I (V x x) + x x* (I V),
// and the derivative along a motion x is 2 B x. In terms of the material points r of mass m,
//   B = [ 0  -[P] ]    P = sum m rdot,          the momentum
//       [ 0   -N  ]    N = sum m [r] [rdot]
// so that it has 12 numbers, which add up over bodies and move between frames as simply as those of an inertia.
// Source of B: S. Echeandia, P. Wensing, "Numerical methods to compute the Coriolis matrix and Christoffel symbols for
// rigid-body systems", 2021.
#pragma once
#include "spatial/spatial.hpp"

namespace featherweight::FW_ISA {

// v x m
template <class S>
FW_INLINE Motion<S> motion_cross(const Motion<S>& v, const Motion<S>& m) {
  Motion<S> r{cross(v.ang, m.lin), cross(v.ang, m.ang)};
  add_cross(r.lin, v.lin, m.ang);
  return r;
}
// v x* f
template <class S>
FW_INLINE Force<S> force_cross(const Motion<S>& v, const Force<S>& f) {
  Force<S> r{cross(v.ang, f.lin), cross(v.ang, f.ang)};
  add_cross(r.ang, v.lin, f.lin);
  return r;
}

template <class S>
struct CoriolisMatrix {
  Vec3<S> P;
  Mat3<S> N;
};

template <class S>
FW_INLINE void operator+=(CoriolisMatrix<S>& a, const CoriolisMatrix<S>& b) {
  a.P += b.P;
  a.N = a.N + b.N;
}

// sum m r r^T of a body, about its origin
template <class A>
FW_INLINE Sym3<A> second_moments(const RigidInertia<A>& b) {
  const A half = (b.I(0, 0) + b.I(1, 1) + b.I(2, 2)) * A(0.5);
  return {half - b.I(0, 0), -b.I(0, 1), -b.I(0, 2), half - b.I(1, 1), -b.I(1, 2), half - b.I(2, 2)};
}

template <class S, class A>
FW_INLINE CoriolisMatrix<S> coriolis_matrix(const RigidInertia<A>& b, const Motion<S>& v) {
  const Sym3<A> E = second_moments(b);
  const S hv = dot(b.h, v.lin);
  CoriolisMatrix<S> c{v.lin * b.m, {}};
  add_cross(c.P, v.ang, b.h);
  // N = v h^T - (h . v) 1 + [w] E
  const auto row = [&](int r) FW_LAMBDA_INLINE {
    const int i = (r + 1) % 3, j = (r + 2) % 3;
    Vec3<S> x{v.lin[r] * b.h[0] + v.ang[i] * E(j, 0) - v.ang[j] * E(i, 0),
              v.lin[r] * b.h[1] + v.ang[i] * E(j, 1) - v.ang[j] * E(i, 1),
              v.lin[r] * b.h[2] + v.ang[i] * E(j, 2) - v.ang[j] * E(i, 2)};
    x[r] = x[r] - hv;
    return x;
  };
  c.N = {row(0), row(1), row(2)};
  return c;
}

// I a + v x* (I v), with the Coriolis matrix of v at hand.
template <class S, class A>
FW_INLINE Force<S> body_force(const RigidInertia<A>& b, const CoriolisMatrix<S>& B, const Motion<S>& v,
                              const Motion<S>& a) {
  Force<S> f = b * a;
  add_cross(f.lin, v.ang, B.P);
  f.ang -= B.N * v.ang;
  return f;
}

// f += 2 B x
template <class S>
FW_INLINE void add_coriolis(Force<S>& f, const CoriolisMatrix<S>& B, const Motion<S>& x) {
  const Vec3<S> w = x.ang + x.ang;
  add_cross(f.lin, w, B.P);
  f.ang -= B.N * w;
}
// 2 B^T x, a moment: its linear part is zero
template <class S>
FW_INLINE Vec3<S> transposed_coriolis(const CoriolisMatrix<S>& B, const Motion<S>& x) {
  const Vec3<S> y = cross(B.P, x.lin) - transposed_times(B.N, x.ang);
  return y + y;
}

// [r + p] [rdot] = [r] [rdot] + rdot p^T - (p . rdot) 1
template <class S, class P>
FW_INLINE CoriolisMatrix<S> shift_to_parent(const CoriolisMatrix<S>& B, const Vec3<P>& p) {
  const S pP = dot(p, B.P);
  const auto row = [&](int r) FW_LAMBDA_INLINE {
    Vec3<S> x = B.N.rows[r];
    add_scaled(x, p, B.P[r]);
    x[r] = x[r] - pP;
    return x;
  };
  return {B.P, {row(0), row(1), row(2)}};
}
template <class R, class S>
FW_INLINE CoriolisMatrix<S> to_parent(const R& rotation, const CoriolisMatrix<S>& B) {
  return {rotation.to_parent(B.P), rotation.to_parent(B.N)};
}

}  // namespace featherweight::FW_ISA
