// step/cone_rows.hpp -- the rows of one environment's cone problem: from contacts, joints and closures.
//
// Velocities are those at the end of the step. A normal row with gap d obeys
//   apart, d > d0     0 <= lambda  _|_  sigma + d / dt >= 0        it touches at the end of the step at the earliest
//   touching, d <= d0  0 <= lambda  _|_  sigma >= 0                the overlap is left to separate.hpp
//   impact with e     0 <= lambda  _|_  sigma + e sigma_before >= 0
//   compliant, d <= 0  0 <= lambda  _|_  sigma + k d / (k dt + c) + lambda / (dt (k dt + c)) >= 0     (implicit spring)
// where d0 is zero, but a hundredth of what falls in a step (0.4 um in 2 ms) for loaded contacts of bodies: what opens
// as they roll on each other stays open, since closing it contradicts sticking (docs/adr/0017).
#pragma once
#include "cones/problem.hpp"
#include "memory/arena.hpp"
#include "rows/closure.hpp"
#include "step/ball_points.hpp"
#include "step/job.hpp"

namespace featherweight::FW_ISA {

// What to do about the position of a row.
enum class Slack : int { none, one_sided, both_sided };

// Contacts are left alone whose normal velocity without impulses is this far from closing the gap [m/s], unless others
// are struck harder.
inline constexpr double resting_reach = 1;
// Looking again, none is.
inline constexpr double everything = 1e300;

// What a row has beside its place in the problem.
struct ConeRow {
  double velocity;  // without impulses [m/s]
  double compliance;
  double slack;  // what the position asks of the velocity [m/s]
  Slack slack_kind;
  double* kept;  // where its impulse is kept from step to step
};

// A normal row that bounces, and what restitution adds to it [m/s].
struct ConeBounce {
  int row;
  double shift;
};

template <class S>
class ConeRows {
 public:
  int m = 0, n_blocks = 0, n_groups = 0, n_bounces = 0;
  Block* blocks;
  Quartet* groups;
  ConeBounce* bounces;
  ConeRow* rows;
  double* g;                // velocity without impulses of each row, and the shift of its law
  RowForces<Rows>* forces;  // of the two ends of each group as they act on their links; null where the matrix is formed
  JointPush* pushes;        // of the rows of joints; null as well
  int n_pushes = 0;
  double scale;             // [m/s]
  double deepest = 0;       // overlap [m]
  double drift = 0;         // of closures [m]
  bool left_out = false;    // some contacts open too fast to matter
  bool is_soft = false;     // some rows have compliance
  bool has_others = false;  // than those of balls

  ConeRows(const RolloutJob& job, const FreeMotion<S>& motion, BallPoints<S>& balls, int lane, std::size_t environment,
           Memory& memory, ContactList& contacts, const int* near, int n_near, double* joint_impulses, double reach)
      : scene_(*job.scene),
        motion_(motion),
        balls_(balls),
        lane_{lane},
        dt_(job.dt),
        per_dt_(1 / job.dt),
        friction_(job.friction ? job.friction[environment] : 1),
        reach_(reach) {
    const double fall = lane_(motion.fall);
    scale = fall > 0 ? fall : dt_;
    closed_ = 0.01 * fall * dt_;
    make_room(memory, contacts, job.options.matrix_free);
    double* closure_impulse = joint_impulses + scene_.n_joint_rows;
    for (int k = 0; k < scene_.n_closures; ++k) closure_impulse += add(scene_.closures[k], closure_impulse);
    add_joint_rows(near, n_near, joint_impulses);
    for (int k = 0; k < contacts.count; ++k) meet(contacts.data[k], meetings_[k]);
    for (int k = 0; k < contacts.count; ++k) add(contacts.data[k], meetings_[k]);
  }

  const Freedom<S>* freedoms() const { return motion_.freedom; }
  LaneOf<S> lane() const { return lane_; }
  BallPoints<S>& balls() const { return balls_; }

  // The rows of balls as those of others, for whom wants to see all alike.
  void unpack_balls() {
    for (int i = 0; i < n_groups; ++i) {
      if (groups[i].ball < 0) continue;
      const BallPoint<S>& point = balls_.walked(groups[i].ball);
      for (int k = 0; k < point.count; ++k)
        groups[i].ends[0].y[k] = Rows{lane_(point.y[k].e[0]), lane_(point.y[k].e[1]), lane_(point.y[k].e[2]), 0};
    }
  }

