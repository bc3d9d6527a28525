// articulated/mobility.hpp -- how far constraint rows give way to a unit force.
#pragma once
#include <vector>

#include "articulated/survey.hpp"
#include "model/tree.hpp"
#include "rows/rows.hpp"

namespace featherweight {

// Per row the largest entry of the diagonal of J H^-1 J^T over a few generic postures [1/kg or 1/(kg m^2)]. A row that
// nothing moves gets the largest of the others, or one.
std::vector<double> mobilities(const Tree<double>& tree, const ConstraintRows<double>& constraints,
                               host::Survey& survey);

}  // namespace featherweight
