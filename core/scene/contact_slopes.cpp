// A point of contact is where two features of the cores face each other along the normal n, s apart:
//   x_a - x_b = s n,   x_a on a corner, an edge, a face or a curved part of a, x_b likewise.
// The normal belongs to a face or to two edges that cross; or else it is the direction between the features, and edges
// are at right angles to it. With the features kept, this is a small linear system for the rates of n, s and of what
// points slide by along edges and faces, for each of the six twists of a as seen from b. Which features made a point is
// read off where it is: numbers of features are made for matching, and are hashed on height fields.
// Oracle: finite differences of collide.
#include "scene/contact_slopes.hpp"

#include <algorithm>
#include <cmath>

#include "collision/collide.hpp"
#include "collision/convex.hpp"
#include "scene/contacts.hpp"

namespace featherweight {

using namespace geometry;

namespace {

struct SlopesTuning {
  // [1] normals and edges that differ by less are the same, or at right angles.
  static constexpr double same = 1e-7;
  // [1] of the size of the pair: points that are closer to each other are one.
  static constexpr double close = 1e-7;
  // [1] sine of the angle below which edges do not cross.
  static constexpr double parallel = 1e-6;
  // [1] pivots below this share of the largest: the system says nothing.
  static constexpr double singular = 1e-12;
};

using Six = double[6];

// A part of the surface of a core.
struct Feature {
  Vec point{};
  int n_lines = 0;
  Vec line[2] = {};        // along which it extends: one of an edge, two of a face
  bool is_curved = false;  // the point turns with the normal
};
Feature corner_at(const Vec& p) { return {p, 0, {}, false}; }
Feature edge_at(const Vec& p, const Vec& d) { return {p, 1, {d, {}}, false}; }
Feature face_at(const Vec& p, const Vec& normal) {
  const Vec u = perpendicular(normal);
  return {p, 2, {u, cross(normal, u)}, false};
}

// A core or a plane, as it faces the other.
struct Side {
  Convex core{};
  Polygon polygon{};
  bool is_plane = false;
  Vec towards{};  // the other

  bool has_face() const { return is_plane || polygon.n >= 3; }
  Vec face_normal() const { return polygon.normal; }
  Feature face() const { return face_at(polygon.point[0], polygon.normal); }
  // Of a cylinder, those that are not fixed to it.
  bool slides(int k) const {
    if (core.core == Core::ellipsoid) return true;
    if (core.core != Core::cylinder) return false;
    const std::uint32_t id = polygon.vertex[k];
    return id % (cap_corners + 1) == cap_corners || id >= 2 * (cap_corners + 1);
  }
  Feature corner(int k) const {
    Feature f = corner_at(polygon.point[k]);
    f.is_curved = slides(k);
    return f;
  }
  int n_edges() const { return is_plane || polygon.n < 2 ? 0 : polygon.n == 2 ? 1 : polygon.n; }
  Feature edge(int k) const {
    const int next = k + 1 == polygon.n ? 0 : k + 1;
    Feature f = edge_at(polygon.point[k], polygon.point[next] - polygon.point[k]);
    f.is_curved = slides(k) && slides(next);
    return f;
  }
  // Second derivative of the support function, applied to x.
  Vec curved(const Feature& f, const Vec& x) const {
    if (!f.is_curved) return {};
    Vec y{};
    for (int k = 0; k < 3; ++k) {
      Vec e{};
      e[k] = 1;
      y[k] = curvature(core, towards, e, x);
    }
    return y;
  }
};

// Rates of one point: of the normal n, the separation s, and the points on both cores.
struct Rates {
  Vec n[6], a[6], b[6];
  double s[6];
  Vec at;  // the point on the core of a
};

// Rows of up to six unknowns, and six right-hand sides. False if they depend on each other.
bool eliminate(int n, double (&A)[6][6], double (&b)[6][6]) {
  double largest = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) largest = std::max(largest, std::fabs(A[i][j]));
  for (int k = 0; k < n; ++k) {
    int best = k;
    for (int i = k + 1; i < n; ++i)
      if (std::fabs(A[i][k]) > std::fabs(A[best][k])) best = i;
    if (!(std::fabs(A[best][k]) > SlopesTuning::singular * largest)) return false;
    std::swap(A[k], A[best]), std::swap(b[k], b[best]);
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      const double f = A[i][k] / A[k][k];
      for (int j = k; j < n; ++j) A[i][j] -= f * A[k][j];
      for (int c = 0; c < 6; ++c) b[i][c] -= f * b[k][c];
    }
  }
  for (int k = 0; k < n; ++k)
    for (int c = 0; c < 6; ++c) b[k][c] /= A[k][k];
  return true;
}

