#include "collision/manifold.hpp"

#include <algorithm>
#include <cmath>

namespace featherweight::geometry {
namespace {

struct ManifoldTuning {
  // [1] of the longest edge of the smaller polygon, the tolerance: a corner this far outside, or edges this close to
  // parallel, count as touching, so that equal boxes on each other keep their four corners.
  static constexpr double sliver = 1e-7;
  // [1] tolerances: corners closer to each other are one.
  static constexpr double merge = 4;
  // [1] tolerances: a corner this far outside is inside to rounding, and a height this far off is the separation.
  static constexpr double strict = 0.01;
  // [1] of the extent of the points: how much deeper, or farther away, a later point must be to be preferred. Equal
  // ones keep their places, whatever the rounding.
  static constexpr double deeper = 1e-7;
  static constexpr double farther = 1e-6;
  // [1] tilts of a patch, as what they lift its ends by: at least this share of its smaller extent, at which what is
  // flat to rounding is flat;
  static constexpr double level = 1e-4;
  // from this share of the difference of its gaps on, each time so many times larger.
  static constexpr double first_tilt = 1.0 / 512;
  static constexpr double next_tilt = 8;
  // [1] of what a tilt lifts: what a point must add to be worth a place.
  static constexpr double gain = 0.01;
};
constexpr double diagonal = 0.70710678118654752;
// Directions of tilts, the most different first.
constexpr struct Direction {
  double along, aside;
} around[8] = {{1, 0},
               {-1, 0},
               {0, 1},
               {0, -1},
               {diagonal, diagonal},
               {-diagonal, -diagonal},
               {diagonal, -diagonal},
               {-diagonal, diagonal}};
constexpr int max_candidates = 4 * max_polygon;

double square(double x) { return x * x; }

struct Flat {
  double x, y, h;  // across the normal, and along it
};

struct Projected {
  const Polygon& polygon;
  Flat point[max_polygon];
  double length[max_polygon];  // of the edges
  double slope_x = 0, slope_y = 0;
  double orientation = 1;
  double extent = 0;
  double unevenness = 0;  // of corners that should lie in a plane

  Projected(const Polygon& p, const Vec& u, const Vec& v, const Vec& n) : polygon(p) {
    for (int k = 0; k < p.n; ++k) point[k] = {dot(u, p.point[k]), dot(v, p.point[k]), dot(n, p.point[k])};
    for (int k = 0; k < p.n; ++k) {
      const Flat &a = point[k], &b = point[k + 1 == p.n ? 0 : k + 1];
      length[k] = std::sqrt(square(b.x - a.x) + square(b.y - a.y));
      extent = std::max(extent, length[k]);
    }
    if (p.n < 3) return;
    const double c = dot(p.normal, n);
    slope_x = -dot(p.normal, u) / c, slope_y = -dot(p.normal, v) / c;
    orientation = c < 0 ? -1 : 1;
    for (int k = 1; k < p.n; ++k)
      unevenness = std::max(unevenness, std::fabs(height(point[k].x, point[k].y) - point[k].h));
  }

  double height(double x, double y) const {
    const Flat& o = point[0];
    if (polygon.n == 1) return o.h;
    if (polygon.n >= 3) return o.h + slope_x * (x - o.x) + slope_y * (y - o.y);
    const Flat& e = point[1];
    const double t = ((x - o.x) * (e.x - o.x) + (y - o.y) * (e.y - o.y)) / (length[0] * length[0]);
    return o.h + t * (e.h - o.h);
  }

  // Distance of a point to the left of an edge, positive inside.
  double inward(int k, const Flat& q) const {
    const Flat &o = point[k], &e = point[k + 1 == polygon.n ? 0 : k + 1];
    return orientation * ((e.x - o.x) * (q.y - o.y) - (e.y - o.y) * (q.x - o.x)) / length[k];
  }

