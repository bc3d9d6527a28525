// collision/polish.hpp -- the direction of contact to full precision, from an approximate one.
//   The separation s(n) = min over A of n.a - max over B of n.b is largest at the direction of contact. Where surfaces
//   are smooth Newton's method finds the top; where a flat face, an edge or a side is in contact the direction is that
//   of the face, or at right angles to the edge. All are tried, s decides, and faces win ties: a body at rest keeps its
//   normal.
#pragma once
#include "collision/convex.hpp"

namespace featherweight::geometry {

// Improves n, returns s(n).
double polish(const Convex& a, const Convex& b, Vec& n);

}  // namespace featherweight::geometry
