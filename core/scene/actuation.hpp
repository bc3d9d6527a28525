// scene/actuation.hpp -- actuators beyond a motor or servo on one axis. Plain data, shared by all instruction sets.
//
//   control -> activation, which follows it -> law: a force, by length and rate -> transmission: joints, or a link
#pragma once

namespace featherweight {

// A state that follows the control of an actuator, and drives its laws in place of it.
struct Activation {
  enum Kind : int { linear, muscle } kind;
  double keep, take;             // linear: keep times itself and take times the control after a step
  double rise, fall, smoothing;  // muscle: time constants [s], and the width of the change from one to the other
  double lower, upper;           // its range
  int is_early;                  // 1: a step is driven by what it is at the end of it
};
// A law that an activation drives: the control of the law is gain times the activation.
struct ActivatedLaw {
  int activation, law;
  double gain;
};

// A muscle that pulls: force = -peak (active(L) velocity(V) u + passive(L)), with the length L over the optimal one and
// the velocity V over the fastest.
struct Muscle {
  double peak;               // [N]
  double slack, optimal;     // L = (length - slack) / optimal [m]
  double shortest, longest;  // L between which it pulls actively
  double fastest;            // V = rate / (optimal fastest) [1/s]
  double passive;            // at the longest, over the peak
  double eccentric;          // of the fastest lengthening, over the peak at rest
};

// Part of a transmission: an axis, and the travel of the actuator per travel of the axis.
struct TransmissionTerm {
  int dof, q;  // q -1: an axis of a ball or free joint, which has a rate only
  double coefficient;
  int brake;  // the actuator, of no force of its own, that takes back what drives the axis too fast; -1: none
};
// An actuator that acts on several axes, along a strut, on a link or on its contacts, or by a law that a row cannot
// have. With u its control,
//   force = (gain + gain_length length + gain_rate rate) u + constant - kp stretch - kd rate, or a muscle's,
// within bounds, at the start of the step. The stretch is what of the length is beyond the slack range.
struct Transmission {
  int first_term, n_terms;
  int strut;         // along which it acts; -1: none,
  double per_strut;  // and its travel per that of the strut
  int link;          // that the wrench acts on; -1: none
  int sticky;        // the user's link that it makes stick to what it touches; -1: none,
  double reach;      // up to so far beyond the margin of contacts [m]
  double wrench[6];  // per force [linear; angular], at the origin and in the axes of the link
  double gain, gain_length, gain_rate;
  double constant, kp, kd;
  double slack[2];      // from, to; both 0: the stretch is the length
  double lower, upper;  // bounds of the force
  int is_muscle;
  Muscle muscle;
};

// What carries part of the weight of a link.
struct Lift {
  int link;          // that it acts on
  int of;            // the user's link, whose factor on masses counts
  double mass;       // that it carries [kg]
  double moment[3];  // that mass times its centre on the link [kg m]
};

}  // namespace featherweight
