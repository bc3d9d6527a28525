// step/rk4.hpp -- the classical Runge-Kutta method on the configuration manifold, for motions without contacts.
//   Fourth order: q = integrate(q0, x) with x' = v + 1/2 [x, v] + 1/12 [x, [x, v]] (Munthe-Kaas), [ , ] of se(3) or
//   so(3) for free and spherical joints, zero for axes.
//   Oracle: energy and momentum drift that falls with dt^4; periods of pendulum and free rotation.
#pragma once
#include "step/step.hpp"

namespace featherweight::FW_ISA {

// y = [x, v] of one joint's velocities, body axes.
template <bool travels, class S>
FW_INLINE void bracket(Ball<travels>, const S* x, const S* v, S* y) {
  constexpr int turn = travels ? 3 : 0;
  const Vec3<S> xw{x[turn], x[turn + 1], x[turn + 2]}, vw{v[turn], v[turn + 1], v[turn + 2]};
  const Vec3<S> w = cross(xw, vw);
  if constexpr (travels) {
    Vec3<S> l = cross(xw, Vec3<S>{v[0], v[1], v[2]});
    add_cross(l, Vec3<S>{x[0], x[1], x[2]}, vw);
    for (int k = 0; k < 3; ++k) y[k] = l[k];
  }
  for (int k = 0; k < 3; ++k) y[turn + k] = w[k];
}

// rate = x' in the chart around the start of the step
template <class J, class S>
void chart_rate(J joint, const S* x, const S* v, S* rate) {
  for (int k = 0; k < J::nv; ++k) rate[k] = v[k];
  if constexpr (J::nv > 1) {
    S once[J::nv], twice[J::nv];
    bracket(joint, x, v, once);
    bracket(joint, x, once, twice);
    for (int k = 0; k < J::nv; ++k) rate[k] = rate[k] + once[k] * S(0.5) + twice[k] * S(1.0 / 12);
  }
}

template <class S>
struct Rk4Workspace {
  S *q, *v, *x, *rate, *sum_rate, *sum_a, *tau;

  Rk4Workspace(const Tree<double>& tree, Arena& arena)
      : q(arena.take<S>(tree.nq)),
        v(arena.take<S>(tree.nv)),
        x(arena.take<S>(tree.nv)),
        rate(arena.take<S>(tree.nv)),
        sum_rate(arena.take<S>(tree.nv)),
        sum_a(arena.take<S>(tree.nv)),
        tau(arena.take<S>(tree.nv)) {}
};

// w.tau holds what drives the whole step; all other forces are evaluated at every stage.
template <class S>
void rk4_step(const RolloutJob& job, StepWorkspace<S>& w, Rk4Workspace<S>& r) {
  const Scene& scene = *job.scene;
  const Tree<double>& tree = scene.tree;
  constexpr double nodes[4] = {0, 0.5, 0.5, 1}, weights[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  for (int k = 0; k < tree.nq; ++k) r.q[k] = w.q[k];
  for (int k = 0; k < tree.nv; ++k) r.v[k] = w.v[k], r.tau[k] = w.tau[k], r.sum_rate[k] = r.sum_a[k] = S(0);
  for (int stage = 0; stage < 4; ++stage) {
    const S h(job.dt * nodes[stage]);
    for (int k = 0; k < tree.nv; ++k) {
      r.x[k] = stage == 0 ? S(0) : r.rate[k] * h;
      w.v[k] = stage == 0 ? r.v[k] : r.v[k] + w.a[k] * h;
      w.tau[k] = r.tau[k];
    }
    if (stage > 0) integrate(tree, r.q, r.x, w.q);
    add_forces(scene, w);
    aba(tree, w.world, OfLanes<S>{w.inertias, scene.weighs}, w.q, w.v, w.tau, w.forces, w.aba, w.a);
    for (int i = 0; i < tree.n_links; ++i) {
      const int v = tree.links[i].v;
      visit(tree.links[i].kind, [&](auto joint) { chart_rate(joint, r.x + v, w.v + v, r.rate + v); });
    }
    for (int k = 0; k < tree.nv; ++k) {
      r.sum_rate[k] = r.sum_rate[k] + r.rate[k] * S(weights[stage] * job.dt);
      r.sum_a[k] = r.sum_a[k] + w.a[k] * S(weights[stage] * job.dt);
    }
  }
  integrate(tree, r.q, r.sum_rate, w.q);
  for (int k = 0; k < tree.nv; ++k) w.v[k] = r.v[k] + r.sum_a[k], w.a[k] = r.sum_a[k] * S(1 / job.dt);
}

}  // namespace featherweight::FW_ISA
