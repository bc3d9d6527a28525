// step/step.hpp -- one step of as many environments as there are lanes.
//
// The smooth dynamics run on lanes. What touches differs from environment to environment, so contacts are found and
// solved one environment at a time, on exactly the rows it has (docs/adr/0013).
#pragma once
#include "runtime/lane_io.hpp"
#include "step/advance.hpp"
#include "step/bounce.hpp"
#include "scene/contacts.hpp"
#include "step/hold.hpp"
#include "step/lane_inertia.hpp"
#include "step/nearby.hpp"
#include "step/separate.hpp"
#include "step/strays.hpp"

namespace featherweight::FW_ISA {

extern const ContactKernels contact_kernels;

template <class S>
struct StepWorkspace {
  S *q, *v, *tau, *a, *moved, *control, *gain_scale;
  S *kept_q, *kept_v;  // at the start of the step, for environments that fail in it
  Force<S>* f_ext;
  S* f_scratch;
  Motion<S> world;           // its acceleration, which stands in for gravity
  LaneInertia<S>* inertias;  // of links
  Vec3<S>* centers;          // of mass, of links on free joints
  AbaWorkspace<S> sweeps;
  FreeMotion<S> motion;
  BallPoints<S> balls;
  Motion<S>* response;  // of links, about the roots of their trees
  Pose<S>* placed;      // links at the end of the step, where frames are held
  Bound<S>* bounds;
  int* near_pairs;  // pairs near in each lane
  int* near_rows;   // and joint rows
  S* near_margin;
  int n_near_pairs[width_of<S>], n_near_rows[width_of<S>];
  bool looks[width_of<S>];     // environments whose contacts are looked for
  bool left_out[width_of<S>];  // those with contacts that open too fast to matter
  HeldRows held[width_of<S>];

