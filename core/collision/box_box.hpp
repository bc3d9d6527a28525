// collision/box_box.hpp -- two boxes by the fifteen separating axes.
//   The distance of boxes that overlap, or where a face or a crossing of edges is closest; less than it elsewhere.
//   Source: Gottschalk, Lin, Manocha 1996.
#pragma once
#include "collision/convex.hpp"

namespace featherweight::geometry {

// The axis n from B to A along which the boxes are farthest apart (least overlapping), and how far.
double separating_axis(const Convex& a, const Convex& b, Vec& n);

}  // namespace featherweight::geometry
