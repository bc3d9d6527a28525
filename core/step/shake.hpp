// step/shake.hpp -- closures hold at the end of the step, and velocities know.
//   in    velocities without impulses; the errors of closures where the step begins
//   out   w.opening: the velocity that the rows of closures must have, so that their errors are the same at the end
//
// Along the tangent J v = 0 closures open by the square of the step. Taken out of coordinates alone, what turned the
// velocity is lost, and with it energy: a rod about a held end slows down by 3/8 w^3 dt. Instead the impulses, along
// the rows where the step began, are those after which coordinates close (SHAKE, [Ryckaert et al. 1977]):
//   J v = -opening,   opening = (g(q (+) dt v) - g(q)) / dt - J v
// found by a few iterations with the matrix that there is. Oracle: energy over a minute; the twin.
#pragma once
#include "step/apply.hpp"
#include "step/carried_contacts.hpp"
#include "step/closure_system.hpp"
#include "step/kick.hpp"

namespace featherweight::FW_ISA {

// Of all rows of closures, with links at `poses`.
template <class S>
void closure_errors(const Scene& scene, const Pose<S>* poses, S* errors) {
  for (int k = 0; k < scene.n_closures; ++k) {
    const Closure<double>& closure = scene.closures[k];
    position_errors(closure, frame_in_world(closure.a, poses), frame_in_world(closure.b, poses), errors);
    errors += closure.n_rows;
  }
}

template <class S>
void place_at(const Tree<double>& tree, const S* q, StepWorkspace<S>& w, Pose<S>* placed) {
  const Pose<S> world = identity_pose<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      place(joint, l, q + l.q, w.aba.state + l.state, l.parent < 0 ? world : placed[l.parent], placed[i]);
    });
  }
}

// Where links would be after moving with v for a time dt.
template <class S>
void place_after(const Scene& scene, const S* v, const S& dt, StepWorkspace<S>& w, Pose<S>* placed) {
  for (int k = 0; k < scene.tree.nq; ++k) w.closed_q[k] = w.q[k];
  advance(scene, w.centers, v, dt, w.closed_q, w.closed_v);
  place_at(scene.tree, w.closed_q, w, placed);
}
template <class S>
void errors_after(const Scene& scene, const S* v, const S& dt, StepWorkspace<S>& w, S* errors) {
  place_after(scene, v, dt, w, w.placed);
  closure_errors(scene, w.placed, errors);
}

// Rows whose velocity is not the rate of their error keep to J v = 0, and coordinates take their error: they get
// `instead`, or zero.
template <class S>
void leave_others(const Scene& scene, S* x, const S* instead) {
  for (int c = 0, k = 0; c < scene.n_closures; ++c)
    for (int r = 0; r < scene.closures[c].n_rows; ++r, ++k)
      if (!is_integrable(scene.closures[c], r)) x[k] = instead ? instead[k] : S(0);
}

// A first guess, from the velocities where the step begins: half the second difference of errors along them.
template <class S>
void guess_openings(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  closure_errors(scene, w.motion.pose, w.apart);
  for (int f = 0; f < scene.tree.nv; ++f) w.closed_v[f] = S(0);
  errors_after(scene, w.v, dt, w, w.opening);
  errors_after(scene, w.v, -dt, w, w.errors);
  const S half_per_dt = S(0.5) / dt;
  for (int k = 0; k < scene.n_closure_rows; ++k)
    w.opening[k] = (w.opening[k] + w.errors[k] - w.apart[k] * S(2)) * half_per_dt;
  leave_others<S>(scene, w.opening, nullptr);
}

// One environment's errors less those at the start, over dt, as its system takes them; the largest of them [m or rad].
template <class S>
double take_openings(const RolloutJob& job, LaneOf<S> lane, StepWorkspace<S>& w) {
  ClosureSystem& own = w.closures[lane.lane];
  double largest = 0;
  for (int k = 0; k < job.scene->n_closure_rows; ++k) {
    const double error = own.depends(k) ? 0 : lane(w.errors[k]) - lane(w.apart[k]), size = error < 0 ? -error : error;
    largest = size > largest ? size : largest;
    own.impulses()[k] = error / job.dt;
  }
  return largest;
}

// What was taken out directly, in the solution that was kept.
template <class S>
void keep_openings(const RolloutJob& job, LaneOf<S> lane, const double* impulses, std::size_t environment,
                   StepWorkspace<S>& w) {
  StepSolution& solution = job.solutions[environment];
  for (int k = 0; k < job.scene->n_closure_rows; ++k) {
    if (w.closures[lane.lane].depends(k)) continue;
    SolvedRow& row = solution.rows[k];
    row.impulse = impulses[k];
    row.shift = lane(w.opening[k]);
    row.velocity = -row.shift;
  }
}

