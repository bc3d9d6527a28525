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

// How far from where they should be closures are, in one lane.
template <class S>
double largest_miss(const Scene& scene, LaneOf<S> lane, const StepWorkspace<S>& w) {
  double largest = 0;
  for (int r = 0; r < scene.held.n_rows; ++r) {
    const double off = magnitude(lane(w.closed_errors[r]));
    largest = off > largest ? off : largest;
  }
  return largest;
}

// Coordinates move with the velocities, and with what separates unless that is left out; then closures close.
template <class S>
void move(const RolloutJob& job, const Pack& pack, bool separates, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  for (int f = 0; f < scene.tree.nv; ++f) {
    w.moved[f] = w.tumbles ? w.v[f] + w.bend[f] : w.v[f];
    if (separates) w.moved[f] = w.moved[f] + w.separating[f];
  }
  advance(scene, w.centers, w.moved, S(job.dt), w.q, w.v);
  if (scene.held.n_rows) correct_closures(job, pack, w);
}

// What is held comes first: where closures cannot be met with what separates, and can without it, overlaps and joints
// beyond their limits stay as they are. An arm that is straight between two holds would pull them apart.
template <class S>
void move_as_held(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  const int nq = scene.tree.nq, nv = scene.tree.nv, n_rows = scene.held.n_rows;
  StepFigures before[width_of<S>], with[width_of<S>];
  for (int lane = 0; lane < pack.count; ++lane) before[lane] = job.reports[pack.first + lane].last;
  for (int f = 0; f < nv; ++f) w.straight_v[f] = w.v[f];
  for (int r = 0; r < n_rows; ++r) w.straight_apart[r] = w.apart[r];
  move(job, pack, true, w);
  bool some = false, tries[width_of<S>] = {};
  for (int lane = 0; lane < pack.count; ++lane) {
    tries[lane] =
        w.separates[lane] && w.is_held[lane] && !(largest_miss(scene, LaneOf<S>{lane}, w) < ClosureTuning::unmet);
    some |= tries[lane];
    with[lane] = job.reports[pack.first + lane].last;
    job.reports[pack.first + lane].last = before[lane];
  }
  if (some) {
    for (int k = 0; k < nq; ++k) w.with_q[k] = w.q[k], w.q[k] = w.kept_q[k];
    for (int f = 0; f < nv; ++f) w.with_v[f] = w.v[f], w.v[f] = w.straight_v[f];
    for (int r = 0; r < n_rows; ++r) w.apart[r] = w.straight_apart[r];
    move(job, pack, false, w);
  }
  S stays(0);
  for (int lane = 0; lane < pack.count; ++lane) {
    tries[lane] &= largest_miss(scene, LaneOf<S>{lane}, w) < ClosureTuning::unmet;
    LaneOf<S>{lane}.set(stays, tries[lane] ? 1 : 0);
    if (!tries[lane]) job.reports[pack.first + lane].last = with[lane];
  }
  if (!some) return;
  repeat_last_lane(pack, 1, &stays);
  const auto is_straight = stays > S(0);
  for (int k = 0; k < nq; ++k) w.q[k] = select(is_straight, w.q[k], w.with_q[k]);
  for (int f = 0; f < nv; ++f) {
    w.v[f] = select(is_straight, w.v[f], w.with_v[f]);
    w.separating[f] = select(is_straight, S(0), w.separating[f]);
  }
}

template <class S>
void correct(const RolloutJob& job, const Pack& pack, bool separated, StepWorkspace<S>& w) {
  if (separated) find_separating(*job.scene, pack, w);
  if (separated && job.scene->held.n_rows)
    move_as_held(job, pack, w);
  else
    move(job, pack, separated, w);
}

}  // namespace featherweight::FW_ISA