Vec unit_axis(int k) {
  Vec e{};
  e[k] = 1;
  return e;
}
// What twist c does to a point of a, or to a direction.
Vec moved(int c, const Vec& x) { return c < 3 ? unit_axis(c) : cross(unit_axis(c - 3), x); }
Vec turned(int c, const Vec& d) { return c < 3 ? Vec{} : cross(unit_axis(c - 3), d); }

class PairSlopes {
 public:
  PairSlopes(const Side& a, const Side& b, const Vec& n, double size, bool b_is_first)
      : a_(a), b_(b), n_(n), size_(size), b_is_first_(b_is_first) {}

  // Of the point that is at x across the normal, with cores s apart. Returns how far what was found is from there.
  double find(const Vec& x, double s, Rates& rates) {
    Vec normal_rates[6];
    double off = INFINITY;
    if (find_owner(normal_rates)) off = match(x, s, normal_rates, rates);
    if (off <= SlopesTuning::close * size_) return off;
    if (crossing_edges(normal_rates)) {
      Rates other;
      const double also = match(x, s, normal_rates, other);
      if (also < off) off = also, rates = other;
      if (off <= SlopesTuning::close * size_) return off;
    }
    Feature fa, fb;
    if (!feature_at(a_, x, fa) || !feature_at(b_, x, fb)) return off;
    Rates other;
    if (!solve(fa, fb, s, nullptr, other)) return off;
    rates = other;
    return 0;
  }

 private:
  const Side &a_, &b_;
  Vec n_;
  double size_;
  bool b_is_first_;  // whose face wins where both would do

  bool owned_by_a() const { return a_.has_face() && norm(a_.face_normal() + n_) < SlopesTuning::same; }
  bool owned_by_b() const { return b_.has_face() && norm(b_.face_normal() - n_) < SlopesTuning::same; }
  bool find_owner(Vec* rates) const {
    const bool by_b = owned_by_b(), by_a = !(by_b && b_is_first_) && owned_by_a();
    for (int c = 0; c < 6; ++c) rates[c] = by_a ? turned(c, n_) : Vec{};
    return by_a || by_b;
  }
  // Edges of both at right angles to the normal.
  bool crossing_edges(Vec* rates) const {
    for (int i = 0; i < a_.n_edges(); ++i) {
      const Vec d = a_.edge(i).line[0];
      if (std::fabs(dot(d, n_)) > SlopesTuning::same * norm(d)) continue;
      for (int j = 0; j < b_.n_edges(); ++j) {
        const Vec e = b_.edge(j).line[0], across = cross(d, e);
        if (std::fabs(dot(e, n_)) > SlopesTuning::same * norm(e)) continue;
        if (norm(across) < SlopesTuning::parallel * norm(d) * norm(e)) continue;
        // n . d = n . e = 0: the rate is along across x d, as far as that turns with d
        for (int c = 0; c < 6; ++c) {
          const Vec aside = cross(n_, e);
          rates[c] = (-dot(n_, turned(c, d)) / dot(aside, d)) * aside;
        }
        return true;
      }
    }
    return false;
  }

