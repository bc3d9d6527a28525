#include "constrained/mobility.hpp"

#include <algorithm>
#include <cmath>

#include "constrained/pv.hpp"
#include "model/configurations.hpp"

namespace featherweight {

using namespace host;

std::vector<double> row_mobility(const Tree<double>& tree, const ConstraintRows<double>& given) {
  std::vector<ConstraintRow<double>> rigid(given.rows, given.rows + given.n_rows);
  for (ConstraintRow<double>& row : rigid) row.compliance = 0;
  ConstraintRows<double> constraints = given;
  constraints.rows = rigid.data();

  Memory memory;
  {
    Arena measure(memory);
    PvSweeps<double> sized(tree, constraints, measure);
  }
  std::vector<double> bytes(memory.required / sizeof(double) + 8);
  memory.data = bytes.data();
  memory.size = bytes.size() * sizeof(double);
  Arena arena(memory);
  PvSweeps<double> sweeps(tree, constraints, arena);

  const std::size_t m = static_cast<std::size_t>(constraints.n_rows);
  const std::vector<double> none(static_cast<std::size_t>(tree.nv), 0.0), targets(m, 0.0), active(m, 1.0);
  std::vector<double> largest(m, 0.0);
  for (int which = 0; which < 3; ++which) {
    const std::vector<double> q = sample_configuration(tree, which);
    sweeps.inward(ConstrainedProblem<double, double>{tree, constraints, q.data(), none.data(), none.data(), nullptr,
                                                     targets.data(), active.data()});
    for (std::size_t r = 0; r < m; ++r)
      if (const double found = sweeps.L[triangle(static_cast<int>(r), static_cast<int>(r))]; std::isfinite(found))
        largest[r] = std::max(largest[r], found);
  }
  return largest;
}

}  // namespace featherweight