  StepWorkspace(const Scene& scene, bool has_forces, Arena& arena)
      : q(arena.take<S>(scene.tree.nq)),
        v(arena.take<S>(scene.tree.nv)),
        tau(arena.take<S>(scene.tree.nv)),
        a(arena.take<S>(scene.tree.nv)),
        moved(arena.take<S>(scene.tree.nv)),
        control(arena.take<S>(scene.n_actuators)),
        gain_scale(arena.take<S>(scene.n_actuators)),
        kept_q(arena.take<S>(scene.tree.nq)),
        kept_v(arena.take<S>(scene.tree.nv)),
        f_ext(has_forces ? arena.take<Force<S>>(scene.tree.n_links) : nullptr),
        f_scratch(has_forces ? arena.take<S>(6 * scene.tree.n_user_links) : nullptr),
        inertias(arena.take<LaneInertia<S>>(scene.tree.n_links)),
        centers(arena.take<Vec3<S>>(scene.tree.n_links)),
        sweeps(scene.tree, arena),
        balls(scene, motion, arena) {
    const Tree<double>& tree = scene.tree;
    motion.q = q;
    motion.control = control;
    motion.gain_scale = gain_scale;
    motion.v_free = arena.take<S>(tree.nv);
    motion.pose = arena.take<Pose<S>>(tree.n_links);
    motion.freedom = arena.take<Freedom<S>>(tree.nv);
    motion.velocity = arena.take<Motion<S>>(tree.n_links);
    motion.before = scene.has_restitution ? arena.take<Motion<S>>(tree.n_links) : nullptr;
    motion.response = arena.take<S>(tree.nv);
    motion.correct = arena.take<S>(tree.nv);
    response = arena.take<Motion<S>>(tree.n_links);
    placed = arena.take<Pose<S>>(scene.n_held ? tree.n_links : 0);
    bounds = arena.take<Bound<S>>(scene.n_shapes);
    near_pairs = arena.take<int>(static_cast<std::size_t>(width_of<S>) * scene.n_pairs);
    near_margin = arena.take<S>(scene.n_pairs);
    near_rows = arena.take<int>(static_cast<std::size_t>(width_of<S>) * scene.n_joint_rows);
  }
};

// Forces of actuators, springs and dampers join tau, with coordinates dt ahead where the step treats them implicitly:
// what the acceleration adds is on the other side of the equation (scene.tree's armature).
template <class S>
void add_joint_forces(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  for (int f = 0; f < scene.tree.nv; ++f)
    if (scene.damping[f] > 0) w.tau[f] = w.tau[f] - w.v[f] * scene.damping[f];
  const S ahead = scene.integrator == Integrator::implicit ? dt : S(0);
  for (int k = 0; k < scene.n_springs; ++k) {
    const Spring& s = scene.springs[k];
    w.tau[s.freedom] = w.tau[s.freedom] + (s.rest - (w.q[s.q] + w.v[s.freedom] * ahead)) * s.stiffness;
  }
  for (int k = 0; k < scene.n_actuators; ++k) {
    const Actuator& m = scene.actuators[k];
    if (m.is_row) continue;
    const S& v = w.v[m.freedom];
    S force = w.control[k] * m.gain;
    if (m.kp != 0) force = force - (w.q[m.q] + v * ahead) * m.kp;
    if (m.kd != 0) force = force - v * m.kd;
    force = force * w.gain_scale[k];
    force = select(force > S(m.upper), S(m.upper), select(force < S(m.lower), S(m.lower), force));
    const auto too_fast = (v * force > S(0)) & (abs(v) > S(m.velocity));
    w.tau[m.freedom] = w.tau[m.freedom] + select(too_fast, S(0), force);
  }
}

// Velocities at the end of the step if nothing touched.
template <class S>
void move_freely(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  aba(tree, w.world, OfLanes<S>{w.inertias}, w.q, w.v, w.tau, w.f_ext, w.sweeps, w.a);
  for (int f = 0; f < tree.nv; ++f) w.motion.v_free[f] = w.v[f] + w.a[f] * dt;
  add_turning_of_axes(tree, w.centers, w.v, dt, w.motion.v_free);
}

// Placements, freedoms and velocities in world axes.
template <class S>
void place_links(const Scene& scene, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  const Pose<S> world = identity_pose<S>();
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    if (!scene.touchable[i]) continue;
    visit(l.kind, [&](auto joint) {
      Freedom<S>* const freedom = w.motion.freedom + l.v;
      Pose<S>& pose = w.motion.pose[i];
      const bool is_root = l.parent < 0;
      place_eliminated(joint, l, w.sweeps.state + l.state, w.sweeps.factors, is_root ? world : w.motion.pose[l.parent],
                       is_root ? nullptr : &w.motion.pose[scene.root[i]].p, pose, freedom);
      const Vec3<S> r = pose.p - w.motion.pose[scene.root[i]].p;
      const auto carry_velocity = [&](const S* rate, Motion<S>* velocity) FW_LAMBDA_INLINE {
        Motion<S> m = is_root ? rest : velocity[l.parent];
        m += joint_motion(joint, l, rate + l.v, pose, r, freedom);
        velocity[i] = m;
      };
      carry_velocity(w.motion.v_free, w.motion.velocity);
      if (w.motion.before) carry_velocity(w.v, w.motion.before);
    });
  }
}

// Root to leaf: the change of velocity that impulses cause, from the Y^T lambda they left.
template <class S>
void respond(const Scene& scene, const S* impulse, StepWorkspace<S>& w, S* change) {
  const Tree<double>& tree = scene.tree;
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    if (!scene.touchable[i]) {
      for (int k = l.v; k < l.v + l.nv; ++k) change[k] = S(0);
      continue;
    }
    const Motion<S> parent = l.parent < 0 ? rest : w.response[l.parent];
    const Motion<S> m = carry_outward(l, w.motion.freedom, impulse, parent, [&](int k, const S& x) FW_LAMBDA_INLINE {
      if (l.nv == 1) change[k] = x * l.sign;
    });
    w.response[i] = m;
    if (l.nv == 1) continue;
    // ball joints: what the link moves beyond its parent, in its own axes
    Motion<S> d{m.lin - parent.lin, m.ang - parent.ang};
    if (l.nv == 6) add_cross(d.lin, d.ang, w.motion.pose[i].p - w.motion.pose[scene.root[i]].p);
    const Vec3<S> lin = transposed_times(w.motion.pose[i].R, d.lin), ang = transposed_times(w.motion.pose[i].R, d.ang);
    for (int k = 0; k < 3; ++k) {
      if (l.nv == 6) change[l.v + k] = lin[k];
      change[l.v + l.nv - 3 + k] = ang[k];
    }
  }
}

