// step/cone_rows.hpp -- the rows of one environment's cone problem, as they are being added.
//
// Joints and contacts add theirs, in this order (joint_rows.hpp, contact_rows.hpp). Velocities are those at the end of
// the step, with the impulses of what is held.
#pragma once
#include "cones/problem.hpp"
#include "memory/arena.hpp"
#include "step/ball_points.hpp"
#include "step/held_lane.hpp"
#include "step/job.hpp"
#include "step/tuning.hpp"

namespace featherweight::FW_ISA {

// What a row has beside its place in the problem.
struct ConeRow {
  double velocity;  // without impulses [m/s]
  double shift;     // of its law, as it was added
  double compliance;
  double slack;    // what the position asks of the velocity [m/s],
  bool separates;  // if it does
  int contact;     // whose normal it is, or -1
  double* kept;    // where its impulse is kept from step to step,
  double known;    // of which this much is in the prediction
};

// A contact or limit in a scene with restitution, rigid and one-sided (impacts.hpp).
struct Strike {
  enum State : int {
    rests,    // it closes or stays open without restitution
    strikes,  // it leaves by restitution
    waits,    // for the next round: only impulses would close it
  } state;
  int row;                         // its normal
  int first, last;                 // its rows, friction included, [first, last); tangents come before the normal
  int a, b;                        // links, or for a limit its degree of freedom, tendon or strut and -2
  int root;                        // of the cluster that it acts on
  double gap;                      // [m] or [rad]
  double open_shift;               // of its law where it does not strike [m/s]
  double restitution, tangential;  // along the normal, along the tangents
  bool was_apart;                  // neither touching nor loaded at the start of the step, or leaving
  bool struck = false;             // in a round before
  int impact = -1;

  bool is_elastic() const { return restitution > 0 || tangential > 0; }
  // What restitution asks of its rows, that have these velocities before.
  void asks(const double* before, bool turns, double* shift) const {
    shift[row] = restitution * before[row];
    for (int i = first; i < row; ++i) shift[i] = turns ? tangential * before[i] : 0;
  }
};

// A contact of a step in halves, along t1, t2 and n (carried_contacts.hpp).
struct CarriedContact {
  double opening[3];  // what its motion adds to velocities along its rows [m/s]
  double slip[2];     // the velocity at the start of the kick, if it slides; else zero [m/s]
};

// A point of a link, about the root of its tree.
struct Place {
  Vec3<double> r;
  Motion<double> velocity;

  FW_INLINE Vec3<double> moves() const { return velocity_at(velocity, r); }
};

// Impulses act on the first side, their opposites on the second.
FW_INLINE double sign(int side) { return side == 0 ? 1 : -1; }

// Whether rows are of links and of single joints: neither what is held nor tendons have a part in the trees.
inline bool has_trees_alone(const Scene& scene) { return scene.held.n_rows == 0 && !scene.has_tendons; }

template <class S>
class ConeRows {
 public:
  int m = 0, n_blocks = 0, n_quartets = 0;
  int n_strikes = 0;  // contacts and limits that may
  bool something_strikes = false;
  Block* blocks;
  Quartet* quartets;
  Strike* strikes;
  ConeRow* rows;
  const Contact* contacts = nullptr;  // of the environment
  double* g;                          // velocity without impulses of each row, and the shift of its law
  RowForces<Rows>* forces;            // of both ends of each quartet, on their links; null if the matrix is formed
  JointPush* pushes;                  // of the rows of joints; null as well
  int n_pushes = 0;
  double scale;             // [m/s]
  double deepest = 0;       // overlap of a contact [m]
  double beyond = 0;        // what a limit is exceeded by [m or rad]
  bool left_out = false;    // some contacts open too fast to matter
  bool is_soft = false;     // some rows have compliance
  bool has_others = false;  // than those of balls

