// collision/epa.hpp -- shortest translation out of an overlap by the expanding polytope algorithm.
//   Source: van den Bergen 2001. Distances of faces are signed, so cores that just fail to touch are handled too.
#pragma once
#include "collision/gjk.hpp"

namespace featherweight::geometry {

// From the simplex where gjk found the cores touching; at least one of them is solid. Normal from B to A: moving A
// along it by minus the separation parts them.
Closest epa(const Convex& a, const Convex& b, const Simplex& simplex);

}  // namespace featherweight::geometry
