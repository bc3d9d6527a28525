// model/configurations.hpp -- configurations to try a model at.
#pragma once
#include <vector>

#include "model/tree.hpp"

namespace featherweight {

// Number 0 is neutral, others are generic.
std::vector<double> sample_configuration(const Tree<double>& tree, int which);

}  // namespace featherweight