  // Room for all that the scene and its contacts can add; `more` takes what they need meanwhile.
  template <class More>
  ConeRows(const RolloutJob& job, const FreeMotion<S>& motion, BallPoints<S>& balls, int lane, int n_contacts,
           Memory& memory, const More& more)
      : scene_(*job.scene), motion_(motion), balls_(balls), lane_{lane}, per_dt_(1 / job.dt) {
    const double fall = lane_(motion.fall);
    scale = fall > 0 ? fall : scene_.kick;
    const std::size_t n = n_contacts;
    const std::size_t n_y = scene_.n_row_dofs + n * scene_.most_contact_dofs;
    const std::size_t most_strikes = scene_.has_restitution ? n + scene_.n_joint_rows : 0;
    const std::size_t most_quartets = 2 * n + scene_.n_joint_rows;
    const std::size_t most_blocks = 3 * n + scene_.n_joint_rows;
    const std::size_t most_rows = 6 * n + scene_.n_joint_rows;
    carve_out(memory, [&](Arena& arena) FW_LAMBDA_INLINE {
      next_y_ = arena.take<Rows>(n_y);
      spare_y_ = arena.take<Rows>(scene_.most_contact_dofs);
      more(arena);
      quartets = arena.take<Quartet>(most_quartets);
      next_held_ = arena.take<Rows>(most_quartets * scene_.held.n_rows);
      spare_held_ = arena.take<Rows>(scene_.held.n_rows);
      strikes = arena.take<Strike>(most_strikes);
      strikes_before_ = arena.take<Strike>(scene_.held.n_rows ? most_strikes : 0);
      blocks = arena.take<Block>(most_blocks);
      rows = arena.take<ConeRow>(most_rows);
      g = arena.take<double>(most_rows);
      const bool forms_none = job.options.matrix_free && has_trees_alone(scene_);
      forces = forms_none ? arena.take<RowForces<Rows>>(2 * most_quartets) : nullptr;
      pushes = forms_none ? arena.take<JointPush>(scene_.n_joint_rows) : nullptr;
    });
  }

  // In room that is kept.
  static void* operator new(std::size_t, void* room) { return room; }

  const Scene& scene() const { return scene_; }
  const FreeMotion<S>& motion() const { return motion_; }
  const Dof<S>* dofs() const { return motion_.dofs; }
  LaneOf<S> lane() const { return lane_; }
  BallPoints<S>& balls() const { return balls_; }
  double per_dt() const { return per_dt_; }
  // Room for the rows of one link.
  Rows* spare_y() const { return spare_y_; }

  FW_INLINE Place place(int link, const Vec3<double>& point, const Motion<S>* velocity) const {
    return {point - lane_(motion_.pose[scene_.root[link]].p), lane_(velocity[link])};
  }

  FW_INLINE void add_row(double velocity, double shift, double softness, double* impulse) {
    g[m] = velocity + shift;
    rows[m++] = {velocity, shift, softness, 0, false, -1, impulse, 0};
    is_soft |= softness != 0;
  }
  // Of the row added last.
  FW_INLINE void ask_position(double velocity) {
    rows[m - 1].slack = velocity;
    rows[m - 1].separates = true;
  }
  FW_INLINE Block& add_block(Law law, int rows) {
    Block& b = blocks[n_blocks++];
    b = {law, m, rows, 0, 0, 0, 0};
    return b;
  }
  FW_INLINE Quartet& add_quartet(int rows) {
    Quartet& quartet = quartets[n_quartets++];
    quartet.first = m, quartet.rows = rows, quartet.n_ends = 0, quartet.ball = -1;
    quartet.held_first = quartet.held_end = 0, quartet.held = nullptr;
    return quartet;
  }
  // The forces of a quartet at one of its ends go to the root.
  template <class Motors = NoMotors>
  FW_INLINE void add_end(Quartet& quartet, int link, const RowForces<Rows>& force, const Motors& motors = {}) {
    has_others = true;
    if (forces) forces[2 * (&quartet - quartets) + quartet.n_ends] = force;
    const int count = scene_.depth[scene_.last_dof[link]] + 1;
    walk_inward(scene_, lane_, motion_.dofs, link, force, place_end(quartet, link, count).y, motors);
  }
  // count: of the degrees of freedom from the root to the link.
  FW_INLINE QuartetEnd& place_end(Quartet& quartet, int link, int count) {
    QuartetEnd& end = quartet.ends[quartet.n_ends++];
    end = {link, scene_.held.cluster[link], count, next_y_};
    next_y_ += count;
    return end;
  }

