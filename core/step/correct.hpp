// step/correct.hpp -- new coordinates.
//   in    new velocities, and the impulses that take overlaps out
//   out   coordinates that move with the velocities, without overlaps and with closures closed
#pragma once
#include "step/apply.hpp"
#include "step/closure_system.hpp"

namespace featherweight::FW_ISA {

// Coordinates move until closures are closed to a hundredth of a nanometre, or no longer improve. (A link
// that turns too fast for the matrix of the step stays as it is.)
template <class S>
void correct_closures(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  const Tree<double>& tree = scene.tree;
  const Pose<S> world = identity_pose<S>();
  double last[width_of<S>];
  for (double& error : last) error = 1e300;
  for (int iteration = 0; iteration < ClosureTuning::most_iterations; ++iteration) {
    for (int i = 0; i < tree.n_links; ++i) {
      const Link<double>& l = tree.links[i];
      visit(l.kind, [&](auto joint) {
        place(joint, l, w.q + l.q, w.aba.state + l.state, l.parent < 0 ? world : w.placed[l.parent], w.placed[i]);
      });
    }
    for (int f = 0; f < tree.nv; ++f) w.motion.correct[f] = S(0);
    bool moves = false;
    S moving(0);  // positive in the lanes that do
    for (int lane = 0; lane < pack.count; ++lane) {
      if (w.closures[lane].empty()) continue;
      const double error = w.closures[lane].solve(scene, LaneOf<S>{lane}, w.placed, job.dt);
      const bool goes_on = error > ClosureTuning::closed && error < ClosureTuning::least_progress * last[lane];
      last[lane] = goes_on ? error : 0;
      if (!goes_on) continue;
      moves = true;
      LaneOf<S>{lane}.set(moving, 1);
      ClosureSystem& own = w.closures[lane];
      add_impulses(scene, own.quartets(), own.n_quartets(), own.impulses(), LaneOf<S>{lane}, w.motion.correct);
    }
    if (!moves) return;
    repeat_last_lane(pack, tree.nv, w.motion.correct);
    repeat_last_lane(pack, 1, &moving);
    respond(scene, w.motion.correct, w, w.moved);
    for (int k = 0; k < tree.nq; ++k) w.closed_q[k] = w.q[k];
    for (int f = 0; f < tree.nv; ++f) w.closed_v[f] = w.v[f];
    advance(tree, w.centers, w.moved, S(job.dt), w.q, w.v);
    // the others stay as they are: even advancing by nothing rounds
    const auto goes_on = moving > S(0);
    for (int k = 0; k < tree.nq; ++k) w.q[k] = select(goes_on, w.q[k], w.closed_q[k]);
    for (int f = 0; f < tree.nv; ++f) w.v[f] = select(goes_on, w.v[f], w.closed_v[f]);
  }
}

template <class S>
void correct(const RolloutJob& job, const Pack& pack, bool separated, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  const Tree<double>& tree = scene.tree;
  for (int f = 0; f < tree.nv; ++f) w.moved[f] = w.tumbles ? w.v[f] + w.bend[f] : w.v[f];
  if (separated) {
    repeat_last_lane(pack, tree.nv, w.motion.correct);
    respond(scene, w.motion.correct, w, w.separating);
    for (int f = 0; f < tree.nv; ++f) w.moved[f] = w.moved[f] + w.separating[f];
  }
  advance(tree, w.centers, w.moved, S(job.dt), w.q, w.v);
  if (scene.n_closures) correct_closures(job, pack, w);
}

}  // namespace featherweight::FW_ISA
