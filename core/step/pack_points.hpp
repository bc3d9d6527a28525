// step/pack_points.hpp -- environments that touch with balls alone are assembled and solved together, on lanes.
//   in    contacts of each environment; velocities, rows and matrix of balls (ball_points.hpp)
//   out   impulses of contacts and of balls, and how well they were solved
//
// A robot on its feet has no other rows in most of its steps: no joint is at a limit or about to stick, nothing
// overlaps. Whether an environment is one of those, and whether it was solved, depends on itself alone; what is left is
// for solve_environment. Oracle: that.
#pragma once
#include "cones/pack_newton.hpp"
#include "cones/tuning.hpp"
#include "runtime/lane_io.hpp"
#include "step/ball_points.hpp"
#include "step/job.hpp"
#include "step/tuning.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct StepWorkspace;

template <class S>
class PackPoints {
 public:
  PackPoints(const Scene& scene, const SolverOptions& options, Arena& arena)
      : is_possible_(may_be_solved(scene, options)) {
    const int n = is_possible_ ? scene.n_balls : 0;
    problem_.make_room(n, arena);
    alone_.make_room(n, arena);
    alone_G_ = arena.take<double>(9 * n * (n + 1) / 2);
    gaps_ = arena.take<S>(n);
    place_ = arena.take<int>(n);
    ball_ = arena.take<int>(n);
  }

  bool is_possible() const { return is_possible_; }

  // All that can be, into `solved`. Returns whether anything touches in any of them.
  bool solve(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w, bool* solved) {
    bool touches[most_pack_points] = {};
    for (int lane = 0; lane < pack.count; ++lane) {
      const ContactList& contacts = job.contacts[pack.first + static_cast<std::size_t>(lane)];
      solved[lane] = w.looks[lane] && w.n_near_rows[lane] == 0 && !w.doubts[lane] && are_simple(contacts);
      for (int k = 0; k < contacts.count && solved[lane]; ++k) touches[contacts.data[k].ball] = true;
    }
    start(job.scene->n_balls, touches);
    for (int lane = 0; lane < pack.count; ++lane)
      if (solved[lane]) gather(job, pack.first + static_cast<std::size_t>(lane), LaneOf<S>{lane});
    if (problem_.n > 0) {
      set_laws(job, w);
      set_matrix(w.balls);
      solve_pack(problem_, job.options.tolerance, most_steps(job.options), alone_, alone_G_);
    }
    for (int lane = 0; lane < pack.count; ++lane)
      if (solved[lane]) solved[lane] = scatter(job, pack.first + static_cast<std::size_t>(lane), LaneOf<S>{lane}, w);
    return problem_.n > 0;
  }

 private:
  bool is_possible_;
  PackProblem<S> problem_;
  PackProblem<double> alone_;  // room for one environment of it
  double* alone_G_;
  S* gaps_;             // of its points
  int *place_, *ball_;  // of each ball among them, and of each of them
  S left_out_;          // positive where some part too fast to matter

  // Rigid feet of robots, and nothing that solves again or bounces.
  static bool may_be_solved(const Scene& scene, const SolverOptions& options) {
    if (scene.n_balls == 0 || scene.n_balls > most_pack_points || scene.iterates() || scene.has_restitution)
      return false;
    if (options.solver != Solver::automatic || options.matrix_free || most_steps(options) == 0) return false;
    for (int k = 0; k < scene.n_pairs; ++k) {
      const ScenePair& pair = scene.pairs[k];
      if (pair.ball < 0) continue;
      const int link = scene.shapes[pair.a].link;
      const bool is_single = scene.tree.links[link].subtree_end - scene.root[link] == 1;
      if (is_single || scene.materials[pair.material].compliance > 0) return false;
    }
    return true;
  }
  static int most_steps(const SolverOptions& options) {
    constexpr int most = PackTuning::most_steps;
    return options.max_newton_iterations < most ? options.max_newton_iterations : most;
  }

  static bool are_simple(const ContactList& contacts) {
    for (int k = 0; k < contacts.count; ++k)
      if (contacts.data[k].ball < 0 || contacts.data[k].gap < -SeparateTuning::negligible_overlap) return false;
    return true;
  }

  // The points of balls that touch in some lane, in their order; none is there yet.
  void start(int n_balls, const bool* touches) {
    problem_.n = 0;
    for (int ball = 0; ball < n_balls; ++ball) {
      if (!touches[ball]) continue;
      const int i = problem_.n++;
      place_[ball] = i, ball_[i] = ball;
      PackPoint<S>& point = problem_.points[i];
      point.is_there = S(-1), point.mu = gaps_[i] = S(0);
      for (S& x : point.lambda) x = S(0);
    }
  }

