// step/shake.hpp -- what is held holds at the end of the step, and velocities know.
//   in    velocities without impulses; the errors of closures where the step begins
//   out   w.opening: the velocity that rows must have, so that their errors are the same at the end
//
// Along the tangent J v = 0 closures open by the square of the step. Taken out of coordinates alone, what turned the
// velocity is lost, and with it energy: a rod about a held end slows down by 3/8 w^3 dt. Instead the impulses, along
// the rows where the step began, are those after which coordinates close (SHAKE, [Ryckaert et al. 1977]):
//   J v = -opening,   opening = (g(q (+) dt v) - g(q)) / dt - J v
// found by a few iterations with the matrix that there is (settle.hpp). Oracle: energy over a minute; the twin.
#pragma once
#include "step/along_row.hpp"
#include "step/guide.hpp"

namespace featherweight::FW_ISA {

// Of all rows that are held, with joints at q and links at `poses`.
template <class S>
void held_errors(const Scene& scene, const S* q, const Pose<S>* poses, const S* grips, S* errors) {
  for (int k = 0; k < scene.n_closures; ++k) {
    const Closure<double>& closure = scene.closures[k];
    const S* const grip = grip_of(scene, k, grips);
    position_errors(closure, frame_in_world(closure.a, poses), second_frame_in_world(closure, grip, poses), errors);
    errors += closure.n_rows;
  }
  for (int k = 0; k < scene.n_couplings; ++k) *errors++ = coupling_error(scene.couplings[k], scene.coupling_terms, q);
}

template <class S>
void place_at(const Tree<double>& tree, const S* q, StepWorkspace<S>& w, Pose<S>* placed) {
  const Pose<S> world = identity_pose<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      place(joint, l, q + l.q, w.placed_state + l.state, l.parent < 0 ? world : placed[l.parent], placed[i]);
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
  held_errors(scene, w.closed_q, w.placed, w.grips, errors);
}

// Rows whose velocity is not the rate of their error keep to J v = 0, and coordinates take their error: they get
// `instead`, or zero.
template <class S>
void leave_others(const Scene& scene, S* x, const S* instead) {
  for_other_rows(scene, [&](int k) { x[k] = instead ? instead[k] : S(0); });
}

// The largest of what is given of rows that do not depend on others.
template <class S>
S largest_of(const HeldSystem<S>& held, const S* x) {
  S largest(0);
  for (int r = 0; r < held.plan().n_rows; ++r)
    largest = larger(select(held.inverse_pivot(r) > S(0), abs(x[r]), S(0)), largest);
  return largest;
}

// The same by what coordinates are off. Near where bars are in line, loops that are closed to 1e-12 may be a thousand
// times that from where they should be, and go on along another branch.
template <class S>
S farthest_of(const HeldSystem<S>& held, const S* x) {
  S largest(0);
  for (int r = 0; r < held.plan().n_rows; ++r) largest = larger(abs(x[r]) * held.weight(r), largest);
  return largest;
}

// How much of an error an iteration takes. Where bars are nearly in line, rows move far more or less easily at the end
// of a step than at its start, whose matrix there is: an iteration then leaves (1 - share ratio) of the error, perhaps
// more than there was. Where errors do not shrink, two of them in a row tell the ratio, and the share becomes its
// inverse.
template <class S>
class Relaxation {
 public:
  S share{1};

  // last: errors an iteration before, which it replaces.
  void look(const HeldSystem<S>& held, const S* errors, S* last) {
    S along(0), now(0), before(0);
    for (int r = 0; r < held.plan().n_rows; ++r) {
      const S e = errors[r] * held.weight(r), l = last[r] * held.weight(r);
      if (looked_) along = along + e * l, before = before + l * l;
      now = now + e * e;
      last[r] = errors[r];
    }
    if (looked_) {
      const S progress = S(ClosureTuning::least_progress), most = S(ClosureTuning::most_share);
      const auto stalls = now > before * (progress * progress);
      const S left = along / select(stalls, before, S(1)), per_ratio = S(1) - left;  // (1 - left) = share ratio
      const auto is_known = abs(per_ratio) * most > abs(share);
      const S next = share / select(is_known, per_ratio, S(1));
      share = select(stalls, select(is_known, next, select(per_ratio > S(0), most, -most)), share);
    }
    looked_ = true;
  }

