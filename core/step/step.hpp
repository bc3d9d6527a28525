// step/step.hpp -- one step of as many environments as there are lanes.
//
//   predict -> [detect -> assemble -> solve] -> apply -> correct
//
// The smooth dynamics run on lanes. What touches differs from environment to environment, so what is in brackets is
// done one environment at a time, on exactly the rows it has (docs/adr/0013), and again where impulses lead beyond what
// was looked at.
#pragma once
#include "step/again.hpp"
#include "step/correct.hpp"
#include "step/detect.hpp"
#include "step/keep.hpp"
#include "step/predict.hpp"
#include "step/separate.hpp"
#include "step/settle.hpp"
#include "step/solve.hpp"

namespace featherweight::FW_ISA {

// What impulses did to the environments of a pack.
struct Outcome {
  bool touched = false;    // there are impulses
  bool separated = false;  // and some that separate
};

// Impulses of one environment with the rows it has.
template <class S>
Outcome solve_assembled(const RolloutJob& job, StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                        Assembled<S>& assembled, StepMemory& memory) {
  const Scene& scene = *job.scene;
  StepReport& report = job.reports[environment];
  ConeRows<S>& rows = assembled.rows;
  const ConeMatrix<S>& matrix = assembled.matrix;
  solve(job, rows, matrix, memory.impacts, report.last);
  if (scene.is_verlet()) keep_solved(rows, matrix, memory.solved[lane.lane]);
  if (!(report.last.residual <= FailureTuning::largest_residual)) report.failed = 1;
  note_pushes(rows, matrix.lambda, job.contacts[environment], lane, w, memory);
  collect_impulses(scene, rows, matrix.lambda, lane, w.motion.response, &BallPoint<S>::impulse);
  const bool drifts = scene.held.n_rows && lane(w.drifts) > SeparateTuning::negligible_drift;
  const bool separates = !w.motion.holds && separate(scene, rows, matrix, drifts ? w.drifting : nullptr);
  w.drifts_along[lane.lane] = drifts && separates;
  w.separates[lane.lane] = separates;
  if (separates) collect_impulses(scene, rows, matrix.mu, lane, w.motion.correct, &BallPoint<S>::correction);
  if (job.solutions) keep_rows(job, rows, matrix, separates, environment);
  return {.touched = true, .separated = separates};
}

// Impulses of one environment with the contacts it has.
template <class S>
Outcome solve_environment(const RolloutJob& job, StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                          double reach, StepMemory& memory, bool is_again = false) {
  const Scene& scene = *job.scene;
  StepReport& report = job.reports[environment];
  report.contacts = 0;
  w.n_pushes[lane.lane] = 0;
  w.separates[lane.lane] = false;
  w.assembled[lane.lane] = nullptr;
  if (job.solutions) keep_no_rows(job, environment);
  // without contacts, impulses of joints may have to be forgotten
  if (job.contacts[environment].count + scene.n_joint_rows == 0) return {};
  Assembled<S>* const assembled = assemble(job, w, lane, environment, reach, memory, is_again);
  report.contacts = job.contacts[environment].count;
  if (!assembled) return {.touched = true};
  report.last.penetration = assembled->rows.deepest;
  if (assembled->matrix.G.start && interrupted(0)) {  // it may be unfinished
    w.assembled[lane.lane] = nullptr;
    return {};
  }
  if (w.absorbs && !w.is_last_look && lane(w.weighs) > 0 && overlaps(assembled->rows)) {
    w.separates[lane.lane] = true;  // and is predicted again first
    return {.touched = true};
  }
  w.strikes[lane.lane] |= assembled->rows.something_strikes;
  if (is_again) start_from_solved(assembled->rows, assembled->matrix, memory.solved[lane.lane]);
  return solve_assembled(job, w, lane, environment, *assembled, memory);
}

// Contacts of all environments of a pack, at the first look.
template <class S>
void detect(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w, StepMemory& memory) {
  for (int lane = 0; lane < pack.count; ++lane) {
    const std::size_t environment = pack.first + lane;
    if (!w.looks[lane]) continue;
    job.reports[environment].last = {};
    detect(job, w, LaneOf<S>{lane}, environment, memory);
  }
}

// Impulses of environments that touch with balls and rub in joints alone, of those that `look`. Returns whether any of
// them may have some.
template <class S>
bool solve_together(const RolloutJob& job, const Pack& pack, const bool* look, StepWorkspace<S>& w, StepMemory& memory,
                    bool* solved) {
  if (!w.points.is_possible()) return false;
  bool some = w.points.solve(job, pack, look, w, solved) || w.absorbs;  // what is absorbed may be mistaken
  for (int lane = 0; lane < pack.count; ++lane) some |= job.contacts[pack.first + lane].count > 0;
  for (int lane = 0; lane < pack.count && job.solutions; ++lane) {
    const std::size_t environment = pack.first + lane;
    if (!solved[lane] || job.contacts[environment].count + w.n_near_rows[lane] == 0) continue;
    const Assembled<S>* const own =
        assemble(job, w, LaneOf<S>{lane}, environment, DetectTuning::resting_reach, memory, false);
    if (own) keep_rows(job, own->rows, own->matrix, false, environment);
  }
  return some;
}

// Contacts and impulses of all environments that look, first together and then one after the other. Again: where
// impulses led beyond what was looked at, nothing is left alone.
template <class S>
Outcome solve_pack(const RolloutJob& job, const Pack& pack, bool is_first, StepWorkspace<S>& w, StepMemory& memory) {
  Outcome outcome;
  bool looks[width_of<S>] = {}, together[width_of<S>] = {}, solved[width_of<S>] = {};
  if (is_first) detect(job, pack, w, memory);
  for (int lane = 0; lane < pack.count; ++lane) {
    const LaneOf<S> own{lane};
    looks[lane] = w.looks[lane] && (is_first || detect_again(job, w, own, pack.first + lane, memory));
    together[lane] = looks[lane] && !looks_at_everything(w, lane);
    if (is_first || !looks[lane]) continue;
    forget_impulses(job.scene->tree.nv, own, w.motion);
    outcome.touched = true;
  }
  outcome.touched |= solve_together(job, pack, together, w, memory, solved);
  for (int lane = 0; lane < pack.count; ++lane) {
    const std::size_t environment = pack.first + lane;
    const LaneOf<S> own{lane};
    if (!looks[lane] || solved[lane]) continue;
    if (job.scene->is_verlet()) keep_start(job, environment, memory.starts[lane]);
    const double reach = looks_at_everything(w, lane) ? DetectTuning::everything : DetectTuning::resting_reach;
    const Outcome one = solve_environment(job, w, own, environment, reach, memory);
    w.touches[lane] |= one.touched;
    outcome.touched |= one.touched;
    outcome.separated |= one.separated;
  }
  if (outcome.touched) w.balls.respond();
  if (outcome.separated) w.balls.correct();
  return outcome;
}

// Environments in which contacts find other velocities than before, with the contacts they have. In steps in halves
// their rows change with the motion; in others they stay, and so does their matrix.
template <class S>
Outcome solve_again(const RolloutJob& job, const Pack& pack, const bool* lanes, StepWorkspace<S>& w,
                    StepMemory& memory) {
  const Scene& scene = *job.scene;
  Outcome outcome;
  bool some = false, touching = false;
  for (int lane = 0; lane < pack.count; ++lane) {
    some |= lanes[lane];
    touching |= job.contacts[pack.first + static_cast<std::size_t>(lane)].count > 0;
  }
  // contacts that keep their impulses are carried along as well, whether neighbours are solved or not
  if (scene.is_verlet() && (some || touching)) place_links(scene, w);
  if (!some) return outcome;
  if (scene.is_verlet()) list_nearby(job, pack, w.a, false, w);
  for (int lane = 0; lane < pack.count; ++lane) {
    if (!lanes[lane]) continue;
    const std::size_t environment = pack.first + lane;
    const LaneOf<S> own{lane};
    forget_impulses(scene.tree.nv, own, w.motion);
    if (scene.is_verlet()) {
      restore_start(job, environment, memory.starts[lane]);
      outcome.separated |=
          solve_environment(job, w, own, environment, DetectTuning::everything, memory, true).separated;
    } else {
      w.assembled[lane]->rows.start_again(w.cause, w.cause_before);
      outcome.separated |= solve_assembled(job, w, own, environment, *w.assembled[lane], memory).separated;
    }
  }
  w.balls.respond();
  if (outcome.separated) w.balls.correct();
  return outcome;
}

// Where joint rows were mispredicted; in w.a stays what impulses do to the others.
template <class S>
void predict_again(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  predict_with_forces(scene, S(job.dt), w);
  repeat_last_lane(pack, scene.tree.nv, w.motion.response);
  respond(scene, w.motion.response, w, w.a);
}

// Impulses of all, and in w.a the change of velocities they cause.
template <class S>
Outcome touch(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w, StepMemory& memory) {
  const Scene& scene = *job.scene;
  if (scene.held.n_rows) start_shaking(scene, S(job.dt), w);
  const S squares = squares_of(w.motion.v_free, scene.tree.nv);
  for (int f = 0; f < scene.tree.nv; ++f) w.motion.response[f] = w.motion.correct[f] = S(0);
  start_looking(job, pack, squares, w);
  Outcome outcome;
  for (int look = 0; look < DetectTuning::most_looks; ++look) {
    w.is_last_look = look + 1 == DetectTuning::most_looks;
    list_nearby(job, pack, look == 0 ? nullptr : w.a, look > 0 && none_strays(pack, w), w);
    const Outcome now = solve_pack(job, pack, look == 0, w, memory);
    outcome.separated |= now.separated;
    if (!now.touched) break;
    outcome.touched = true;
    repeat_last_lane(pack, scene.tree.nv, w.motion.response);
    respond_held(scene, w.motion.response, w, w.a);
    if (w.is_last_look || !find_strays(job, pack, look, w, memory)) break;
    if (w.predicts_again) predict_again(job, pack, w);
  }
  if (scene.held.n_rows) outcome.touched = true;
  if (scene.iterates() && outcome.touched)
    settle(job, pack, w, memory,
           [&](const bool* lanes) { outcome.separated |= solve_again(job, pack, lanes, w, memory).separated; });
  const S* const change = outcome.touched ? w.a : nullptr;
  keep_absorbed(job, pack, change, w);
  if (job.solutions) keep_absorbed_rows(job, pack, change, w);
  keep_held(job, pack, w);
  return outcome;
}

template <class S>
void add_figures(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  const S squares = squares_of(w.motion.v_free, job.scene->tree.nv);
  for (int lane = 0; lane < pack.count; ++lane) {
    StepReport& report = job.reports[pack.first + lane];
    if (!report.failed && is_sane(squares, lane)) add_figures(report.last, report.total);
  }
}

// is_last: its solution is kept, if asked for; is_read: its mean acceleration is.
template <class S>
void step(const RolloutJob& job, const Pack& pack, bool is_last, bool is_read, StepWorkspace<S>& w,
          StepMemory& memory) {
  keep_no_rows(job, pack);
  predict(*job.scene, S(job.dt), w);
  const Outcome outcome = touch(job, pack, w, memory);
  apply(job, outcome.touched, w);
  rest_locked(*job.scene, w);
  if (is_read) find_mean_acceleration(job, w);
  correct(job, pack, outcome.separated, w);
  if (is_last && job.solutions) keep_step(job, pack, outcome.separated, w);
  add_figures(job, pack, w);
}

}  // namespace featherweight::FW_ISA