  // What is held reacts to all rows that were added.
  void hold(const HeldLane& held) {
    held_ = held;
    for (int k = 0; k < n_strikes; ++k) strikes_before_[k] = strikes[k];
    for (int i = 0; i < n_quartets; ++i) {
      Quartet& quartet = quartets[i];
      held.find_rows(quartet, quartet.held_first, quartet.held_end);
      quartet.held = next_held_;
      next_held_ += quartet.held_end - quartet.held_first;
      held.react(quartet, quartet.held_first, quartet.held_end, quartet.held);
      leave_out_immobile(quartet);
    }
  }
  // A point whose normal passes the hinges of a link, which hardly give way along it, has no impulse: any that acts
  // would be limited by rounding, and of any size.
  void leave_out_if_idle(Quartet& quartet, int normal) {
    const Block4 mobility = couple(scene_, quartet, quartet);
    double most = 0;
    for (int r = 0; r < normal; ++r) most = mobility.columns[r][r] > most ? mobility.columns[r][r] : most;
    if (mobility.columns[normal][normal] < LawTuning::idle_normal * most) leave_out(quartet, normal, most);
  }
  // What is held reacts to rows that are walked to look at something, in room for one quartet.
  FW_INLINE void hold_spare(Quartet& quartet) const {
    if (scene_.held.n_rows == 0) return;
    held_.find_rows(quartet, quartet.held_first, quartet.held_end);
    quartet.held = spare_held_;
    held_.react(quartet, quartet.held_first, quartet.held_end, quartet.held);
  }
  // To be solved again: the laws are those that were added, and velocities change by those that `cause` has more than
  // `before`, both Y^T lambda.
  void start_again(const S* cause, const S* before) {
    for (int i = 0; i < n_quartets; ++i) {
      const Rows more = seen(quartets[i], cause, before);
      for (int r = 0; r < quartets[i].rows; ++r) rows[quartets[i].first + r].velocity += more[r];
    }
    for (int i = 0; i < m; ++i) g[i] = rows[i].velocity + rows[i].shift;
    for (int k = 0; k < n_strikes; ++k) strikes[k] = strikes_before_[k];
  }
  // What a quartet sees of `cause` less `before`, of which there may be none.
  FW_INLINE Rows seen(const Quartet& quartet, const S* cause, const S* before) const {
    Rows sum = Rows{};
    for (int e = 0; e < quartet.n_ends; ++e) {
      const QuartetEnd& end = quartet.ends[e];
      for_path(scene_, end.link, end.count, [&](int k, int f) FW_LAMBDA_INLINE {
        sum += end.y[k] * (before ? lane_(cause[f]) - lane_(before[f]) : lane_(cause[f]));
      });
    }
    return sum;
  }

  FW_INLINE void add_strike(const Strike& strike) {
    strikes[n_strikes++] = strike;
    something_strikes |= strike.state == Strike::strikes;
  }

  FW_INLINE void see(double velocity) {
    const double size = velocity < 0 ? -velocity : velocity;
    scale = size > scale ? size : scale;
  }
  FW_INLINE void see_overlap(double gap) { deepest = -gap > deepest ? -gap : deepest; }
  FW_INLINE void see_limit(double gap) { beyond = -gap > beyond ? -gap : beyond; }
  // What a gap asks of the velocity. Half an overlap goes in a step, but no faster than allowed.
  FW_INLINE double wanted(double gap) const {
    if (gap >= 0) return gap * per_dt_;
    const double velocity = SeparateTuning::share_per_step * gap * per_dt_;
    return velocity < -SeparateTuning::fastest ? -SeparateTuning::fastest : velocity;
  }

  // The rows of balls like those of others.
  void unpack_balls() {
    for (int i = 0; i < n_quartets; ++i) {
      if (quartets[i].ball < 0) continue;
      const BallPoint<S>& point = balls_.walked(quartets[i].ball);
      for (int k = 0; k < point.count; ++k)
        quartets[i].ends[0].y[k] = Rows{lane_(point.y[k].e[0]), lane_(point.y[k].e[1]), lane_(point.y[k].e[2]), 0};
    }
  }

 private:
  // Rows that what is held leaves no mobility have no impulse: it carries what they would, and what is left of their
  // mobility is rounding. Others yield a little, so that those that contradict what is held have a bounded one.
  void leave_out_immobile(Quartet& quartet) {
    const Block4 mobility = couple(scene_, quartet, quartet);
    Rows taken = Rows{};
    for_shared_reactions(quartet, quartet, [&](const Rows& x, const Rows&) FW_LAMBDA_INLINE { taken += x * x; });
    for (int r = 0; r < quartet.rows; ++r) {
      const double open = mobility.columns[r][r] + taken[r];
      if (!(taken[r] > 0)) continue;
      rows[quartet.first + r].compliance += ClosureTuning::yields * open;
      is_soft = true;
      if (!(mobility.columns[r][r] > ClosureTuning::immobile * open)) leave_out(quartet, r, open);
    }
  }
  // Row r of a quartet has no impulse.
  void leave_out(Quartet& quartet, int r, double mobility) {
    for (int e = 0; e < quartet.n_ends; ++e) {
      for (int k = 0; k < quartet.ends[e].count; ++k) quartet.ends[e].y[k][r] = 0;
      for (int k = 0; forces && k < 6; ++k) forces[2 * (&quartet - quartets) + e].e[k][r] = 0;
    }
    for (int k = 0; k < quartet.held_end - quartet.held_first; ++k) quartet.held[k][r] = 0;
    ConeRow& row = rows[quartet.first + r];
    g[quartet.first + r] = row.velocity = row.shift = 0;
    row.compliance += mobility;
    row.separates = false;
    is_soft = true;
  }

  const Scene& scene_;
  const FreeMotion<S>& motion_;
  BallPoints<S>& balls_;
  LaneOf<S> lane_;
  double per_dt_;
  Rows *next_y_, *spare_y_, *next_held_, *spare_held_;
  HeldLane held_;
  Strike* strikes_before_;  // as they were added
};

}  // namespace featherweight::FW_ISA
