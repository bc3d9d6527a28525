// step/correct.hpp -- new coordinates.
//   in    new velocities, and the impulses that take overlaps out
//   out   coordinates that move with the velocities, without overlaps and with closures closed
#pragma once
#include "step/shake.hpp"

namespace featherweight::FW_ISA {

// The motion that separates, w.separating: of lanes that do, with what comes together meanwhile.
template <class S>
void find_separating(const Scene& scene, const Pack& pack, StepWorkspace<S>& w) {
  repeat_last_lane(pack, scene.tree.nv, w.motion.correct);
  if (scene.held.n_rows == 0) return respond(scene, w.motion.correct, w, w.separating);
  react(scene, w.motion.correct, w, w.correction);
  S along(0);
  for (int lane = 0; lane < pack.count; ++lane) LaneOf<S>{lane}.set(along, w.drifts_along[lane] ? 1 : 0);
  repeat_last_lane(pack, 1, &along);
  const auto here = along > S(0);
  for (int f = 0; f < scene.tree.nv; ++f) w.closing[f] = w.closing[f] + select(here, w.drifting[f], S(0));
  for (int r = 0; r < scene.held.n_rows; ++r)
    w.correction[r] = w.correction[r] + select(here, w.drift_impulse[r], S(0));
  respond(scene, w.closing, w, w.separating);
  spare_held(scene, w.separating, w);
}

template <class S>
void correct(const RolloutJob& job, const Pack& pack, bool separated, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  const Tree<double>& tree = scene.tree;
  for (int f = 0; f < tree.nv; ++f) w.moved[f] = w.tumbles ? w.v[f] + w.bend[f] : w.v[f];
  if (separated) {
    find_separating(scene, pack, w);
    for (int f = 0; f < tree.nv; ++f) w.moved[f] = w.moved[f] + w.separating[f];
  }
  advance(scene, w.centers, w.moved, S(job.dt), w.q, w.v);
  if (scene.held.n_rows) correct_closures(job, pack, w);
}

}  // namespace featherweight::FW_ISA
