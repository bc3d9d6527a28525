#include "collision/shape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "collision/vector.hpp"

namespace featherweight {

Shape make_shape(ShapeKind kind, const double* size) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Shape shape{kind, {0, 0, 0}, nullptr, nullptr, {0, 0, 0}, infinity, infinity};
  int n = 0;
  switch (kind) {
    case ShapeKind::plane: return shape;
    case ShapeKind::sphere: n = 1; break;
    case ShapeKind::capsule:
    case ShapeKind::cylinder: n = 2; break;
    case ShapeKind::ellipsoid:
    case ShapeKind::box: n = 3; break;
    default: throw std::invalid_argument("kind: a convex hull or a height field is made from its data");
  }
  for (int k = 0; k < n; ++k) {
    if (!(size[k] > 0 && std::isfinite(size[k])))
      throw std::invalid_argument("size: want positive lengths, got " + std::to_string(size[k]));
    shape.size[k] = size[k];
  }
  switch (kind) {
    case ShapeKind::sphere: shape.radius = size[0]; break;
    case ShapeKind::capsule: shape.radius = size[0] + size[1]; break;
    case ShapeKind::cylinder: shape.radius = std::hypot(size[0], size[1]); break;
    case ShapeKind::ellipsoid: shape.radius = std::max({size[0], size[1], size[2]}); break;
    default: shape.radius = std::hypot(size[0], size[1], size[2]);
  }
  shape.thickness = 2 * (kind == ShapeKind::capsule ? size[0] : *std::min_element(size, size + n));
  return shape;
}

Shape make_shape(const ConvexHull* hull) {
  using namespace geometry;
  Shape shape{ShapeKind::convex, {0, 0, 0}, hull, nullptr, {0, 0, 0}, 0, std::numeric_limits<double>::infinity()};
  const Vec center = 0.5 * (load(hull->lower) + load(hull->upper));
  for (int v = 0; v < hull->n_vertices; ++v)
    shape.radius = std::max(shape.radius, norm(load(hull->vertices + 3 * v) - center));
  store(center, shape.center);
  for (int f = 0; f < hull->n_faces; ++f) {
    const Vec normal = load(hull->face_normal + 3 * f);
    const Vec corner = load(hull->vertices + 3 * hull->face_vertex[hull->face_start[f]]);
    double depth = 0;
    for (int v = 0; v < hull->n_vertices; ++v)
      depth = std::max(depth, dot(normal, corner - load(hull->vertices + 3 * v)));
    shape.thickness = std::min(shape.thickness, depth);
  }
  return shape;
}

Shape make_shape(const HeightField* field) {
  const double low = field->lowest - field->base, half = 0.5 * (field->highest - low);
  return {ShapeKind::height_field,
          {0, 0, 0},
          nullptr,
          field,
          {0, 0, low + half},
          std::hypot(field->size_x, field->size_y, half),
          field->base};
}

// The thinnest of those along the three axes, around the vertices of a hull.
static BoundingCapsule around_vertices(const Shape& shape) {
  BoundingCapsule best{0, 0, shape.radius};
  for (int axis = 0; axis < 3; ++axis) {
    double half = 0, girth2 = 0;
    for (int k = 0; k < shape.hull->n_vertices; ++k) {
      const double* const vertex = shape.hull->vertices + 3 * static_cast<std::ptrdiff_t>(k);
      double across2 = 0;
      for (int r = 0; r < 3; ++r) {
        const double x = vertex[r] - shape.center[r];
        (r == axis) ? half = std::max(half, std::fabs(x)) : across2 += x * x;
      }
      girth2 = std::max(girth2, across2);
    }
    if (std::sqrt(girth2) < best.girth) best = {axis, half, std::sqrt(girth2)};
  }
  return best;
}

BoundingCapsule bounding_capsule(const Shape& shape) {
  const double* const s = shape.size;
  switch (shape.kind) {
    case ShapeKind::capsule:
    case ShapeKind::cylinder: return {2, s[1], s[0]};
    case ShapeKind::convex: return around_vertices(shape);
    case ShapeKind::box:
    case ShapeKind::ellipsoid: {
      const int axis = s[0] >= s[1] ? (s[0] >= s[2] ? 0 : 2) : (s[1] >= s[2] ? 1 : 2);
      const double y = s[(axis + 1) % 3], z = s[(axis + 2) % 3];
      if (shape.kind == ShapeKind::box) return {axis, s[axis], std::hypot(y, z)};
      return {axis, s[axis] - std::max(y, z), std::max(y, z)};  // a ball at each end, and the hull of both
    }
    default: return {0, 0, shape.radius};
  }
}

BoundingBox bounding_box(const Shape& shape) {
  const double* const s = shape.size;
  switch (shape.kind) {
    case ShapeKind::sphere: return {{0, 0, 0}, s[0], 1};
    case ShapeKind::capsule: return {{0, 0, s[1]}, s[0], 1};
    case ShapeKind::cylinder: return {{s[0], s[0], s[1]}, 0, 1};
    case ShapeKind::ellipsoid:
    case ShapeKind::box: return {{s[0], s[1], s[2]}, 0, 1};
    case ShapeKind::convex: {
      BoundingBox box{{}, 0, 1};
      for (int r = 0; r < 3; ++r)
        box.half[r] = std::max(shape.hull->upper[r] - shape.center[r], shape.center[r] - shape.hull->lower[r]);
      return box;
    }
    default: return {{}, 0, 0};
  }
}

}  // namespace featherweight
