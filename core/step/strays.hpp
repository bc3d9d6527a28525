// step/strays.hpp -- shapes that impulses throw beyond where contacts were looked for.
//
// Contacts are looked for along the paths of shapes without impulses, and a little beyond. A ball that is struck may go
// anywhere: where the response to impulses leads beyond, the bounds are widened and contacts are looked for again, and
// where one of them would be run through, that environment is solved again.
#pragma once
#include "step/nearby.hpp"

namespace featherweight::FW_ISA {

// Velocities of a link with and without impulses, about the root of its tree.
template <class S>
FW_INLINE Motion<S> with_impulses(const Scene& scene, const FreeMotion<S>& motion, const Motion<S>* response,
                                  int link) {
  Motion<S> m = motion.velocity[link];
  if (scene.touchable[link]) m += response[link];
  return m;
}

template <class S>
FW_INLINE void raise(S& most, const S& x) {
  most = larger(x, most);
}

// How much faster than allowed velocities with impulses close a limit [m/s], or a joint is that its drive pushes on;
// negative for other joint rows.
template <class S>
FW_INLINE S run_through(const Scene& scene, const JointRow& row, const FreeMotion<S>& motion, const S* change,
                        double per_dt) {
  if (row.kind == JointRow::servo && !scene.actuators[row.actuator].is_row)
    return speed_of_drive(row, motion, motion.v_free[row.term.dof] + change[row.term.dof]) -
           (scene.actuators[row.actuator].velocity + DetectTuning::unseen);
  if (!row.is_limit()) return S(-1);
  const AllLanes<S> all;
  const S velocity = row.is_tendon() ? along_row(scene, motion.struts, row, motion.v_free, all) +
                                           along_row(scene, motion.struts, row, change, all)
                                     : (motion.v_free[row.term.dof] + change[row.term.dof]) * S(row.term.coefficient);
  return -velocity - closing_speed(scene, row, motion, per_dt) - DetectTuning::unseen;
}
// The most of any limit that was not looked at: impulses must change the velocity of its joint by more than its reach.
template <class S>
S limits_run_through(const Scene& scene, const FreeMotion<S>& motion, const S* change, double per_dt) {
  S most(-1), largest(0);
  for (int f = 0; f < scene.tree.nv; ++f) raise(largest, abs(change[f]));
  const auto is_beyond = largest * scene.most_travel > S(DetectTuning::joint_reach);
  if (!any(largest, is_beyond)) return most;
  for (int k = 0; k < scene.n_joint_rows; ++k)
    if (scene.joint_rows[k].is_limit()) raise(most, run_through(scene, scene.joint_rows[k], motion, change, per_dt));
  return select(is_beyond, most, S(-1));  // whatever the neighbours do
}
// The same of velocity limits of drives that were not looked at.
template <class S>
S drives_run_through(const Scene& scene, const FreeMotion<S>& motion, const S* change) {
  S most(-1);
  for (int k = 0; k < scene.n_joint_rows; ++k) {
    const JointRow& row = scene.joint_rows[k];
    if (row.kind != JointRow::servo || scene.actuators[row.actuator].is_row) continue;
    const S& v = motion.v_free[row.term.dof];
    const S unseen = S(DetectTuning::share_of_velocity_limit * scene.actuators[row.actuator].velocity);
    const S beyond = run_through(scene, row, motion, change, 0);
    raise(most, select(speed_of_drive(row, motion, v) > unseen, S(-1), beyond));
  }
  return most;
}

// Contacts of a shape are looked for this far beyond its bounds [m].
inline constexpr double margin_of_shape = 0.5 * look_ahead;

// Positive where a shape may go farther than its margin. No roots: it is asked in every step.
template <class S>
S suspicion(const Scene& scene, const FreeMotion<S>& motion, const Motion<S>* response, const Bound<S>* bounds,
            double dt) {
  const double per_dt2 = 1 / (dt * dt);
  S most(-1);
  for (int k = 0; k < scene.n_shapes; ++k) {
    const PlacedShape& shape = scene.shapes[k];
    if (shape.link < 0 || !scene.touchable[shape.link]) continue;
    const Motion<S> m = with_impulses(scene, motion, response, shape.link);
    const Vec3<S> u = velocity_at(m, bounds[k].center - motion.pose[scene.root[shape.link]].p);
    const S farthest = bounds[k].travel + margin_of_shape;
    S speed2 = dot(u, u);  // or more than (|u| + |w| r)^2
    if (shape.shape.kind != ShapeKind::sphere)
      speed2 = (speed2 + dot(m.ang, m.ang) * (shape.shape.radius * shape.shape.radius)) * 2;
    raise(most, speed2 * (1 + DetectTuning::rounding) - farthest * farthest * per_dt2);
  }
  return most;
}

// Bounds over the travel with impulses, too, in lanes that are suspicious. Positive where a shape goes farther than its
// margin.
template <class S>
S widen(const Scene& scene, const FreeMotion<S>& motion, const Motion<S>* response, const S& dt, const S& suspicious,
        Bound<S>* bounds) {
  const auto is_suspicious = suspicious > S(0);
  S most(-1);
  for (int k = 0; k < scene.n_shapes; ++k) {
    const PlacedShape& shape = scene.shapes[k];
    if (shape.link < 0) continue;
    const S travel =
        travel_of(scene, shape, motion, with_impulses(scene, motion, response, shape.link), bounds[k].center, dt);
    raise(most, travel - bounds[k].travel - margin_of_shape);
    raise(bounds[k].travel, select(is_suspicious, travel, S(0)));
  }
  return select(is_suspicious, most, S(-1));
}

// Whether a limit is run through.
template <class S>
bool is_run_through(const Scene& scene, const FreeMotion<S>& motion, const S* change, LaneOf<S> lane, double per_dt,
                    const int* near, int n_near) {
  for (int k = 0; k < n_near; ++k)
    if (lane(run_through(scene, scene.joint_rows[near[k]], motion, change, per_dt)) > 0) return true;
  return false;
}
// The speed at which a contact opens. response: of links to impulses; null: there are none.
template <class S>
FW_INLINE double opening_speed(const Scene& scene, const FreeMotion<S>& motion, const Motion<S>* response,
                               LaneOf<S> lane, const Contact& c) {
  double speed = 0;
  for (int side = 0; side < 2; ++side) {
    const int link = scene.shapes[side == 0 ? c.a : c.b].link;
    if (link < 0) continue;
    const Motion<double> m = lane(response ? with_impulses(scene, motion, response, link) : motion.velocity[link]);
    const Vec3<double> u = velocity_at(m, vec3(c.position) - lane(motion.pose[scene.root[link]].p));
    speed += (side == 0 ? 1 : -1) * dot(u, Vec3<double>{c.frame[6], c.frame[7], c.frame[8]});
  }
  return speed;
}

// Whether a rigid contact is run through.
template <class S>
bool is_run_through(const Scene& scene, const FreeMotion<S>& motion, const Motion<S>* response, LaneOf<S> lane,
                    double per_dt, const ContactList& contacts) {
  for (int k = 0; k < contacts.count; ++k) {
    const Contact& c = contacts.data[k];
    if (c.gap <= 0 && scene.materials[c.material].compliance > 0) continue;
    const double closes = c.gap > 0 ? c.gap * per_dt : 0;
    if (closes + opening_speed(scene, motion, response, lane, c) < -DetectTuning::unseen) return true;
  }
  return false;
}

}  // namespace featherweight::FW_ISA
