// spatial/algebra.hpp -- three-vectors, 3x3 and symmetric 3x3 matrices, small enough to live in registers.
//
// Operands may mix a lane scalar with constants (C = double or float); expressions are written as x + a*b - c*d so
// that they contract to fused multiply-adds. There are no loops: an index that is constant from the start lets the
// compiler keep a matrix in registers, one that becomes constant only by unrolling sends it through memory (2x).
#pragma once
#include "lanes/lanes.hpp"

namespace featherweight::FW_ISA {

template <class A, class B>
using Product = decltype(A() * B());

// Copies are written out element by element: a compiler copies an aggregate as bytes, through memory.
template <class S>
struct Vec3 {
  S e[3];

  Vec3() = default;
  FW_INLINE Vec3(const S& x, const S& y, const S& z) : e{x, y, z} {}
  FW_INLINE Vec3(const Vec3& o) : e{o[0], o[1], o[2]} {}
  FW_INLINE Vec3& operator=(const Vec3& o) {
    e[0] = o[0], e[1] = o[1], e[2] = o[2];
    return *this;
  }
  FW_INLINE S& operator[](int k) { return e[k]; }
  FW_INLINE const S& operator[](int k) const { return e[k]; }
};

// Symmetric, upper triangle by rows: xx xy xz yy yz zz.
constexpr int symmetric_index(int row, int column) {
  return row > column ? symmetric_index(column, row) : row == 0 ? column : row == 1 ? 2 + column : 5;
}
template <class S>
struct Sym3 {
  S e[6];

  Sym3() = default;
  FW_INLINE Sym3(const S& xx, const S& xy, const S& xz, const S& yy, const S& yz, const S& zz)
      : e{xx, xy, xz, yy, yz, zz} {}
  FW_INLINE Sym3(const Sym3& o) : e{o.e[0], o.e[1], o.e[2], o.e[3], o.e[4], o.e[5]} {}
  FW_INLINE Sym3& operator=(const Sym3& o) {
    e[0] = o.e[0], e[1] = o.e[1], e[2] = o.e[2], e[3] = o.e[3], e[4] = o.e[4], e[5] = o.e[5];
    return *this;
  }
  FW_INLINE S& operator()(int r, int c) { return e[symmetric_index(r, c)]; }
  FW_INLINE const S& operator()(int r, int c) const { return e[symmetric_index(r, c)]; }
};

// Three rows.
template <class S>
struct Mat3 {
  Vec3<S> rows[3];

  Mat3() = default;
  FW_INLINE Mat3(const Vec3<S>& x, const Vec3<S>& y, const Vec3<S>& z) : rows{x, y, z} {}
  FW_INLINE Mat3(const Mat3& o) : rows{o.rows[0], o.rows[1], o.rows[2]} {}
  FW_INLINE Mat3& operator=(const Mat3& o) {
    rows[0] = o.rows[0], rows[1] = o.rows[1], rows[2] = o.rows[2];
    return *this;
  }
  FW_INLINE S& operator()(int r, int c) { return rows[r][c]; }
  FW_INLINE const S& operator()(int r, int c) const { return rows[r][c]; }
};

// Constants of the model are plain arrays; these view them as vectors and matrices.
template <class C>
FW_INLINE Vec3<C> vec3(const C (&x)[3]) {
  return {x[0], x[1], x[2]};
}
template <class C>
FW_INLINE Sym3<C> sym3(const C (&x)[6]) {
  return {x[0], x[1], x[2], x[3], x[4], x[5]};
}
template <class C>
FW_INLINE Mat3<C> mat3(const C (&x)[9]) {
  return {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}, {x[6], x[7], x[8]}};
}

template <class S>
FW_INLINE Vec3<S> zero3() {
  return {S(0), S(0), S(0)};
}

