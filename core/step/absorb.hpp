// step/absorb.hpp -- joint rows that are part of the prediction instead of the cone problem.
//   in    velocities at the start of this step and of the one before
//   out   w.motion.intervals; what the tree moves with beside its own forces and inertias
//
// Most servos are within their effort, and most joints with dry friction slip, in this step as in the last. While that
// is so their rows are linear:
//   inside      lambda = -(sigma + shift) / softness     inertia 1 / softness along the joint, and a force
//   at a bound  lambda = lower or upper                  a force
//   sticking    sigma = 0                                so much inertia that only rounding is left of it
// A row is absorbed if it stays where it is while its joint changes its velocity by a few times what it did in the last
// step; a joint sticks if it has rested, but for what the solver left of its velocity. The law is looked at again with
// the velocities at the end of the step. Forces that turn out wrong get a row for the difference; where inertia does,
// the environment is predicted again without it, and then without any. It also is where overlaps are taken out, which
// servos do not resist. So the solution is that of all rows, to the same tolerance.
//
// Cost: O(joint rows), on lanes; a row of the cone problem costs several times that in every environment.
// Oracle: the twin; other solvers than the automatic choice, for which all rows stay.
#pragma once
#include "step/tumble.hpp"

namespace featherweight::FW_ISA {

// How much of the inertia of rows is not in the prediction of an environment, having been wrong: StepWorkspace.
inline constexpr double some_inertia = 1, all_inertia = 2;

// Laws of all interval rows.
template <class S>
void set_interval_laws(const Scene& scene, const FreeMotion<S>& motion) {
  for (int k = 0; k < scene.n_joint_rows; ++k) {
    const JointRow& row = scene.joint_rows[k];
    if (!scene.is_interval(row)) continue;
    IntervalRow<S>& own = motion.intervals[k];
    if (row.kind == JointRow::dry_friction)
      set_friction_law(row, scene.kick, own);
    else
      set_servo_law(scene.actuators[row.actuator], scene.kick, motion.gain_scale[row.actuator],
                    motion.control[row.actuator], motion.q[row.term.q], motion.v[row.term.dof], own);
  }
}

// What of a row is known beforehand, if its velocity stays within `reach` of sigma. may_push, may_weigh: lanes in which
// rows may be forces, and inertia.
template <class S, class Mask>
FW_INLINE void absorb_row(const S& sigma, const S& reach, const Mask& may_push, const Mask& may_weigh,
                          IntervalRow<S>& own) {
  const S most = sigma + reach + own.shift, least = sigma - reach + own.shift;
  const S at_upper = own.softness * own.upper, at_lower = own.softness * own.lower;
  const auto is_upper = (most + at_upper < S(0)) & may_push, is_lower = (least + at_lower > S(0)) & may_push;
  const auto yields = own.softness > S(0);
  const auto is_inside = (least + at_upper > S(0)) & (most + at_lower < S(0)) & yields & may_weigh;
  own.impulse = select(is_upper, own.upper, select(is_lower, own.lower, S(0)));
  own.inertia = select(is_inside, S(1) / select(is_inside, own.softness, S(1)), S(0));
  own.nearness = select((is_upper | is_lower | is_inside) & (own.mistaken < S(0)), S(1), S(-1));
}
// Friction of a joint that has rested for a step, but for what the solver left of its velocity: so much inertia that it
// goes on resting. One that has just stopped may be turning back. One that creeps slips, however slowly: friction was
// on the bound where it would be again.
template <class S, class Mask>
FW_INLINE void lock_row(const S& v, const S& last_v, const Mask& may_weigh, IntervalRow<S>& own) {
  const auto is_other = (own.last < own.impulse) | (own.last > own.impulse);
  const auto may_rest = (own.nearness <= S(0)) | (own.inertia > S(0)) | is_other;
  const auto rests = (larger(abs(v), abs(last_v)) <= S(AbsorbTuning::slowest)) & may_rest & may_weigh;
  own.inertia = select(rests, own.upper * (1 / AbsorbTuning::creep), own.inertia);
  own.impulse = select(rests, S(0), own.impulse);
  own.nearness = select(rests, S(1), own.nearness);
}
// None of them is absorbed.
template <class S>
void set_whole_rows(const Scene& scene, const FreeMotion<S>& motion) {
  set_interval_laws(scene, motion);
  for (int k = 0; k < scene.n_joint_rows; ++k) motion.intervals[k].keep_whole();
}
// In a new step none is known to be mistaken, and impulses are still those of the last one.
template <class S>
void start_absorbing(const Scene& scene, StepWorkspace<S>& w) {
  w.mispredicted = S(-1);
  for (int k = 0; k < scene.n_joint_rows && w.absorbs; ++k) {
    const JointRow& row = scene.joint_rows[k];
    IntervalRow<S>& own = w.motion.intervals[k];
    own.mistaken = S(-1);
    own.last = S(0);
    const S& v = w.v[row.term.dof];
    if (row.kind != JointRow::dry_friction || !any(v, abs(v) <= S(AbsorbTuning::slowest))) continue;
    for (int lane = 0; lane < width_of<S>; ++lane) ScalarTraits<S>::set(own.last, lane, w.last_impulses[lane][k]);
  }
}

// Where trees turn fast nothing is absorbed: forces come before the turn there, and impulses after it (tumble.hpp).
template <class S>
void absorb(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  if (!w.absorbs) return;
  set_interval_laws(scene, w.motion);
  const auto is_calm = largest_turn(scene, dt, w.v).growth <= S(growth_borne(scene));
  const decltype(w.v[0] < w.v[0]) may_weigh = is_calm & (w.mispredicted < S(all_inertia));  // of scalars, bool again
  const S per_dt = S(1) / dt;
  w.weighs = S(0);
  for (int f = 0; f < scene.tree.nv; ++f) w.driven[f] = w.tau[f];
  for (int i = 0; i < scene.tree.n_links; ++i) w.inertias[i].rotor = w.own_rotors[i];
  for (int k = 0; k < scene.n_joint_rows; ++k) {
    const JointRow& row = scene.joint_rows[k];
    if (!scene.is_interval(row)) continue;
    IntervalRow<S>& own = w.motion.intervals[k];
    const int f = row.term.dof;
    const S& sigma = w.v[f];
    const S reach = abs(sigma - w.last_v[f]) * S(AbsorbTuning::reach);
    const decltype(may_weigh) may_still_weigh = may_weigh & (own.mistaken < S(0));
    absorb_row(sigma, reach, is_calm, may_still_weigh, own);
    if (row.kind == JointRow::dry_friction) lock_row(sigma, w.last_v[f], may_still_weigh, own);
    if (scene.tree.links[row.term.link].nv > 1) {
      own.nearness = select(own.inertia > S(0), S(-1), own.nearness);
      own.inertia = S(0);
    }
    w.weighs = larger(own.inertia, w.weighs);
    w.driven[f] = w.driven[f] + (own.impulse - own.inertia * (sigma + own.shift)) * per_dt;
    w.inertias[row.term.link].rotor = w.inertias[row.term.link].rotor + own.inertia;
  }
}

// The velocity of a row at the end of the step. change: by impulses; null: none.
template <class S>
FW_INLINE S end_velocity(const JointRow& row, const FreeMotion<S>& motion, const S* change) {
  const S& free = motion.v_free[row.term.dof];
  return change ? free + change[row.term.dof] : free;
}
// The impulse of a row in the prediction, with its velocity at the end of the step.
template <class S>
FW_INLINE S absorbed_impulse(const IntervalRow<S>& own, const S& sigma) {
  return own.impulse - own.inertia * (sigma + own.shift);
}

// What was absorbed, against the velocities at the end of the step; `change`: of them, by impulses. What is wrong
// becomes rows where it is, from the second time on all of its kind. Returns a positive number where some forces did;
// w.mispredicted tells where inertia did.
template <class S>
S find_mistaken(const Scene& scene, double tolerance, bool is_first, const S* change, StepWorkspace<S>& w) {
  S mistaken(-1);
  if (!w.absorbs) return mistaken;
  const S little = w.motion.fall * S(tolerance);
  for (int k = 0; k < scene.n_joint_rows; ++k) {
    const JointRow& row = scene.joint_rows[k];
    if (!scene.is_interval(row)) continue;
    IntervalRow<S>& own = w.motion.intervals[k];
    const S sigma = end_velocity(row, w.motion, change), lambda = absorbed_impulse(own, sigma);
    const auto is_inertia = own.inertia > S(0), is_force = (own.nearness > S(0)) & (own.inertia <= S(0));
    const auto is_beyond = (lambda > own.upper) | (lambda < own.lower);
    const auto is_loose = is_inertia & is_beyond;
    w.mispredicted = select(is_loose, S(is_first ? some_inertia : all_inertia), w.mispredicted);
    own.mistaken = select(is_loose, S(1), own.mistaken);
    const S yields = sigma + own.shift + own.softness * lambda;
    const auto is_wrong =
        is_force & (((yields > little) & (lambda > own.lower)) | ((yields < -little) & (lambda < own.upper)));
    mistaken = select(is_wrong, S(1), mistaken);
    own.mistaken = select(is_wrong, S(1), own.mistaken);
  }
  for (int k = 0; k < scene.n_joint_rows; ++k) {
    IntervalRow<S>& own = w.motion.intervals[k];
    if (!is_first) own.mistaken = select((mistaken > S(0)) & (own.inertia <= S(0)), S(1), own.mistaken);
    own.nearness = select(own.mistaken > S(0), S(-1), own.nearness);
  }
  return mistaken;
}

// Joints that are locked have no velocity at all. `w.v`: at the end.
template <class S>
void rest_locked(const Scene& scene, StepWorkspace<S>& w) {
  if (!w.absorbs) return;
  for (int k = 0; k < scene.n_joint_rows; ++k) {
    const JointRow& row = scene.joint_rows[k];
    if (!scene.is_interval(row) || row.kind == JointRow::servo) continue;
    const auto is_locked = w.motion.intervals[k].inertia > S(0);
    w.v[row.term.dof] = select(is_locked, S(0), w.v[row.term.dof]);
  }
}

// Impulses of rows that were absorbed join those that are kept from step to step.
template <class S>
void keep_absorbed(const RolloutJob& job, const Pack& pack, const S* change, StepWorkspace<S>& w) {
  if (!w.absorbs) return;
  const Scene& scene = *job.scene;
  const std::size_t n_kept = static_cast<std::size_t>(scene.n_kept);
  for (int k = 0; k < scene.n_joint_rows; ++k) {
    const JointRow& row = scene.joint_rows[k];
    if (!scene.is_interval(row)) continue;
    const IntervalRow<S>& own = w.motion.intervals[k];
    const S lambda = absorbed_impulse(own, end_velocity(row, w.motion, change));
    for (int lane = 0; lane < pack.count; ++lane) {
      const LaneOf<S> here{lane};
      if (w.steps[lane] && here(own.nearness) > 0) job.joint_impulses[(pack.first + lane) * n_kept + k] = here(lambda);
    }
  }
}

}  // namespace featherweight::FW_ISA