 private:
  // A point of a link, about the root of its tree.
  struct Place {
    Vec3<double> r;
    Motion<double> velocity;

    FW_INLINE Vec3<double> moves() const { return velocity_at(velocity, r); }
  };
  // How the two sides of a contact move without impulses.
  struct Meeting {
    Place places[2];
    Vec3<double> u, w;   // velocity of a as seen from b, linear and angular
    double u_n, before;  // along the normal, and the same at the start of the step
  };

  const Scene& scene_;
  const FreeMotion<S>& motion_;
  BallPoints<S>& balls_;
  LaneOf<S> lane_;
  double dt_, per_dt_, friction_;
  double closed_;  // gaps of loaded contacts up to this count as closed [m]
  double reach_;   // contacts whose gap opens no faster than this are in
  Meeting* meetings_;
  Rows* next_y_;
  int n_chain_ = 0, chain_tip_ = 0, chain_first_ = 0, chain_freedom_[4];
  double chain_along_[4];

  // The forces of a chain of joint rows along their own freedoms.
  struct Chain {
    const ConeRows& rows;
    FW_INLINE void add(int f, Rows& t) const {
      for (int r = 0; r < rows.n_chain_; ++r)
        if (rows.chain_freedom_[r] == f) t[r] += rows.chain_along_[r];
    }
  };

  // Impulses act on the first side, their opposites on the second.
  static FW_INLINE double sign(int side) { return side == 0 ? 1 : -1; }
  FW_INLINE Place place(int link, const Vec3<double>& point, const Motion<S>* velocity) const {
    return {point - lane_(motion_.pose[scene_.root[link]].p), lane_(velocity[link])};
  }

  void make_room(Memory& memory, const ContactList& contacts, bool matrix_free) {
    const std::size_t n = contacts.count;
    const std::size_t n_y = scene_.n_row_freedoms + n * scene_.most_contact_freedoms;
    const std::size_t most_groups = 2 * n + scene_.n_joint_rows + 2 * scene_.n_closures;
    const std::size_t most_blocks = 3 * n + scene_.n_joint_rows + 2 * scene_.n_closures;
    const std::size_t most_rows = 6 * n + scene_.n_joint_rows + scene_.n_closure_rows;
    carve_out(memory, [&](Arena& scratch) FW_LAMBDA_INLINE {
      next_y_ = scratch.take<Rows>(n_y);
      meetings_ = scratch.template take<Meeting>(n);
      groups = scratch.take<Quartet>(most_groups);
      bounces = scratch.take<ConeBounce>(n);
      blocks = scratch.take<Block>(most_blocks);
      rows = scratch.take<ConeRow>(most_rows);
      g = scratch.take<double>(most_rows);
      forces = matrix_free ? scratch.take<RowForces<Rows>>(2 * most_groups) : nullptr;
      pushes = matrix_free ? scratch.take<JointPush>(scene_.n_joint_rows) : nullptr;
    });
  }

  FW_INLINE void add_row(double velocity, double shift, double softness, double* impulse) {
    g[m] = velocity + shift;
    rows[m++] = {velocity, softness, 0, Slack::none, impulse};
    is_soft |= softness != 0;
  }
  FW_INLINE void ask_position(double velocity, Slack kind) {
    rows[m - 1].slack = velocity;
    rows[m - 1].slack_kind = kind;
  }
  FW_INLINE Block& add_block(Law law, int rows) {
    Block& b = blocks[n_blocks++];
    b = {law, m, rows, 0, 0, 0, 0};
    return b;
  }
  FW_INLINE Quartet& add_group(int rows) {
    Quartet& group = groups[n_groups++];
    group.first = m, group.rows = rows, group.n_ends = 0, group.ball = -1;
    return group;
  }
  // The forces of a group at one of its ends go to the root.
  template <class Motors = NoMotors>
  FW_INLINE void add_end(Quartet& group, int link, const RowForces<Rows>& force, const Motors& motors = {}) {
    has_others = true;
    if (forces) forces[2 * (&group - groups) + group.n_ends] = force;
    const int count = scene_.depth[scene_.last_freedom[link]] + 1;
    walk_inward(scene_, lane_, motion_.freedom, link, force, place_end(group, link, count).y, motors);
  }
  // count: of the freedoms from the root to the link.
  FW_INLINE QuartetEnd& place_end(Quartet& group, int link, int count) {
    QuartetEnd& end = group.ends[group.n_ends++];
    end = {link, scene_.root[link], count, next_y_};
    next_y_ += count;
    return end;
  }

