// control/gauss_newton.hpp -- quadratic costs of residuals, summed row by row.
//
// Most numbers in J are zero: a residual of positions has no columns of velocities, and that of a foot none of other
// legs. What is zero adds nothing and is passed over. O(N rows n^2) at most.
// Oracle: J^T curvature J by NumPy.
#pragma once
#include <cstddef>

#include "control/linear_quadratic.hpp"
#include "lanes/config.hpp"

namespace featherweight::FW_ISA {

// y += a x
FW_INLINE void add_row(int n, double a, const double* __restrict x, double* __restrict y) {
  for (int j = 0; j < n; ++j) y[j] += a * x[j];
}

inline void gauss_newton(const Residuals& given, double* q, double* Q) {
  const int n = given.n_states;
  const double *J = given.J, *slope = given.slope, *curvature = given.curvature;
  for (int k = 0; k < given.n_nodes; ++k, q += n, Q += static_cast<std::ptrdiff_t>(n) * n) {
    for (int row = 0; row < given.n_rows; ++row, J += n, ++slope, ++curvature) {
      add_row(n, *slope, J, q);
      for (int i = 0; i < n; ++i)
        if (const double share = *curvature * J[i]; share != 0.0)
          add_row(n, share, J, Q + static_cast<std::ptrdiff_t>(i) * n);
    }
  }
}

}  // namespace featherweight::FW_ISA
