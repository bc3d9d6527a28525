// step/workspace.hpp -- what the stages of a step hand to each other: one pack of environments, on lanes.
#pragma once
#include "dynamics/products.hpp"
#include "runtime/lane_io.hpp"
#include "step/ball_points.hpp"
#include "step/held_system.hpp"
#include "step/lane_inertia.hpp"
#include "step/nearby.hpp"
#include "step/pack_points.hpp"
#include "step/tuning.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct Assembled;  // assemble.hpp

// See momenta.hpp. Empty, but where steps are in halves.
template <class S>
struct MomentaWorkspace {
  S* state;
  Motion<S>* motion;  // of links
  Force<S>* accumulators;
  S *q, *v;        // where the way ends
  S *start, *end;  // momenta along joints at its ends
  S* turning;      // s at the one that is not asked for

  MomentaWorkspace(const Scene& scene, Arena& arena) {
    const Tree<double>& tree = scene.tree;
    const bool some = scene.is_verlet();
    state = arena.take<S>(some ? tree.n_states : 0);
    motion = arena.take<Motion<S>>(some ? tree.n_links : 0);
    accumulators = arena.take<Force<S>>(some ? tree.n_accumulators : 0);
    q = arena.take<S>(some ? tree.nq : 0);
    for (S** each : {&v, &start, &end, &turning}) *each = arena.take<S>(some ? tree.nv : 0);
  }
};

template <class S>
struct StepWorkspace {
  S *q, *v, *tau, *a, *moved, *separating, *control, *gain_scale;
  S* grips;                         // of closures that are switched: see RolloutJob
  S *activation, *kept_activation;  // kept: at the start of the step
  // see tumble.hpp, which takes what follows as scratch
  S *explicit_v, *turned, *bend, *x, *x_next, *middle, *no_tau;
  S* forced;             // accelerations without products of velocities, where there are closures; see kick.hpp
  S* earlier;            // velocities half a kick before the start of the step, if it is in halves
  S* products;           // of velocities, in a step in halves: what they take of joint forces
  S* half_tau;           // joint forces as they are given, then those of its first half
  Force<S>* dry_forces;  // on links without those of the medium, where a step in halves is in one; else null
  bool tumbles = false;
  bool absorbs;                                   // joint rows may be part of the prediction: see absorb.hpp
  S* last_v;                                      // velocities at the start of the step before
  S* driven;                                      // joint forces with those of rows that are absorbed
  S* own_rotors;                                  // of links, without inertia that is absorbed
  const double* last_impulses[width_of<S>];       // of joint rows, in each environment,
  const ContactList* last_contacts[width_of<S>];  // and what touched in the step before
  S weighs;                                       // positive where some rows are inertia
  S mispredicted;                                 // negative, or how much of that must not be,
  bool predicts_again;                            // where some of it was just found
  bool is_last_look;                              // impulses are not looked at again
  S *kept_q, *kept_v;                             // at the start of the step, for environments that fail in it
  Force<S>* f_ext;                                // given; null: none
  Force<S>* forces;                               // on links, with those of the scene; null: none
  S* f_scratch;
  Motion<S> world;           // its acceleration, which stands in for gravity
  Vec3<S>* up;               // minus gravity in the axes of links, where there are lifts
  S* lift_scale;             // factors on what they carry
  Pose<S>* strut_poses;      // of links, where there are struts or something sticks
  Force<S>* strut_forces;    // likewise: scratch
  LaneInertia<S>* inertias;  // of links
  Vec3<S>* centers;          // of mass, of links on free joints
  AbaWorkspace<S> aba;       // its states and factors stay those at the start of the step
  ProductsWorkspace<S> of_products;
  FreeMotion<S> motion;
  BallPoints<S> balls;
  PackPoints<S> points;       // of environments that touch with balls alone
  Motion<S>* response;        // of links, about the roots of their trees
  Pose<S>* placed;            // links at the end of the step, where something is held or it is in halves
  S* placed_state;            // and their joints
  Pose<S>* halfway;           // and in the middle
  S *closed_q, *closed_v;     // likewise, of environments whose closures are closed
  S *opening, *apart;         // of rows that are held: see shake.hpp; errors at the start of the step
  S *errors, *closed_errors;  // others, and what of them is left to do
  S* last_errors;             // those an iteration before
  S *aim, *guided_speed;      // of guided rows: speeds without and with their impulses; null: there are none
  HeldSystem<S> held;
  MomentaWorkspace<S> momenta;
  S* unheld;                       // velocities without any impulses, where something is held
  S *impelled, *renewed;           // what impulses change them by, and what they are next: see settle.hpp
  S *cause, *cause_before;         // Y^T lambda that would cause the velocities with those of what is held
  S *straight_v, *straight_apart;  // where coordinates may move without what separates: see correct.hpp
  S *with_q, *with_v;              // and where they moved with it
  S* closing;                      // Y^T lambda of what is held
  S *held_impulse, *reaction;      // of rows that are held: against velocities and openings; against all other impulses
  S *drift_impulse, *drifting;     // of rows, and Y^T lambda: what brings together what is apart, in coordinates
  S drifts;                        // largest of that [m or rad]
  S* correction;                   // of rows, against the impulses that separate
  Bound<S>* bounds;
  int* near_pairs;  // pairs near in each lane
  int* near_rows;   // and joint rows
  int* near_balls;  // pairs near in any lane, of balls that are walked on lanes
  int n_near_balls;
  S* near_margin;
  int n_near_pairs[width_of<S>], n_near_rows[width_of<S>];
  bool steps[width_of<S>];               // environments that have not failed
  bool separates[width_of<S>];           // those with overlaps that are taken out
  bool looks[width_of<S>];               // those whose contacts are looked for
  bool touches[width_of<S>];             // those that had rows
  bool strikes[width_of<S>];             // those in which something struck
  bool left_out[width_of<S>];            // those with contacts that open too fast to matter
  bool strays[width_of<S>];              // those with contacts beyond what was looked at,
  bool has_strayed[width_of<S>];         // in any look
  bool doubts[width_of<S>];              // those with doubtful contacts,
  bool changes[width_of<S>];             // of which some are judged otherwise than before
  int n_pushes[width_of<S>];             // by them
  bool is_held[width_of<S>];             // environments in which something is held
  bool drifts_along[width_of<S>];        // those in which what is apart comes together while contacts separate
  Assembled<S>* assembled[width_of<S>];  // cone problems of environments; null: no rows