  Vec across(const Vec& x) const { return x - dot(x, n_) * n_; }
  // How far the point of two features, seen along the normal, is from x and s.
  bool place(const Feature& fa, const Feature& fb, Vec& xa, double& s) const {
    // xa = pa + sum la, with pb + sum lb = xa - s n
    double A[6][6] = {}, r[6][6] = {};
    int k = 0;
    const auto add = [&](const Vec& column) {
      for (int i = 0; i < 3; ++i) A[i][k] = column[i];
      ++k;
    };
    for (int i = 0; i < fa.n_lines; ++i) add(fa.line[i]);
    for (int i = 0; i < fb.n_lines; ++i) add(-fb.line[i]);
    add(-n_);
    if (k != 3) return false;
    const Vec d = fb.point - fa.point;
    for (int i = 0; i < 3; ++i) r[i][0] = d[i];
    if (!eliminate(3, A, r)) return false;
    xa = fa.point;
    for (int i = 0; i < fa.n_lines; ++i) xa = xa + r[i][0] * fa.line[i];
    s = r[2][0];
    return true;
  }
  // With the rates of the normal known: corners over faces, edges that cross.
  double match(const Vec& x, double s, const Vec* normal_rates, Rates& rates) const {
    double best = INFINITY;
    Feature best_a, best_b;
    const auto consider = [&](const Feature& fa, const Feature& fb) {
      Vec xa;
      double apart;
      if (!place(fa, fb, xa, apart)) return;
      const double off = norm(across(xa - x)) + std::fabs(apart - s);
      if (off < best - SlopesTuning::same * SlopesTuning::close * size_) best = off, best_a = fa, best_b = fb;
    };
    // over an edge or a corner: as over a face at right angles to the normal
    const auto ground = [&](const Side& side) {
      return side.has_face() ? side.face() : face_at(side.polygon.point[0], n_);
    };
    const Feature face_a = ground(a_), face_b = ground(b_);
    for (int i = 0; i < a_.polygon.n && !a_.is_plane; ++i) consider(a_.corner(i), face_b);
    for (int j = 0; j < b_.polygon.n && !b_.is_plane; ++j) consider(face_a, b_.corner(j));
    for (int i = 0; i < a_.polygon.n_seats; ++i) consider(corner_at(a_.polygon.seat[i]), face_b);
    for (int j = 0; j < b_.polygon.n_seats; ++j) consider(face_a, corner_at(b_.polygon.seat[j]));
    for (int i = 0; i < a_.n_edges(); ++i)
      for (int j = 0; j < b_.n_edges(); ++j) consider(a_.edge(i), b_.edge(j));
    if (a_.core.core == Core::hull || a_.core.core == Core::box) consider_all(face_b, consider);
    if (!(best < INFINITY) || !solve(best_a, best_b, s, normal_rates, rates)) return INFINITY;
    return best;
  }
  // Planes are touched by corners that face them, not only by those of one face.
  template <class Consider>
  void consider_all(const Feature& plane, const Consider& consider) const {
    if (!b_.is_plane) return;
    const Convex& c = a_.core;
    for (int v = 0; c.core == Core::box && v < 8; ++v)
      consider(corner_at(geometry::place(c.frame, {v & 1 ? c.size[0] : -c.size[0], v & 2 ? c.size[1] : -c.size[1],
                                                   v & 4 ? c.size[2] : -c.size[2]})),
               plane);
    for (int v = 0; c.core == Core::hull && v < c.hull->n_vertices; ++v)
      consider(corner_at(geometry::place(c.frame, load(c.hull->vertices + 3 * v))), plane);
  }
  // The feature of a core at x, seen along the normal.
  bool feature_at(const Side& side, const Vec& x, Feature& f) const {
    const Convex& c = side.core;
    const double close = SlopesTuning::close * size_;
    if (side.is_plane) return false;
    if (c.core == Core::point) return f = corner_at(c.frame.p), true;
    if (c.core == Core::ellipsoid) return f = corner_at(support(c, side.towards)), f.is_curved = true, true;
    if (c.core == Core::cylinder) {
      f = corner_at(support(c, side.towards));
      f.is_curved = true;
      const Vec axis = geometry::axis(c.frame, 2);
      if (std::fabs(dot(axis, n_)) < SlopesTuning::same) {
        const double along = dot(axis, x - c.frame.p);
        f.point = f.point + (along - dot(axis, f.point - c.frame.p)) * axis;
        f.n_lines = 1, f.line[0] = axis;
      }
      return true;
    }
    if (c.core == Core::segment) {  // beyond the ends, or along the axis
      const Vec d = c.size[1] * geometry::axis(c.frame, 2);
      const double flat = norm2(across(d));
      const double t = flat > close * close                              ? dot(across(d), across(x - c.frame.p)) / flat
                       : (dot(d, n_) > 0) == (dot(side.towards, n_) > 0) ? 1
                                                                         : -1;
      if (std::fabs(t) >= 1 - SlopesTuning::close) return f = corner_at(c.frame.p + (t < 0 ? -1.0 : 1.0) * d), true;
      return f = edge_at(c.frame.p + t * d, d), true;
    }
    double best = INFINITY;
    for (int k = 0; k < side.polygon.n; ++k) {
      const double off = norm(across(side.polygon.point[k] - x));
      if (off <= close) return f = corner_at(side.polygon.point[k]), true;
    }
    for (int k = 0; k < side.n_edges(); ++k) {
      const Feature e = side.edge(k);
      const Vec d = across(e.line[0]), r = across(x - e.point);
      const double length2 = norm2(d);
      if (!(length2 > close * close)) continue;
      const double t = dot(r, d) / length2, off = norm(r - t * d);
      if (off < best) best = off, f = edge_at(e.point + t * e.line[0], e.line[0]);
    }
    return best <= std::sqrt(SlopesTuning::close) * size_;
  }

