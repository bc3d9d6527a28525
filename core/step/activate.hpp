// step/activate.hpp -- activations: states that follow controls, and drive laws in place of them.
//   in    w.activation, w.control: of laws, then of activations
//   out   w.activation at the end of the step, w.kept_activation at its start; the controls of the laws they drive
//   Source: MuJoCo's documentation, "Activation dynamics" and "Muscles".
//   Oracle: MuJoCo's act and actuator_force; the twin.
#pragma once
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

template <class S>
FW_INLINE S clamped(const S& x, const S& lower, const S& upper) {
  return select(x > upper, upper, select(x < lower, lower, x));
}

// From 0 to 1 with x, with two continuous derivatives.
template <class S>
FW_INLINE S smooth_step(const S& x) {
  const S t = clamped(x, S(0), S(1));
  return t * t * t * ((t * S(6) - S(15)) * t + S(10));
}

// Fast towards more, slow towards less, and both the slower the more active it is.
template <class S>
FW_INLINE S next_of_muscle(const Activation& a, const S& dt, const S& now, const S& control) {
  const S active = S(0.5) + clamped(now, S(0), S(1)) * S(1.5);
  const S error = clamped(control, S(0), S(1)) - now;
  const S rise = active * a.rise, fall = S(a.fall) / active;
  const S share = a.smoothing > 0 ? smooth_step(error * (1 / a.smoothing) + S(0.5)) : select(error > S(0), S(1), S(0));
  return now + dt * error / (fall + (rise - fall) * share);
}

template <class S>
void activate(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  for (int k = 0; k < scene.n_activations; ++k) {
    const Activation& a = scene.activations[k];
    const S& now = w.activation[k];
    const S& control = w.control[scene.n_laws() + k];
    const S next = a.kind == Activation::linear ? now * a.keep + control * a.take : next_of_muscle(a, dt, now, control);
    w.kept_activation[k] = now;
    w.activation[k] = clamped(next, S(a.lower), S(a.upper));
  }
  for (int k = 0; k < scene.n_activated_laws; ++k) {
    const ActivatedLaw& driven = scene.activated_laws[k];
    const bool is_early = scene.activations[driven.activation].is_early;
    const S& by = (is_early ? w.activation : w.kept_activation)[driven.activation];
    w.control[driven.law] = w.control[driven.law] + by * driven.gain;
  }
}

// Whether the activations of a lane are numbers.
template <class S>
FW_INLINE bool are_finite(const S* activation, int n, int lane) {
  for (int k = 0; k < n; ++k) {
    const double x = LaneOf<S>{lane}(activation[k]);
    if (!(x - x == 0)) return false;
  }
  return true;
}

}  // namespace featherweight::FW_ISA
