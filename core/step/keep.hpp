// step/keep.hpp -- the solution of a step, kept for the caller.
//   in    the solved problem of each environment; w.motion
//   out   job.solutions: its rows with impulses, velocities and modes; what the prediction factorised
#pragma once
#include "cones/modes.hpp"
#include "cones/residuals.hpp"
#include "step/absorb.hpp"
#include "step/cone_matrix.hpp"
#include "step/solution.hpp"

namespace featherweight::FW_ISA {

// By where its impulse is kept from step to step.
template <class S>
void name_source(const RolloutJob& job, const ConeRow& row, std::size_t environment, SolvedRow& out) {
  const Scene& scene = *job.scene;
  const double* const of_joints = job.joint_impulses + environment * static_cast<std::size_t>(scene.n_kept);
  const std::ptrdiff_t place = row.kept - of_joints;
  if (place >= 0 && place < scene.n_joint_rows) {
    out.source = RowSource::joint, out.index = static_cast<int>(place), out.component = 0;
  } else {
    const char* const contacts = reinterpret_cast<const char*>(job.contacts[environment].data);
    const std::ptrdiff_t bytes = reinterpret_cast<const char*>(row.kept) - contacts;
    out.source = RowSource::contact, out.index = static_cast<int>(bytes / static_cast<std::ptrdiff_t>(sizeof(Contact)));
    out.component = static_cast<int>(row.kept - job.contacts[environment].data[out.index].impulse);
  }
}

// And for rows that are absorbed, which follow; likely: rows that may come yet.
inline void make_room(const Scene& scene, StepSolution& solution, int n_rows, int likely = 0) {
  reserve(solution.memory, static_cast<std::size_t>(n_rows + scene.n_joint_rows + likely) * sizeof(SolvedRow));
  solution.rows = static_cast<SolvedRow*>(solution.memory.data);
  solution.n_rows = n_rows;
}
// Rows that are held come first; keep_held_rows fills them in. What touched before is likely to touch again.
inline void keep_no_rows(const RolloutJob& job, std::size_t environment) {
  make_room(*job.scene, job.solutions[environment], job.scene->held.n_rows, 3 * job.contacts[environment].count);
}
// Before a step: of those that are not solved as well.
inline void keep_no_rows(const RolloutJob& job, const Pack& pack) {
  for (int lane = 0; lane < pack.count && job.solutions; ++lane)
    keep_no_rows(job, pack.first + static_cast<std::size_t>(lane));
}

// f(row, closure or coupling, its row, block): rows along axes are one block, those about them another.
template <class F>
void for_held_rows(const Scene& scene, const F& f) {
  int row = 0, block = -1;
  for (int c = 0; c < scene.n_closures; ++c)
    for (int r = 0; r < scene.closures[c].n_rows; ++r) {
      const int* const axes = scene.closures[c].axes;
      if (r == 0 || (axes[r] < 3) != (axes[r - 1] < 3)) ++block;
      f(row++, c, r, block);
    }
  for (int c = 0; c < scene.n_couplings; ++c) f(row++, scene.n_closures + c, 0, ++block);
}
inline int n_held_blocks(const Scene& scene) {
  int n = 0;
  for_held_rows(scene, [&](int, int, int, int block) { n = block + 1; });
  return n;
}

// Rows that depend on others do nothing, however far they would yield.
template <class S>
void keep_held_rows(const RolloutJob& job, const Pack& pack, bool separated, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  for (int lane = 0; lane < pack.count; ++lane) {
    const LaneOf<S> here{lane};
    for_held_rows(scene, [&](int row, int closure, int component, int block) {
      SolvedRow& out = job.solutions[pack.first + lane].rows[row];
      out = {RowSource::closure,
             closure,
             component,
             block,
             Law::equality,
             Mode::sticking,
             0,
             0,
             0,
             0,
             0,
             0,
             0,
             false,
             0,
             false};
      if (!w.is_held[lane]) return;
      const double floor = here(w.held.floor(row)) / ClosureTuning::dependent;
      if (here(w.held.inverse_pivot(row)) == 0) {
        out.compliance = floor > 0 ? floor : 1;
        return;
      }
      out.impulse = here(w.held_impulse[row]) + here(w.reaction[row]);
      out.shift = here(w.opening[row]);
      out.compliance = scene.held.is_guided(row) ? here(w.held.guide(row).softness) : 0;
      out.velocity = -out.shift - out.compliance * out.impulse;
      out.correction = separated ? here(w.correction[row]) : 0;
    });
  }
}

template <class S>
void keep_rows(const RolloutJob& job, const ConeRows<S>& rows, const ConeMatrix<S>& matrix, bool separates,
               std::size_t environment) {
  StepSolution& solution = job.solutions[environment];
  const int n_held = job.scene->held.n_rows;
  make_room(*job.scene, solution, n_held + rows.m);
  const ConeProblem problem = matrix.problem();
  const double* const lambda = matrix.lambda;
  double* const sigma = matrix.sigma;
  set_velocities(problem, lambda, sigma);
  for (int b = 0; b < rows.n_blocks; ++b) {
    const Block& block = rows.blocks[b];
    const Mode mode = mode_of(block, mean_diagonal(diagonal_block(problem, b), block.rows), lambda, sigma);
    for (int i = block.first; i < block.first + block.rows; ++i) {
      SolvedRow& out = solution.rows[n_held + i];
      const ConeRow& row = rows.rows[i];
      name_source<S>(job, row, environment, out);
      out.block = n_held_blocks(*job.scene) + b, out.law = block.law, out.mode = mode;
      out.impulse = lambda[i] + row.known;
      out.shift = rows.g[i] - row.velocity - row.compliance * row.known;
      out.compliance = row.compliance;
      out.velocity = sigma[i] - out.shift - row.compliance * out.impulse;
      out.bound = block.law == Law::interval ? block.upper + row.known : block.mu;
      out.correction = separates ? matrix.mu[i] : 0;
      out.give = separates ? matrix.give[i] : 0;
      out.strikes = false;
      out.predicted = row.known;
      out.absorbed = false;
    }
  }
  for (int k = 0; k < rows.n_strikes; ++k) {
    const Strike& strike = rows.strikes[k];
    if (strike.state != Strike::strikes && !strike.struck) continue;
    for (int i = strike.first; i <= strike.row; ++i) solution.rows[n_held + i].strikes = true;
  }
}

// Joint rows that are part of the prediction. change: what impulses do to velocities; null: nothing.
template <class S>
void keep_absorbed_rows(const RolloutJob& job, const Pack& pack, const S* change, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  for (int lane = 0; lane < pack.count && w.absorbs; ++lane) {
    const LaneOf<S> here{lane};
    StepSolution& solution = job.solutions[pack.first + lane];
    int block = solution.n_rows ? solution.rows[solution.n_rows - 1].block : -1;
    for (int k = 0; k < scene.n_joint_rows && w.steps[lane]; ++k) {
      const JointRow& row = scene.joint_rows[k];
      if (!scene.is_interval(row) || !(here(w.motion.intervals[k].nearness) > 0)) continue;
      const IntervalRow<S>& own = w.motion.intervals[k];
      const S sigma = end_velocity(row, w.motion, change);
      const Mode mode = here(own.inertia) > 0                  ? Mode::sticking
                        : here(own.impulse) == here(own.upper) ? Mode::at_upper
                                                               : Mode::at_lower;
      SolvedRow& out = solution.rows[solution.n_rows++];
      out = {RowSource::joint, k, 0, ++block, Law::interval, mode, 0, 0, 0, 0, 0, 0, 0, false, 0, true};
      out.impulse = out.predicted = here(absorbed_impulse(own, sigma));
      out.velocity = here(sigma), out.shift = here(own.shift);
      out.compliance = here(own.softness), out.bound = here(own.upper);
    }
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
  store(scene.held.n_rows ? w.unheld : w.motion.v_free, nv, pack, job.v_free, nv);
  store(dofs, dof_numbers * nv, pack, job.dofs, dof_numbers * nv);
}

template <class S>
void keep_step(const RolloutJob& job, const Pack& pack, bool separated, StepWorkspace<S>& w) {
  if (job.dofs) keep_motion(job, pack, w);
  keep_held_rows(job, pack, separated, w);
}

}  // namespace featherweight::FW_ISA
