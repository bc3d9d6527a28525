// step_diff/joint_forces.hpp -- derivatives of the forces of dampers, springs and actuators (step/predict.hpp).
//
// Each acts along one degree of freedom, and sees nothing else. What is clipped has no slope; what the integrator adds
// to the inertia stays, and grows with the factor on the gains.
#pragma once
#include "memory/arena.hpp"
#include "scene/scene.hpp"

namespace featherweight::FW_ISA {

// Of a force, or of an impulse, along a degree of freedom.
struct DriveSlope {
  double by_q, by_v, by_control, by_gain;
};

struct JointForces {
  double* value;        // of degrees of freedom: all forces there,
  double *by_q, *by_v;  // of degrees of freedom: all forces there
  DriveSlope* force;    // of actuators that are forces
  DriveSlope* beyond;   // what of them is beyond the velocity limit,
  double* side;         // and where: 1 forwards, -1 backwards, 0: nothing is
  double* inertia;      // of actuators: what the factor on its gains adds to the inertia

  JointForces(const Scene& scene, Arena& arena)
      : value(arena.take<double>(scene.tree.nv)),
        by_q(arena.take<double>(scene.tree.nv)),
        by_v(arena.take<double>(scene.tree.nv)),
        force(arena.take<DriveSlope>(scene.n_actuators)),
        beyond(arena.take<DriveSlope>(scene.n_actuators)),
        side(arena.take<double>(scene.n_actuators)),
        inertia(arena.take<double>(scene.n_actuators)) {}

  // control, gains: of actuators, or null: zero, and one.
  void differentiate(const Scene& scene, double dt, const double* q, const double* v, const double* control,
                     const double* gains) {
    const bool is_implicit = scene.integrator == Integrator::implicit;
    const double ahead = is_implicit ? dt : 0;
    for (int f = 0; f < scene.tree.nv; ++f) by_q[f] = 0, by_v[f] = -scene.damping[f], value[f] = by_v[f] * v[f];
    for (int k = 0; k < scene.n_springs; ++k) {
      const Spring& s = scene.springs[k];
      by_q[s.dof] -= s.stiffness, by_v[s.dof] -= s.stiffness * ahead;
      value[s.dof] += s.stiffness * (s.rest - q[s.q] - v[s.dof] * ahead);
    }
    for (int k = 0; k < scene.n_actuators; ++k) {
      const Actuator& m = scene.actuators[k];
      force[k] = beyond[k] = {0, 0, 0, 0};
      inertia[k] = side[k] = 0;
      if (m.is_row) continue;
      const double scale = gains ? gains[k] : 1, speed = v[m.dof];
      const double raw = m.gain * (control ? control[k] : 0) - m.kp * (q[m.q] + speed * ahead) - m.kd * speed;
      const double wanted = scale * raw, given = wanted > m.upper ? m.upper : wanted < m.lower ? m.lower : wanted;
      const bool is_cut =
          scene.integrator == Integrator::rk4 && speed * given > 0 && (speed > m.velocity || -speed > m.velocity);
      if (is_implicit) inertia[k] = dt * m.kd + dt * dt * m.kp;
      if (given == wanted && !is_cut) force[k] = {-scale * m.kp, -scale * (m.kp * ahead + m.kd), scale * m.gain, raw};
      by_q[m.dof] += force[k].by_q, by_v[m.dof] += force[k].by_v;
      if (!is_cut) value[m.dof] += given;
      if (!m.is_limited) continue;
      const double rate = is_implicit ? (dt * m.kp + m.kd) * scale : 0, per_gain = is_implicit ? dt * m.kp + m.kd : 0;
      const double here = given + rate * speed;
      side[k] = here - rate * m.velocity > 0 ? 1 : here + rate * m.velocity < 0 ? -1 : 0;
      if (side[k] != 0)
        beyond[k] = {force[k].by_q, force[k].by_v + rate, force[k].by_control,
                     force[k].by_gain + per_gain * (speed - side[k] * m.velocity)};
    }
  }
};

}  // namespace featherweight::FW_ISA
