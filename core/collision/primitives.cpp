#include "collision/primitives.hpp"

#include <algorithm>
#include <cmath>

namespace featherweight::geometry {
namespace {

struct PrimitivesTuning {
  // [1] sine of the angle below which capsules touch along a stretch, not at a point.
  static constexpr double side_by_side = 0.05;
  // [1] of the half length of the first capsule: a shorter stretch is a point.
  static constexpr double shortest_stretch = 1e-6;
  // [1] of the radii: the ends of a stretch are as close as any point, to rounding.
  static constexpr double as_close = 1e-10;
  // [1] of the squared lengths: determinant below which segments are parallel, and any pair of points is closest.
  static constexpr double parallel = 1e-14;
  // [1] of the sizes: core points closer than this coincide, and their difference has no direction.
  static constexpr double coincident = 1e-12;
  // [1] sine of the angle above which coincident segments are parted across both.
  static constexpr double crossed = 1e-9;
  // [1] squared sine of the largest turn after which a corner of a box or a hull may be the lowest: 51 degrees, more
  // than any step that can be trusted. None of the ways in which a box lies or stands is near the border.
  static constexpr double steepest_turn = 0.6;
  // [1] sine of the angle: an edge at right angles to a direction to rounding.
  static constexpr double as_far = 1e-9;
};
constexpr int buffer = 64;  // candidates kept before they are reduced

// The point midway between two surfaces that lie `ra` and `rb` outside the core points a and b along n.
Touch between(const Vec& a, double ra, const Vec& b, double rb, const Vec& n, double distance, std::uint32_t feature) {
  return {{0.5 * (a + b) + (0.5 * (rb - ra)) * n, distance - ra - rb, feature}, n};
}

Vec half_axis(const Convex& c) { return c.core == Core::segment ? c.size[1] * axis(c.frame, 2) : Vec{}; }

// Closest points p + s d, q + t e with s, t in [-1, 1]. Source: Ericson 2005, 5.1.9.
void closest_of_segments(const Vec& p, const Vec& d, const Vec& q, const Vec& e, double& s, double& t) {
  const Vec r = p - q;
  const double a = norm2(d), b = dot(d, e), c = dot(d, r), f = dot(e, r), g = norm2(e);
  const double det = a * g - b * b;
  const auto clamp = [](double x) { return std::clamp(x, -1.0, 1.0); };
  s = det > PrimitivesTuning::parallel * a * g ? clamp((b * f - c * g) / det) : 0;
  t = g > 0 ? (b * s + f) / g : 0;
  if (std::fabs(t) > 1) {
    t = clamp(t);
    s = a > 0 ? clamp((b * t - c) / a) : 0;
  } else if (a > 0 && !(det > PrimitivesTuning::parallel * a * g)) {
    s = clamp((b * t - c) / a);
  }
}

// Direction between two core points, and one that parts the cores best where they coincide.
Vec direction(const Convex& a, const Convex& b, const Vec& pa, const Vec& pb, double& distance) {
  const Vec v = pa - pb;
  distance = norm(v);
  if (distance > PrimitivesTuning::coincident * (a.radius + b.radius)) return (1 / distance) * v;
  const Vec across = cross(half_axis(a), half_axis(b));
  const double length = norm(across);
  if (length > PrimitivesTuning::crossed * a.size[1] * b.size[1] && a.core == b.core && a.core == Core::segment)
    return (1 / length) * across;
  const Convex& straight = a.core == Core::segment ? a : b;
  return straight.core == Core::segment ? axis(straight.frame, 0) : axis(b.frame, 2);
}

// Corners that could touch a plane first, if the shape turned by less than `steepest_turn`; the others are above these
// and carry nothing, however thin the shape. `down`: towards the plane, in the axes of the shape.
bool faces(const Vec& corner, const Vec& down) {
  // the direction nearest to down along which the corner is farthest: down without the components that point away
  double turned = 0;
  for (int k = 0; k < 3; ++k)
    if ((corner[k] < 0) == (down[k] > 0)) turned += down[k] * down[k];
  return turned <= PrimitivesTuning::steepest_turn;
}
bool faces(const ConvexHull& hull, int v, const Vec& down) {
  // likewise: down itself, or the normal of a face, or down without its component along an edge
  constexpr double least = 1 - PrimitivesTuning::steepest_turn;
  for (int k = hull.vertex_face_start[v]; k < hull.vertex_face_start[v + 1]; ++k) {
    const double cosine = dot(load(hull.face_normal + 3 * hull.vertex_face[k]), down);
    if (cosine > 0 && cosine * cosine >= least) return true;
  }
  const Vec p = load(hull.vertices + 3 * v);
  const auto is_farthest = [&](const Vec& direction) {
    for (int k = hull.neighbour_start[v]; k < hull.neighbour_start[v + 1]; ++k) {
      const Vec edge = load(hull.vertices + 3 * hull.neighbour[k]) - p;
      if (dot(direction, edge) > PrimitivesTuning::as_far * norm(edge)) return false;
    }
    return true;
  };
  if (is_farthest(down)) return true;
  for (int k = hull.neighbour_start[v]; k < hull.neighbour_start[v + 1]; ++k) {
    const Vec edge = unit(load(hull.vertices + 3 * hull.neighbour[k]) - p);
    const Vec across = down - dot(down, edge) * edge;
    if (norm2(across) >= least && is_farthest(across)) return true;
  }
  return false;
}

}  // namespace

int over_plane(const Convex& a, const Vec& origin, const Vec& n, double margin, Touch* touches) {
  Candidate candidate[buffer];
  int count = 0;
  const auto add = [&](const Vec& p, std::uint32_t feature, double above = 0) {
    const double gap = dot(n, p - origin) - a.radius + above;
    if (!(gap < margin)) return;
    if (count == buffer) count = spread(candidate, count, n);
    candidate[count++] = {p - (a.radius + 0.5 * gap) * n, gap, feature};
  };
  const Vec down = -unrotate(a.frame, n);
  if (a.core == Core::hull) {
    for (int v = 0; v < a.hull->n_vertices; ++v) {
      const Vec p = place(a.frame, load(a.hull->vertices + 3 * v));
      if (dot(n, p - origin) < margin && faces(*a.hull, v, down)) add(p, static_cast<std::uint32_t>(v));
    }
  } else if (a.core == Core::box) {
    for (int v = 0; v < 8; ++v) {
      const Vec corner{v & 1 ? a.size[0] : -a.size[0], v & 2 ? a.size[1] : -a.size[1], v & 4 ? a.size[2] : -a.size[2]};
      if (faces(corner, down)) add(place(a.frame, corner), static_cast<std::uint32_t>(v));
    }
  } else if (a.core == Core::segment) {
    add(a.frame.p + half_axis(a), 0);
    add(a.frame.p - half_axis(a), 1);
  } else {
    Polygon polygon;
    facing_polygon(a, -n, polygon);
    for (int k = 0; k < polygon.n; ++k)
      if (!polygon.is_spare(k)) add(polygon.point[k], polygon.vertex[k], polygon.rim_height);
    for (int k = 0; k < polygon.n_seats; ++k) add(polygon.seat[k], Polygon::first_seat + static_cast<std::uint32_t>(k));
  }
  if (count > max_points) count = spread(candidate, count, n);
  for (int k = 0; k < count; ++k) touches[k] = {candidate[k], n};
  return count;
}

int round_pair(const Convex& a, const Convex& b, double margin, Touch* touches) {
  const Vec d = half_axis(a), e = half_axis(b), p = a.frame.p, q = b.frame.p;
  int count = 0;
  const auto add = [&](const Vec& pa, const Vec& pb, std::uint32_t feature) {
    double distance;
    const Vec n = direction(a, b, pa, pb, distance);
    const Touch touch = between(pa, a.radius, pb, b.radius, n, distance, feature);
    if (touch.at.gap < margin) touches[count++] = touch;
  };
  const double d2 = norm2(d), e2 = norm2(e);
  double s, t;
  closest_of_segments(p, d, q, e, s, t);
  const double shortest = norm(p + s * d - q - t * e);
  bool reached = false;
  if (d2 > 0 && e2 > 0 &&
      norm2(cross(d, e)) <= PrimitivesTuning::side_by_side * PrimitivesTuning::side_by_side * d2 * e2) {
    // nearly parallel: the ends of the stretch where they lie side by side, in units of d along A
    const double middle = dot(q - p, d) / d2, half = std::fabs(dot(e, d)) / d2;
    const double ends[2] = {std::max(-1.0, middle - half), std::min(1.0, middle + half)};
    for (int k = 0; k < 2 && ends[1] - ends[0] > PrimitivesTuning::shortest_stretch; ++k) {
      const Vec pa = p + ends[k] * d, pb = q + std::clamp(dot(pa - q, e) / e2, -1.0, 1.0) * e;
      reached = reached || norm(pa - pb) <= shortest + PrimitivesTuning::as_close * (a.radius + b.radius);
      add(pa, pb, static_cast<std::uint32_t>(k));
    }
  }
  // and where they are closest, if that is elsewhere
  if (!reached) add(p + s * d, q + t * e, 2);
  return count;
}

int sphere_box(const Convex& sphere, const Convex& box, double margin, Touch* touches) {
  const Vec c = unrotate(box.frame, sphere.frame.p - box.frame.p);
  Vec q = c;
  for (int k = 0; k < 3; ++k) q[k] = std::clamp(c[k], -box.size[k], box.size[k]);
  const double distance = norm(c - q);
  if (distance > PrimitivesTuning::coincident * box.extent) {
    touches[0] = between(sphere.frame.p, sphere.radius, place(box.frame, q), 0,
                         rotate(box.frame, (1 / distance) * (c - q)), distance, 0);
  } else {
    int face = 0;
    for (int k = 1; k < 3; ++k)
      if (box.size[k] - std::fabs(c[k]) < box.size[face] - std::fabs(c[face])) face = k;
    const double side = c[face] < 0 ? -1 : 1, depth = box.size[face] - std::fabs(c[face]);
    q[face] = side * box.size[face];
    touches[0] =
        between(sphere.frame.p, sphere.radius, place(box.frame, q), 0, side * axis(box.frame, face), -depth, 0);
  }
  return touches[0].at.gap < margin ? 1 : 0;
}

}  // namespace featherweight::geometry
