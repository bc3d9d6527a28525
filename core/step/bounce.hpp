// step/bounce.hpp -- a bounce that would add energy is weakened.
//
// Newton's restitution asks for a velocity, whatever that takes. Where friction or another contact deflects part of the
// incoming motion, that can take more energy than there was: a spinning ball leaves faster than it came. All
// restitutions of an environment are then lowered together, to the largest share that adds none. There is one, since
// impulses without restitution always dissipate.
// Oracle: kinetic energies before and after.
#pragma once
#include "step/cone_matrix.hpp"

namespace featherweight::FW_ISA {

// Energy that impulses add [J], without their work against springs of contacts, and the sum of the sizes of its parts.
struct Work {
  double sum = 0, size = 0;
  FW_INLINE bool brings_energy() const { return sum > BounceTuning::negligible_gain * size; }
};
template <class S>
Work work_of_impulses(const ConeRows<S>& rows, const ConeMatrix<S>& matrix) {
  Work work;
  multiply(matrix.problem(), matrix.lambda, matrix.sigma);
  for (int i = 0; i < rows.m; ++i) {
    const double change = matrix.sigma[i] - rows.rows[i].compliance * matrix.lambda[i];
    const double part = matrix.lambda[i] * (rows.rows[i].velocity + 0.5 * change);
    work.sum += part;
    work.size += part < 0 ? -part : part;
  }
  return work;
}

// Solves again where a bounce adds energy; solve(): the problem as it stands, into matrix.lambda.
template <class S, class Solve>
void weaken_bounces(ConeRows<S>& rows, const ConeMatrix<S>& matrix, const Solve& solve) {
  if (rows.n_bounces == 0 || !work_of_impulses(rows, matrix).brings_energy()) return;
  double low = 0, high = 1, share = 0.5;
  const auto solve_for = [&](double wanted) {
    for (int k = 0; k < rows.n_bounces; ++k) {
      const ConeBounce& bounce = rows.bounces[k];
      rows.g[bounce.row] = rows.rows[bounce.row].velocity + wanted * bounce.shift;
    }
    solve();
  };
  for (; high - low > BounceTuning::fine_enough; share = 0.5 * (low + high)) {
    solve_for(share);
    (work_of_impulses(rows, matrix).brings_energy() ? high : low) = share;
  }
  solve_for(low);
}

}  // namespace featherweight::FW_ISA