template <class S>
FW_INLINE Placement placement(const PlacedShape& shape, const FreeMotion<S>& motion, LaneOf<S> lane) {
  Pose<double> X{mat3(shape.R), vec3(shape.p)};
  if (shape.link >= 0) X = compose(lane(motion.pose[shape.link]), X.R, X.p);
  Placement out;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) out.R[3 * r + c] = X.R(r, c);
    out.p[r] = X.p[r];
  }
  return out;
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
  c.gap = gap - scene.materials[pair.material].margin;
  const Vec3<double> point = center - n * height;
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
    find_contacts(scene, environment, pair.a, pair.b, pair.material, placement(a, w.motion, lane),
                  placement(b, w.motion, lane), lane(w.near_margin[pairs[k]]), list);
  }
}
template <class S>
void find_swept_contacts(const Scene& scene, const StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                         StepMemory& memory) {
  const std::size_t n = scene.n_shapes;
  reserve(memory.placements, n * (sizeof(Placement) + sizeof(double)));
  Placement* const placements = static_cast<Placement*>(memory.placements.data);
  double* const ways = reinterpret_cast<double*>(placements + n);
  for (std::size_t k = 0; k < n; ++k) {
    placements[k] = placement(scene.shapes[k], w.motion, lane);
    ways[k] = lane(w.bounds[k].way);
  }
  sweep_contacts(scene, environment, placements, ways, *memory.broadphase, memory.bounds, memory.next);
}

// Y^T lambda, those of balls aside. Impulses are padded by three numbers; beyond the rows of a group y is zero.
template <class S>
FW_INLINE void add_impulses(const Scene& scene, const RowGroup* groups, int n_groups, const double* impulse,
                            LaneOf<S> lane, S* response) {
  for (int i = 0; i < n_groups; ++i) {
    const RowGroup& group = groups[i];
    if (group.ball >= 0) continue;
    const Rows x = *reinterpret_cast<const LooseRows*>(impulse + group.first);
    for (int e = 0; e < group.n_ends; ++e) {
      const RowEnd& end = group.ends[e];
      for_path(scene, end.link, end.count, [&](int k, int f) FW_LAMBDA_INLINE {
        const Rows y = end.y[k] * x;
        lane.add(response[f], (y[0] + y[1]) + (y[2] + y[3]));
      });
    }
  }
}

// Impulses of balls go back to their lane. of(ball): what they are there.
template <class S, class Of>
FW_INLINE void hand_back(const ConeRows<S>& rows, const double* impulse, LaneOf<S> lane, const Of& of) {
  for (int i = 0; i < rows.n_groups; ++i) {
    const RowGroup& group = rows.groups[i];
    if (group.ball < 0) continue;
    S* const x = of(rows.balls().walked(group.ball));
    for (int r = 0; r < 3; ++r) lane.set(x[r], impulse[group.first + r]);
  }
}

inline void add_figures(const StepFigures& last, StepFigures& total) {
  const auto raise = [](double& worst, double x) { worst = x > worst ? x : worst; };
  raise(total.residual, last.residual);
  raise(total.primal, last.primal);
  raise(total.dual, last.dual);
  raise(total.complementarity, last.complementarity);
  raise(total.penetration, last.penetration);
  total.sweeps += last.sweeps, total.newton += last.newton, total.admm += last.admm;
  total.unconverged += last.unconverged;
}

