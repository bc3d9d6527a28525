// step/interval_row.hpp -- joint rows whose impulse lies in an interval: dry friction, and servos of limited effort.
//
//   lower <= lambda <= upper,   w = sigma + shift + softness lambda   is 0 inside, >= 0 at lower, <= 0 at upper
//
//   friction    |lambda| <= bound dt, against sigma at the bound
//   servo       lambda / dt = gain u - kp (q + dt sigma) - kd sigma, if that is within the effort
// No drive takes its joint beyond its velocity limit V. Where a servo would at sigma = V still push on,
//   servo       sigma = V, within its effort and what it has at the start of the step;    likewise at -V
#pragma once
#include "lanes/lanes.hpp"
#include "scene/scene.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct IntervalRow {
  S lower, upper;      // [N s] or [N m s]
  S shift, softness;   // [m/s], [m/s per N s], or the same about an axis
  S impulse, inertia;  // what of it is in the prediction: see absorb.hpp
  S nearness;          // negative where it is a row of the cone problem,
  S mistaken;          // positive where it has to be one in this step
  S last;              // impulse of the step before, of joints that hardly move

  // All of it is in the cone problem.
  FW_INLINE void keep_whole() { impulse = inertia = S(0), nearness = S(-1); }
};

template <class S>
FW_INLINE void set_friction_law(const JointRow& row, double kick, IntervalRow<S>& own) {
  own.lower = S(-row.bound * kick), own.upper = S(row.bound * kick);
  own.shift = own.softness = S(0);
}

// scale: factor on the forces of the servo; where that is zero it has none.
template <class S>
FW_INLINE void set_servo_law(const Actuator& a, double kick, const S& scale, const S& control, const S& q, const S& v,
                             IntervalRow<S>& own) {
  S drive = control * a.gain - q * a.kp;
  if (a.past != 0) drive = drive + v * a.past;
  const S per_rate = scale * kick;
  const auto acts = scale > S(0);
  own.lower = S(a.lower * kick), own.upper = S(a.upper * kick), own.shift = drive * (-1 / a.rate);
  own.softness = S(1) / (select(acts, per_rate, S(1)) * a.rate);
  if (a.is_limited) {
    const S now = per_rate * (drive - v * a.rate);
    const S up = per_rate * (drive - S(a.rate * a.velocity)), down = per_rate * (drive + S(a.rate * a.velocity));
    const auto pushes_up = up > S(0), pushes_down = down < S(0);
    const S highest = larger(up, now), lowest = smaller(down, now);
    own.upper = select(pushes_up, smaller(own.upper, highest), own.upper);
    own.lower = select(pushes_down, larger(own.lower, lowest), own.lower);
    own.shift = select(pushes_up, S(-a.velocity), select(pushes_down, S(a.velocity), own.shift));
    own.softness = select(pushes_up, S(0), select(pushes_down, S(0), own.softness));
  }
  own.lower = select(acts, own.lower, S(0)), own.upper = select(acts, own.upper, S(0));
}

}  // namespace featherweight::FW_ISA