// Products of velocities at the mean of those at the start and, in w.closed_v, at the end, in the axes there: with
// coordinates half a step between, that is the same forwards and backwards in time, and keeps energy from drifting. For
// lanes where `moving` is positive; the largest change of velocity is left in `change`.
template <class S>
void renew_products(const Scene& scene, const S& dt, const S& moving, StepWorkspace<S>& w, S& change) {
  const Tree<double>& tree = scene.tree;
  const auto here = moving > S(0);
  for (int f = 0; f < tree.nv; ++f) w.middle[f] = (w.v[f] + w.closed_v[f]) * S(0.5);
  products_of_middle(tree, w);
  change = S(0);
  for (int i = 0; i < tree.n_links; ++i) {
    if (is_single_body(tree, i)) continue;
    for (int f = tree.links[i].v; f < tree.links[i].v + tree.links[i].nv; ++f) {
      change = larger(abs(w.x_next[f] - w.x[f]) * dt, change);
      w.x[f] = select(here, w.x_next[f], w.x[f]);
    }
  }
  turn_trees(tree, dt, here, w.v, w);
  for (int i = 0; i < tree.n_links; ++i)
    for (int f = tree.links[i].v; f < tree.links[i].v + tree.links[i].nv && !is_single_body(tree, i); ++f)
      w.motion.v_free[f] = select(here, w.turned[f] + w.forced[f] * dt, w.motion.v_free[f]);
}

// Rows of contacts of steps in halves, along the motion that there is now; largest changes of each lane in `change`.
template <class S>
void carry_contacts(const RolloutJob& job, const Pack& pack, const S& moving, bool is_first, bool is_placed,
                    StepWorkspace<S>& w, StepMemory& memory, double* change) {
  const Scene& scene = *job.scene;
  bool some = false;
  for (int lane = 0; lane < pack.count; ++lane)
    some |= LaneOf<S>{lane}(moving) > 0 && job.contacts[pack.first + lane].count > 0;
  if (!some) return;
  if (!w.motion.holds) {
    for (int f = 0; f < scene.tree.nv; ++f) w.closed_v[f] = S(0);
    if (!is_placed) place_after(scene, w.moved, S(job.dt), w, w.placed);
    place_after(scene, w.moved, S(job.dt * 0.5), w, w.halfway);
  }
  for (int lane = 0; lane < pack.count; ++lane) {
    if (LaneOf<S>{lane}(moving) <= 0) continue;
    const CarriedContacts<S> contacts(job, w, LaneOf<S>{lane}, pack.first + lane, memory);
    if (is_first) contacts.forget();
    if (!w.strikes[lane]) change[lane] = contacts.look(is_first);
  }
}

// Environments with nothing but closures take what is still open out directly; others are solved again, and leave what
// is then left to the coordinates. So are those whose forces depend on what impulses do (kick.hpp). solve_again(lanes):
// with w.opening. Leaves the change of velocities in w.a.
template <class S, class SolveAgain>
void settle_impulses(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w, StepMemory& memory,
                     const SolveAgain& solve_again) {
  const Scene& scene = *job.scene;
  const int nv = scene.tree.nv;
  const bool closes = scene.n_closures > 0 && !w.motion.holds;
  const double same = scene.is_verlet() ? TumbleTuning::same_kick : ClosureTuning::same_products;
  double last[width_of<S>], last_change[width_of<S>];
  for (int lane = 0; lane < width_of<S>; ++lane) last[lane] = last_change[lane] = 1e300;
  S moving(0), change(0);
  for (int lane = 0; lane < pack.count; ++lane) {
    const bool settles = w.touches[lane] && (scene.n_closures || !w.strikes[lane]);  // impacts are of first order
    LaneOf<S>{lane}.set(moving, settles ? 1 : 0);
  }
  repeat_last_lane(pack, 1, &moving);
  for (int iteration = 0; iteration < ClosureTuning::most_iterations; ++iteration) {
    S speed(0);
    for (int f = 0; f < nv; ++f) {
      w.closed_v[f] = w.motion.v_free[f] + w.a[f];
      w.moved[f] = w.tumbles ? w.closed_v[f] + w.bend[f] : w.closed_v[f];
      speed = larger(abs(w.v[f]), speed);
    }
    if (closes) {
      errors_after(scene, w.moved, S(job.dt), w, w.errors);
      leave_others<S>(scene, w.errors, w.apart);
    }
    double carried[width_of<S>] = {};
    if (scene.is_verlet()) {
      carry_contacts(job, pack, moving, iteration == 0, closes, w, memory, carried);
      renew_kick(job, moving, w, change);
      for (int lane = 0; lane < pack.count; ++lane) {
        const LaneOf<S> here{lane};
        if (carried[lane] > here(change)) here.set(change, carried[lane]);
      }
    } else
      renew_products(scene, S(job.dt), moving, w, change);
    bool moves = false, again[width_of<S>] = {};
    for (int lane = 0; lane < pack.count; ++lane) {
      ClosureSystem& own = w.closures[lane];
      const LaneOf<S> here{lane};
      const bool alone = closes && w.closures_alone[lane], moved = w.touches[lane] && here(moving) > 0;
      const double error = closes && moved && !own.empty() ? take_openings(job, here, w) : 0;
      const bool settled = error <= ClosureTuning::closed && here(change) <= same * here(speed);
      const bool improves = error < ClosureTuning::least_progress * last[lane] ||
                            here(change) < ClosureTuning::least_progress * last_change[lane];
      const bool goes_on = moved && !settled && improves && (alone || iteration < ClosureTuning::most_solves);
      last[lane] = error, last_change[lane] = here(change);
      here.set(moving, goes_on ? 1 : 0);
      if (!goes_on) continue;
      moves = true;
      for (int k = 0; k < scene.n_closure_rows && closes; ++k) here.add(w.opening[k], own.impulses()[k]);
      again[lane] = !alone;
      if (!alone) continue;
      own.solve();
      add_impulses(scene, own.quartets(), own.n_quartets(), own.impulses(), here, w.motion.response);
      const std::size_t environment = pack.first + lane;
      double* const kept = job.joint_impulses +
                           environment * static_cast<std::size_t>(scene.n_joint_rows + scene.n_closure_rows) +
                           scene.n_joint_rows;
      for (int k = 0; k < scene.n_closure_rows; ++k) kept[k] += own.impulses()[k];
      if (job.solutions) keep_openings(job, here, kept, environment, w);
    }
    if (!moves) return;
    repeat_last_lane(pack, 1, &moving);
    solve_again(again);
    repeat_last_lane(pack, nv, w.motion.response);
    respond(scene, w.motion.response, w, w.a);
  }
}