  // normal_rates: null if edges are at right angles to the normal, and nothing else is known of it.
  bool solve(const Feature& fa, const Feature& fb, double s, const Vec* normal_rates, Rates& rates) const {
    Vec xa = fa.point;
    double placed = s;
    if (normal_rates && !place(fa, fb, xa, placed)) return false;
    const Vec u = perpendicular(n_), v = cross(n_, u);
    double A[6][6] = {}, r[6][6] = {};
    int k = 0;
    const auto add = [&](const Vec& column) {
      for (int i = 0; i < 3; ++i) A[i][k] = column[i];
      return k++;
    };
    const auto by_normal = [&](const Vec& dn) {  // of x_a - x_b - s n
      return -a_.curved(fa, dn) - b_.curved(fb, dn) - s * dn;
    };
    const int first_n = normal_rates ? -1 : add(by_normal(u));
    if (!normal_rates) add(by_normal(v));
    const int at_s = add(-n_), first_a = k;
    for (int i = 0; i < fa.n_lines; ++i) add(fa.line[i]);
    const int first_b = k;
    for (int i = 0; i < fb.n_lines; ++i) add(-fb.line[i]);
    int rows = 3;
    if (!normal_rates) {
      for (int i = 0; i < fa.n_lines; ++i, ++rows) {
        A[rows][0] = dot(fa.line[i], u), A[rows][1] = dot(fa.line[i], v);
        for (int c = 0; c < 6; ++c) r[rows][c] = -dot(n_, turned(c, fa.line[i]));
      }
      for (int i = 0; i < fb.n_lines; ++i, ++rows) A[rows][0] = dot(fb.line[i], u), A[rows][1] = dot(fb.line[i], v);
    }
    if (rows != k) return false;
    // a curved point turns with its core as well
    const auto rigid = [&](int c) { return moved(c, xa) + a_.curved(fa, turned(c, n_)); };
    for (int c = 0; c < 6; ++c) {
      Vec right = -rigid(c);
      if (normal_rates) right = right - by_normal(normal_rates[c]);
      for (int i = 0; i < 3; ++i) r[i][c] = right[i];
    }
    if (!eliminate(k, A, r)) return false;
    rates.at = xa;
    for (int c = 0; c < 6; ++c) {
      rates.n[c] = normal_rates ? normal_rates[c] : r[first_n][c] * u + r[first_n + 1][c] * v;
      rates.s[c] = r[at_s][c];
      rates.a[c] = rigid(c) - a_.curved(fa, rates.n[c]);
      rates.b[c] = b_.curved(fb, rates.n[c]);
      for (int i = 0; i < fa.n_lines; ++i) rates.a[c] = rates.a[c] + r[first_a + i][c] * fa.line[i];
      for (int i = 0; i < fb.n_lines; ++i) rates.b[c] = rates.b[c] + r[first_b + i][c] * fb.line[i];
    }
    return true;
  }
};

