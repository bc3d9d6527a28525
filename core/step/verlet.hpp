// step/verlet.hpp -- a step of second order: half a kick, a drift, half a kick.
//
//   v' = v + h a(q, .) + H^-1 J^T lambda       h = dt / 2, laws of the whole step: what is apart does not go through
//   q+ = q (+) dt v'                           closures hold at q+
//   v+ = v' + h a(q+, .) + H^-1 J^T lambda+    what pushed in the first half stays closed: J v+ >= 0, closures J v+ = 0
//
// Without rows it is velocity Verlet, with closures RATTLE [Andersen 1983]. The same forwards and backwards in time, so
// errors are of second order and energy hardly drifts. Impacts are those of the first half, and as exact as in other
// steps. The first half is the step of step.hpp with half of its forces; the second solves once more, where the step
// ends. Cost: two solutions, four or so where things move and touch. Oracle: orders of convergence; the twin.
#pragma once
#include "step/step.hpp"

namespace featherweight::FW_ISA {

struct VerletTuning {
  // [s] the time in which coordinates move in the second half: none, and what is apart does not come near.
  static constexpr double no_time = 1e-9;
  // Contacts of a pair that pushes stay closed with it, if they are nearer than this times what gravity moves in a
  // step [1]. tests/physics/test_second_order.py.
  static constexpr double as_near = 1;
  // And those along the normal of one that pushes, to the cosine of a ten-thousandth of a radian [1], as in patches.
  static constexpr double as_level = 1 - 5e-9;
  // Pushes below this share of what would stop the lighter link are none [1]: rounding, and what solvers leave.
  // tests/physics/test_passing.py.
  static constexpr double negligible_push = 1e-7;
};

// Half a kick, if nothing touched.
template <class S>
void predict_half(const RolloutJob& job, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  add_dry_forces(scene, w);
  if (w.dry_forces)
    for (int i = 0; i < scene.tree.n_links; ++i) w.dry_forces[i] = w.forces[i];
  find_tumbling_bodies(scene.tree, S(2 * scene.kick), w);
  if (w.motion.holds) find_kick_products(scene, w.kept_q, w.v, w);
  settle_kick(scene, static_cast<const S*>(nullptr), S(1), w);
  set_free_velocities(job, static_cast<const S*>(nullptr), w, w.motion.v_free);
  place_links(scene, w);
}

// Impulses that are kept are those of the whole step: each half begins with half of them.
inline void halve_impulses(const RolloutJob& job, std::size_t environment) {
  for_kept_impulses(job, environment, [](double* impulses, int count) {
    for (int k = 0; k < count; ++k) impulses[k] *= 0.5;
  });
}

// Contacts that only just touch where the step ends have not pushed: what passes by would be held, and stopped.
template <class S>
void forget_touches(const Scene& scene, const StepWorkspace<S>& w, LaneOf<S> lane, ContactList& contacts) {
  const double speed = root(lane(squares_of(w.v, scene.tree.nv))) + lane(w.motion.fall);
  for (int k = 0; k < contacts.count; ++k) {
    Contact& c = contacts.data[k];
    double mass = 1e300;
    for (int shape : {c.a, c.b}) {
      const int link = scene.shapes[shape].link;
      const double own = link < 0 ? mass : lane(w.inertias[link].body.m);
      mass = own < mass ? own : mass;
    }
    if (!(c.impulse[2] > VerletTuning::negligible_push * mass * speed)) c.impulse[2] = 0;
  }
}

// Whether what pushed in the first half goes on in c: between the same links, along the same normal. Features change
// within a step where something slides from one tile or cell to the next.
inline bool goes_on_in(const Scene& scene, const ContactList& first, const Contact& c) {
  const int a = scene.shapes[c.a].link, b = scene.shapes[c.b].link;
  for (int k = 0; k < first.count; ++k) {
    const Contact& o = first.data[k];
    const int oa = scene.shapes[o.a].link, ob = scene.shapes[o.b].link;
    if (!(o.impulse[2] > 0) || !((oa == a && ob == b) || (oa == b && ob == a))) continue;
    const double cosine = o.frame[6] * c.frame[6] + o.frame[7] * c.frame[7] + o.frame[8] * c.frame[8];
    if ((oa == a ? cosine : -cosine) > VerletTuning::as_level) return true;
  }
  return false;
}

// Contacts where the step ends, with the impulses of its first half, which it leaves in `first`.
template <class S>
void find_held(const RolloutJob& job, StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment, double near,
               ContactList& first, StepMemory& memory) {
  ContactList& contacts = job.contacts[environment];
  find_contacts(job, w, lane, environment, memory);
  forget_touches(*job.scene, w, lane, contacts);
  warm_start(contacts, false, memory.next);
  swap(first, contacts);
  swap(contacts, memory.next);
  memory.aside[lane.lane].count = 0;
  for (int begin = 0, end = 0; begin < contacts.count; begin = end) {
    const auto same = [&](int k) {
      return contacts.data[k].a == contacts.data[begin].a && contacts.data[k].b == contacts.data[begin].b;
    };
    bool pushes = false;
    for (end = begin; end < contacts.count && same(end); ++end) pushes |= contacts.data[end].was_loaded;
    for (int k = begin; k < end; ++k) {
      Contact& c = contacts.data[k];
      c.was_loaded |= c.gap <= near && (pushes || goes_on_in(*job.scene, first, c));
    }
  }
}

// The impulses of both halves, with the contacts of the first; `impulses`: its own.
inline void join_halves(const RolloutJob& job, std::size_t environment, const Memory& impulses, ContactList& first) {
  ContactList& contacts = job.contacts[environment];
  for (int k = 0; k < first.count; ++k)
    for (double& impulse : first.data[k].impulse) impulse = 0;
  warm_start(contacts, true, first);
  swap(first, contacts);
  const double* own = static_cast<const double*>(impulses.data);
  for_kept_impulses(job, environment, [&](double* both, int count) {
    for (int k = 0; k < count; ++k) both[k] += *own++;
  });
}

// Of both halves.
inline void join_figures(const StepFigures& first, StepFigures& last) {
  add_figures(first, last);
  last.penetration = first.penetration;
  last.unconverged = last.unconverged > 0 ? 1 : 0;
}

// Impulses where the step ends, and in w.a the change of velocities they cause. whole: the step of which `job` is half.
template <class S>
bool touch_held(const RolloutJob& whole, const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w,
                StepMemory& memory) {
  const Scene& scene = *job.scene;
  if (scene.held.n_rows) start_shaking(scene, S(job.dt), w);
  const S squares = squares_of(w.motion.v_free, scene.tree.nv);
  for (int f = 0; f < scene.tree.nv; ++f) w.motion.response[f] = w.motion.correct[f] = S(0);
  start_looking(job, pack, squares, w);
  list_nearby(job, pack, static_cast<const S*>(nullptr), false, w);
  bool touched = false;
  for (int lane = 0; lane < pack.count; ++lane) {
    const std::size_t environment = pack.first + lane;
    const LaneOf<S> own{lane};
    if (!w.looks[lane]) continue;
    StepReport& report = job.reports[environment];
    FirstHalf& first = memory.first[lane];
    first.figures = report.last;
    report.last = {};
    keep_start(job, environment, first.impulses);
    find_held(job, w, own, environment, VerletTuning::as_near * own(w.motion.fall) * whole.dt, first.contacts, memory);
    keep_start(job, environment, memory.starts[lane]);
    w.touches[lane] = solve_environment(job, w, own, environment, DetectTuning::resting_reach, memory).touched;
    touched |= w.touches[lane];
  }
  if (touched) {
    w.balls.respond();
    repeat_last_lane(pack, scene.tree.nv, w.motion.response);
    respond_held(scene, w.motion.response, w, w.a);
  }
  touched |= scene.held.n_rows > 0;
  if (touched) settle(job, pack, w, memory, [&](const bool* lanes) { solve_again(job, pack, lanes, w, memory); });
  keep_held(job, pack, w);
  for (int lane = 0; lane < pack.count; ++lane) {
    if (!w.looks[lane]) continue;
    const std::size_t environment = pack.first + lane;
    FirstHalf& first = memory.first[lane];
    join_halves(job, environment, first.impulses, first.contacts);
    StepReport& report = job.reports[environment];
    join_figures(first.figures, report.last);
    report.contacts = job.contacts[environment].count;
  }
  return touched;
}

template <class S>
void verlet_step(const RolloutJob& job, const Pack& pack, bool is_last, StepWorkspace<S>& w, StepMemory& memory) {
  const Scene& scene = *job.scene;
  for (int lane = 0; lane < pack.count; ++lane) halve_impulses(job, pack.first + lane);
  keep_no_rows(job, pack);
  w.motion.holds = false;
  for (int f = 0; f < scene.tree.nv; ++f) w.half_tau[f] = w.tau[f];
  predict_half(job, w);
  const Outcome outcome = touch(job, pack, w, memory);
  apply(job, outcome.touched, w);
  correct(job, pack, outcome.separated, w);
  if (is_last && job.solutions) keep_step(job, pack, outcome.separated, w);

  RolloutJob end = job;
  end.dt = VerletTuning::no_time;
  end.solutions = nullptr;
  w.motion.holds = true;
  for (int f = 0; f < scene.tree.nv; ++f) {
    const S first = w.tau[f];
    w.tau[f] = w.half_tau[f], w.half_tau[f] = first;
  }
  predict_half(end, w);
  const bool touched = touch_held(job, end, pack, w, memory);
  apply(end, touched, w);
  for (int f = 0; f < scene.tree.nv; ++f) {
    w.tau[f] = (w.half_tau[f] + w.tau[f]) * S(0.5);
    w.a[f] = (w.v[f] - w.kept_v[f]) * S(1 / job.dt);
  }
  add_figures(job, pack, w);
}

}  // namespace featherweight::FW_ISA
