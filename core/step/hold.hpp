// step/hold.hpp -- velocities with what holds mechanisms together.
//   in    velocities without impulses, w.unheld; w.opening, what rows that are held must move by beside (shake.hpp)
//   out   w.motion.v_free and w.cause, what causes it: velocities that contacts find; w.held_impulse
//
// What is held belongs to the mechanism: contacts, limits and friction act on one that holds together already, and it
// reacts to their impulses (held_system.hpp). All of it is on lanes.
#pragma once
#include "step/apply.hpp"

namespace featherweight::FW_ISA {

template <class S>
void hold(const Scene& scene, StepWorkspace<S>& w) {
  const int nv = scene.tree.nv;
  find_cause(scene, w.unheld, w, w.cause);
  for (int r = 0; r < scene.held.n_rows; ++r) w.held_impulse[r] = w.opening[r];
  w.held.look(w.cause, w.held_impulse);
  w.held.solve(w.held_impulse);
  for (int f = 0; f < nv; ++f) w.closing[f] = S(0);
  w.held.gather(w.held_impulse, w.closing);
  respond(scene, w.closing, w, w.a);
  for (int f = 0; f < nv; ++f) {
    w.motion.v_free[f] = w.unheld[f] + w.a[f];
    w.cause[f] = w.cause[f] + w.closing[f];
    w.a[f] = S(0);
  }
}

// Y^T lambda of impulses joined by that of the reaction, in w.closing.
template <class S>
void react(const Scene& scene, const S* impulse, StepWorkspace<S>& w, S* reaction) {
  for (int r = 0; r < scene.held.n_rows; ++r) reaction[r] = S(0);
  w.held.look(impulse, reaction);
  w.held.solve(reaction);
  for (int f = 0; f < scene.tree.nv; ++f) w.closing[f] = impulse[f];
  w.held.gather(reaction, w.closing);
}

// The change of velocities that impulses of all else cause.
template <class S>
void respond_held(const Scene& scene, const S* impulse, StepWorkspace<S>& w, S* change) {
  if (scene.held.n_rows) react(scene, impulse, w, w.reaction);
  respond(scene, scene.held.n_rows ? w.closing : impulse, w, change);
}

// Velocities and links of a pack, once they are predicted. w.opening is guessed already.
template <class S>
void begin_holding(const Scene& scene, StepWorkspace<S>& w) {
  hold(scene, w);
  for (int r = 0; r < scene.held.n_rows; ++r) w.reaction[r] = S(0);
  for (int i = 0; i < scene.tree.n_links; ++i)
    if (scene.touchable[i]) w.motion.velocity[i] += w.response[i];
}

}  // namespace featherweight::FW_ISA