// How far closures are apart at the end of the step, and whether they should be.
template <class S>
void report_errors(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  for (int lane = 0; lane < pack.count; ++lane) {
    if (w.closures[lane].empty()) continue;
    const LaneOf<S> here{lane};
    double largest = 0, missed = 0;
    for (int k = 0; k < job.scene->n_closure_rows; ++k) {
      const auto size = [](double x) { return x < 0 ? -x : x; };
      const double error = size(here(w.errors[k])), off = size(here(w.errors[k]) - here(w.apart[k]));
      largest = error > largest ? error : largest;
      missed = off > missed ? off : missed;
    }
    StepFigures& figures = job.reports[pack.first + lane].last;
    figures.closure_error = largest;
    if (!(missed < ClosureTuning::unmet)) figures.unconverged = 1;
  }
}

// Coordinates alone move until closures are as near as they may come in this step, or no longer improve: what the
// openings left, and errors that were there at the start, at a bounded speed.
template <class S>
void correct_closures(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  const Tree<double>& tree = scene.tree;
  double last[width_of<S>];
  for (double& error : last) error = 1e300;
  for (int k = 0; k < scene.n_closure_rows; ++k) w.opening[k] = w.apart[k];
  for (int c = 0, k = 0; c < scene.n_closures; k += scene.closures[c++].n_rows)
    limit_errors(scene.closures[c], S(ClosureTuning::fastest * job.dt), S(ClosureTuning::fastest_turn * job.dt),
                 w.opening + k);
  for (int k = 0; k < scene.n_closure_rows; ++k) w.apart[k] = w.apart[k] - w.opening[k];  // what may stay
  for (int iteration = 0; iteration < ClosureTuning::most_iterations; ++iteration) {
    place_at(tree, w.q, w, w.placed);
    closure_errors(scene, w.placed, w.errors);
    for (int f = 0; f < tree.nv; ++f) w.motion.correct[f] = S(0);
    bool moves = false;
    S moving(0);  // positive in the lanes that do
    for (int lane = 0; lane < pack.count; ++lane) {
      ClosureSystem& own = w.closures[lane];
      if (own.empty()) continue;
      const double error = take_openings(job, LaneOf<S>{lane}, w);
      const bool goes_on = error > ClosureTuning::closed && error < ClosureTuning::least_progress * last[lane];
      last[lane] = goes_on ? error : 0;
      if (!goes_on) continue;
      moves = true;
      LaneOf<S>{lane}.set(moving, 1);
      own.solve();
      add_impulses(scene, own.quartets(), own.n_quartets(), own.impulses(), LaneOf<S>{lane}, w.motion.correct);
    }
    if (!moves) break;
    repeat_last_lane(pack, tree.nv, w.motion.correct);
    repeat_last_lane(pack, 1, &moving);
    respond(scene, w.motion.correct, w, w.moved);
    for (int k = 0; k < tree.nq; ++k) w.closed_q[k] = w.q[k];
    for (int f = 0; f < tree.nv; ++f) w.closed_v[f] = w.v[f];
    advance(scene, w.centers, w.moved, S(job.dt), w.q, w.v);
    // the others stay as they are: even advancing by nothing rounds
    const auto goes_on = moving > S(0);
    for (int k = 0; k < tree.nq; ++k) w.q[k] = select(goes_on, w.q[k], w.closed_q[k]);
    for (int f = 0; f < tree.nv; ++f) w.v[f] = select(goes_on, w.v[f], w.closed_v[f]);
  }
  report_errors(job, pack, w);
}

}  // namespace featherweight::FW_ISA