  FW_INLINE void meet(const Contact& c, Meeting& meeting) {
    if (c.ball >= 0) {
      meeting.u_n = lane_(balls_[c.ball].velocity[2]);
      meeting.before = lane_(balls_[c.ball].before);
    } else {
      meet_along(c, meeting);
    }
    deepest = -c.gap > deepest ? -c.gap : deepest;
    // what is struck moves away at up to twice the speed it is struck with
    const double reach = resting_reach - 2 * meeting.u_n;
    reach_ = reach > reach_ ? reach : reach_;
  }
  FW_INLINE void meet_along(const Contact& c, Meeting& meeting) {
    const Vec3<double> point{c.position[0], c.position[1], c.position[2]}, n{c.frame[6], c.frame[7], c.frame[8]};
    const int links[2] = {scene_.shapes[c.a].link, scene_.shapes[c.b].link};
    meeting.u = meeting.w = zero3<double>();
    meeting.before = 0;
    for (int side = 0; side < 2; ++side) {
      if (links[side] < 0) continue;
      const Place& p = meeting.places[side] = place(links[side], point, motion_.velocity);
      meeting.u += p.moves() * sign(side);
      meeting.w += p.velocity.ang * sign(side);
      if (motion_.before) meeting.before += dot(n, place(links[side], point, motion_.before).moves()) * sign(side);
    }
    meeting.u_n = dot(n, meeting.u);
  }

  // What a normal row obeys.
  struct Normal {
    double shift, softness;
    bool bounces;
  };

  FW_INLINE Normal law(const Contact& c, const PairMaterial& material, const Meeting& meeting) const {
    if (material.compliance > 0) {
      const double stiffness = 1 / material.compliance, rate = stiffness * dt_ + material.damping;
      const double shift =
          (c.gap > 0 ? per_dt_ : stiffness / rate) * c.gap;  // the spring is met where the gap is closed
      return {shift, per_dt_ / rate, false};
    }
    if (material.restitution > 0 && meeting.before < 0 && c.gap + dt_ * meeting.u_n <= 0)
      return {material.restitution * meeting.before, 0, true};
    return {c.gap > 0 && !stays(c, material) ? c.gap * per_dt_ : 0, 0, false};
  }
  // Whether an open gap may be left as it is.
  FW_INLINE bool stays(const Contact& c, const PairMaterial& material) const {
    const auto is_alone = [&](int shape) {
      const int link = scene_.shapes[shape].link;
      return link < 0 || scene_.tree.links[link].subtree_end - scene_.root[link] == 1;
    };
    return c.gap <= closed_ && c.impulse[2] > 0 && material.restitution == 0 && is_alone(c.a) && is_alone(c.b);
  }

