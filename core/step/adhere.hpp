// step/adhere.hpp -- links that stick to what they touch: a force that an actuator spreads over their contacts.
//   in    the contacts of the step before, where links are
//   out   w.forces
//   What touches is found after forces are known, so it sticks by where it touched a step before.
//   Oracle: MuJoCo's qfrc_actuator of adhesion; weights that hang and slide.
#pragma once
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

inline bool does_stick(const Scene& scene, const Transmission& law, const Contact& c) {
  const bool is_of_link = scene.shapes[c.a].of == law.sticky || scene.shapes[c.b].of == law.sticky;
  return is_of_link && (c.impulse[2] > 0 || c.gap <= law.reach);
}

// force: of all contacts together; each of them has the same share, along its normal.
template <class S>
void adhere(const Scene& scene, const Transmission& law, const S& force, StepWorkspace<S>& w) {
  for (int lane = 0; lane < width_of<S>; ++lane) {
    const LaneOf<S> here{lane};
    const ContactList& contacts = *w.last_contacts[lane];
    int n = 0;
    for (int k = 0; k < contacts.count; ++k) n += does_stick(scene, law, contacts.data[k]);
    for (int k = 0; k < contacts.count && n > 0; ++k) {
      const Contact& c = contacts.data[k];
      if (!does_stick(scene, law, c)) continue;
      const Vec3<double> pull = Vec3<double>{c.frame[6], c.frame[7], c.frame[8]} * (here(force) / n);
      for (int side = 0; side < 2; ++side) {
        const int link = scene.shapes[side == 0 ? c.a : c.b].link;
        if (link < 0) continue;
        const Pose<double> X = here(w.strut_poses[link]);
        const Vec3<double> f = transposed_times(X.R, pull * (side == 0 ? -1.0 : 1.0));
        const Vec3<double> moment = cross(transposed_times(X.R, vec3(c.position) - X.p), f);
        for (int i = 0; i < 3; ++i) here.add(w.forces[link].lin[i], f[i]), here.add(w.forces[link].ang[i], moment[i]);
      }
    }
  }
}

}  // namespace featherweight::FW_ISA
