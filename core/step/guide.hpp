// step/guide.hpp -- rows that are not held where they are but guided: what their errors e obey is
//   e'' + damping e' + stiffness e + compliance f = acceleration          f: the force along the row
// Without compliance that is a motion the rows have whatever acts on them; with it, a spring of stiffness / compliance
// [N/m], a damper beside it, and an inertia of 1 / compliance.
//   in    errors and velocities where the step begins
//   out   w.aim, the speeds of rows without impulses, part of w.opening; w.guided_speed, those with them
//
// The speed of a row is that of its error over the whole step, (e+ - e) / dt, so that it holds where coordinates end as
// shake.hpp has it. In a step of length h, with e and e' at its end,
//   e+' = (e' + h acceleration - h stiffness e - compliance lambda) / (1 + h damping + h^2 stiffness)
// e' before it is the speed over the step that led here. Steps in halves have e at their middle and e' as the mean of
// both ends of each half: the same forwards and backwards in time (held_system.hpp has the factors).
// Oracle: closed forms of oscillators; orders of convergence; the twin.
#pragma once
#include "step/hold.hpp"

namespace featherweight::FW_ISA {

// f(row) for rows whose velocity is not the rate of their error.
template <class F>
FW_INLINE void for_other_rows(const Scene& scene, const F& f) {
  for (int c = 0, k = 0; c < scene.n_closures; ++c)
    for (int r = 0; r < scene.closures[c].n_rows; ++r, ++k)
      if (!is_integrable(scene.closures[c], r)) f(k);
}

// Before w.errors, those a step earlier, are forgotten.
template <class S>
void aim_guided(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  const HeldPlan& plan = scene.held;
  find_cause(scene, w.v, w, w.closing);
  for (int r = 0; r < plan.n_rows; ++r) w.aim[r] = S(0);
  w.held.look(w.closing, w.aim);  // J v
  if (!scene.is_verlet()) {
    for_other_rows(scene, [&](int r) { w.errors[r] = w.apart[r] - w.aim[r] * dt; });
    for (int r = 0; r < plan.n_rows; ++r) w.aim[r] = (w.apart[r] - w.errors[r]) / dt;
  }
  for (int r = 0; r < plan.n_rows; ++r) {
    if (!plan.is_guided(r)) continue;
    const Guide<S>& guide = w.held.guide(r);
    const S speed = w.motion.holds ? w.guided_speed[r] : w.aim[r];
    w.aim[r] = guide.keep * speed + guide.push - guide.pull * w.apart[r];
    w.opening[r] = w.opening[r] - w.aim[r];
  }
}

template <class S>
void keep_guided_speeds(const Scene& scene, StepWorkspace<S>& w) {
  for (int r = 0; r < scene.held.n_rows; ++r)
    if (scene.held.is_guided(r))
      w.guided_speed[r] = w.aim[r] - w.held.guide(r).softness * (w.held_impulse[r] + w.reaction[r]);
}

// From the change of errors in the step, w.errors, what it should be of rows whose errors follow their speeds.
template <class S>
void subtract_guided(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  keep_guided_speeds(scene, w);
  for (int r = 0; r < scene.held.n_rows; ++r)
    if (scene.held.is_guided(r)) w.errors[r] = w.errors[r] - w.guided_speed[r] * dt;
  for_other_rows(scene, [&](int r) { w.errors[r] = S(0); });
}

// Errors of guided rows after a step at their speeds.
template <class S>
void lead_errors(const Scene& scene, const S& dt, const S* speeds, S* errors) {
  for (int r = 0; r < scene.held.n_rows; ++r)
    if (scene.held.is_guided(r)) errors[r] = errors[r] + speeds[r] * dt;
}

// What yields is where it is, and so is what has a velocity and no error.
template <class S>
void leave_yielding(const Scene& scene, S* errors) {
  for (int r = 0; r < scene.held.n_rows; ++r)
    if (scene.held.is_guided(r) && scene.held.guides[r].compliance > 0) errors[r] = S(0);
  for_other_rows(scene, [&](int r) {
    if (scene.held.is_guided(r)) errors[r] = S(0);
  });
}

}  // namespace featherweight::FW_ISA