  FW_INLINE void add(Contact& c, const Meeting& meeting) {
    const PairMaterial& material = scene_.materials[c.material];
    const Normal normal = law(c, material, meeting);
    if (meeting.u_n + normal.shift > reach_) {
      for (double& impulse : c.impulse) impulse = 0;
      left_out = true;
    } else if (c.ball >= 0) {
      add_ball(c, material, normal);
    } else {
      add_point(c, material, meeting, normal);
    }
  }
  // Of which rows and velocities are known.
  FW_INLINE void add_ball(Contact& c, const PairMaterial& material, const Normal& normal) {
    const BallPoint<S>& point = balls_.walked(c.ball);
    Quartet& group = add_group(3);
    group.ball = c.ball;
    place_end(group, point.link, point.count);
    add_block(Law::point, 3).mu = material.friction * friction_;
    add_tangents(lane_(point.velocity[0]), lane_(point.velocity[1]), c.impulse);
    add_normal(lane_(point.velocity[2]), normal, c);
  }
  [[gnu::noinline]] void add_point(Contact& c, const PairMaterial& material, const Meeting& meeting,
                                   const Normal& normal) {
    const Vec3<double> t1{c.frame[0], c.frame[1], c.frame[2]}, t2{c.frame[3], c.frame[4], c.frame[5]},
        n{c.frame[6], c.frame[7], c.frame[8]};
    const int links[2] = {scene_.shapes[c.a].link, scene_.shapes[c.b].link};
    const Place* const places = meeting.places;
    const Vec3<double>&u = meeting.u, &w = meeting.w;
    const bool slides = material.dim >= 3 && material.friction > 0;
    const bool spins = material.dim >= 4 && material.torsional > 0, rolls = material.dim == 6 && material.rolling > 0;
    const int n_rows = slides ? 3 : 1;
    if (!slides) c.impulse[0] = c.impulse[1] = 0;
    if (!rolls) c.impulse[3] = c.impulse[4] = 0;
    if (!spins) c.impulse[5] = 0;
    Quartet& group = add_group(n_rows + (spins ? 1 : 0));
    for (int side = 0; side < 2; ++side) {
      if (links[side] < 0) continue;
      const Vec3<double> x = t1 * sign(side), y = t2 * sign(side), z = n * sign(side), none = zero3<double>();
      RowForces<Rows> force = forces_at(slides ? row_axes(x, y, z) : row_axes(z, none, none), places[side].r);
      if (spins)
        for (int k = 0; k < 3; ++k) force.e[3 + k][n_rows] = z[k];
      add_end(group, links[side], force);
    }
    Block& block = add_block(slides ? Law::point : Law::unilateral, n_rows);
    block.mu = material.friction * friction_;
    if (slides) add_tangents(dot(t1, u), dot(t2, u), c.impulse);
    add_normal(meeting.u_n, normal, c);
    const int bound = m - 1;
    if (spins) add_disc(1, bound, material.torsional), add_row(dot(n, w), 0, 0, c.impulse + 5);
    if (rolls) {
      Quartet& moments = add_group(2);
      for (int side = 0; side < 2; ++side) {
        if (links[side] < 0) continue;
        add_end(moments, links[side], moments_about(row_axes(t1 * sign(side), t2 * sign(side), zero3<double>())));
      }
      add_disc(2, bound, material.rolling);
      add_row(dot(t1, w), 0, 0, c.impulse + 3);
      add_row(dot(t2, w), 0, 0, c.impulse + 4);
    }
  }
  FW_INLINE void add_tangents(double velocity_1, double velocity_2, double* impulse) {
    add_row(velocity_1, 0, 0, impulse);
    add_row(velocity_2, 0, 0, impulse + 1);
    see(velocity_1), see(velocity_2);
  }
  FW_INLINE void add_normal(double velocity, const Normal& normal, Contact& c) {
    if (normal.bounces) bounces[n_bounces++] = {m, normal.shift};
    add_row(velocity, normal.shift, normal.softness, c.impulse + 2);
    see(velocity);
    if (normal.softness == 0) ask_position(wanted(c.gap), Slack::one_sided);
  }
  FW_INLINE void add_disc(int rows, int normal, double mu) {
    Block& disc = add_block(Law::disc, rows);
    disc.normal = normal;
    disc.mu = mu * friction_;
  }
  FW_INLINE void see(double velocity) {
    const double size = velocity < 0 ? -velocity : velocity;
    scale = size > scale ? size : scale;
  }
  // Half an overlap goes in a step, but no faster than this [m/s].
  static constexpr double fastest_separation = 0.5;
  FW_INLINE double wanted(double gap) const {
    if (gap >= 0) return gap * per_dt_;
    const double velocity = 0.5 * gap * per_dt_;
    return velocity < -fastest_separation ? -fastest_separation : velocity;
  }

  // Rows of joints that are inboard of each other walk together, up to four; they come from the tips inward.
  FW_INLINE void join_chain(const JointRow& row, double along) {
    const int link = row.term.link;
    const Link<double>& l = scene_.tree.links[link];
    if (n_chain_ == 4 || (n_chain_ > 0 && !(link <= chain_tip_ && chain_tip_ < l.subtree_end))) end_chain();
    if (n_chain_ == 0) chain_tip_ = link, chain_first_ = m;
    if (pushes) pushes[n_pushes++] = {m, row.term.dof, along};
    chain_freedom_[n_chain_] = row.term.dof;
    chain_along_[n_chain_++] = along;
  }
  void end_chain() {
    if (n_chain_ == 0) return;
    Quartet& group = add_group(n_chain_);
    group.first = chain_first_;
    add_end(group, chain_tip_, no_forces(), Chain{*this});
    n_chain_ = 0;
  }

