// collision/primitives.hpp -- pairs of simple shapes in closed form. World axes; each returns the number of points.
#pragma once
#include "collision/collide.hpp"
#include "collision/convex.hpp"
#include "collision/manifold.hpp"

namespace featherweight::geometry {

// A point of contact with a normal of its own.
struct Touch {
  Candidate at;
  Vec normal;
};

// A convex shape over the half space below (origin, normal): all its corners that are near and may touch when it turns,
// at most max_points.
int over_plane(const Convex& a, const Vec& origin, const Vec& normal, double margin, Touch* touches);
// Spheres and capsules (cores are points and segments): one point; where capsules lie side by side, nearly parallel,
// the ends of the stretch and, if it is elsewhere, the closest point.
int round_pair(const Convex& a, const Convex& b, double margin, Touch* touches);
// Also with the centre inside.
int sphere_box(const Convex& sphere, const Convex& box, double margin, Touch* touches);

}  // namespace featherweight::geometry