  void gather(const RolloutJob& job, std::size_t environment, LaneOf<S> lane) {
    const double friction = job.friction ? job.friction[environment] : 1;
    const ContactList& contacts = job.contacts[environment];
    for (int k = 0; k < contacts.count; ++k) {
      const Contact& c = contacts.data[k];
      const int place = place_[c.ball];
      PackPoint<S>& point = problem_.points[place];
      lane.set(point.is_there, 1);
      lane.set(point.mu, job.scene->materials[c.material].friction * friction);
      lane.set(gaps_[place], c.gap);
      for (int r = 0; r < 3; ++r) lane.set(point.lambda[r], c.impulse[r]);
    }
  }

  // Velocities and laws, as in contact_rows.hpp.
  void set_laws(const RolloutJob& job, const StepWorkspace<S>& w) {
    const S per_dt(1 / job.dt);
    problem_.scale = select(w.motion.fall > S(0), w.motion.fall, S(job.scene->kick));
    S reach(DetectTuning::resting_reach);
    for (int i = 0; i < problem_.n; ++i) {
      const S* const u = w.balls[ball_[i]].velocity;
      const S up_to = S(DetectTuning::resting_reach) - u[2] * S(2);
      reach = select((problem_.points[i].is_there > S(0)) & (up_to > reach), up_to, reach);
    }
    left_out_ = S(-1);
    for (int i = 0; i < problem_.n; ++i) {
      PackPoint<S>& point = problem_.points[i];
      const S* const u = w.balls[ball_[i]].velocity;
      const S shift = select(gaps_[i] > S(0), gaps_[i] * per_dt, S(0));
      for (int r = 0; r < 3; ++r) point.g[r] = r == 2 ? u[2] + shift : u[r];
      const auto parts = (point.is_there > S(0)) & (point.g[2] > reach);
      left_out_ = select(parts, S(1), left_out_);
      point.is_there = select(parts, S(-1), point.is_there);
      for (int r = 0; r < 3; ++r) {
        point.lambda[r] = select(parts, S(0), point.lambda[r]);
        problem_.scale = select((point.is_there > S(0)) & (abs(u[r]) > problem_.scale), abs(u[r]), problem_.scale);
      }
    }
  }

  void set_matrix(BallPoints<S>& balls) {
    for (int i = 0; i < problem_.n; ++i)
      for (int j = 0; j <= i; ++j) problem_.G[i * problem_.n + j] = balls.block(ball_[i], ball_[j]);
  }

  // False if it was not solved, and nothing is changed.
  bool scatter(const RolloutJob& job, std::size_t environment, LaneOf<S> lane, StepWorkspace<S>& w) {
    ContactList& contacts = job.contacts[environment];
    StepReport& report = job.reports[environment];
    if (contacts.count > 0) {
      const double residual = lane(problem_.of.residual) / lane(problem_.scale);
      if (!(residual <= job.options.tolerance)) return false;
      report.last.residual = residual, report.last.primal = lane(problem_.of.primal);
      report.last.dual = lane(problem_.of.dual), report.last.complementarity = lane(problem_.of.complementarity);
      report.last.newton = static_cast<int>(lane(problem_.of.steps));
    }
    report.contacts = contacts.count;
    w.separates[lane.lane] = false, w.n_pushes[lane.lane] = 0;
    w.left_out[lane.lane] = lane(left_out_) > 0 && contacts.count > 0;
    for (int k = 0; k < contacts.count; ++k) {
      Contact& c = contacts.data[k];
      const PackPoint<S>& point = problem_.points[place_[c.ball]];
      BallPoint<S>& ball = w.balls.walked(c.ball);
      for (int r = 0; r < 6; ++r) c.impulse[r] = r < 3 ? lane(point.lambda[r]) : 0;
      for (int r = 0; r < 3; ++r) lane.set(ball.impulse[r], c.impulse[r]);
      if (-c.gap > report.last.penetration) report.last.penetration = -c.gap;
    }
    double* const of_joints = job.joint_impulses + environment * static_cast<std::size_t>(job.scene->n_joint_rows);
    for (int k = 0; k < job.scene->n_joint_rows; ++k) of_joints[k] = 0;
    return true;
  }
};

}  // namespace featherweight::FW_ISA