// The impulses of one environment. True if some of them separate.
template <class S>
bool solve_environment(const RolloutJob& job, StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                       double reach, StepMemory& memory) {
  const Scene& scene = *job.scene;
  StepReport& report = job.reports[environment];
  ContactList& contacts = job.contacts[environment];
  double* joint_impulses =
      job.joint_impulses + environment * static_cast<std::size_t>(scene.n_joint_rows + scene.n_held_rows);
  ConeRows<S> rows(job, w.motion, w.balls, lane.lane, environment, memory.rows[scene.n_held ? lane.lane : 0], contacts,
                   w.near_rows + lane.lane * scene.n_joint_rows, w.n_near_rows[lane.lane], joint_impulses, reach);
  w.left_out[lane.lane] = rows.left_out;
  report.contacts = contacts.count;
  report.last.penetration = rows.deepest;
  if (rows.m == 0) return false;
  if (scene.n_held) w.held[lane.lane] = HeldRows(scene, rows.groups, memory.held[lane.lane]);
  const ConeMatrix<S> matrix(scene, rows, contact_kernels, job.options, memory.matrix);
  SolverReport r;
  const auto solve = [&] { r = contact_kernels.solve(matrix.problem(), job.options, matrix.lambda, matrix.scratch); };
  solve();
  weaken_bounces(rows, matrix, solve);
  report.last = {r.residual / rows.scale, r.primal, r.dual, r.complementarity,  rows.deepest,
                 r.gauss_seidel,          r.newton, r.admm, r.converged ? 0 : 1};
  for (int i = 0; i < rows.m; ++i) *rows.rows[i].kept = matrix.lambda[i];
  add_impulses(scene, rows.groups, rows.n_groups, matrix.lambda, lane, w.motion.response);
  hand_back(rows, matrix.lambda, lane, [](BallPoint<S>& ball) { return ball.impulse; });
  if (!separate(scene, rows, matrix)) return false;
  add_impulses(scene, rows.groups, rows.n_groups, matrix.mu, lane, w.motion.correct);
  hand_back(rows, matrix.mu, lane, [](BallPoint<S>& ball) { return ball.correction; });
  return true;
}

// Surplus lanes are copies of the last environment.
template <class S>
FW_INLINE void repeat_last_lane(const Pack& pack, int n, S* x) {
  for (int lane = pack.count; lane < width_of<S>; ++lane)
    for (int k = 0; k < n; ++k) ScalarTraits<S>::set(x[k], lane, LaneOf<S>{pack.count - 1}(x[k]));
}

// x * 0 is NaN exactly for what is not finite.
template <class S>
FW_INLINE S poison_in(const S* x, int n) {
  S even(0), odd(0);  // half as long a chain of additions
  int k = 0;
  for (; k + 1 < n; k += 2) even = even + x[k] * S(0), odd = odd + x[k + 1] * S(0);
  if (k < n) even = even + x[k] * S(0);
  return even + odd;
}
template <class S>
FW_INLINE bool is_finite(const S& poison, int lane) {
  return LaneOf<S>{lane}(poison) == 0;
}

// Coordinates move until held frames are where they should be, to a hundredth of a nanometre, or no nearer. (A link
// that turns too fast for the matrix of the step stays as it is.)
template <class S>
void hold_together(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  constexpr int most_iterations = 10;
  const Scene& scene = *job.scene;
  const Tree<double>& tree = scene.tree;
  const Pose<S> world = identity_pose<S>();
  double last[width_of<S>];
  for (double& error : last) error = 1e300;
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    for (int i = 0; i < tree.n_links; ++i) {
      const Link<double>& l = tree.links[i];
      visit(l.kind, [&](auto joint) {
        place(joint, l, w.q + l.q, w.sweeps.state + l.state, l.parent < 0 ? world : w.placed[l.parent], w.placed[i]);
      });
    }
    for (int f = 0; f < tree.nv; ++f) w.motion.correct[f] = S(0);
    bool moves = false;
    for (int lane = 0; lane < pack.count; ++lane) {
      if (w.held[lane].empty()) continue;
      const double error = w.held[lane].solve(scene, LaneOf<S>{lane}, w.placed, job.dt);
      const bool goes_on = error > 1e-11 && error < 0.5 * last[lane];
      last[lane] = goes_on ? error : 0;
      if (!goes_on) continue;
      moves = true;
      HeldRows& held = w.held[lane];
      add_impulses(scene, held.groups(), held.n_groups(), held.impulses(), LaneOf<S>{lane}, w.motion.correct);
    }
    if (!moves) return;
    repeat_last_lane(pack, tree.nv, w.motion.correct);
    respond(scene, w.motion.correct, w, w.moved);
    advance(tree, w.centers, w.moved, S(job.dt), w.q, w.v);
  }
}

