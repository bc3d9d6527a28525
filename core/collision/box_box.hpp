// collision/box_box.hpp -- two boxes by the fifteen separating axes.
//   The distance of boxes that overlap, or where a face or a crossing of edges is closest; less than it elsewhere.
//   Where parallel edges meet, the faces beside them are equally good: the axis turns from one to the other, so that
//   what is symmetric stays so. Source: Gottschalk, Lin, Manocha 1996.
#pragma once
#include "collision/convex.hpp"

namespace featherweight::geometry {

// The axis from B to A along which boxes are farthest apart (least overlapping).
struct SeparatingAxis {
  Vec n;
  double s;                 // how far
  bool are_parallel_edges;  // that touch
};
SeparatingAxis separating_axis(const Convex& a, const Convex& b);

}  // namespace featherweight::geometry
