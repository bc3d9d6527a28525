// step/correct.hpp -- new coordinates.
//   in    new velocities, and the impulses that take overlaps out
//   out   coordinates that move with the velocities, without overlaps and with closures closed
#pragma once
#include "step/apply.hpp"
#include "step/shake.hpp"

namespace featherweight::FW_ISA {

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
  advance(scene, w.centers, w.moved, S(job.dt), w.q, w.v);
  if (scene.n_closures) correct_closures(job, pack, w);
}

}  // namespace featherweight::FW_ISA