// Which pairs and joint rows are near, environment by environment.
template <class S>
void list_nearby(const RolloutJob& job, const Pack& pack, const S* change, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  for (int lane = 0; lane < pack.count; ++lane) w.n_near_pairs[lane] = w.n_near_rows[lane] = 0;
  w.balls.clear();
  for_nearby_pairs(scene, w.motion, w.bounds, [&](const ScenePair& pair, const S& distance, const S& margin) {
    const int k = static_cast<int>(&pair - scene.pairs);
    w.near_margin[k] = margin;
    if (pair.ball >= 0) w.balls.meet(pair, w.bounds[pair.a].center);
    for (int lane = 0; lane < pack.count; ++lane)
      if (LaneOf<S>{lane}(distance) < 0) w.near_pairs[lane * scene.n_pairs + w.n_near_pairs[lane]++] = k;
  });
  for_nearby_joint_rows(scene, w.motion, change, 1 / job.dt, [&](int row, const S& excess) {
    for (int lane = 0; lane < pack.count; ++lane)
      if (LaneOf<S>{lane}(excess) < 0) w.near_rows[lane * scene.n_joint_rows + w.n_near_rows[lane]++] = row;
  });
}

// What impulses did to the environments of a pack.
struct Outcome {
  bool touched = false;    // there are impulses
  bool separated = false;  // and some that separate
};

// Contacts and impulses of one environment after the other, at the first look or, of those that stray, another. False
// if nothing was solved.
template <class S>
bool meet_and_solve(const RolloutJob& job, const Pack& pack, bool is_first, StepWorkspace<S>& w, StepMemory& memory,
                    Outcome& outcome) {
  const Scene& scene = *job.scene;
  bool solved = false, separated = false;
  for (int lane = 0; lane < pack.count; ++lane) {
    const std::size_t environment = pack.first + lane;
    ContactList& contacts = job.contacts[environment];
    StepReport& report = job.reports[environment];
    const LaneOf<S> own{lane};
    if (!w.looks[lane]) continue;
    if (scene.rules)
      find_swept_contacts(scene, w, own, environment, memory);
    else
      find_listed_contacts(job, w, own, environment, memory.next);
    if (is_first) {
      report.last = {};
    } else {
      if (!is_run_through(scene, w.motion, w.response, own, 1 / job.dt, memory.next) &&
          !is_run_through(scene, w.motion, w.a, own, 1 / job.dt, w.near_rows + lane * scene.n_joint_rows,
                          w.n_near_rows[lane]))
        continue;
      for (int f = 0; f < scene.tree.nv; ++f) own.set(w.motion.response[f], 0), own.set(w.motion.correct[f], 0);
    }
    warm_start(contacts, memory.next);
    ContactList old = contacts;
    contacts = memory.next;
    memory.next = old;
    report.contacts = 0;
    // without contacts, impulses of joints may have to be forgotten
    if (contacts.count + scene.n_joint_rows + scene.n_held == 0) continue;
    solved = true;
    separated |= solve_environment(job, w, own, environment, is_first ? resting_reach : 1e300, memory);
  }
  if (solved) w.balls.respond();
  if (separated) w.balls.correct();
  outcome.touched |= solved;
  outcome.separated |= separated;
  return solved;
}