// Where no features are found: midway between points of both, and the normal belongs to b.
void guess(const Vec& x, const Vec& n, Rates& rates) {
  for (int c = 0; c < 6; ++c) {
    rates.n[c] = rates.b[c] = {};
    rates.a[c] = moved(c, x);
    rates.s[c] = dot(n, rates.a[c]);
    rates.a[c] = 0.5 * rates.a[c];
  }
  rates.at = x;
}

Side make_side(const Shape& shape, const Frame& frame, const Vec& towards) {
  Side side;
  side.towards = towards;
  side.is_plane = shape.kind == ShapeKind::plane;
  if (side.is_plane) {
    side.polygon.n = 3;
    side.polygon.normal = axis(frame, 2);
    side.polygon.point[0] = frame.p;
  } else {
    side.core = make_convex(shape, frame);
    facing_polygon(side.core, towards, side.polygon);
  }
  return side;
}

// Triangles of a height field around a point, one after the other.
template <class F>
void for_tiles(const HeightField& field, const Frame& frame, const Vec& x, const F& f) {
  const Vec local = unrotate(frame, x - frame.p);
  const double step_x = 2 * field.size_x / (field.columns - 1), step_y = 2 * field.size_y / (field.rows - 1);
  const auto cell = [](double at, double size, double step, int n) {
    return static_cast<int>(std::clamp(std::floor((at + size) / step), 0.0, n - 2.0));
  };
  const int column = cell(local[0], field.size_x, step_x, field.columns),
            row = cell(local[1], field.size_y, step_y, field.rows);
  const auto node = [&](int r, int c) {
    return place(frame, {-field.size_x + step_x * c, -field.size_y + step_y * r, field.heights[r * field.columns + c]});
  };
  for (int r = std::max(row - 1, 0); r <= std::min(row + 1, field.rows - 2); ++r)
    for (int c = std::max(column - 1, 0); c <= std::min(column + 1, field.columns - 2); ++c)
      for (int half = 0; half < 2; ++half) {
        const Vec corners[3] = {node(r, c), half ? node(r + 1, c + 1) : node(r, c + 1),
                                half ? node(r + 1, c) : node(r + 1, c + 1)};
        f(corners);
      }
}

// Points of one pair, in coordinates about `origin`.
class Pair {
 public:
  Pair(const Shape& a, const Placement<double>& X_a, const Shape& b, const Placement<double>& X_b, const Vec& origin)
      : a_(a),
        b_(b),
        frame_a_{host::mat3(X_a.R), load(X_a.p) - origin},
        frame_b_{host::mat3(X_b.R), load(X_b.p) - origin},
        radii_{radius(a), radius(b)},
        size_(std::min(a.radius, b.radius)) {}

