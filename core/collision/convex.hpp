// collision/convex.hpp -- a placed convex shape as the general algorithms see it: a core and a radius around it.
//   A sphere is a point with a radius, a capsule a segment with a radius; all others have no radius. World axes, origin
//   near the pair (so that far from the world's origin no digits are lost).
#pragma once
#include <cstdint>

#include "collision/shape.hpp"
#include "collision/vector.hpp"

namespace featherweight::geometry {

enum class Core : int { point, segment, cylinder, ellipsoid, box, hull, prism };

struct Convex {
  Core core;
  Frame frame;
  Vec size;                          // segment, cylinder: (radius, half length, -); ellipsoid, box: as the shape
  const ConvexHull* hull = nullptr;  // hull
  const Vec* corner = nullptr;       // prism: a triangle, counterclockwise from above, and the same below it
  Vec normal;                        // prism: of the upper triangle
  double radius = 0;                 // around the core
  double extent = 0;                 // [m] size of the core: what tolerances are relative to
  bool curved() const { return core == Core::cylinder || core == Core::ellipsoid; }
};

// A plane or a height field has no such view.
Convex make_convex(const Shape& shape, const Frame& frame);

// The point of the core farthest along d. d need not be of length one.
Vec support(const Convex& c, const Vec& d);
// A point inside the core.
Vec center(const Convex& c);
// Second derivative of the support function at n, between the directions t and u: how the support point turns with n.
double curvature(const Convex& c, const Vec& n, const Vec& t, const Vec& u);
// Outward normal of the flat face or cap that looks most along n; false if there is none.
bool face_towards(const Convex& c, const Vec& n, Vec& face);
// Direction of the straight edge or side, of those that are farthest along n, that is most at right angles to it; false
// if there is none.
bool edge_across(const Convex& c, const Vec& n, Vec& edge);

// The flat piece of the surface that faces along n: a polygon, a segment (n = 2) or a point (n = 1).
inline constexpr int max_polygon = max_face_vertices;
inline constexpr int cap_corners = 8;  // of the polygon that stands for a cylinder's cap
inline constexpr int cap_seats = 3;    // of its points inside, where it sits
struct Polygon {
  int n;
  Vec normal;  // outward, n >= 3
  Vec point[max_polygon];
  std::uint32_t vertex[max_polygon];  // numbers of the vertices
  std::uint32_t edge[max_polygon];    // of the edges from each vertex to the next
  bool is_round = false;              // a cap
  // A cap that is level sits on points at two thirds of its radius, where friction has the arm of an evenly loaded
  // disc; its rim begins so little higher [m] that it carries only what would tip over else.
  int n_seats = 0;
  Vec seat[cap_seats];
  double rim_height = 0;
  static constexpr std::uint32_t first_seat =
      2 * cap_corners + 4;  // number of its vertex; those of both caps are alike
  // Every other corner of a cap.
  bool is_spare(int k) const { return is_round && vertex[k] % (cap_corners + 1) % 2 == 1; }
};
void facing_polygon(const Convex& c, const Vec& n, Polygon& polygon);

// Signed separation of two cores along n, from B to A: the largest over all n is their distance.
double separation(const Convex& a, const Convex& b, const Vec& n);

}  // namespace featherweight::geometry
