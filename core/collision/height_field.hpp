// collision/height_field.hpp -- a convex shape on ground given by heights.
//   Each triangle under the shape is the top of a prism that reaches down to the base, so that nothing falls through.
//   Normals are those of the surface as a whole: one that leans over an edge farther than the face beyond it is
//   replaced by the triangle's own, if the shape is above the triangle, or left to that neighbour: nothing trips on an
//   edge inside a slope. Cost: the cells under the shape's bounding box.
#pragma once
#include <vector>

#include "collision/primitives.hpp"
#include "collision/shape.hpp"

namespace featherweight {

struct HeightFieldStorage {
  std::vector<double> heights;
  HeightField view{};

  HeightFieldStorage() = default;
  HeightFieldStorage(HeightFieldStorage&&) = default;
  HeightFieldStorage& operator=(HeightFieldStorage&&) = default;
};

// heights (rows, columns) [m]; half edges and thickness below the lowest height [m], all positive.
HeightFieldStorage build_height_field(const double* heights, int rows, int columns, double size_x, double size_y,
                                      double base);

namespace geometry {

// In the axes of the field. At most max_points.
int over_field(const Convex& a, const HeightField& field, double margin, Touch* touches);

}  // namespace geometry
}  // namespace featherweight