  // Rates of the point midway, in rates.a and at rates.at, of n and of the gap.
  void find(const Vec& x, const Vec& n, double gap, Rates& rates) const {
    const double s = gap + radii_[0] + radii_[1];
    const bool b_is_first = a_.kind > b_.kind;
    const Side side_a = make_side(a_, frame_a_, -n);
    double best = INFINITY;
    if (b_.kind == ShapeKind::height_field) {
      for_tiles(*b_.field, frame_b_, x, [&](const Vec* corners) {
        Side tile;
        tile.towards = n;
        tile.core.core = Core::prism;
        tile.polygon.n = 3;
        for (int k = 0; k < 3; ++k) tile.polygon.point[k] = corners[k];
        tile.polygon.normal = unit(cross(corners[1] - corners[0], corners[2] - corners[0]));
        if (!is_under(tile.polygon, x, n)) return;
        Rates own;
        const double off = PairSlopes(side_a, tile, n, size_, true).find(x, s, own);
        if (off < best) best = off, rates = own;
      });
    } else {
      best = PairSlopes(side_a, make_side(b_, frame_b_, n), n, size_, b_is_first).find(x, s, rates);
    }
    if (!(best <= std::sqrt(SlopesTuning::close) * size_)) return guess(x, n, rates);
    // from points of cores to the one midway between the surfaces
    const double shift = 0.5 * (radii_[1] - radii_[0]);
    rates.at = rates.at + (shift - 0.5 * s) * n;
    for (int c = 0; c < 6; ++c) rates.a[c] = 0.5 * (rates.a[c] + rates.b[c]) + shift * rates.n[c];
  }

 private:
  const Shape &a_, &b_;
  Frame frame_a_, frame_b_;
  double radii_[2];
  double size_;

  static double radius(const Shape& s) {
    return s.kind == ShapeKind::sphere || s.kind == ShapeKind::capsule ? s.size[0] : 0;
  }
  // Whether x is in the triangle, or on its rim, seen along n.
  bool is_under(const Polygon& p, const Vec& x, const Vec& n) const {
    const double slack = SlopesTuning::close * size_;
    for (int k = 0; k < 3; ++k) {
      const Vec e = p.point[(k + 1) % 3] - p.point[k], inward = cross(n, e);
      if (dot(inward, x - p.point[k]) < -slack * norm(inward)) return false;
    }
    return true;
  }
};

// Rates of the plane in which the points of a patch were put (level in scene/contacts.cpp).
class Levelled {
 public:
  Levelled(const Scene& scene, int n, const Contact* points, const Vec& origin)
      : n_(n), points_(points), origin_(origin) {
    const PlacedShape &a = scene.shapes[points[0].a], &b = scene.shapes[points[0].b];
    const PlacedShape &moving = a.link >= 0 ? a : b, &other = a.link >= 0 ? b : a;
    const bool on_plane = other.shape.kind == ShapeKind::plane;
    is_touching_ = moving.is_alone;
    if (other.link < 0 && (is_touching_ || on_plane)) outward_ = a.link >= 0 ? 1 : -1;
    for (int k = 0; k < n; ++k)
      for (patch_[k] = 0; patch_[k] < k && !(patch_[patch_[k]] == patch_[k] && is_of(k, patch_[k]));) ++patch_[k];
  }
  void add(int k, const Rates& rates) { rates_[k] = rates; }
  // Of point k, along each twist.
  Vec rate(int k, int c) const {
    const Vec n = normal(k);
    const double down = height_rate(k, c) - plane_rate(patch_[k], c);
    return rates_[k].a[c] - down * n - dot(n, rates_[k].at - at(k)) * rates_[k].n[c];
  }

 private:
  static constexpr double one_patch = 1e-8;  // as there
  int outward_ = 0;                          // 1 if a moves over b, -1 if b moves under a; 0: between both
  bool is_touching_ = false;                 // the surface of what moves, or that of the other
  int n_;
  const Contact* points_;
  Vec origin_;
  int patch_[max_points];
  Rates rates_[max_points];

