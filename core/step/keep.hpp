// step/keep.hpp -- the solution of a step, kept for the caller.
//   in    the solved problem of each environment; w.motion
//   out   job.solutions: its rows with impulses, velocities and modes; what the prediction factorised
#pragma once
#include "cones/modes.hpp"
#include "cones/residuals.hpp"
#include "step/cone_matrix.hpp"
#include "step/solution.hpp"
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

// By where its impulse is kept from step to step.
template <class S>
void name_source(const RolloutJob& job, const ConeRow& row, std::size_t environment, SolvedRow& out) {
  const Scene& scene = *job.scene;
  const double* const of_joints =
      job.joint_impulses + environment * static_cast<std::size_t>(scene.n_joint_rows + scene.n_closure_rows);
  const std::ptrdiff_t place = row.kept - of_joints;
  if (place >= 0 && place < scene.n_joint_rows) {
    out.source = RowSource::joint, out.index = static_cast<int>(place), out.component = 0;
  } else if (place >= 0 && place < scene.n_joint_rows + scene.n_closure_rows) {
    out.source = RowSource::closure, out.index = 0, out.component = static_cast<int>(place) - scene.n_joint_rows;
    while (out.component >= scene.closures[out.index].n_rows) out.component -= scene.closures[out.index++].n_rows;
  } else {
    const char* const contacts = reinterpret_cast<const char*>(job.contacts[environment].data);
    const std::ptrdiff_t bytes = reinterpret_cast<const char*>(row.kept) - contacts;
    out.source = RowSource::contact, out.index = static_cast<int>(bytes / static_cast<std::ptrdiff_t>(sizeof(Contact)));
    out.component = static_cast<int>(row.kept - job.contacts[environment].data[out.index].impulse);
  }
}

template <class S>
void keep_rows(const RolloutJob& job, const ConeRows<S>& rows, const ConeMatrix<S>& matrix, bool separates,
               std::size_t environment) {
  StepSolution& solution = job.solutions[environment];
  reserve(solution.memory, static_cast<std::size_t>(rows.m) * sizeof(SolvedRow));
  solution.rows = static_cast<SolvedRow*>(solution.memory.data);
  solution.n_rows = rows.m;
  const ConeProblem problem = matrix.problem();
  const double* const lambda = matrix.lambda;
  double* const sigma = matrix.sigma;
  set_velocities(problem, lambda, sigma);
  for (int b = 0; b < rows.n_blocks; ++b) {
    const Block& block = rows.blocks[b];
    const Mode mode = mode_of(block, mean_diagonal(diagonal_block(problem, b), block.rows), lambda, sigma);
    for (int i = block.first; i < block.first + block.rows; ++i) {
      SolvedRow& out = solution.rows[i];
      const ConeRow& row = rows.rows[i];
      name_source<S>(job, row, environment, out);
      out.block = b, out.law = block.law, out.mode = mode;
      out.impulse = lambda[i];
      out.shift = rows.g[i] - row.velocity;
      out.compliance = row.compliance;
      out.velocity = sigma[i] - out.shift - row.compliance * lambda[i];
      out.bound = block.law == Law::interval ? block.upper : block.mu;
      out.correction = separates ? matrix.mu[i] : 0;
      out.give = separates ? matrix.give[i] : 0;
      out.strikes = false;
    }
  }
  for (int k = 0; k < rows.n_strikes; ++k) {
    const Strike& strike = rows.strikes[k];
    if (strike.state != Strike::strikes && !strike.struck) continue;
    for (int i = strike.first; i <= strike.row; ++i) solution.rows[i].strikes = true;
  }
}

// What all environments of the pack have: velocities without impulses, and the eliminated tree.
template <class S>
void keep_motion(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  static_assert(sizeof(Dof<S>) == dof_numbers * sizeof(S));
  const Scene& scene = *job.scene;
  const int nv = scene.tree.nv;
  S* const dofs = reinterpret_cast<S*>(w.motion.dofs);
  for (int i = 0; i < scene.tree.n_links; ++i) {
    if (scene.touchable[i]) continue;  // others have none
    const Link<double>& l = scene.tree.links[i];
    for (int k = dof_numbers * l.v; k < dof_numbers * (l.v + l.nv); ++k) dofs[k] = S(0);
  }
  store(w.motion.v_free, nv, pack, job.v_free, nv);
  store(dofs, dof_numbers * nv, pack, job.dofs, dof_numbers * nv);
}

}  // namespace featherweight::FW_ISA