  // How far a point is outside, measured across edges, from its distances to the edges.
  double outside(const Flat& q, const double* distance) const {
    const Flat& o = point[0];
    if (polygon.n == 1) return std::sqrt(square(q.x - o.x) + square(q.y - o.y));
    if (polygon.n == 2) {
      const double along = ((q.x - o.x) * (point[1].x - o.x) + (q.y - o.y) * (point[1].y - o.y)) / length[0];
      return std::max({std::fabs(distance[0]), -along, along - length[0]});
    }
    double least = distance[0];
    for (int k = 1; k < polygon.n; ++k) least = std::min(least, distance[k]);
    return -least;
  }
  int n_edges() const { return polygon.n == 2 ? 1 : polygon.n == 1 ? 0 : polygon.n; }
};

}  // namespace

int spread(Candidate* c, int n_candidates, const Vec& n) {
  // A later one must be better by more than the slack, so that equal ones keep their places.
  const auto pick = [&](int place, double slack, const auto& value) {
    int best = place;
    for (int k = place + 1; k < n_candidates; ++k)
      if (value(c[k].position, c[k].gap) > value(c[best].position, c[best].gap) + slack) best = k;
    std::swap(c[place], c[best]);
    return value(c[place].position, c[place].gap);
  };
  double extent = 0, highest = c[0].gap;
  for (int k = 1; k < n_candidates; ++k) {
    extent = std::max(extent, norm(c[k].position - c[0].position));
    highest = std::max(highest, c[k].gap);
  }
  pick(0, ManifoldTuning::deeper * extent, [](const Vec&, double gap) { return -gap; });
  // Axes across n: towards the farthest, and at right angles. Lengths along each are measured by how far the patch
  // reaches, so that what is found does not depend on how long and narrow it is.
  const Vec origin = c[0].position;
  const auto across = [&](const Vec& p) { return p - origin - dot(n, p - origin) * n; };
  const double far = pick(1, ManifoldTuning::farther * extent, [&](const Vec& p, double) { return norm(across(p)); });
  if (!(far > ManifoldTuning::farther * extent)) return 1;
  const Vec u = (1 / far) * across(c[1].position), v = cross(n, u);
  const auto half_range = [&](const Vec& axis) {
    double low = 0, high = 0;
    for (int k = 1; k < n_candidates; ++k) {
      const double x = dot(axis, c[k].position - origin);
      low = std::min(low, x), high = std::max(high, x);
    }
    return 0.5 * (high - low);
  };
  const double length = half_range(u), width = std::max(half_range(v), ManifoldTuning::farther * length);
  // Whatever turns the shapes against each other tilts the gaps. Those that come first for any tilt are found, small
  // tilts first: no other can touch before them.
  const double least = ManifoldTuning::level * std::min(length, width), most = std::max(highest - c[0].gap, least);
  const int wanted = std::min(n_candidates, max_points);
  int kept = 1;
  for (double tilt = std::max(least, most * ManifoldTuning::first_tilt);; tilt *= ManifoldTuning::next_tilt) {
    for (const Direction& d : around) {
      if (kept == wanted) return kept;
      const Vec slope = (tilt * d.along / length) * u + (tilt * d.aside / width) * v;
      const auto height = [&](const Vec& p, double gap) { return -gap - dot(slope, p - origin); };
      double first = -INFINITY;
      for (int j = 0; j < kept; ++j) first = std::max(first, height(c[j].position, c[j].gap));
      if (pick(kept, ManifoldTuning::farther * tilt, height) > first + ManifoldTuning::gain * tilt) ++kept;
    }
    if (!(tilt < most)) return kept;
  }
}

int manifold(const Convex& a, const Convex& b, const Vec& n, double s, const Vec& pa, const Vec& pb, double margin,
             Candidate* points, bool* attained) {
  Polygon polygon_a, polygon_b;
  facing_polygon(a, -n, polygon_a);
  facing_polygon(b, n, polygon_b);
  const Vec u = perpendicular(n), v = cross(n, u);
  const Projected A(polygon_a, u, v, n), B(polygon_b, u, v, n);
  const double smaller = std::min(A.extent, B.extent);
  const double tolerance = ManifoldTuning::sliver * (smaller > 0 ? smaller : std::max(A.extent, B.extent));
  const double strict = ManifoldTuning::strict * tolerance;

  struct Corner {
    double x, y, ha, hb;
    std::uint32_t feature;
    bool inside, spare;
    double above;  // of the rim of a cap that sits inside
  };
  Corner corner[max_candidates];
  int count = 0;
  const auto add = [&](double x, double y, double ha, double hb, std::uint32_t feature, bool inside, bool spare = false,
                       double above = 0) {
    if (count == max_candidates) return;
    for (int k = 0; k < count; ++k)
      if (square(corner[k].x - x) + square(corner[k].y - y) <= square(ManifoldTuning::merge * tolerance)) return;
    corner[count++] = {x, y, ha, hb, feature, inside, spare, above};
  };
  // distances of the corners of each from the edges of the other
  double b_in_a[max_polygon][max_polygon], a_in_b[max_polygon][max_polygon];
  for (int i = 0; i < A.n_edges(); ++i)
    for (int j = 0; j < polygon_b.n; ++j) b_in_a[j][i] = A.inward(i, B.point[j]);
  for (int j = 0; j < B.n_edges(); ++j)
    for (int i = 0; i < polygon_a.n; ++i) a_in_b[i][j] = B.inward(j, A.point[i]);
  const bool two_points = polygon_a.n == 1 && polygon_b.n == 1;
  // a rim that lies on the other shape all around needs only every other corner
  const auto lies_on = [&](const Projected& p, const Projected& other, const auto& distance) {
    for (int k = 0; k < p.polygon.n; ++k)
      if (other.outside(p.point[k], distance[k]) > tolerance) return false;
    return p.polygon.is_round;
  };
  const bool a_is_whole = lies_on(A, B, a_in_b), b_is_whole = lies_on(B, A, b_in_a);
  for (int i = 0; i < polygon_a.n && !two_points; ++i) {
    const Flat& p = A.point[i];
    const double outside = B.outside(p, a_in_b[i]);
    if (outside <= tolerance)
      add(p.x, p.y, p.h, B.height(p.x, p.y), vertex_of_a | polygon_a.vertex[i], outside <= strict,
          a_is_whole && polygon_a.is_spare(i), a_is_whole ? polygon_a.rim_height : 0);
  }
  for (int k = 0; k < polygon_a.n_seats && a_is_whole; ++k) {
    const double x = dot(u, polygon_a.seat[k]), y = dot(v, polygon_a.seat[k]);
    add(x, y, A.height(x, y), B.height(x, y), vertex_of_a | (Polygon::first_seat + k), true);
  }
  for (int j = 0; j < polygon_b.n && !two_points; ++j) {
    const Flat& p = B.point[j];
    const double outside = A.outside(p, b_in_a[j]);
    if (outside <= tolerance)
      add(p.x, p.y, A.height(p.x, p.y), p.h, vertex_of_b | polygon_b.vertex[j], outside <= strict,
          b_is_whole && polygon_b.is_spare(j), b_is_whole ? polygon_b.rim_height : 0);
  }
  for (int k = 0; k < polygon_b.n_seats && b_is_whole && !a_is_whole; ++k) {
    const double x = dot(u, polygon_b.seat[k]), y = dot(v, polygon_b.seat[k]);
    add(x, y, A.height(x, y), B.height(x, y), vertex_of_b | (Polygon::first_seat + k), true);
  }
  for (int i = 0; i < A.n_edges(); ++i) {
    const int i_next = i + 1 == polygon_a.n ? 0 : i + 1;
    for (int j = 0; j < B.n_edges(); ++j) {
      // the ends of each on different sides of the other; ends on it are corners already
      const int j_next = j + 1 == polygon_b.n ? 0 : j + 1;
      const double from_a = a_in_b[i][j], to_a = a_in_b[i_next][j], from_b = b_in_a[j][i], to_b = b_in_a[j_next][i];
      if (from_a * to_a >= 0 || from_b * to_b >= 0) continue;
      if (std::max(std::fabs(from_a), std::fabs(to_a)) <= tolerance) continue;  // side by side, to rounding
      if (std::max(std::fabs(from_b), std::fabs(to_b)) <= tolerance) continue;
      const double t = from_a / (from_a - to_a), r = from_b / (from_b - to_b);
      const Flat &p = A.point[i], &q = A.point[i_next], &v = B.point[j], &w = B.point[j_next];
      add(p.x + t * (q.x - p.x), p.y + t * (q.y - p.y), p.h + t * (q.h - p.h), v.h + r * (w.h - v.h),
          crossing | polygon_a.edge[i] << 15 | polygon_b.edge[j], true);
    }
  }

  // the surfaces lie a radius outside the cores
  Candidate candidate[max_candidates];
  const double radii = a.radius + b.radius, shift = 0.5 * (b.radius - a.radius);
  const double limit = s + strict + A.unevenness + B.unevenness;
  int kept = 0;
  bool reached = false, exactly = false;
  for (int k = 0; k < count; ++k) {
    const Corner& c = corner[k];
    const double gap = std::max(c.ha - c.hb, s);  // nothing is closer than s; a corner in a sliver may seem to be
    reached = reached || gap <= limit;
    exactly = exactly || (c.inside && gap <= limit);
    if (gap - radii + c.above < margin && !c.spare)
      candidate[kept++] = {c.x * u + c.y * v + (0.5 * (c.ha + c.hb) + shift) * n, gap - radii + c.above, c.feature};
  }
  if (attained) *attained = exactly;
  if (kept > max_points) kept = spread(candidate, kept, n);
  if (!reached && s - radii < margin) {
    if (kept == max_points) --kept;
    // supports that face each other are the points, to rounding; so is the support of a corner or of a smooth surface
    const Vec sa = support(a, -n), sb = support(b, n);
    const bool facing = norm(sa - sb - s * n) <= tolerance;
    Vec middle = (facing ? 0.5 * (sa + sb) : 0.5 * (pa + pb)) + shift * n;
    if (polygon_a.n == 1)
      middle = polygon_a.point[0] + (shift - 0.5 * s) * n;
    else if (polygon_b.n == 1)
      middle = polygon_b.point[0] + (shift + 0.5 * s) * n;
    candidate[kept++] = {middle, s - radii, witness};
  }
  std::copy(candidate, candidate + kept, points);
  return kept;
}

}  // namespace featherweight::geometry
