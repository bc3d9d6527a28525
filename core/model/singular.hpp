// model/singular.hpp -- does every joint have inertia to move?
#pragma once
#include "model/tree.hpp"

namespace featherweight {

// First compiled link whose joint inertia D is not positive at two different configurations, or -1.
int find_singular_joint(const Tree<double>& tree);

}  // namespace featherweight
