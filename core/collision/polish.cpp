#include "collision/polish.hpp"

#include <algorithm>
#include <cmath>

namespace featherweight::geometry {
namespace {

struct PolishTuning {
  // Newton's method takes three to five from where GJK and EPA end.
  static constexpr int max_steps = 12;
  // [rad] keeps a step within the reach of the curvature it is based on.
  static constexpr double largest_step = 0.2;
  // [rad] convergence is quadratic: what remains after a step this small is its square, rounding.
  static constexpr double last_step = 1e-8;
  // [1] of the smaller core: by how much a candidate may be worse and still be taken. A normal that was computed is
  // worth more than the guess if s is the same to rounding; one of an edge is exact, and one of a face keeps a body at
  // rest.
  static constexpr double smooth_slack = 1e-15;
  static constexpr double edge_slack = 1e-14;
  static constexpr double face_slack = 1e-10;
  // [1] sine of the angle of two edges below which they are parallel and span no normal.
  static constexpr double parallel = 1e-6;
};

struct Judge {
  const Convex &a, &b;
  Vec n;
  double s;

  // Takes a candidate that is not worse by more than `slack`.
  void consider(const Vec& candidate, double slack) {
    const double value = separation(a, b, candidate);
    if (value >= s - slack) n = candidate, s = value;
  }
};

double bending(const Convex& a, const Convex& b, const Vec& n, const Vec& t, const Vec& u) {
  return -(curvature(a, -n, t, u) + curvature(b, n, t, u));
}

// Newton's method on the whole sphere: the tangential part of w = a - b vanishes at the top.
Vec climb(const Convex& a, const Convex& b, Vec n) {
  for (int step = 0; step < PolishTuning::max_steps; ++step) {
    const Vec w = support(a, -n) - support(b, n);
    const Vec t = perpendicular(n), u = cross(n, t);
    const double s = dot(n, w), gt = dot(t, w), gu = dot(u, w);
    const double tt = bending(a, b, n, t, t) - s, tu = bending(a, b, n, t, u), uu = bending(a, b, n, u, u) - s;
    const double det = tt * uu - tu * tu;
    if (!(det > 0 && tt < 0)) return n;  // not near a top
    const double x = -(uu * gt - tu * gu) / det, y = -(tt * gu - tu * gt) / det;
    const double length = std::hypot(x, y);
    const double scale = length > PolishTuning::largest_step ? PolishTuning::largest_step / length : 1;
    n = unit(n + scale * x * t + scale * y * u);
    if (length < PolishTuning::last_step) break;
  }
  return n;
}

// The same on the circle at right angles to an edge.
Vec climb_around(const Convex& a, const Convex& b, const Vec& edge, Vec n) {
  n = unit(n - dot(n, edge) * edge);
  for (int step = 0; step < PolishTuning::max_steps; ++step) {
    const Vec w = support(a, -n) - support(b, n);
    const Vec t = cross(edge, n);
    const double second = bending(a, b, n, t, t) - dot(n, w);
    if (!(second < 0)) return n;
    const double x = std::clamp(-dot(t, w) / second, -PolishTuning::largest_step, PolishTuning::largest_step);
    n = unit(n + x * t);
    if (std::fabs(x) < PolishTuning::last_step) break;
  }
  return n;
}

}  // namespace

double polish(const Convex& a, const Convex& b, Vec& n) {
  const Vec guess = n;
  const double smaller = std::min(a.extent, b.extent), extent = smaller > 0 ? smaller : std::max(a.extent, b.extent);
  Judge judge{a, b, n, separation(a, b, n)};
  const double edge_slack = PolishTuning::edge_slack * extent;
  Vec edge_a, edge_b;
  const bool has_a = edge_across(a, -guess, edge_a), has_b = edge_across(b, guess, edge_b);
  if (a.curved() || b.curved()) {
    judge.consider(climb(a, b, guess), PolishTuning::smooth_slack * extent);
    if (has_a) judge.consider(climb_around(a, b, edge_a, guess), edge_slack);
    if (has_b) judge.consider(climb_around(a, b, edge_b, guess), edge_slack);
  }
  if (has_a && has_b) {  // straight: where they cross, the normal is known better than by GJK, near touching above all
    const Vec across = cross(edge_a, edge_b);
    const double length = norm(across);
    if (length > PolishTuning::parallel)
      judge.consider((dot(across, guess) < 0 ? -1 / length : 1 / length) * across, edge_slack);
  }
  const double face_slack = PolishTuning::face_slack * extent;
  Vec face;
  if (face_towards(a, -guess, face)) judge.consider(-face, face_slack);
  if (face_towards(b, guess, face)) judge.consider(face, face_slack);
  n = judge.n;
  return judge.s;
}

}  // namespace featherweight::geometry
