// step/kick.hpp -- half a step of forces at coordinates that stay, as steps of second order take them (verlet.hpp).
//   in    q, v; w.tau, w.f_ext; in renewing, what impulses change velocities by
//   out   velocities without impulses; w.bend of single bodies that tumble; w.motion.v_before
//
//   v' = v + h a(q, v')     with what impulses add to v', in the first half; in the second v+ = v' + h a(q+, v')
// Products of velocities are those of v' in both (momenta.hpp); drag is that of the mean of both ends. Springs, servos
// and dampers are linear, and in the inertia (scene/simulation.cpp). Fixed-point iterations through aba; each brings
// |w| h of digits. What tumbles alone is turned by tumble.hpp, over the whole step and in its first half.
// Oracle: orders of convergence, energies; the twin.
#pragma once
#include "step/drag.hpp"
#include "step/momenta.hpp"
#include "step/tumble.hpp"

namespace featherweight::FW_ISA {

// Velocities whose products aba knows, w.middle: those of single bodies that do not tumble.
template <class S>
void leave_to_aba(const Tree<double>& tree, StepWorkspace<S>& w) {
  const S* const v = w.tumbles ? w.explicit_v : w.v;
  for (int i = 0; i < tree.n_links; ++i)
    for (int f = tree.links[i].v; f < tree.links[i].v + tree.links[i].nv; ++f)
      w.middle[f] = is_single_body(tree, i) ? v[f] : S(0);
}

// Accelerations w.x with products and drag of what comes out. `impulses`: what they change velocities by, in lanes
// where `moving` is positive; null: none yet, and w.x does not hold a first guess.
template <class S>
void settle_kick(const Scene& scene, const S* impulses, const S& moving, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  const bool drags = scene.n_boxes + scene.n_ellipsoids > 0;
  if (w.motion.holds && impulses && !drags) return;  // nothing depends on them
  const S kick(scene.kick);
  const S turn = largest_turn(scene, kick, w.v).angle(), share = S(1) / (S(1) + turn * turn);
  S speed(0);
  for (int f = 0; f < tree.nv; ++f) speed = larger(abs(w.v[f]), speed);
  leave_to_aba(tree, w);
  auto going = (speed > S(0)) & (moving > S(0));
  for (int iteration = impulses ? 1 : 0; iteration < TumbleTuning::most_evaluations; ++iteration) {
    for (int f = 0; f < tree.nv; ++f)
      w.no_tau[f] = iteration == 0 ? w.v[f] : w.v[f] + w.x[f] * kick + (impulses ? impulses[f] : S(0));
    if (!w.motion.holds) find_kick_products(scene, w.q, w.no_tau, w);
    if (drags) {
      for (int i = 0; i < tree.n_links; ++i) w.forces[i] = w.dry_forces[i];
      for (int f = 0; f < tree.nv; ++f) w.no_tau[f] = (w.v[f] + w.no_tau[f]) * S(0.5);
      add_medium_forces(scene, w.no_tau, w);
    }
    for (int f = 0; f < tree.nv; ++f) w.no_tau[f] = w.tau[f] - w.products[f];
    aba(tree, w.world, OfLanes<S>{w.inertias, scene.weighs}, w.q, w.middle, w.no_tau, w.forces, w.aba, w.x_next);
    S change(0);
    for (int f = 0; f < tree.nv; ++f) {
      const S step = iteration > 0 ? (w.x_next[f] - w.x[f]) * share : S(0);
      change = larger(abs(step), change);
      w.x[f] = iteration == 0 ? w.x_next[f] : select(going, w.x[f] + step, w.x[f]);
    }
    if (iteration > 0) going = going & (change * kick > speed * S(TumbleTuning::last_change));
    if (!any(kick, going)) return;
  }
}

// From accelerations w.x to velocities v_free; those of single bodies that tumble are turned with what impulses add.
template <class S>
void set_free_velocities(const RolloutJob& job, const S* impulses, StepWorkspace<S>& w, S* v_free) {
  const Scene& scene = *job.scene;
  const Tree<double>& tree = scene.tree;
  const S kick(scene.kick);
  for (int f = 0; f < tree.nv; ++f) w.forced[f] = w.v[f] + w.x[f] * kick, w.middle[f] = S(0);
  for (int i = 0; i < tree.n_links; ++i)
    for (int f = tree.links[i].v; f < tree.links[i].v + 6 && is_single_body(tree, i); ++f)
      w.middle[f] = w.tumbles ? w.explicit_v[f] : w.v[f];
  add_turning_of_axes(tree, w.centers, w.middle, kick, w.forced);
  for (int f = 0; f < tree.nv; ++f) v_free[f] = w.forced[f];
  for (int f = 0; f < tree.nv; ++f) w.earlier[f] = w.v[f] * S(2) - w.forced[f];
  if (!w.tumbles || w.motion.holds) return;
  for (int f = 0; f < tree.nv; ++f) w.middle[f] = impulses ? w.forced[f] + impulses[f] : w.forced[f];
  turn_bodies(tree, S(job.dt), w.middle, w);
  for (int f = 0; f < tree.nv; ++f) {
    const auto turns = abs(w.turned[f] - w.middle[f]) > S(0);  // else nothing is added that would round
    v_free[f] = select(turns, impulses ? w.turned[f] - impulses[f] : w.turned[f], v_free[f]);
  }
}

// Velocities without any impulses.
template <class S>
FW_INLINE S* unheld_velocities(const Scene& scene, StepWorkspace<S>& w) {
  return scene.held.n_rows ? w.unheld : w.motion.v_free;
}

// With the impulses there are, in lanes where `moving` is positive, into w.renewed; the largest change.
template <class S>
S find_kick(const RolloutJob& job, const S& moving, StepWorkspace<S>& w) {
  const int nv = job.scene->tree.nv;
  const S* const before = unheld_velocities(*job.scene, w);
  for (int f = 0; f < nv; ++f) w.impelled[f] = w.a[f] + (w.motion.v_free[f] - before[f]);
  settle_kick(*job.scene, w.impelled, moving, w);
  set_free_velocities(job, w.impelled, w, w.renewed);
  S change(0);
  for (int f = 0; f < nv; ++f) change = larger(abs(w.renewed[f] - before[f]), change);
  return change;
}
template <class S, class Mask>
void take_kick(const Scene& scene, const Mask& here, StepWorkspace<S>& w) {
  S* const v = unheld_velocities(scene, w);
  for (int f = 0; f < scene.tree.nv; ++f) v[f] = select(here, w.renewed[f], v[f]);
}

}  // namespace featherweight::FW_ISA
