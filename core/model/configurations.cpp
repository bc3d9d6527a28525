#include "model/configurations.hpp"

#include <cmath>

namespace featherweight {

std::vector<double> sample_configuration(const Tree<double>& tree, int which) {
  std::vector<double> q(static_cast<std::size_t>(tree.nq));
  for (int k = 0; k < tree.nq; ++k) q[static_cast<std::size_t>(k)] = which * std::sin(1.0 + 1.7 * k);
  for (int k = 0; k < tree.n_quaternions; ++k) {
    double* x = q.data() + tree.quaternions[k];
    x[3] += which ? 0 : 1;
    const double norm = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
    for (int c = 0; c < 4; ++c) x[c] /= norm;
  }
  return q;
}

}  // namespace featherweight