  StepWorkspace(const Scene& scene, const SolverOptions& options, bool has_forces, Arena& arena)
      : q(arena.take<S>(scene.tree.nq)),
        v(arena.take<S>(scene.tree.nv)),
        tau(arena.take<S>(scene.tree.nv)),
        a(arena.take<S>(scene.tree.nv)),
        moved(arena.take<S>(scene.tree.nv)),
        separating(arena.take<S>(scene.tree.nv)),
        control(arena.take<S>(scene.n_controls())),
        gain_scale(arena.take<S>(scene.n_laws())),
        grips(arena.take<S>(grip_numbers * scene.n_grips)),
        activation(arena.take<S>(scene.n_activations)),
        kept_activation(arena.take<S>(scene.n_activations)),
        explicit_v(arena.take<S>(scene.tree.nv)),
        turned(arena.take<S>(scene.tree.nv)),
        bend(arena.take<S>(scene.tree.nv)),
        x(arena.take<S>(scene.tree.nv)),
        x_next(arena.take<S>(scene.tree.nv)),
        middle(arena.take<S>(scene.tree.nv)),
        no_tau(arena.take<S>(scene.tree.nv)),
        forced(arena.take<S>(scene.iterates() ? scene.tree.nv : 0)),
        earlier(arena.take<S>(scene.is_verlet() ? scene.tree.nv : 0)),
        products(arena.take<S>(scene.is_verlet() ? scene.tree.nv : 0)),
        half_tau(arena.take<S>(scene.is_verlet() ? scene.tree.nv : 0)),
        dry_forces(scene.is_verlet() && scene.n_boxes + scene.n_ellipsoids > 0
                       ? arena.take<Force<S>>(scene.tree.n_links)
                       : nullptr),
        absorbs(scene.absorbs() && options.solver == Solver::automatic),
        last_v(arena.take<S>(scene.tree.nv)),
        driven(absorbs ? arena.take<S>(scene.tree.nv) : tau),
        own_rotors(arena.take<S>(scene.tree.n_links)),
        kept_q(arena.take<S>(scene.tree.nq)),
        kept_v(arena.take<S>(scene.tree.nv)),
        f_ext(has_forces ? arena.take<Force<S>>(scene.tree.n_links) : nullptr),
        forces(scene.has_link_forces ? arena.take<Force<S>>(scene.tree.n_links) : f_ext),
        f_scratch(has_forces ? arena.take<S>(6 * scene.tree.n_user_links) : nullptr),
        up(arena.take<Vec3<S>>(scene.n_lifts ? scene.tree.n_links : 0)),
        lift_scale(arena.take<S>(scene.n_lifts)),
        strut_poses(arena.take<Pose<S>>(scene.strutted ? scene.tree.n_links : 0)),
        strut_forces(arena.take<Force<S>>(scene.n_struts ? scene.tree.n_links : 0)),
        inertias(arena.take<LaneInertia<S>>(scene.tree.n_links)),
        centers(arena.take<Vec3<S>>(scene.tree.n_links)),
        aba(scene.tree, arena),
        of_products(scene.tree, arena),
        balls(scene, motion, arena),
        points(scene, options, motion, arena),
        held(scene, arena),
        momenta(scene, arena) {
    const Tree<double>& tree = scene.tree;
    motion.q = q;
    motion.v = v;
    motion.grips = grips;
    motion.control = control;
    motion.gain_scale = gain_scale;
    motion.struts = {arena.take<S>(scene.n_struts), arena.take<S>(scene.n_strut_travels),
                     arena.take<Force<S>>(scene.n_strut_links)};
    motion.drive = arena.take<S>(scene.n_actuators);
    motion.intervals = arena.take<IntervalRow<S>>(scene.n_joint_rows);
    motion.v_free = arena.take<S>(tree.nv);
    motion.pose = arena.take<Pose<S>>(tree.n_links);
    motion.dofs = arena.take<Dof<S>>(tree.nv);
    motion.velocity = arena.take<Motion<S>>(tree.n_links);
    motion.v_before = scene.is_verlet() ? earlier : v;
    motion.before = scene.has_restitution || scene.is_verlet() ? arena.take<Motion<S>>(tree.n_links) : nullptr;
    motion.start = scene.is_verlet() ? arena.take<Motion<S>>(tree.n_links) : nullptr;
    motion.response = arena.take<S>(tree.nv);
    motion.correct = arena.take<S>(tree.nv);
    response = arena.take<Motion<S>>(tree.n_links);
    placed = arena.take<Pose<S>>(scene.iterates() ? tree.n_links : 0);
    placed_state = arena.take<S>(scene.iterates() ? tree.n_states : 0);
    halfway = arena.take<Pose<S>>(scene.is_verlet() ? tree.n_links : 0);
    closed_q = arena.take<S>(scene.iterates() ? tree.nq : 0);
    for (S** each : {&closed_v, &impelled, &renewed}) *each = arena.take<S>(scene.iterates() ? tree.nv : 0);
    for (S** each : {&opening, &apart, &errors, &closed_errors, &last_errors, &held_impulse, &reaction, &drift_impulse,
                     &correction})
      *each = arena.take<S>(scene.held.n_rows);
    for (S** each : {&aim, &guided_speed}) *each = scene.held.guides ? arena.take<S>(scene.held.n_rows) : nullptr;
    straight_apart = arena.take<S>(scene.held.n_rows);
    with_q = arena.take<S>(scene.held.n_rows ? tree.nq : 0);
    for (S** each : {&unheld, &cause, &cause_before, &closing, &drifting, &straight_v, &with_v})
      *each = arena.take<S>(scene.held.n_rows ? tree.nv : 0);
    bounds = arena.take<Bound<S>>(scene.n_shapes);
    near_pairs = arena.take<int>(static_cast<std::size_t>(width_of<S>) * scene.n_pairs);
    near_balls = arena.take<int>(scene.n_balls);
    near_margin = arena.take<S>(scene.n_pairs);
    near_rows = arena.take<int>(static_cast<std::size_t>(width_of<S>) * scene.n_joint_rows);
  }
};

