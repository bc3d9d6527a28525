// collision/hull.hpp -- convex polytopes from points and triangles, at load time.
#pragma once
#include <vector>

#include "collision/shape.hpp"

namespace featherweight {

// Owns the arrays a ConvexHull points into. The view keeps pointing at them while the storage is moved, not copied.
struct ConvexHullStorage {
  std::vector<double> vertices, face_normal;
  std::vector<int> face_start, face_vertex, neighbour_start, neighbour, vertex_face_start, vertex_face;
  ConvexHull view{};

  ConvexHullStorage() = default;
  ConvexHullStorage(ConvexHullStorage&&) = default;
  ConvexHullStorage& operator=(ConvexHullStorage&&) = default;
};

// From vertices (n_vertices, 3) [m] and the triangles of their convex hull (n_triangles, 3), wound either way.
// Triangles in one plane (to 1e-6 of the hull's size) become one polygon. Throws std::invalid_argument if the triangles
// are not the closed surface of a convex solid, or have more than max_face_corners corners.
ConvexHullStorage build_hull(const double* vertices, int n_vertices, const int* triangles, int n_triangles);

}  // namespace featherweight