  // Those of the joint rows that are near; the others have no impulse.
  void add_joint_rows(const int* near, int n_near, double* impulses) {
    int next = 0;
    for (int k = 0; k < n_near; ++k) {
      while (next < near[k]) impulses[next++] = 0;
      add(scene_.joint_rows[next], impulses + next);
      ++next;
    }
    while (next < scene_.n_joint_rows) impulses[next++] = 0;
    end_chain();
  }

  void add(const JointRow& row, double* impulse) {
    const int f = row.term.dof;
    if (row.kind == JointRow::servo && lane_(motion_.gain_scale[row.actuator]) == 0) {  // it has no force
      *impulse = 0;
      return;
    }
    const bool is_limit = row.is_limit();
    const double direction = row.term.coefficient;
    const double velocity = direction * lane_(motion_.v_free[f]);
    double gap = 0, shift = 0;
    if (is_limit) {
      gap = direction * (lane_(motion_.q[row.term.q]) - row.bound);
      shift = gap > 0 ? gap * per_dt_ : 0;
    }
    join_chain(row, direction * scene_.tree.links[row.term.link].sign);
    if (!is_limit) {
      Block& block = add_block(Law::interval, 1);
      if (row.kind == JointRow::servo) {
        // lambda / dt = gain u - kp (q + dt sigma) - kd sigma, if that is within bounds
        const Actuator& a = scene_.actuators[row.actuator];
        block.lower = a.lower * dt_, block.upper = a.upper * dt_;
        const double rate = a.kd + dt_ * a.kp, drive = a.gain * lane_(motion_.control[row.actuator]);
        const double scaled = rate * lane_(motion_.gain_scale[row.actuator]);
        add_row(velocity, -(drive - a.kp * lane_(motion_.q[row.term.q])) / rate, per_dt_ / scaled, impulse);
      } else {
        block.lower = -row.bound * dt_, block.upper = row.bound * dt_;
        add_row(velocity, 0, 0, impulse);
      }
    } else {
      add_block(Law::unilateral, 1);
      add_row(velocity, shift, 0, impulse);
      ask_position(wanted(gap), Slack::one_sided);
      deepest = -gap > deepest ? -gap : deepest;
    }
  }

  // Returns how many rows it has.
  int add(const Closure<double>& closure, double* impulse) {
    const Pose<double> X[2] = {frame_of(closure.a, lane_, motion_.pose), frame_of(closure.b, lane_, motion_.pose)};
    const int links[2] = {closure.a.link, closure.b.link};
    double errors[6];
    position_errors(closure, X[0], X[1], errors);
    int next = 0;
    for (int half = 0; half < 6; half += 3) {
      const int first = next;
      while (next < closure.n_rows && closure.axes[next] < half + 3) ++next;
      const int n = next - first;
      if (n == 0) continue;
      Quartet& group = add_group(n);
      Vec3<double> u = zero3<double>();
      for (int side = 0; side < 2; ++side) {
        if (links[side] < 0) continue;
        const Place p = place(links[side], X[side].p, motion_.velocity);
        u += (half == 0 ? p.moves() : p.velocity.ang) * sign(side);
        Vec3<double> axes[3] = {zero3<double>(), zero3<double>(), zero3<double>()};
        for (int r = 0; r < n; ++r) axes[r] = column(X[0].R, closure.axes[first + r] - half) * sign(side);
        const RowAxes four = row_axes(axes[0], axes[1], axes[2]);
        add_end(group, links[side], half == 0 ? forces_at(four, p.r) : moments_about(four));
      }
      add_block(Law::equality, n);
      for (int r = 0; r < n; ++r) {
        const double error = errors[first + r];
        add_row(dot(column(X[0].R, closure.axes[first + r] - half), u), 0, 0, impulse + first + r);
        ask_position(error * per_dt_, Slack::both_sided);
        drift = error > drift ? error : -error > drift ? -error : drift;
      }
    }
    return closure.n_rows;
  }
};

}  // namespace featherweight::FW_ISA
