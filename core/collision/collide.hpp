// collision/collide.hpp -- where two placed shapes touch.
//   Stateless: the same arguments give the same bits. No allocation.
//   Closed forms for planes, spheres, capsules and boxes among themselves; GJK, EPA and a Newton polish for other
//   convex shapes. Planes and height fields do not collide with each other. Oracle: MuJoCo and Coal, distances of
//   random pairs; analytic cases.
#pragma once
#include <cstdint>

#include "collision/shape.hpp"

namespace featherweight {

struct ContactPoint {
  double position[3];     // [m] world, midway between the two surfaces
  double normal[3];       // world, of length one, from B to A
  double gap;             // [m] distance of the surfaces along the normal, negative where they overlap
  std::uint32_t feature;  // which vertices and edges made the point: the same from step to step, unique in the pair
};

inline constexpr int max_points = 8;  // what `points` must have room for

// The points where A and B are closer than `margin` [m]; returns how many.
int collide(const Shape& a, const Placement<double>& X_WA, const Shape& b, const Placement<double>& X_WB, double margin,
            ContactPoint* points);

}  // namespace featherweight
