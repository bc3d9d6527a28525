// collision/manifold.hpp -- a few points that stand for the whole area of contact.
//   The polygons that face each other along the normal are projected along it and intersected. Corners of the
//   intersection are corners of A over B, corners of B under A, or crossings of two edges: which one, is the feature of
//   the point, the same whichever shape is called the first, and whatever small motion there is. The height between the
//   polygons there is the gap, exactly, for any normal.
#pragma once
#include "collision/collide.hpp"
#include "collision/convex.hpp"

namespace featherweight::geometry {

// A feature is one of these and, below, the number of the vertex, or of the edge of A << 15 | the edge of B.
inline constexpr std::uint32_t vertex_of_a = 0, vertex_of_b = 1u << 30, crossing = 2u << 30, witness = 3u << 30;

struct Candidate {
  Vec position;  // midway between the surfaces
  double gap;
  std::uint32_t feature;
};

// Keeps those that can touch first when the shapes turn against each other a little: the deepest, and the first ones
// for tilts of growing size all around; returns how many, at most max_points.
int spread(Candidate* candidates, int n_candidates, const Vec& n);

// Contact points of two convex shapes along n. `s`: separation of the cores along n; (a, b): points of the cores that
// attain it, used if the polygons miss it. `attained`, if not null, is set to whether the polygons came as close as s.
int manifold(const Convex& a, const Convex& b, const Vec& n, double s, const Vec& pa, const Vec& pb, double margin,
             Candidate* points, bool* attained = nullptr);

}  // namespace featherweight::geometry
