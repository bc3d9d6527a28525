// collision/gjk.hpp -- distance of two convex cores by the algorithm of Gilbert, Johnson and Keerthi.
//   Source: Gilbert, Johnson, Keerthi 1988; closest point of a simplex by signed volumes, Montanari et al. 2017.
#pragma once
#include "collision/convex.hpp"

namespace featherweight::geometry {

// A point of the Minkowski difference A - B and where it comes from.
struct Difference {
  Vec w, a, b;  // w = a - b
};

struct Simplex {
  int n = 0;
  Difference point[4];
  double weight[4];  // of the point of the simplex closest to the origin
};

enum class Proximity : int { far, near, touching };

struct Closest {
  Proximity proximity;
  Vec normal;  // near: from B to A
  Vec a, b;    // near: the closest points of the cores
};

Difference difference(const Convex& a, const Convex& b, const Vec& d);

// `far` as soon as the distance is known to exceed max_distance; `touching` if the cores overlap or are so close that
// the difference of the closest points has no direction: the simplex then contains the origin, nearly.
Closest gjk(const Convex& a, const Convex& b, double max_distance, Simplex& simplex);

}  // namespace featherweight::geometry
