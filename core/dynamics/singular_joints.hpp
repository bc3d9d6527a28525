// dynamics/singular_joints.hpp -- does every joint have inertia to move?
#pragma once
#include "model/model.hpp"

namespace featherweight {

// Throws std::invalid_argument naming the first joint whose inertia D is not positive at two different configurations.
void require_regular_joints(const Model& model);

}  // namespace featherweight