template <class A, class B>
FW_INLINE auto operator+(const Vec3<A>& a, const Vec3<B>& b) -> Vec3<Product<A, B>> {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
template <class A, class B>
FW_INLINE auto operator-(const Vec3<A>& a, const Vec3<B>& b) -> Vec3<Product<A, B>> {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
template <class A, class B>
FW_INLINE auto operator*(const Vec3<A>& a, const B& b) -> Vec3<Product<A, B>> {
  return {a[0] * b, a[1] * b, a[2] * b};
}
template <class A, class B>
FW_INLINE Vec3<A>& operator+=(Vec3<A>& a, const Vec3<B>& b) {
  return a = a + b;
}
template <class A, class B>
FW_INLINE Vec3<A>& operator-=(Vec3<A>& a, const Vec3<B>& b) {
  return a = a - b;
}
template <class A, class B>
FW_INLINE auto dot(const Vec3<A>& a, const Vec3<B>& b) -> Product<A, B> {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
template <class A, class B>
FW_INLINE auto cross(const Vec3<A>& a, const Vec3<B>& b) -> Vec3<Product<A, B>> {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
// r += a x b, fused
template <class S, class A, class B>
FW_INLINE void add_cross(Vec3<S>& r, const Vec3<A>& a, const Vec3<B>& b) {
  r[0] = r[0] + a[1] * b[2] - a[2] * b[1];
  r[1] = r[1] + a[2] * b[0] - a[0] * b[2];
  r[2] = r[2] + a[0] * b[1] - a[1] * b[0];
}
// r += a * s, fused
template <class S, class A, class B>
FW_INLINE void add_scaled(Vec3<S>& r, const Vec3<A>& a, const B& s) {
  r[0] = r[0] + a[0] * s;
  r[1] = r[1] + a[1] * s;
  r[2] = r[2] + a[2] * s;
}

template <class A, class B>
FW_INLINE auto operator*(const Mat3<A>& m, const Vec3<B>& x) -> Vec3<Product<A, B>> {
  return {dot(m.rows[0], x), dot(m.rows[1], x), dot(m.rows[2], x)};
}
// m^T x
template <class A, class B>
FW_INLINE auto transposed_times(const Mat3<A>& m, const Vec3<B>& x) -> Vec3<Product<A, B>> {
  return {m(0, 0) * x[0] + m(1, 0) * x[1] + m(2, 0) * x[2], m(0, 1) * x[0] + m(1, 1) * x[1] + m(2, 1) * x[2],
          m(0, 2) * x[0] + m(1, 2) * x[1] + m(2, 2) * x[2]};
}
template <class A, class B>
FW_INLINE auto operator*(const Sym3<A>& m, const Vec3<B>& x) -> Vec3<Product<A, B>> {
  return {m(0, 0) * x[0] + m(0, 1) * x[1] + m(0, 2) * x[2], m(0, 1) * x[0] + m(1, 1) * x[1] + m(1, 2) * x[2],
          m(0, 2) * x[0] + m(1, 2) * x[1] + m(2, 2) * x[2]};
}
// m - a b^T
template <class S>
FW_INLINE Mat3<S> minus_outer(const Mat3<S>& m, const Vec3<S>& a, const Vec3<S>& b) {
  return {m.rows[0] - b * a[0], m.rows[1] - b * a[1], m.rows[2] - b * a[2]};
}
// where a b^T is symmetric
template <class S>
FW_INLINE Sym3<S> minus_outer(const Sym3<S>& m, const Vec3<S>& a, const Vec3<S>& b) {
  return {m(0, 0) - a[0] * b[0], m(0, 1) - a[0] * b[1], m(0, 2) - a[0] * b[2],
          m(1, 1) - a[1] * b[1], m(1, 2) - a[1] * b[2], m(2, 2) - a[2] * b[2]};
}
template <class A, class B>
FW_INLINE auto operator+(const Sym3<A>& a, const Sym3<B>& b) -> Sym3<Product<A, B>> {
  return {a.e[0] + b.e[0], a.e[1] + b.e[1], a.e[2] + b.e[2], a.e[3] + b.e[3], a.e[4] + b.e[4], a.e[5] + b.e[5]};
}
template <class S>
FW_INLINE Mat3<S> operator+(const Mat3<S>& a, const Mat3<S>& b) {
  return {a.rows[0] + b.rows[0], a.rows[1] + b.rows[1], a.rows[2] + b.rows[2]};
}
template <class S>
FW_INLINE Vec3<S> column(const Mat3<S>& m, int c) {
  return {m(0, c), m(1, c), m(2, c)};
}
template <class S>
FW_INLINE Vec3<S> column(const Sym3<S>& m, int c) {
  return {m(0, c), m(1, c), m(2, c)};
}
template <class A, class B>
FW_INLINE auto operator*(const Mat3<A>& a, const Mat3<B>& b) -> Mat3<Product<A, B>> {
  return {transposed_times(b, a.rows[0]), transposed_times(b, a.rows[1]), transposed_times(b, a.rows[2])};
}

}  // namespace featherweight::FW_ISA
