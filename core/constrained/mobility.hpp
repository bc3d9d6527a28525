// constrained/mobility.hpp -- how readily rows accelerate: the scale that makes a compliance small or large.
#pragma once
#include <vector>

#include "constraints/rows.hpp"
#include "model/tree.hpp"

namespace featherweight {

// Per compiled row the diagonal of J H^-1 J^T, the largest of a few configurations.
std::vector<double> row_mobility(const Tree<double>& tree, const ConstraintRows<double>& constraints);

}  // namespace featherweight
