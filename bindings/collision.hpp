// bindings/collision.hpp -- shapes as Python gives them.
#pragma once
#include "bindings.hpp"
#include "collision/shape.hpp"

namespace featherweight::bindings {

// size: lengths, or the ConvexHull or HeightField itself, which must outlive the shape.
Shape find_shape(const std::string& kind, nb::handle size);

}  // namespace featherweight::bindings
