// step/strut.hpp -- springs and dampers along lines through points of links, at the start of the step.
//   in    q, v
//   out   w.motion.struts, w.tau
//   Oracle: MuJoCo's qfrc_passive of spatial tendons; the twin; oscillators, momentum and energy.
#pragma once
#include "step/activate.hpp"
#include "step/strut_lengths.hpp"

namespace featherweight::FW_ISA {

// A force that lengthens a strut if it is positive.
template <class S>
void push_along(const Scene& scene, int strut, const S& force, StepWorkspace<S>& w) {
  for_strut_dofs(scene, scene.struts[strut],
                 [&](int f, int place) { w.tau[f] = w.tau[f] + w.motion.struts.travels[place] * force; });
}

// Joint states and the motions of links are scratch of aba.
template <class S>
void measure_struts(const Scene& scene, StepWorkspace<S>& w) {
  if (!scene.strutted) return;
  StrutMeasure<S> all(scene, w.strut_poses, w.strut_forces, w.motion.struts);
  all.place_links(w.q, w.aba.state);
  all.measure();
}

template <class S>
void add_struts(const Scene& scene, StepWorkspace<S>& w) {
  for (int k = 0; k < scene.n_struts; ++k) {
    const Strut& strut = scene.struts[k];
    if (strut.stiffness == 0 && strut.damping == 0) continue;
    const S& length = w.motion.struts.lengths[k];
    const S stretch = length - clamped(length, S(strut.slack[0]), S(strut.slack[1]));
    const S rate = growth_of(scene, w.motion.struts, k, w.v, AllLanes<S>{});
    push_along(scene, k, stretch * -strut.stiffness - rate * strut.damping, w);
  }
}

}  // namespace featherweight::FW_ISA