// Surplus lanes are copies of the last environment.
template <class S>
FW_INLINE void repeat_last_lane(const Pack& pack, int n, S* x) {
  if (pack.count == 1) {  // one number is read and one register written, not one number after the other
    for (int k = 0; k < n; ++k) x[k] = S(LaneOf<S>{0}(x[k]));
    return;
  }
  for (int lane = pack.count; lane < width_of<S>; ++lane)
    for (int k = 0; k < n; ++k) ScalarTraits<S>::set(x[k], lane, LaneOf<S>{pack.count - 1}(x[k]));
}

// Sum of squares, by which velocities are judged: NaN and infinite where one of them is.
template <class S>
FW_INLINE S squares_of(const S* x, int n) {
  S sum[4] = {S(0), S(0), S(0), S(0)};  // a quarter as long a chain of additions
  int k = 0;
  for (; k + 3 < n; k += 4)
    for (int j = 0; j < 4; ++j) sum[j] = sum[j] + x[k + j] * x[k + j];
  for (; k < n; ++k) sum[0] = sum[0] + x[k] * x[k];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
template <class S>
FW_INLINE bool is_sane(const S& squares, int lane) {
  return LaneOf<S>{lane}(squares) <= FailureTuning::fastest * FailureTuning::fastest;
}

}  // namespace featherweight::FW_ISA
