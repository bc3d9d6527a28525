// step/lift.hpp -- what carries weight: a force on the centre of mass of links, against gravity.
//   in    q, w.world, w.lift_scale
//   out   w.forces
//   Oracle: MuJoCo's qfrc_gravcomp; the twin.
#pragma once
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

// Factors on masses of each environment: what is carried has them, too.
template <class S>
void load_lifts(const RolloutJob& job, const Pack& pack, S* scale) {
  const Scene& scene = *job.scene;
  for (int k = 0; k < scene.n_lifts; ++k) {
    scale[k] = S(1);
    for (int lane = 0; lane < width_of<S> && job.masses; ++lane) {
      const std::size_t environment = pack.first + static_cast<std::size_t>(lane < pack.count ? lane : pack.count - 1);
      const std::size_t n = static_cast<std::size_t>(scene.tree.n_user_links);
      LaneOf<S>{lane}.set(scale[k], job.masses[environment * n + static_cast<std::size_t>(scene.lifts[k].of)]);
    }
  }
}

// Root to leaf: gravity in the axes of links. Joint states are scratch of aba.
template <class S>
void add_lifts(const Scene& scene, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  if (scene.n_lifts == 0) return;
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    if (!scene.lifted[i]) continue;
    visit(l.kind, [&](auto joint) {
      using J = decltype(joint);
      J::set_state(l, w.q + l.q, w.aba.state + l.state);
      w.up[i] = J::axes_to_child(l, w.aba.state + l.state, l.parent < 0 ? w.world.lin : w.up[l.parent]);
    });
  }
  for (int k = 0; k < scene.n_lifts; ++k) {
    const Lift& lift = scene.lifts[k];
    const Vec3<S> up = w.up[lift.link] * w.lift_scale[k];
    Force<S> f{up * lift.mass, zero3<S>()};
    add_cross(f.ang, vec3(lift.moment), up);
    w.forces[lift.link] += f;
  }
}

}  // namespace featherweight::FW_ISA
