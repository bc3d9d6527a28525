#include "collision/polish.hpp"

#include <algorithm>
#include <cmath>

namespace featherweight::geometry {
namespace {

constexpr int max_steps = 12;
constexpr double largest_step = 0.2;
constexpr double last_step = 1e-8;  // convergence is quadratic: what remains is the square of it

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
  for (int step = 0; step < max_steps; ++step) {
    const Vec w = support(a, -n) - support(b, n);
    const Vec t = perpendicular(n), u = cross(n, t);
    const double s = dot(n, w), gt = dot(t, w), gu = dot(u, w);
    const double tt = bending(a, b, n, t, t) - s, tu = bending(a, b, n, t, u), uu = bending(a, b, n, u, u) - s;
    const double det = tt * uu - tu * tu;
    if (!(det > 0 && tt < 0)) return n;  // not near a top
    const double x = -(uu * gt - tu * gu) / det, y = -(tt * gu - tu * gt) / det;
    const double length = std::hypot(x, y);
    const double scale = length > largest_step ? largest_step / length : 1;
    n = unit(n + scale * x * t + scale * y * u);
    if (length < last_step) break;
  }
  return n;
}

// The same on the circle at right angles to an edge.
Vec climb_around(const Convex& a, const Convex& b, const Vec& edge, Vec n) {
  n = unit(n - dot(n, edge) * edge);
  for (int step = 0; step < max_steps; ++step) {
    const Vec w = support(a, -n) - support(b, n);
    const Vec t = cross(edge, n);
    const double second = bending(a, b, n, t, t) - dot(n, w);
    if (!(second < 0)) return n;
    const double x = std::clamp(-dot(t, w) / second, -largest_step, largest_step);
    n = unit(n + x * t);
    if (std::fabs(x) < last_step) break;
  }
  return n;
}

}  // namespace

double polish(const Convex& a, const Convex& b, Vec& n) {
  const Vec guess = n;
  const double smaller = std::min(a.extent, b.extent), extent = smaller > 0 ? smaller : std::max(a.extent, b.extent);
  Judge judge{a, b, n, separation(a, b, n)};
  if (a.curved() || b.curved()) {
    judge.consider(climb(a, b, guess), 1e-15 * extent);
    Vec edge_a, edge_b;
    const bool has_a = edge_near(a, -guess, edge_a), has_b = edge_near(b, guess, edge_b);
    if (has_a) judge.consider(climb_around(a, b, edge_a, guess), 1e-14 * extent);
    if (has_b) judge.consider(climb_around(a, b, edge_b, guess), 1e-14 * extent);
    if (has_a && has_b) {
      const Vec across = cross(edge_a, edge_b);
      const double length = norm(across);
      if (length > 1e-6) judge.consider((dot(across, guess) < 0 ? -1 / length : 1 / length) * across, 1e-14 * extent);
    }
  }
  Vec face;
  if (face_near(a, -guess, face)) judge.consider(-face, 1e-10 * extent);
  if (face_near(b, guess, face)) judge.consider(face, 1e-10 * extent);
  n = judge.n;
  return judge.s;
}

}  // namespace featherweight::geometry