  Vec normal(int k) const { return load(points_[k].frame + 6); }
  Vec at(int k) const { return load(points_[k].position) - origin_; }
  bool is_of(int k, int first) const { return norm2(normal(k) - normal(first)) < one_patch; }
  // Before it was put there.
  double height_rate(int k, int c) const { return dot(rates_[k].a[c], normal(k)) + dot(rates_[k].at, rates_[k].n[c]); }
  double plane_rate(int first, int c) const {
    int nearest = first;
    for (int k = first; k < n_; ++k)
      if (patch_[k] == first && points_[k].gap < points_[nearest].gap) nearest = k;
    if (outward_ == 0) return height_rate(nearest, c);
    const double open = is_touching_ && points_[nearest].gap > 0 ? 1 : 0;
    return height_rate(nearest, c) + outward_ * (open - 0.5) * rates_[nearest].s[c];
  }
};

// A ball that moves over a plane of the world has one point: under its centre, in the plane or, alone and above it, on
// itself. False for all else.
bool ball_on_plane(const Scene& scene, const Shape& a, const Placement<double>& X_Wa, const Shape& b, int n,
                   const Contact& point, ContactSlopes& slopes) {
  const PlacedShape& moving = scene.shapes[point.a];
  if (n != 1 || point.is_ahead || a.kind != ShapeKind::sphere || b.kind != ShapeKind::plane || moving.link < 0 ||
      scene.shapes[point.b].link >= 0)
    return false;
  const Vec normal = load(point.frame + 6), center = load(X_Wa.p) - load(point.position);
  const double flat = moving.is_alone && point.gap > 0 ? 0 : 1;
  for (int c = 0; c < 6; ++c) {
    const Vec rate = moved(c, center);
    slopes.gap[c] = dot(normal, rate);
    for (int i = 0; i < 3; ++i) {
      slopes.position[i][c] = rate[i] - flat * slopes.gap[c] * normal[i];
      slopes.normal[i][c] = 0;
    }
  }
  return true;
}

}  // namespace

void contact_slopes(const Scene& scene, std::size_t environment, const Placement<double>& X_Wa,
                    const Placement<double>& X_Wb, int n, const Contact* points, ContactSlopes* slopes) {
  const Shape &a = shape_of(scene, environment, points[0].a), &b = shape_of(scene, environment, points[0].b);
  if (ball_on_plane(scene, a, X_Wa, b, n, points[0], slopes[0])) return;
  const Vec origin = load(points[0].position);
  const double margin = scene.materials[points[0].material].margin;
  const Pair pair(a, X_Wa, b, X_Wb, origin);
  n = std::min(n, max_points);
  Levelled levelled(scene, n, points, origin);
  Rates rates;
  for (int k = 0; k < n; ++k) {
    const Vec x = load(points[k].position) - origin, normal = load(points[k].frame + 6);
    if (points[k].is_ahead)
      guess(x, normal, rates);
    else
      pair.find(x, normal, points[k].gap + margin, rates);
    levelled.add(k, rates);
    for (int c = 0; c < 6; ++c) {
      for (int i = 0; i < 3; ++i) slopes[k].position[i][c] = rates.a[c][i], slopes[k].normal[i][c] = rates.n[c][i];
      slopes[k].gap[c] = rates.s[c];
    }
  }
  for (int k = 0; k < n; ++k) {
    ContactSlopes& own = slopes[k];
    const Vec x = load(points[k].position) - origin;
    for (int c = 0; c < 6 && !points[k].is_ahead; ++c) {
      const Vec rate = levelled.rate(k, c);
      for (int i = 0; i < 3; ++i) own.position[i][c] = rate[i];
    }
    // twists of the point itself
    for (int c = 0; c < 3; ++c) {
      const Vec shift = cross(unit_axis(c), -x);
      const auto carry = [&](Six& row) {
        for (int j = 0; j < 3; ++j) row[3 + c] += row[j] * shift[j];
      };
      for (int i = 0; i < 3; ++i) carry(own.position[i]), carry(own.normal[i]);
      carry(own.gap);
    }
  }
}

}  // namespace featherweight
