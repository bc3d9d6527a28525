// collision/vector.hpp -- three numbers, for geometry in plain double.
#pragma once
#include <cmath>

namespace featherweight::geometry {

// Not initialised by itself: buffers of these are large.
struct Vec {
  double x, y, z;
  double operator[](int k) const { return k == 0 ? x : k == 1 ? y : z; }
  double& operator[](int k) { return k == 0 ? x : k == 1 ? y : z; }
};

inline Vec operator+(const Vec& a, const Vec& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec operator-(const Vec& a, const Vec& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec operator-(const Vec& a) { return {-a.x, -a.y, -a.z}; }
inline Vec operator*(double s, const Vec& a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(const Vec& a, const Vec& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec cross(const Vec& a, const Vec& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double norm2(const Vec& a) { return dot(a, a); }
inline double norm(const Vec& a) { return std::sqrt(norm2(a)); }
inline Vec unit(const Vec& a) { return (1 / norm(a)) * a; }
inline Vec load(const double* a) { return {a[0], a[1], a[2]}; }
inline void store(const Vec& a, double* out) { out[0] = a.x, out[1] = a.y, out[2] = a.z; }

// Some direction of length one at right angles to n (of length one).
inline Vec perpendicular(const Vec& n) {
  const Vec a{std::fabs(n.x), std::fabs(n.y), std::fabs(n.z)};
  const Vec axis = a.x <= a.y && a.x <= a.z ? Vec{1, 0, 0} : a.y <= a.z ? Vec{0, 1, 0} : Vec{0, 0, 1};
  return unit(cross(n, axis));
}

// Axes and origin of a shape, in world axes.
struct Frame {
  Vec x, y, z, p;
  Vec rotate(const Vec& a) const { return a.x * x + a.y * y + a.z * z; }
  Vec place(const Vec& a) const { return rotate(a) + p; }
  Vec unrotate(const Vec& a) const { return {dot(x, a), dot(y, a), dot(z, a)}; }
  const Vec& axis(int k) const { return k == 0 ? x : k == 1 ? y : z; }
};

}  // namespace featherweight::geometry