 private:
  bool looked_ = false;
};

// A first guess, from the velocities where the step begins: half the second difference of errors along them. Leaves the
// errors a step before in w.errors.
template <class S>
void guess_openings(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  for (int f = 0; f < scene.tree.nv; ++f) w.closed_v[f] = S(0);
  errors_after(scene, w.v, dt, w, w.opening);
  errors_after(scene, w.v, -dt, w, w.errors);
  const S half_per_dt = S(0.5) / dt;
  for (int k = 0; k < scene.held.n_rows; ++k)
    w.opening[k] = (w.opening[k] + w.errors[k] - w.apart[k] * S(2)) * half_per_dt;
  leave_others<S>(scene, w.opening, nullptr);
}

// Errors no larger than what goes in a step.
template <class S>
void limit_errors(const Scene& scene, const S& dt, S* errors) {
  const S along = S(ClosureTuning::fastest) * dt, about = S(ClosureTuning::fastest_turn) * dt;
  int k = 0;
  for (int c = 0; c < scene.n_closures; k += scene.closures[c++].n_rows)
    limit_errors(scene.closures[c], along, about, errors + k);
  for (; k < scene.held.n_rows; ++k) {
    const auto is_far = abs(errors[k]) > about;
    errors[k] = select(is_far, select(errors[k] > S(0), about, -about), errors[k]);
  }
}

// What is apart where the step begins comes together at a bounded speed, in coordinates: velocities do not know.
// Contacts do (separate.hpp).
template <class S>
void find_drift(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  for (int r = 0; r < scene.held.n_rows; ++r) w.drift_impulse[r] = scene.held.is_guided(r) ? S(0) : w.apart[r];
  w.drifts = largest_of(w.held, w.drift_impulse);
  if (!any(dt, w.drifts > S(SeparateTuning::negligible_drift))) return;
  limit_errors(scene, dt, w.drift_impulse);
  for (int r = 0; r < scene.held.n_rows; ++r) w.drift_impulse[r] = w.drift_impulse[r] / dt;
  w.held.solve(w.drift_impulse);
  for (int f = 0; f < scene.tree.nv; ++f) w.drifting[f] = S(0);
  w.held.gather(w.drift_impulse, w.drifting);
}

// Before contacts are looked for. Where a step in halves ends nothing moves, so nothing opens or comes together.
template <class S>
void start_shaking(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  for (int f = 0; f < scene.tree.nv; ++f) w.unheld[f] = w.motion.v_free[f];
  w.held.factorise(w.motion);
  held_errors(scene, w.q, w.motion.pose, w.grips, w.apart);
  if (w.motion.holds)
    for (int r = 0; r < scene.held.n_rows; ++r) w.opening[r] = S(0);
  else
    guess_openings(scene, dt, w);
  if (scene.held.guides) aim_guided(scene, dt, w);
  begin_holding(scene, w);
  w.drifts = S(0);
  if (!w.motion.holds) find_drift(scene, dt, w);
}

// Impulses of what is held, kept for whoever asks, and the speeds of what is guided.
template <class S>
void keep_held(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  for (int lane = 0; lane < pack.count; ++lane) {
    if (!w.is_held[lane]) continue;
    double* const kept =
        job.joint_impulses + (pack.first + lane) * static_cast<std::size_t>(scene.n_kept) + scene.n_joint_rows;
    for (int p = 0; p < scene.held.n_parts; ++p)
      for (int k = 0; k < scene.held.parts[p].n_rows; ++k) {
        const int r = scene.held.parts[p].first + k;
        const double impulse = LaneOf<S>{lane}(w.held_impulse[r]) + LaneOf<S>{lane}(w.reaction[r]);
        kept[scene.first_kept(p) + k] = impulse + 0.0;  // a zero has no sign
      }
  }
  if (scene.held.guides) keep_guided_speeds(scene, w);
}

// How far closures are apart at the end of the step, and whether they should be. What is guided may be anywhere, but
// where it does not yield it must be where it is guided to.
template <class S>
void report_errors(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  for (int lane = 0; lane < pack.count; ++lane) {
    if (!w.is_held[lane]) continue;
    const LaneOf<S> here{lane};
    double largest = 0, missed = 0;
    for (int r = 0; r < job.scene->held.n_rows; ++r) {
      const double error = job.scene->held.is_guided(r) ? 0 : magnitude(here(w.errors[r]));
      const double off = magnitude(here(w.closed_errors[r]));
      largest = error > largest ? error : largest;
      missed = off > missed ? off : missed;
    }
    StepFigures& figures = job.reports[pack.first + lane].last;
    figures.closure_error = largest;
    if (!(missed < ClosureTuning::unmet)) figures.unconverged = 1;
  }
}

// What coordinates alone are to do, x, no faster than `fastest` [m/s or rad/s] in any degree of freedom. Near where
// bars are in line a little along some rows takes the joints between them anywhere.
template <class S>
void slow_down(const Tree<double>& tree, const S& fastest, S* x) {
  S most(0);
  for (int f = 0; f < tree.nv; ++f) most = larger(abs(x[f]), most);
  const auto is_fast = most > fastest;
  if (!any(most, is_fast)) return;
  const S share = select(is_fast, fastest / select(is_fast, most, S(1)), S(1));
  for (int f = 0; f < tree.nv; ++f) x[f] = x[f] * share;
}

// Limits that return move trees that something holds no faster than allowed, and not at all where that would be in
// vain: an arm that is straight between two holds would turn from side to side, and its limits be where they were.
template <class S>
void spare_held(const Scene& scene, S* x, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  const AllLanes<S> all;
  for (int c = 0; c < tree.n_links; ++c) {
    if (scene.held.cluster[c] != c || scene.held.first_row[c] >= scene.held.no_row[c]) continue;
    S some(0), returns(0), most(0);
    for (int k = 0; k < scene.n_joint_rows; ++k) {
      const JointRow& row = scene.joint_rows[k];
      if (!row.is_limit() || scene.held.cluster[row.term.link] != c) continue;
      const auto is_beyond =
          gap_of_row(scene, w.motion.struts, row, w.motion.q, all) < S(-SeparateTuning::negligible_overlap);
      some = select(is_beyond, S(1), some);
      returns = select(is_beyond, larger(along_row(scene, w.motion.struts, row, x, all), returns), returns);
    }
    const auto for_dofs = [&](const auto& f) FW_LAMBDA_INLINE {
      for (int i = c; i < tree.n_links; ++i)
        for (int k = 0; k < tree.links[i].nv && scene.held.cluster[i] == c; ++k) f(tree.links[i].v + k);
    };
    for_dofs([&](int f) FW_LAMBDA_INLINE { most = larger(abs(x[f]), most); });
    const auto is_fast = (some > S(0)) & (most > S(ClosureTuning::fastest_turn));
    if (!any(most, is_fast)) continue;
    const auto is_vain = is_fast & (most * S(ClosureTuning::vain_lever) > returns);
    const S slower = S(ClosureTuning::fastest_turn) / select(is_fast, most, S(1));
    const S share = select(is_vain, S(0), select(is_fast, slower, S(1)));
    for_dofs([&](int f) FW_LAMBDA_INLINE { x[f] = x[f] * share; });
  }
}

// Coordinates alone move until closures are as near as they may come in this step, or no longer improve: what the
// openings left, and errors that were there at the start, at a bounded speed.
template <class S>
void correct_closures(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  const Tree<double>& tree = scene.tree;
  const int n_rows = scene.held.n_rows;
  double last[width_of<S>], last_off[width_of<S>];
  bool went[width_of<S>] = {};
  S share(1);
  for (double& error : last) error = 1e300;
  for (int r = 0; r < n_rows; ++r) w.closed_errors[r] = scene.held.is_guided(r) ? S(0) : w.apart[r];
  limit_errors(scene, S(job.dt), w.closed_errors);
  for (int r = 0; r < n_rows; ++r) w.apart[r] = w.apart[r] - w.closed_errors[r];  // what may stay
  if (scene.held.guides) lead_errors(scene, S(job.dt), w.guided_speed, w.apart);
  for (int iteration = 0;; ++iteration) {
    place_at(tree, w.q, w, w.placed);
    held_errors(scene, w.q, w.placed, w.grips, w.errors);
    for (int r = 0; r < n_rows; ++r) w.closed_errors[r] = w.errors[r] - w.apart[r];
    if (scene.held.guides) leave_yielding(scene, w.closed_errors);
    S off(0);
    for (int r = 0; r < n_rows; ++r) off = larger(abs(w.closed_errors[r]), off);
    const S error = farthest_of(w.held, w.closed_errors);
    const bool is_last = iteration >= ClosureTuning::most_iterations;
    bool moves = false;
    S moving(0);  // positive in the lanes that do, negative in those that go back
    for (int lane = 0; lane < pack.count; ++lane) {
      const LaneOf<S> here{lane};
      const double own = here(error);
      const bool is_worse = went[lane] && !(here(off) <= last_off[lane]) && !(here(off) <= ClosureTuning::unmet);
      const bool goes_on = !is_worse && !is_last && w.is_held[lane] && own > ClosureTuning::closed &&
                           own < ClosureTuning::least_progress * last[lane];
      last[lane] = is_worse ? 1e300 : goes_on ? own : 0;
      if (!is_worse) last_off[lane] = here(off);
      went[lane] = goes_on;
      here.set(moving, goes_on ? 1 : is_worse ? -1 : 0);
      moves |= goes_on || is_worse;
    }
    if (!moves) break;
    repeat_last_lane(pack, 1, &moving);
    const auto goes_back = moving < S(0);  // near where bars are in line a step may lead anywhere: take less of it
    share = select(goes_back, share * ClosureTuning::share_back, share);
    for (int k = 0; k < tree.nq; ++k) w.q[k] = select(goes_back, w.closed_q[k], w.q[k]);
    for (int f = 0; f < tree.nv; ++f) w.v[f] = select(goes_back, w.closed_v[f], w.v[f]);
    for (int r = 0; r < n_rows; ++r) {
      w.last_errors[r] = select(goes_back, w.last_errors[r], w.closed_errors[r]);  // of where it starts from
      w.closed_errors[r] = w.last_errors[r] * share * S(1 / job.dt);
    }
    w.held.solve(w.closed_errors);
    for (int f = 0; f < tree.nv; ++f) w.closing[f] = S(0);
    w.held.gather(w.closed_errors, w.closing);
    respond(scene, w.closing, w, w.moved);
    slow_down(tree, S(ClosureTuning::farthest_turn / job.dt), w.moved);
    for (int k = 0; k < tree.nq; ++k) w.closed_q[k] = w.q[k];
    for (int f = 0; f < tree.nv; ++f) w.closed_v[f] = w.v[f];
    advance(scene, w.centers, w.moved, S(job.dt), w.q, w.v);
    // the others stay as they are: even advancing by nothing rounds
    const auto goes_on = moving > S(0);
    for (int k = 0; k < tree.nq; ++k) w.q[k] = select(goes_on, w.q[k], w.closed_q[k]);
    for (int f = 0; f < tree.nv; ++f) w.v[f] = select(goes_on, w.v[f], w.closed_v[f]);
  }
  for (int r = 0; r < n_rows; ++r) w.closed_errors[r] = w.errors[r] - w.apart[r];
  if (scene.held.guides) leave_yielding(scene, w.closed_errors);
  report_errors(job, pack, w);
}

}  // namespace featherweight::FW_ISA
