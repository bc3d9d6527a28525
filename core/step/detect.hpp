// step/detect.hpp -- what may touch in this step.
//   in    w.motion: where links are and how they go without impulses; or, looking again, with them
//   out   of each environment: pairs and joint rows that are near, and its list of contacts, warm-started
#pragma once
#include "scene/contacts.hpp"
#include "step/absorb.hpp"
#include "step/apply.hpp"
#include "step/verify.hpp"

namespace featherweight::FW_ISA {

// Before the first look: bounds of shapes over their motion without impulses.
template <class S>
void start_looking(const RolloutJob& job, const Pack& pack, const S& squares, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  for (int k = 0; k < scene.n_shapes; ++k) w.bounds[k] = bound(scene, scene.shapes[k], w.motion, S(job.dt));
  for (int lane = 0; lane < pack.count; ++lane) {
    w.looks[lane] = w.steps[lane] = !job.reports[pack.first + lane].failed && is_sane(squares, lane);
    w.touches[lane] = w.strikes[lane] = w.left_out[lane] = w.strays[lane] = w.has_strayed[lane] = w.doubts[lane] =
        w.changes[lane] = false;
    w.is_held[lane] = scene.held.n_rows > 0 && w.looks[lane];
    w.drifts_along[lane] = false;
    w.assembled[lane] = nullptr;
  }
}

// Which pairs are near, environment by environment.
template <class S>
void list_pairs(const Scene& scene, const Pack& pack, StepWorkspace<S>& w) {
  w.n_near_balls = 0;
  for (int lane = 0; lane < pack.count; ++lane) w.n_near_pairs[lane] = 0;
  for_nearby_pairs(scene, w.motion, w.bounds, [&](const ScenePair& pair, const S& distance, const S& margin) {
    const int k = static_cast<int>(&pair - scene.pairs);
    w.near_margin[k] = margin;
    if (pair.ball >= 0) w.near_balls[w.n_near_balls++] = k;
    for (int lane = 0; lane < pack.count; ++lane)
      if (LaneOf<S>{lane}(distance) < 0) w.near_pairs[lane * scene.n_pairs + w.n_near_pairs[lane]++] = k;
  });
}

// Which joint rows are.
template <class S>
void list_joint_rows(const RolloutJob& job, const Pack& pack, const S* change, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  if (scene.has_intervals && !w.absorbs) set_whole_rows(scene, w.motion);
  for (int lane = 0; lane < pack.count; ++lane) w.n_near_rows[lane] = 0;
  for_nearby_joint_rows(scene, w.motion, change, 1 / job.dt, [&](int row, const S& excess) {
    for (int lane = 0; lane < pack.count; ++lane)
      if (LaneOf<S>{lane}(excess) < 0) w.near_rows[lane * scene.n_joint_rows + w.n_near_rows[lane]++] = row;
  });
}

// Both. change: of velocities by impulses, null before the first; goes_on: bounds are those of the last list.
template <class S>
void list_nearby(const RolloutJob& job, const Pack& pack, const S* change, bool goes_on, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  if (!goes_on) list_pairs(scene, pack, w);
  w.balls.clear();
  for (int k = 0; k < w.n_near_balls; ++k) {
    const ScenePair& pair = scene.pairs[w.near_balls[k]];
    w.balls.approach(pair, w.bounds[pair.a].center);
  }
  list_joint_rows(job, pack, change, w);
}
// Whether no environment goes beyond what was looked at.
template <class S>
bool none_strays(const Pack& pack, const StepWorkspace<S>& w) {
  for (int lane = 0; lane < pack.count; ++lane)
    if (w.strays[lane]) return false;
  return true;
}

FW_INLINE void add_ball_on_plane(const Scene& scene, const ScenePair& pair, int ball, const Vec3<double>& center,
                                 double margin, ContactList& list) {
  const PlacedShape& plane = scene.shapes[pair.b];
  const Vec3<double> n{plane.frame[6], plane.frame[7], plane.frame[8]};
  const double height = dot(center - vec3(plane.p), n), gap = height - scene.shapes[pair.a].shape.size[0];
  if (gap > margin) return;
  reserve(list, list.count + 1);
  Contact& c = list.data[list.count++];
  c.a = pair.a, c.b = pair.b, c.material = pair.material, c.feature = 0, c.ball = ball;
  c.standing = Standing::certain, c.was_loaded = c.is_ahead = c.is_beside = false;
  c.gap = gap - scene.materials[pair.material].margin;
  const Vec3<double> point =
      center - n * (c.gap > 0 && scene.shapes[pair.a].is_alone ? height - c.gap : height);  // level_of
  for (int k = 0; k < 3; ++k) c.position[k] = point[k];
  for (int k = 0; k < 9; ++k) c.frame[k] = plane.frame[k];
  for (int k = 0; k < 6; ++k) c.impulse[k] = 0;
}

// Contacts of one environment, in the order of pairs.
template <class S>
void find_listed_contacts(const RolloutJob& job, const StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                          ContactList& list) {
  const Scene& scene = *job.scene;
  const int* pairs = w.near_pairs + lane.lane * scene.n_pairs;
  list.count = 0;
  for (int k = 0; k < w.n_near_pairs[lane.lane]; ++k) {
    const ScenePair& pair = scene.pairs[pairs[k]];
    const PlacedShape &a = scene.shapes[pair.a], &b = scene.shapes[pair.b];
    if (pair.is_ball_on_plane) {
      add_ball_on_plane(scene, pair, job.options.matrix_free ? -1 : pair.ball, lane(w.bounds[pair.a].center),
                        lane(w.near_margin[pairs[k]]), list);
      continue;
    }
    find_contacts(scene, environment, pair.a, pair.b, pair.material, placement(a, w.motion.pose, lane),
                  placement(b, w.motion.pose, lane), lane(w.near_margin[pairs[k]]), list);
  }
}
template <class S>
void find_swept_contacts(const Scene& scene, const StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                         StepMemory& memory) {
  const std::size_t n = scene.n_shapes;
  reserve(memory.placements, n * (sizeof(Placement<double>) + sizeof(double)));
  Placement<double>* const placements = static_cast<Placement<double>*>(memory.placements.data);
  double* const travels = reinterpret_cast<double*>(placements + n);
  for (std::size_t k = 0; k < n; ++k) {
    placements[k] = placement(scene.shapes[k], w.motion.pose, lane);
    travels[k] = lane(w.bounds[k].travel);
  }
  find_all_contacts(scene, environment, placements, travels, *memory.broadphase, memory.bounds, memory.next);
}

// Contacts of one environment, into memory.next.
template <class S>
void find_contacts(const RolloutJob& job, const StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                   StepMemory& memory) {
  if (job.scene->rules)
    find_swept_contacts(*job.scene, w, lane, environment, memory);
  else
    find_listed_contacts(job, w, lane, environment, memory.next);
}

// Whether any contact or limit found by looking again would be run through.
template <class S>
bool is_run_through(const RolloutJob& job, const StepWorkspace<S>& w, LaneOf<S> lane, const ContactList& found) {
  const Scene& scene = *job.scene;
  return is_run_through(scene, w.motion, w.response, lane, 1 / job.dt, found) ||
         is_run_through(scene, w.motion, w.a, lane, 1 / job.dt, w.near_rows + lane.lane * scene.n_joint_rows,
                        w.n_near_rows[lane.lane]);
}

// Whether no contact of an environment is left alone, however fast it opens.
template <class S>
bool looks_at_everything(const StepWorkspace<S>& w, int lane) {
  return w.has_strayed[lane] || w.is_last_look;
}

// Contacts of one environment, with the impulses they had.
template <class S>
void detect(const RolloutJob& job, StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment, StepMemory& memory) {
  ContactList& contacts = job.contacts[environment];
  find_contacts(job, w, lane, environment, memory);
  warm_start(contacts, false, memory.next);
  swap(contacts, memory.next);
  memory.aside[lane.lane].count = 0;
  w.doubts[lane.lane] = mark_doubtful(*job.scene, contacts);
  if (w.doubts[lane.lane]) Verifier<S>(job, w, nullptr, lane, environment, memory).look(false);
}

// The same, looking again with impulses. False if there is nothing new.
template <class S>
bool detect_again(const RolloutJob& job, StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                  StepMemory& memory) {
  if (!w.strays[lane.lane]) return true;  // but what was found is judged otherwise
  ContactList& contacts = job.contacts[environment];
  find_contacts(job, w, lane, environment, memory);
  warm_start(contacts, true, memory.next);
  w.doubts[lane.lane] |= keep_judged(*job.scene, contacts, memory.aside[lane.lane], memory.next, memory.spare);
  if (!is_run_through(job, w, lane, memory.next)) return w.changes[lane.lane];
  swap(contacts, memory.next);
  return true;
}

// Those that look again: impulses lead beyond what was looked at, or joint rows were not what was predicted. False if
// there are none.
template <class S>
bool find_strays(const RolloutJob& job, const Pack& pack, int look, StepWorkspace<S>& w, StepMemory& memory) {
  const Scene& scene = *job.scene;
  S beyond = suspicion(scene, w.motion, w.response, w.bounds, job.dt);
  if (any(beyond, beyond > S(0))) beyond = widen(scene, w.motion, w.response, S(job.dt), beyond, w.bounds);
  raise(beyond, limits_run_through(scene, w.motion, w.a, 1 / job.dt));
  raise(beyond, drives_run_through(scene, w.motion, w.a));
  const S was_mispredicted = w.mispredicted;
  const S mistaken = find_mistaken(scene, job.options.tolerance, look == 0, w.a, w);
  bool some = false;
  w.predicts_again = false;
  for (int lane = 0; lane < pack.count; ++lane) {
    const LaneOf<S> own{lane};
    if (!w.looks[lane]) continue;
    if (w.absorbs && w.separates[lane] && own(w.weighs) > 0) own.set(w.mispredicted, all_inertia);
    const bool is_mispredicted = own(w.mispredicted) > own(was_mispredicted);
    w.predicts_again |= is_mispredicted;
    if (is_mispredicted) forget_impulses(scene.tree.nv, own, w.motion);
    w.strays[lane] = own(beyond) > 0 ||
                     (w.left_out[lane] &&
                      is_run_through(scene, w.motion, w.response, own, 1 / job.dt, job.contacts[pack.first + lane]));
    w.has_strayed[lane] |= w.strays[lane];
    w.changes[lane] =
        w.doubts[lane] &&
        Verifier<S>(job, w, w.response, own, pack.first + lane, memory).look(look + 2 == DetectTuning::most_looks);
    w.changes[lane] |= is_mispredicted || own(mistaken) > 0;
    w.looks[lane] = w.strays[lane] || w.changes[lane];
    some |= w.looks[lane];
  }
  repeat_last_lane(pack, 1, &w.mispredicted);
  return some;
}

}  // namespace featherweight::FW_ISA
