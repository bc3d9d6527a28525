// collision/separate.hpp -- contact points of any two convex shapes.
#pragma once
#include "collision/convex.hpp"
#include "collision/manifold.hpp"

namespace featherweight::geometry {

// How two cores are parted: along `normal` from B to A, by `s` (negative: overlap); points of the cores there.
struct Parting {
  Vec normal, a, b;
  double s;
};

// False if the surfaces are known to be farther apart than the margin. By GJK, or EPA where cores touch, then polished.
bool part(const Convex& a, const Convex& b, double margin, Parting& parting);

// Points and their common normal; returns how many, at most max_points.
int convex_pair(const Convex& a, const Convex& b, double margin, Candidate* points, Vec& normal);

}  // namespace featherweight::geometry
