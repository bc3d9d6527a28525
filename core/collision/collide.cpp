#include "collision/collide.hpp"

#include <utility>

#include "collision/convex.hpp"
#include "collision/height_field.hpp"
#include "collision/primitives.hpp"
#include "collision/separate.hpp"

namespace featherweight {

using namespace geometry;

namespace {

// Axes of a placed shape, its origin as seen from `origin`.
Frame frame_of(const Placement<double>& X, const Vec& origin) { return {host::mat3(X.R), load(X.p) - origin}; }

bool is_ground(ShapeKind kind) { return kind == ShapeKind::plane || kind == ShapeKind::height_field; }

int over_placed_field(const Convex& a, const HeightField& field, const Frame& frame, double margin, Touch* touches) {
  Convex local = a;
  for (int k = 0; k < 3; ++k) {
    const Vec turned = unrotate(frame, axis(a.frame, k));
    for (int i = 0; i < 3; ++i) local.frame.R(i, k) = turned[i];
  }
  local.frame.p = unrotate(frame, a.frame.p - frame.p);
  const int n = over_field(local, field, margin, touches);
  for (int k = 0; k < n; ++k) {
    touches[k].at.position = place(frame, touches[k].at.position);
    touches[k].normal = rotate(frame, touches[k].normal);
  }
  return n;
}

// Shapes in order: A is convex, B a plane, a field or convex of the same or a later kind. World axes, origin at B.
int touch(const Shape& a, const Frame& frame_a, const Shape& b, const Frame& frame_b, double margin, Touch* touches) {
  const Vec center_a = place(frame_a, load(a.center));
  if (b.kind == ShapeKind::plane) {
    const Vec up = axis(frame_b, 2);
    const double gap = dot(up, center_a - frame_b.p) - a.radius;
    if (!(gap < margin)) return 0;
    if (a.kind == ShapeKind::sphere) {
      touches[0] = {{center_a - (a.radius + 0.5 * gap) * up, gap, 0}, up};
      return 1;
    }
    return over_plane(make_convex(a, frame_a), frame_b.p, up, margin, touches);
  }
  const double reach = a.radius + b.radius + margin;
  if (!(reach > 0 && norm2(center_a - place(frame_b, load(b.center))) < reach * reach)) return 0;
  const Convex A = make_convex(a, frame_a);
  if (b.kind == ShapeKind::height_field) return over_placed_field(A, *b.field, frame_b, margin, touches);
  const Convex B = make_convex(b, frame_b);
  if (b.kind <= ShapeKind::capsule) return round_pair(A, B, margin, touches);
  if (a.kind == ShapeKind::sphere && b.kind == ShapeKind::box) return sphere_box(A, B, margin, touches);
  Candidate points[max_points];
  Vec normal;
  const int n = convex_pair(A, B, margin, points, normal);
  for (int k = 0; k < n; ++k) touches[k] = {points[k], normal};
  return n;
}

}  // namespace

int collide(const Shape& a, const Placement<double>& X_WA, const Shape& b, const Placement<double>& X_WB, double margin,
            ContactPoint* points) {
  if (is_ground(a.kind) && is_ground(b.kind)) return 0;
  const bool swapped = is_ground(a.kind) || (!is_ground(b.kind) && a.kind > b.kind);
  const Vec origin = load(swapped ? X_WA.p : X_WB.p);
  const Frame frame_a = frame_of(X_WA, origin), frame_b = frame_of(X_WB, origin);
  Touch touches[max_points];
  const int n =
      swapped ? touch(b, frame_b, a, frame_a, margin, touches) : touch(a, frame_a, b, frame_b, margin, touches);
  for (int k = 0; k < n; ++k) {
    const Touch& t = touches[k];
    store(t.at.position + origin, points[k].position);
    store(swapped ? -t.normal : t.normal, points[k].normal);
    points[k].gap = t.at.gap;
    points[k].feature = t.at.feature;
  }
  return n;
}

}  // namespace featherweight
