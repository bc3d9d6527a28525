#include "collision/convex.hpp"

#include <algorithm>
#include <cmath>

namespace featherweight::geometry {
namespace {

struct ConvexTuning {
  // [1] cosine: a face more inclined than this is seen edge on.
  static constexpr double steepest_face = 0.3;
  // [1] cosine: a cylinder more inclined than this shows its side, not a cap.
  static constexpr double steepest_cap = 0.5;
  // [1] sine: beyond it only the nearer end of a segment faces along n. The rounding of the other is by half its square
  // inside the side of a capsule. tests/collision/test_facing.py.
  static constexpr double tilted_segment = 0.1;
  // [rad] directions closer than this are the same to rounding: the first one wins. tests/collision/test_facing.py.
  static constexpr double equal = 1e-9;
  // [1] sine of the tilt below which a cap needs no lowest point of its own.
  static constexpr double level_cap = 1e-7;
  // [1] sine of the tilt beyond which a cap only touches with its rim, [1] of the radius, by how much that begins above
  // the rest, and where the friction of an evenly loaded disc acts. tests/physics/test_contact_cases.py.
  static constexpr double seated_cap = 1e-2, rim_height = 1e-8, disc_arm = 2.0 / 3;
};

int hull_support(const ConvexHull& hull, const Vec& d) {
  // climb along edges from the extreme vertex of the nearest axis
  const Vec a{std::fabs(d[0]), std::fabs(d[1]), std::fabs(d[2])};
  const int axis = a[0] >= a[1] && a[0] >= a[2] ? 0 : a[1] >= a[2] ? 1 : 2;
  int v = hull.extreme[2 * axis + (d[axis] < 0)];
  double height = dot(load(hull.vertices + 3 * v), d);
  for (bool climbing = true; climbing;) {
    climbing = false;
    int next = v;
    for (int k = hull.neighbour_start[v]; k < hull.neighbour_start[v + 1]; ++k) {
      const double h = dot(load(hull.vertices + 3 * hull.neighbour[k]), d);
      if (h > height) height = h, next = hull.neighbour[k], climbing = true;
    }
    v = next;
  }
  return v;
}

// The face at a vertex that looks most along n; at the end of an edge across n one of the faces of that edge, so that
// it is the same from both ends.
int hull_face(const ConvexHull& hull, int vertex, const Vec& n) {
  const int *first = hull.vertex_face + hull.vertex_face_start[vertex],
            *last = hull.vertex_face + hull.vertex_face_start[vertex + 1];
  int best = -1;
  double nearest = 3;  // by the chord of the angle, which tells faces apart where their cosines are the same
  const auto consider = [&](int face) {
    const double chord = norm(load(hull.face_normal + 3 * face) - n);
    if (chord < nearest - ConvexTuning::equal) nearest = chord, best = face;
  };
  const Vec p = load(hull.vertices + 3 * vertex);
  for (int k = hull.neighbour_start[vertex]; k < hull.neighbour_start[vertex + 1]; ++k) {
    const int w = hull.neighbour[k];
    const Vec e = load(hull.vertices + 3 * w) - p;
    if (std::fabs(dot(e, n)) > ConvexTuning::equal * norm(e)) continue;
    // faces of both ends: two lists in rising order
    const int *f = first, *g = hull.vertex_face + hull.vertex_face_start[w],
              *last_g = hull.vertex_face + hull.vertex_face_start[w + 1];
    while (f != last && g != last_g) {
      if (*f == *g) consider(*f);
      *f < *g ? ++f : ++g;
    }
  }
  if (best < 0)
    for (const int* f = first; f != last; ++f) consider(*f);
  return best;
}

// Number of the largest component, the first of equal ones.
int largest(const Vec& a) {
  int k = 0;
  for (int j = 1; j < 3; ++j)
    if (std::fabs(a[j]) > std::fabs(a[k]) + ConvexTuning::equal) k = j;
  return k;
}

Vec hull_vertex(const Convex& c, int v) { return place(c.frame, load(c.hull->vertices + 3 * v)); }

// The edge at a vertex that is most at right angles to n (local).
int hull_edge(const ConvexHull& hull, int vertex, const Vec& n) {
  int best = -1;
  double sine = 2;
  const Vec p = load(hull.vertices + 3 * vertex);
  for (int k = hull.neighbour_start[vertex]; k < hull.neighbour_start[vertex + 1]; ++k) {
    const Vec e = load(hull.vertices + 3 * hull.neighbour[k]) - p;
    const double s = std::fabs(dot(e, n)) / norm(e);
    if (s < sine) sine = s, best = hull.neighbour[k];
  }
  return best;
}

int prism_support(const Convex& c, const Vec& d) {
  int best = 0;
  double height = dot(c.corner[0], d);
  for (int k = 1; k < 6; ++k) {
    const double h = dot(c.corner[k], d);
    if (h > height) height = h, best = k;
  }
  return best;
}

void point_polygon(const Vec& p, std::uint32_t vertex, Polygon& polygon) {
  polygon.n = 1;
  polygon.point[0] = p;
  polygon.vertex[0] = polygon.edge[0] = vertex;
}

void segment_polygon(const Vec& p, std::uint32_t vp, const Vec& q, std::uint32_t vq, Polygon& polygon) {
  polygon.n = 2;
  polygon.point[0] = p, polygon.point[1] = q;
  polygon.vertex[0] = vp, polygon.vertex[1] = vq;
  polygon.edge[0] = polygon.edge[1] = std::min(vp, vq);
}

void cylinder_polygon(const Convex& c, const Vec& n, Polygon& polygon) {
  const Vec l = unrotate(c.frame, n);
  const double side = std::hypot(l[0], l[1]), r = c.size[0], h = l[2] < 0 ? -c.size[1] : c.size[1];
  if (std::fabs(l[2]) < ConvexTuning::steepest_cap) {
    const double x = r * l[0] / side, y = r * l[1] / side;
    segment_polygon(place(c.frame, {x, y, c.size[1]}), 2 * cap_corners + 2, place(c.frame, {x, y, -c.size[1]}),
                    2 * cap_corners + 3, polygon);
    return;
  }
  // a cap: corners at fixed angles, and when it is tilted the point of the rim that is farthest along n
  const bool top = l[2] > 0;
  const std::uint32_t first = top ? 0 : cap_corners + 1;
  const bool tilted = side > ConvexTuning::level_cap;
  const double angle = tilted ? std::atan2(l[1], l[0]) : 0;
  const double turn = 2 * M_PI / cap_corners;
  polygon.n = 0;
  polygon.is_round = true;
  polygon.normal = top ? axis(c.frame, 2) : -axis(c.frame, 2);
  const auto add = [&](double x, double y, std::uint32_t id) {
    polygon.point[polygon.n] = place(c.frame, {x, y, h});
    polygon.vertex[polygon.n] = polygon.edge[polygon.n] = first + id;
    ++polygon.n;
  };
  static const double s = std::sqrt(0.5);
  static const double cosine[cap_corners] = {1, s, 0, -s, -1, -s, 0, s};
  for (int k = 0; k < cap_corners; ++k) {
    add(r * cosine[k], r * cosine[(k + cap_corners - 2) % cap_corners], static_cast<std::uint32_t>(k));
    double ahead = angle - turn * k;
    if (ahead < 0) ahead += 2 * M_PI;
    if (tilted && ahead > 0 && ahead < turn) add(r * l[0] / side, r * l[1] / side, cap_corners);
  }
  if (side < ConvexTuning::seated_cap) {
    static const double across = std::sqrt(0.75);
    const double arm = ConvexTuning::disc_arm * r;
    polygon.n_seats = cap_seats;
    polygon.seat[0] = place(c.frame, {arm, 0, h});
    polygon.seat[1] = place(c.frame, {-0.5 * arm, across * arm, h});
    polygon.seat[2] = place(c.frame, {-0.5 * arm, -across * arm, h});
    polygon.rim_height = ConvexTuning::rim_height * r;
  }
  if (!top) {  // in reverse, from the same corner
    std::reverse(polygon.point + 1, polygon.point + polygon.n);
    std::reverse(polygon.vertex + 1, polygon.vertex + polygon.n);
    std::reverse(polygon.edge + 1, polygon.edge + polygon.n);
  }
}

void box_polygon(const Convex& c, const Vec& n, Polygon& polygon) {
  const Vec l = unrotate(c.frame, n);
  const int k = largest(l);
  const int i = (k + 1) % 3, j = (k + 2) % 3;
  const bool positive = l[k] > 0;
  const Vec normal = positive ? axis(c.frame, k) : -axis(c.frame, k);
  const Vec middle = c.frame.p + c.size[k] * normal;
  const Vec u = c.size[i] * axis(c.frame, i), v = c.size[j] * axis(c.frame, j);
  polygon.n = 4;
  polygon.normal = normal;
  for (int corner = 0; corner < 4; ++corner) {
    const int turned = positive ? corner : 3 - corner;  // (+ +) (- +) (- -) (+ -)
    const bool plus_u = turned == 0 || turned == 3, plus_v = turned < 2;
    polygon.point[corner] = middle + (plus_u ? 1.0 : -1.0) * u + (plus_v ? 1.0 : -1.0) * v;
    polygon.vertex[corner] =
        static_cast<std::uint32_t>((positive ? 1 << k : 0) | (plus_u ? 1 << i : 0) | (plus_v ? 1 << j : 0));
    polygon.edge[corner] = static_cast<std::uint32_t>((2 * k + positive) * 4 + corner);
  }
}

void hull_polygon(const Convex& c, const Vec& n, Polygon& polygon) {
  const ConvexHull& hull = *c.hull;
  const Vec l = unrotate(c.frame, n);
  const int v = hull_support(hull, l);
  const int face = hull_face(hull, v, l);
  const Vec normal = load(hull.face_normal + 3 * face);
  if (dot(normal, l) >= ConvexTuning::steepest_face) {
    const int start = hull.face_start[face];
    polygon.n = hull.face_start[face + 1] - start;
    polygon.normal = rotate(c.frame, normal);
    for (int k = 0; k < polygon.n; ++k) {
      polygon.point[k] = hull_vertex(c, hull.face_vertex[start + k]);
      polygon.vertex[k] = static_cast<std::uint32_t>(hull.face_vertex[start + k]);
      polygon.edge[k] = static_cast<std::uint32_t>(start + k);
    }
    return;
  }
  const int w = hull_edge(hull, v, l);
  segment_polygon(hull_vertex(c, v), static_cast<std::uint32_t>(v), hull_vertex(c, w), static_cast<std::uint32_t>(w),
                  polygon);
}

void prism_polygon(const Convex& c, const Vec& n, Polygon& polygon) {
  if (dot(c.normal, n) >= ConvexTuning::steepest_face) {
    polygon.n = 3;
    polygon.normal = c.normal;
    for (int k = 0; k < 3; ++k) {
      polygon.point[k] = c.corner[k];
      polygon.vertex[k] = polygon.edge[k] = static_cast<std::uint32_t>(k);
    }
    return;
  }
  // a wall: the upper edge that is farthest along n
  int k = 0;
  for (int j = 1; j < 3; ++j)
    if (dot(c.corner[j] + c.corner[(j + 1) % 3], n) > dot(c.corner[k] + c.corner[(k + 1) % 3], n)) k = j;
  const int next = (k + 1) % 3;
  segment_polygon(c.corner[k], static_cast<std::uint32_t>(k), c.corner[next], static_cast<std::uint32_t>(next),
                  polygon);
}

}  // namespace

Convex make_convex(const Shape& shape, const Frame& frame) {
  Convex c{};
  c.frame = frame;
  c.size = load(shape.size);
  c.hull = shape.hull;
  c.extent = shape.radius;
  switch (shape.kind) {
    case ShapeKind::sphere: c.core = Core::point, c.radius = c.size[0], c.extent = 0; break;
    case ShapeKind::capsule: c.core = Core::segment, c.radius = c.size[0], c.extent = c.size[1]; break;
    case ShapeKind::cylinder: c.core = Core::cylinder; break;
    case ShapeKind::ellipsoid: c.core = Core::ellipsoid; break;
    case ShapeKind::box: c.core = Core::box; break;
    default: c.core = Core::hull;
  }
  return c;
}

Vec support(const Convex& c, const Vec& d) {
  if (c.core == Core::prism) return c.corner[prism_support(c, d)];
  if (c.core == Core::point) return c.frame.p;
  const Vec l = unrotate(c.frame, d);
  switch (c.core) {
    case Core::segment: return c.frame.p + (l[2] < 0 ? -c.size[1] : c.size[1]) * axis(c.frame, 2);
    case Core::box:
      return place(c.frame,
                   {std::copysign(c.size[0], l[0]), std::copysign(c.size[1], l[1]), std::copysign(c.size[2], l[2])});
    case Core::cylinder: {
      const double side = std::sqrt(l[0] * l[0] + l[1] * l[1]);
      const double scale = side > 0 ? c.size[0] / side : 0;
      return place(c.frame, {scale * l[0], scale * l[1], std::copysign(c.size[1], l[2])});
    }
    case Core::ellipsoid: {
      const Vec y{c.size[0] * l[0], c.size[1] * l[1], c.size[2] * l[2]};
      const double length = norm(y);
      if (!(length > 0)) return c.frame.p;
      return place(c.frame, {c.size[0] * y[0] / length, c.size[1] * y[1] / length, c.size[2] * y[2] / length});
    }
    default: return hull_vertex(c, hull_support(*c.hull, l));
  }
}

Vec center(const Convex& c) {
  if (c.core == Core::prism) {
    Vec sum = c.corner[0];
    for (int k = 1; k < 6; ++k) sum = sum + c.corner[k];
    return (1.0 / 6) * sum;
  }
  if (c.core == Core::hull) return place(c.frame, 0.5 * (load(c.hull->lower) + load(c.hull->upper)));
  return c.frame.p;
}

double curvature(const Convex& c, const Vec& n, const Vec& t, const Vec& u) {
  if (!c.curved()) return 0;
  Vec y = unrotate(c.frame, n), a = unrotate(c.frame, t), b = unrotate(c.frame, u);
  if (c.core == Core::cylinder) {
    y[2] = a[2] = b[2] = 0;
  } else {
    for (Vec* v : {&y, &a, &b}) (*v)[0] *= c.size[0], (*v)[1] *= c.size[1], (*v)[2] *= c.size[2];
  }
  const double length = norm(y);
  if (!(length > 0)) return 0;
  const double value = dot(a, b) / length - dot(a, y) * dot(b, y) / (length * length * length);
  return c.core == Core::cylinder ? c.size[0] * value : value;
}

bool face_towards(const Convex& c, const Vec& n, Vec& face) {
  switch (c.core) {
    case Core::prism: face = c.normal; return true;
    case Core::box:
    case Core::cylinder: {
      const Vec l = unrotate(c.frame, n);
      const int k = c.core == Core::cylinder ? 2 : largest(l);
      face = l[k] < 0 ? -axis(c.frame, k) : axis(c.frame, k);
      return true;
    }
    case Core::hull: {
      const Vec l = unrotate(c.frame, n);
      face = rotate(c.frame, load(c.hull->face_normal + 3 * hull_face(*c.hull, hull_support(*c.hull, l), l)));
      return true;
    }
    default: return false;
  }
}

bool edge_across(const Convex& c, const Vec& n, Vec& edge) {
  const Vec l = unrotate(c.frame, n);
  switch (c.core) {
    case Core::segment:
    case Core::cylinder: edge = axis(c.frame, 2); return true;
    case Core::box: {
      const Vec a{std::fabs(l[0]), std::fabs(l[1]), std::fabs(l[2])};
      edge = axis(c.frame, a[0] <= a[1] && a[0] <= a[2] ? 0 : a[1] <= a[2] ? 1 : 2);
      return true;
    }
    case Core::hull: {
      const int v = hull_support(*c.hull, l), w = hull_edge(*c.hull, v, l);
      edge = unit(rotate(c.frame, load(c.hull->vertices + 3 * w) - load(c.hull->vertices + 3 * v)));
      return true;
    }
    case Core::prism: {
      double best = 2;
      for (int k = 0; k < 3; ++k) {
        const Vec e = unit(c.corner[(k + 1) % 3] - c.corner[k]);
        const double s = std::fabs(dot(e, n));
        if (s < best) best = s, edge = e;
      }
      return true;
    }
    default: return false;
  }
}

void facing_polygon(const Convex& c, const Vec& n, Polygon& polygon) {
  switch (c.core) {
    case Core::point: return point_polygon(c.frame.p, 0, polygon);
    case Core::ellipsoid: return point_polygon(support(c, n), 0, polygon);
    case Core::segment: {
      const double along = dot(axis(c.frame, 2), n);
      const Vec half = c.size[1] * axis(c.frame, 2);
      if (std::fabs(along) > ConvexTuning::tilted_segment)
        return point_polygon(along > 0 ? c.frame.p + half : c.frame.p - half, along > 0 ? 0 : 1, polygon);
      return segment_polygon(c.frame.p + half, 0, c.frame.p - half, 1, polygon);
    }
    case Core::cylinder: return cylinder_polygon(c, n, polygon);
    case Core::box: return box_polygon(c, n, polygon);
    case Core::hull: return hull_polygon(c, n, polygon);
    case Core::prism: return prism_polygon(c, n, polygon);
  }
}

double separation(const Convex& a, const Convex& b, const Vec& n) { return dot(n, support(a, -n) - support(b, n)); }

}  // namespace featherweight::geometry
