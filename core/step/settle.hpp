// step/settle.hpp -- impulses, closures and the forces that depend on them, until they agree.
//   in    impulses of a first solution; velocities without them
//   out   velocities with which what is held closes where the step ends (shake.hpp), products of velocities at the
//         mean of the step, in steps in halves also drag (kick.hpp) and rows of contacts along their motion
//         (carried_contacts.hpp); impulses of contacts that see all this
//
// Fixed-point iterations, with the factors that there are. Oracle: energy over a minute; orders of convergence; the
// twin.
#pragma once
#include "step/carried_contacts.hpp"
#include "step/kick.hpp"
#include "step/shake.hpp"

namespace featherweight::FW_ISA {

// Products of velocities at the mean of those at the start and, in w.closed_v, at the end, in the axes there: with
// coordinates half a step between, that is the same forwards and backwards in time, and keeps energy from drifting.
// Into w.x_next; the largest change of velocity.
template <class S>
S find_products(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  for (int f = 0; f < tree.nv; ++f) w.middle[f] = (w.v[f] + w.closed_v[f]) * S(0.5);
  products_of_middle(scene, w);
  S change(0);
  for (int i = 0; i < tree.n_links; ++i)
    for (int f = tree.links[i].v; f < tree.links[i].v + tree.links[i].nv && !is_single_body(tree, i); ++f)
      change = larger(abs(w.x_next[f] - w.x[f]) * dt, change);
  return change;
}
// Velocities with them, of lanes where `here`.
template <class S, class Mask>
void take_products(const Scene& scene, const S& dt, const Mask& here, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  for (int f = 0; f < tree.nv; ++f) w.x[f] = select(here, w.x_next[f], w.x[f]);
  turn_trees(tree, dt, here, w.v, w);
  for (int i = 0; i < tree.n_links; ++i)
    for (int f = tree.links[i].v; f < tree.links[i].v + tree.links[i].nv && !is_single_body(tree, i); ++f)
      w.unheld[f] = select(here, w.turned[f] + w.forced[f] * dt, w.unheld[f]);
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

// How far environments have come, and which of them go on.
template <class S>
class Settling {
 public:
  Settling(const RolloutJob& job, const Pack& pack, const StepWorkspace<S>& w) : job_(job), pack_(pack), w_(w) {
    const Scene& scene = *job.scene;
    for (int lane = 0; lane < pack.count; ++lane) {
      last_error_[lane] = last_change_[lane] = 1e300;
      again_[lane] = w.assembled[lane];
      const bool strikes = w.strikes[lane] && scene.held.n_rows == 0;  // impacts are of first order
      LaneOf<S>{lane}.set(moving, (w.is_held[lane] || w.touches[lane]) && !strikes ? 1 : 0);
    }
    repeat_last_lane(pack, 1, &moving);
  }

  S moving{0};                    // positive in the lanes that go on,
  bool solves[width_of<S>] = {};  // with their contacts
  bool is_last = false;           // those that do will be settled

  // Whether any does. error: of what is held [m or rad]; change: of velocities; speed: what that is small against.
  // Velocities that contacts see need be no better known than their solver promises. (Only where something is held do
  // environments keep their problems.)
  bool goes_on(int iteration, const S& error, const S& change, const S& speed) {
    const double same = job_.scene->is_verlet() ? TumbleTuning::same_kick : ClosureTuning::same_products;
    const double tolerance = job_.options.tolerance, moved = ClosureTuning::closed_speed * job_.dt;
    const double closed = moved < ClosureTuning::closed ? moved : ClosureTuning::closed;
    bool some = false;
    is_last = true;
    for (int lane = 0; lane < pack_.count; ++lane) {
      const LaneOf<S> here{lane};
      const bool is_held = w_.is_held[lane];
      const double promised = is_held && w_.assembled[lane] ? tolerance * w_.assembled[lane]->rows.scale : 0;
      const double known = same * here(speed) > promised ? same * here(speed) : promised;
      const bool settled = here(error) <= closed && here(change) <= known;
      const bool improves = here(error) < ClosureTuning::least_progress * last_error_[lane] ||
                            here(change) < ClosureTuning::least_progress * last_change_[lane];
      const int most_stalls = is_held ? ClosureTuning::most_stalls : 0;
      stalls_[lane] += improves ? 0 : 1;
      // contacts that change their mode again and again keep their impulses, and what is held closes around them
      if (again_[lane] && (stalls_[lane] > most_stalls || iteration >= ClosureTuning::most_solves)) {
        again_[lane] = false, stalls_[lane] = 0;
        if (is_held && !settled && here(moving) > 0) job_.reports[pack_.first + lane].last.unconverged = 1;
      }
      const bool own =
          here(moving) > 0 && !settled && stalls_[lane] <= most_stalls && (is_held || again_[lane]) && !ends_[lane];
      ends_[lane] |= own && iteration > 0 && is_predictable(lane) && will_be(here(error), last_error_[lane], closed) &&
                     will_be(here(change), last_change_[lane], known);
      is_last &= !own || ends_[lane];
      last_error_[lane] = here(error), last_change_[lane] = here(change);
      here.set(moving, own ? 1 : 0);
      solves[lane] = own && again_[lane];
      some |= own;
    }
    repeat_last_lane(pack_, 1, &moving);
    return some;
  }

 private:
  // Whether another iteration is known to settle it, so that it need not be looked at: those that nothing touches.
  bool is_predictable(int lane) const { return !job_.scene->is_verlet() && !w_.assembled[lane]; }
  // Whether what shrinks as it did will be small enough, with something to spare.
  static bool will_be(double now, double before, double enough) {
    return ClosureTuning::spare * now * now <= enough * before;
  }

  const RolloutJob& job_;
  const Pack& pack_;
  const StepWorkspace<S>& w_;
  double last_error_[width_of<S>], last_change_[width_of<S>];
  int stalls_[width_of<S>] = {};
  bool again_[width_of<S>] = {};  // those whose contacts are solved again
  bool ends_[width_of<S>] = {};   // those that are not looked at any more
};

// solve_again(lanes): contacts that find other velocities than before. Leaves the change of velocities that impulses of
// contacts cause in w.a.
template <class S, class SolveAgain>
void settle(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w, StepMemory& memory,
            const SolveAgain& solve_again) {
  const Scene& scene = *job.scene;
  const int nv = scene.tree.nv, n_rows = scene.held.n_rows;
  const bool closes = n_rows > 0 && !w.motion.holds;
  Settling<S> settling(job, pack, w);
  Relaxation<S> relaxation;
  S alone(0);  // positive in the lanes that nothing touches: others have contacts that change with every iteration
  for (int lane = 0; lane < pack.count; ++lane) LaneOf<S>{lane}.set(alone, w.assembled[lane] ? 0 : 1);
  repeat_last_lane(pack, 1, &alone);
  bool touched = false;
  for (int lane = 0; lane < pack.count; ++lane) touched |= w.assembled[lane] != nullptr;
  for (int iteration = 0; iteration < ClosureTuning::most_iterations; ++iteration) {
    S speed(0), error(0), change(0);
    for (int f = 0; f < nv; ++f) {
      w.closed_v[f] = w.motion.v_free[f] + w.a[f];
      w.moved[f] = w.tumbles ? w.closed_v[f] + w.bend[f] : w.closed_v[f];
      speed = larger(larger(abs(w.v[f]), abs(w.closed_v[f])), speed);  // what starts from rest moves at the end
    }
    if (closes) {
      errors_after(scene, w.moved, S(job.dt), w, w.errors);
      leave_others<S>(scene, w.errors, w.apart);
      for (int r = 0; r < n_rows; ++r) w.errors[r] = w.errors[r] - w.apart[r];
      if (scene.held.guides) subtract_guided(scene, S(job.dt), w);
      error = select(alone > S(0), farthest_of(w.held, w.errors), largest_of(w.held, w.errors));
      relaxation.look(w.held, w.errors, w.last_errors);
      relaxation.share = select(alone > S(0), relaxation.share, S(1));
    }
    if (scene.is_verlet()) {
      double carried[width_of<S>] = {};
      carry_contacts(job, pack, settling.moving, iteration == 0, closes, w, memory, carried);
      change = find_kick(job, settling.moving, w);
      for (int lane = 0; lane < pack.count; ++lane)
        if (carried[lane] > LaneOf<S>{lane}(change)) LaneOf<S>{lane}.set(change, carried[lane]);
    } else {
      change = find_products(scene, S(job.dt), w);
    }
    if (!settling.goes_on(iteration, error, change, speed)) return;
    const auto here = settling.moving > S(0);
    if (scene.is_verlet())
      take_kick(scene, here, w);
    else
      take_products(scene, S(job.dt), here, w);
    if (n_rows) {
      for (int r = 0; r < n_rows && closes; ++r)
        w.opening[r] = w.opening[r] + select(here, w.errors[r] * relaxation.share * S(1 / job.dt), S(0));
      for (int f = 0; f < nv; ++f) w.cause_before[f] = w.cause[f];
      hold(scene, w);
    }
    solve_again(settling.solves);
    if (touched) {
      repeat_last_lane(pack, nv, w.motion.response);
      respond_held(scene, w.motion.response, w, w.a);
    }
    if (settling.is_last) return;
  }
}

}  // namespace featherweight::FW_ISA
