// collision/shape.hpp -- the shapes that can touch, as plain data. Lengths in metres, in the axes of the shape.
#pragma once
#include <cstddef>
#include <cstdint>

#include "spatial/placement.hpp"

namespace featherweight {

enum class ShapeKind : int { plane, sphere, capsule, cylinder, ellipsoid, box, convex, height_field };

// Vertices a face of a hull may have; larger ones are thinned when the hull is built.
inline constexpr int max_face_vertices = 32;
// Corners of all faces together: what a feature number has room for.
inline constexpr int max_face_corners = 32767;

// A view of a convex polytope. Its arrays belong to a ConvexHullStorage (hull.hpp).
struct ConvexHull {
  int n_vertices, n_faces;
  const double* vertices;      // (n_vertices, 3)
  const int* face_start;       // (n_faces + 1): corners of face f are face_vertex[face_start[f] .. face_start[f + 1])
  const int* face_vertex;      // counterclockwise seen from outside
  const double* face_normal;   // (n_faces, 3), outward, of length one
  const int* neighbour_start;  // (n_vertices + 1): vertices joined to v by an edge
  const int* neighbour;
  const int* vertex_face_start;  // (n_vertices + 1): faces around v
  const int* vertex_face;
  int extreme[6];             // vertices farthest along +x -x +y -y +z -z: where a search for a support starts
  double lower[3], upper[3];  // bounding box
};

// Ground given by heights on a regular grid, solid below. The heights belong to a HeightFieldStorage
// (height_field.hpp). Node (r, c) is at x = -size_x + 2 size_x c / (columns - 1), y = -size_y + 2 size_y r / (rows -
// 1). Each cell is two triangles that share the diagonal from (r, c) to (r + 1, c + 1).
struct HeightField {
  int rows, columns;       // at least 2 each
  const double* heights;   // (rows, columns)
  double size_x, size_y;   // half edges of the grid
  double base;             // thickness below the lowest height, positive
  double lowest, highest;  // of the heights
};

// size: sphere (r); capsule, cylinder (r, half length along z); ellipsoid (three radii); box (half edges); others none.
// A plane is the half space below z = 0 of the shape.
struct Shape {
  ShapeKind kind;
  double size[3];
  const ConvexHull* hull;
  const HeightField* field;
  double center[3];  // of a ball around the shape, in its axes
  double radius;     // infinite for planes
  double thickness;  // the least distance through it, from a face to what is opposite; infinite for planes
};

// With the bounding ball filled in. Throws std::invalid_argument for sizes that are not positive and finite.
Shape make_shape(ShapeKind kind, const double* size);
Shape make_shape(const ConvexHull* hull);
Shape make_shape(const HeightField* field);

// A capsule around the shape: about its center, along one of its axes.
struct BoundingCapsule {
  int axis;
  double half;   // of its segment; zero: it is the bounding ball
  double girth;  // its radius
};
BoundingCapsule bounding_capsule(const Shape& shape);

// A box with rounded edges around the shape: about its center, along its axes. Planes and height fields have none.
struct BoundingBox {
  double half[3];  // edges before they are rounded
  double round;    // their radius
  int is_finite;
};
BoundingBox bounding_box(const Shape& shape);

}  // namespace featherweight