// Those that look again: impulses lead beyond what was looked at. False if there are none.
template <class S>
bool find_strays(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  S beyond = suspicion(scene, w.motion, w.response, w.bounds, job.dt);
  if (any(beyond, beyond > S(0))) beyond = widen(scene, w.motion, w.response, S(job.dt), w.bounds);
  raise(beyond, limits_run_through(scene, w.motion, w.a, 1 / job.dt));
  bool some = false;
  for (int lane = 0; lane < pack.count; ++lane) {
    const LaneOf<S> own{lane};
    w.looks[lane] = w.looks[lane] && (own(beyond) > 0 ||
                                      (w.left_out[lane] && is_run_through(scene, w.motion, w.response, own, 1 / job.dt,
                                                                          job.contacts[pack.first + lane])));
    some |= w.looks[lane];
  }
  return some;
}

// Impulses, and in w.a the change of velocities they cause.
template <class S>
Outcome touch(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w, StepMemory& memory) {
  constexpr int most_looks = 4;
  const Scene& scene = *job.scene;
  const S poison = poison_in(w.motion.v_free, scene.tree.nv);
  for (int f = 0; f < scene.tree.nv; ++f) w.motion.response[f] = w.motion.correct[f] = S(0);
  for (int k = 0; k < scene.n_shapes; ++k) w.bounds[k] = bound(scene, scene.shapes[k], w.motion, S(job.dt));
  for (int lane = 0; lane < pack.count; ++lane) {
    w.looks[lane] = !job.reports[pack.first + lane].failed && is_finite(poison, lane);
    w.left_out[lane] = false;
    if (scene.n_held) w.held[lane] = {};
  }
  Outcome outcome;
  for (int look = 0; look < most_looks; ++look) {
    list_nearby(job, pack, look == 0 ? nullptr : w.a, w);
    if (!meet_and_solve(job, pack, look == 0, w, memory, outcome)) break;
    repeat_last_lane(pack, scene.tree.nv, w.motion.response);
    respond(scene, w.motion.response, w, w.a);
    if (!find_strays(job, pack, w)) break;
  }
  for (int lane = 0; lane < pack.count; ++lane) {
    StepReport& report = job.reports[pack.first + lane];
    if (!report.failed && is_finite(poison, lane)) add_figures(report.last, report.total);
  }
  return outcome;
}

template <class S>
void step(const RolloutJob& job, const Pack& pack, bool is_last, StepWorkspace<S>& w, StepMemory& memory) {
  const Scene& scene = *job.scene;
  const Tree<double>& tree = scene.tree;
  const S dt(job.dt);

  add_joint_forces(scene, dt, w);
  move_freely(scene, dt, w);
  place_links(scene, w);
  const Outcome outcome = touch(job, pack, w, memory);

  // new velocities, new coordinates
  for (int f = 0; f < tree.nv; ++f) w.v[f] = w.motion.v_free[f];
  if (outcome.touched)
    for (int f = 0; f < tree.nv; ++f) w.v[f] = w.v[f] + w.a[f];
  for (int f = 0; f < tree.nv; ++f) w.moved[f] = w.v[f];
  if (outcome.separated) {
    repeat_last_lane(pack, tree.nv, w.motion.correct);
    respond(scene, w.motion.correct, w, w.a);
    for (int f = 0; f < tree.nv; ++f) w.moved[f] = w.moved[f] + w.a[f];
  }
  if (is_last) {  // the mean acceleration
    for (int f = 0; f < tree.nv; ++f) w.a[f] = (w.v[f] - w.kept_v[f]) * S(1 / job.dt);
    add_turning_of_axes(tree, w.centers, w.kept_v, S(-1), w.a);
  }
  advance(tree, w.centers, w.moved, dt, w.q, w.v);
  if (scene.n_held) hold_together(job, pack, w);
}

}  // namespace featherweight::FW_ISA
