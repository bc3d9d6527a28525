// collision/vector.hpp -- vectors and frames of geometry: those of spatial/ in plain double, and what only geometry
// asks of them. For code that is built once (host): kernels have their own (docs/adr/0003).
#pragma once
#include <cmath>

#include "spatial/spatial.hpp"

namespace featherweight::geometry {

using Vec = host::Vec3<double>;
// Axes and origin of a shape, in world axes.
using Frame = host::Pose<double>;

inline Vec operator-(const Vec& a) { return {-a[0], -a[1], -a[2]}; }
inline Vec operator*(double s, const Vec& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline double norm2(const Vec& a) { return dot(a, a); }
inline double norm(const Vec& a) { return std::sqrt(norm2(a)); }
inline Vec unit(const Vec& a) { return (1 / norm(a)) * a; }
inline Vec load(const double* a) { return {a[0], a[1], a[2]}; }
inline void store(const Vec& a, double* out) { out[0] = a[0], out[1] = a[1], out[2] = a[2]; }

// Some direction of length one at right angles to n (of length one).
inline Vec perpendicular(const Vec& n) {
  const Vec a{std::fabs(n[0]), std::fabs(n[1]), std::fabs(n[2])};
  const Vec axis = a[0] <= a[1] && a[0] <= a[2] ? Vec{1, 0, 0} : a[1] <= a[2] ? Vec{0, 1, 0} : Vec{0, 0, 1};
  return unit(cross(n, axis));
}

inline Vec rotate(const Frame& X, const Vec& a) { return X.R * a; }
inline Vec unrotate(const Frame& X, const Vec& a) { return transposed_times(X.R, a); }
inline Vec place(const Frame& X, const Vec& a) { return X.R * a + X.p; }
inline Vec axis(const Frame& X, int k) { return column(X.R, k); }

}  // namespace featherweight::geometry
