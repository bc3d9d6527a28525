#include "articulated/mobility.hpp"

#include <algorithm>

namespace featherweight {

using namespace host;

std::vector<double> mobilities(const Tree<double>& tree, const ConstraintRows<double>& constraints, Survey& survey) {
  const auto at = [](int k) { return static_cast<std::size_t>(k); };
  struct Carried {
    Row<double> row;
    double L;
  };
  std::vector<Carried> carried(at(constraints.n_ends * Survey::n_postures));
  for (int r = 0; r < constraints.n_ends; ++r)
    for (int k = 0; k < Survey::n_postures; ++k)
      carried[at(r * Survey::n_postures + k)] = {row_at_rest(constraints.ends[r]), 0.0};

  for (int i = tree.n_links - 1; i >= 0; --i) {
    for (int r = constraints.of_link[i].begin; r < constraints.of_link[i].end; ++r)
      for (int k = 0; k < Survey::n_postures; ++k) {
        Carried& one = carried[at(r * Survey::n_postures + k)];
        survey.pass_joint(i, k, &one.row, 1, &one.L);
      }
  }

  std::vector<double> mobility(at(constraints.n_ends), 0.0);
  for (int r = 0; r < constraints.n_ends; ++r)
    for (int k = 0; k < Survey::n_postures; ++k)
      mobility[at(r)] = std::max(mobility[at(r)], carried[at(r * Survey::n_postures + k)].L);
  const double largest = *std::max_element(mobility.begin(), mobility.end());
  for (double& m : mobility)
    if (!(m > 1e-12 * largest)) m = largest > 0 ? largest : 1.0;
  return mobility;
}

}  // namespace featherweight
