// scene/contact_slopes.hpp -- how points of contact move with the shapes that touch.
#pragma once
#include "scene/contact_list.hpp"
#include "scene/scene.hpp"

namespace featherweight {

// Derivatives by the twist of shape a as seen from shape b: linear, of the point, then angular; world axes. What both
// move by together takes point and normal along.
struct ContactSlopes {
  double position[3][6];
  double normal[3][6];
  double gap[6];
};

// Of points [0, n) of one pair, of shapes a and b, as find_contacts leaves them, each with the features that made it.
void contact_slopes(const Scene& scene, std::size_t environment, const Placement<double>& X_Wa,
                    const Placement<double>& X_Wb, int n, const Contact* points, ContactSlopes* slopes);

}  // namespace featherweight
