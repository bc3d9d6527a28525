// step/predict.hpp -- the step if nothing touched.
//   in    q, v, tau, control at the start
//   out   w.motion: velocities at the end, and in world axes where links are and how they move; the eliminated tree
#pragma once
#include "step/absorb.hpp"
#include "step/advance.hpp"
#include "step/drag.hpp"
#include "step/lift.hpp"
#include "step/strut.hpp"
#include "step/transmit.hpp"
#include "step/tumble.hpp"

namespace featherweight::FW_ISA {

// What of a drive's force would accelerate its joint beyond the velocity limit of the drive, at its end of the step:
// force - rate sigma at the limit, where that pushes on. A row takes back as much of it as it must (joint_rows.hpp).
template <class S>
FW_INLINE S beyond_limit(const S& force, const S& rate, double limit) {
  const S up = force - rate * limit, down = force + rate * limit;
  return select(up > S(0), up, select(down < S(0), down, S(0)));
}

// Forces of actuators, springs and dampers join tau, with coordinates dt ahead where the step treats them implicitly:
// what the acceleration adds is on the other side of the equation (scene.tree's armature).
template <class S>
void add_joint_forces(const Scene& scene, StepWorkspace<S>& w) {
  for (int f = 0; f < scene.tree.nv; ++f)
    if (scene.damping[f] > 0) w.tau[f] = w.tau[f] - w.v[f] * scene.damping[f];
  const S ahead(scene.ahead);
  for (int k = 0; k < scene.n_springs; ++k) {
    const Spring& s = scene.springs[k];
    w.tau[s.dof] = w.tau[s.dof] + (s.rest - (w.q[s.q] + w.v[s.dof] * ahead)) * s.stiffness;
  }
  for (int k = 0; k < scene.n_actuators; ++k) {
    const Actuator& m = scene.actuators[k];
    if (m.is_row) continue;
    const S& v = w.v[m.dof];
    S force = w.control[k] * m.gain;
    if (m.kp != 0) force = force - (w.q[m.q] + v * ahead) * m.kp;
    if (m.kd != 0) force = force - v * m.kd;
    force = force * w.gain_scale[k];
    force = select(force > S(m.upper), S(m.upper), select(force < S(m.lower), S(m.lower), force));
    if (scene.integrator == Integrator::rk4) {  // has no rows
      const auto too_fast = (v * force > S(0)) & (abs(v) > S(m.velocity));
      force = select(too_fast, S(0), force);
    } else if (m.is_limited) {
      const S rate = w.gain_scale[k] * m.rate;
      w.motion.drive[k] = beyond_limit(force + rate * v, rate, m.velocity);
    }
    w.tau[m.dof] = w.tau[m.dof] + force;
  }
}

// All forces beside impulses but those of the medium: along joints those above, transmissions and struts, on links
// lifts.
template <class S>
void add_dry_forces(const Scene& scene, StepWorkspace<S>& w) {
  for (int i = 0; i < scene.tree.n_links && scene.has_link_forces; ++i)
    w.forces[i] = w.f_ext ? w.f_ext[i] : zero_force<S>();
  measure_struts(scene, w);
  add_joint_forces(scene, w);
  add_transmissions(scene, w);
  add_lifts(scene, w);
  add_struts(scene, w);
}
template <class S>
void add_forces(const Scene& scene, StepWorkspace<S>& w) {
  add_dry_forces(scene, w);
  add_medium_forces(scene, w.v, w);
}

// Velocities at the end of the step if nothing touched.
template <class S>
void move_freely(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  const Turn<S> turn = find_tumbling(scene, dt, w);
  const S* const v = w.tumbles ? w.explicit_v : w.v;
  aba(tree, w.world, OfLanes<S>{w.inertias, scene.weighs}, w.q, v, w.driven, w.forces, w.aba, w.a);
  for (int f = 0; f < tree.nv; ++f) w.motion.v_free[f] = w.v[f] + w.a[f] * dt;
  for (int f = 0; f < tree.nv && scene.held.n_rows; ++f) w.forced[f] = w.a[f];
  if (w.tumbles) {
    turn_by_midpoint(scene, dt, turn, scene.held.n_rows ? w.v : w.motion.v_free, w);
    for (int f = 0; f < tree.nv; ++f) w.motion.v_free[f] = scene.held.n_rows ? w.turned[f] + w.a[f] * dt : w.turned[f];
  }
  add_turning_of_axes(tree, w.centers, v, dt, w.motion.v_free);
}

// Placements, degrees of freedom and velocities in world axes.
template <class S>
void place_links(const Scene& scene, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  const Pose<S> world = identity_pose<S>();
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    if (!scene.touchable[i]) continue;
    visit(l.kind, [&](auto joint) {
      Dof<S>* const dof = w.motion.dofs + l.v;
      Pose<S>& pose = w.motion.pose[i];
      const bool is_root = l.parent < 0;
      place_eliminated(joint, l, w.aba.state + l.state, w.aba.factors, is_root ? world : w.motion.pose[l.parent],
                       is_root ? nullptr : &w.motion.pose[scene.root[i]].p, pose, dof);
      const Vec3<S> r = pose.p - w.motion.pose[scene.root[i]].p;
      const auto carry_velocity = [&](const S* rate, Motion<S>* velocity) FW_LAMBDA_INLINE {
        Motion<S> m = is_root ? rest : velocity[l.parent];
        m += joint_motion(joint, l, rate + l.v, pose, r, dof);
        velocity[i] = m;
      };
      carry_velocity(w.motion.v_free, w.motion.velocity);
      if (w.motion.start) carry_velocity(w.v, w.motion.start);
      if (w.motion.before) carry_velocity(w.motion.v_before, w.motion.before);
    });
  }
}

// With the forces of w.tau.
template <class S>
void predict_with_forces(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  absorb(scene, dt, w);
  move_freely(scene, dt, w);
  place_links(scene, w);
}
template <class S>
void predict(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  add_forces(scene, w);
  start_absorbing(scene, w);
  predict_with_forces(scene, dt, w);
}

}  // namespace featherweight::FW_ISA
