// step/separate.hpp -- overlaps and drift taken out.
//
// By impulses mu whose velocities move the environment in this step and are then forgotten, so they add no energy:
//   0 <= mu _|_ sigma + G mu + slack >= 0,   slack: the gap, or half the overlap, divided by the step
// for normals and limits; what is held reacts, and comes together meanwhile if it is apart. A few iterations of
// Gauss-Seidel; the next step takes what they leave. Where nothing but a detour would help, overlaps stay
// (yielding.hpp).
#pragma once
#include "step/row_velocities.hpp"
#include "step/yielding.hpp"

namespace featherweight::FW_ISA {

// By how much each row yields, per impulse.
template <class S>
void set_give(const Scene& scene, const ConeRows<S>& rows, const ConeMatrix<S>& matrix) {
  const ConeProblem problem = matrix.problem();
  Yielding<S> yielding(scene, rows);
  for (int b = 0; b < rows.n_blocks; ++b) {
    const Block& block = rows.blocks[b];
    const DiagonalBlock G = diagonal_block(problem, b);
    for (int c = 0; c < block.rows; ++c) {
      const int i = block.first + c;
      matrix.give[i] = rows.rows[i].separates ? yielding.of(i, G(c, c)) : 0;
    }
  }
}

// The iterations; `velocities` knows sigma of every row with the impulses so far. Leaves the impulses in matrix.mu.
template <class S, class Velocities>
void iterate_apart(const Scene& scene, const ConeRows<S>& rows, const ConeMatrix<S>& matrix, Velocities velocities) {
  const ConeProblem problem = matrix.problem();
  double* const mu = matrix.mu;
  for (int i = 0; i < rows.m; ++i) mu[i] = 0;
  for (int b = 0; b < rows.n_blocks; ++b)
    for (int c = 0; c < rows.blocks[b].rows; ++c)
      if (const double x = matrix.lambda[rows.blocks[b].first + c]; x != 0) velocities.add(b, c, x);
  set_give(scene, rows, matrix);
  double first_change = 0;
  for (int iteration = 0; iteration < SeparateTuning::most_iterations; ++iteration) {
    if (interrupted(operations_of_product(problem))) return;
    double change = 0;
    for (int b = 0; b < rows.n_blocks; ++b)
      for (int c = 0; c < rows.blocks[b].rows; ++c) {
        const int i = rows.blocks[b].first + c;
        const ConeRow& row = rows.rows[i];
        if (!row.separates) continue;
        const double give = matrix.give[i];
        const double G_ii = diagonal_block(problem, b)(c, c) + give;
        if (!(G_ii > 0)) continue;  // nothing moves
        const double x = mu[i] - (velocities(b, c) + give * mu[i] + row.slack) / G_ii;
        const double next = x < 0 ? 0 : x, step = next - mu[i];
        if (step == 0) continue;
        mu[i] = next;
        velocities.add(b, c, step);
        const double size = step < 0 ? -step * G_ii : step * G_ii;
        change = size > change ? size : change;
      }
    if (iteration == 0) first_change = change;
    if (!(change > SeparateTuning::last_change * first_change)) break;
  }
}

// Whether there is anything to take out.
template <class S>
FW_INLINE bool overlaps(const ConeRows<S>& rows) {
  return rows.deepest > SeparateTuning::negligible_overlap || rows.beyond > SeparateTuning::negligible_overlap;
}

// Leaves the impulses in matrix.mu. False if there is nothing to do. drifting: Y^T lambda of what comes together; null:
// nothing does.
template <class S>
bool separate(const Scene& scene, const ConeRows<S>& rows, const ConeMatrix<S>& matrix, const S* drifting) {
  if (!overlaps(rows) && !drifting) return false;
  if (matrix.G.products)
    iterate_apart(scene, rows, matrix, WalkedVelocities<S>(scene, rows, matrix, drifting));
  else
    iterate_apart(scene, rows, matrix, KeptVelocities<S>(rows, matrix, drifting));
  return true;
}

}  // namespace featherweight::FW_ISA
