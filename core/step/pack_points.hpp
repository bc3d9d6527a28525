// step/pack_points.hpp -- environments that touch with balls alone are assembled and solved together, on lanes.
//   in    contacts and joint rows near in each environment; velocities, rows and matrix of balls (ball_points.hpp) and
//         of joints (pack_joints.hpp)
//   out   impulses of contacts, of joints and of balls, and how well they were solved
//
// A pack that holds one environment has its rows on lanes instead (own_rows.hpp, own_matrix.hpp), to the same bits.
//
// A robot on its feet has few other rows in most of its steps: no joint is at a limit, some are about to stick or slip,
// nothing overlaps, and what else is near is not yet there. Whether an environment is one of those, and whether it was
// solved, depends on itself alone; what is left is for solve_environment. Oracle: that.
#pragma once
#include "cones/at_bound.hpp"
#include "cones/pack_newton.hpp"
#include "cones/tuning.hpp"
#include "runtime/lane_io.hpp"
#include "step/ball_points.hpp"
#include "step/job.hpp"
#include "step/own_rows.hpp"
#include "step/pack_joints.hpp"
#include "step/strays.hpp"
#include "step/tuning.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct StepWorkspace;

template <class S>
class PackPoints {
 public:
  PackPoints(const Scene& scene, const SolverOptions& options, const FreeMotion<S>& motion, Arena& arena)
      : is_possible_(may_be_solved(scene, options)),
        joints_(scene, motion, is_possible_, arena),
        rows_(scene, motion, is_possible_, arena) {
    const int n = is_possible_ ? scene.n_balls : 0, own = is_possible_ ? most_pack_points : 0;
    problem_.make_room(n + PackJoints<S>::most_places, arena);
    alone_.make_room(own, arena);
    gaps_ = arena.take<S>(n);
    own_gaps_ = arena.take<double>(n);
    place_ = arena.take<int>(n);
    ball_ = arena.take<int>(n);
    touches_ = arena.take<bool>(n);
  }

  bool is_possible() const { return is_possible_; }

  // All that can be of those that `look`, into `solved`. Returns whether there are impulses in any of them.
  bool solve(const RolloutJob& job, const Pack& pack, const bool* look, StepWorkspace<S>& w, bool* solved) {
    const Scene& scene = *job.scene;
    for (int ball = 0; ball < scene.n_balls; ++ball) touches_[ball] = false;
    reach_ = S(DetectTuning::resting_reach);
    for (int lane = 0; lane < pack.count; ++lane) {
      const ContactList& contacts = job.contacts[pack.first + static_cast<std::size_t>(lane)];
      double reach = DetectTuning::resting_reach;
      solved[lane] = look[lane] && is_simple(job, contacts, LaneOf<S>{lane}, w, reach);
      LaneOf<S>{lane}.set(reach_, reach);
      for (int k = 0; k < contacts.count && solved[lane]; ++k)
        if (contacts.data[k].ball >= 0) touches_[contacts.data[k].ball] = true;
    }
    n_points_ = 0;
    for (int ball = 0; ball < scene.n_balls; ++ball)
      if (touches_[ball]) place_[ball] = n_points_, ball_[n_points_++] = ball;
    return pack.count == 1 ? solve_one(job, pack.first, w, solved[0]) : solve_several(job, pack, w, solved);
  }

 private:
  bool is_possible_;
  PackProblem<S> problem_;
  OwnProblem alone_;  // room for one environment of it
  PackJoints<S> joints_;
  OwnRows<S> rows_;     // of a pack that holds one environment
  S* gaps_;             // of points
  double* own_gaps_;    // likewise
  int *place_, *ball_;  // of each ball among them, and of each of them
  bool* touches_;       // of balls: in some lane
  int n_points_;        // and after them, places of joints
  S reach_;             // what opens faster is left out [m/s]
  S left_out_;          // positive where some part too fast to matter

  // Rigid feet of robots, and nothing that solves again or bounces.
  static bool may_be_solved(const Scene& scene, const SolverOptions& options) {
    if (scene.n_balls == 0 || scene.iterates() || scene.has_restitution) return false;
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

  // Balls that touch, a few joints, and nothing else that matters yet. reach: of the environment, which contacts raise.
  bool is_simple(const RolloutJob& job, const ContactList& contacts, LaneOf<S> lane, const StepWorkspace<S>& w,
                 double& reach) const {
    const Scene& scene = *job.scene;
    const int* const near = w.near_rows + lane.lane * scene.n_joint_rows;
    const int n_places = joints_.places_of(near, w.n_near_rows[lane.lane]);
    int n_others = 0;
    for (int k = 0; k < contacts.count; ++k) {
      if (contacts.data[k].gap < -SeparateTuning::negligible_overlap) return false;
      n_others += contacts.data[k].ball < 0;
    }
    if (n_places < 0 || contacts.count - n_others + n_places > most_pack_points) return false;
    if (n_others == 0) return !w.doubts[lane.lane];
    for (int k = 0; k < contacts.count; ++k) {
      const double up_to = DetectTuning::resting_reach - 2 * opening_speed(scene, contacts.data[k], lane, w);
      reach = up_to > reach ? up_to : reach;
    }
    for (int k = 0; k < contacts.count; ++k) {
      const Contact& c = contacts.data[k];
      if (c.ball < 0 && !(c.gap > 0 && opening_speed(scene, c, lane, w) + c.gap / job.dt > reach)) return false;
    }
    return true;
  }
  // Of joint rows.
  static double* kept_impulses(const RolloutJob& job, std::size_t environment) {
    return job.joint_impulses + environment * static_cast<std::size_t>(job.scene->n_kept);
  }
  // Without impulses.
  static double opening_speed(const Scene& scene, const Contact& c, LaneOf<S> lane, const StepWorkspace<S>& w) {
    if (c.ball >= 0) return lane(w.balls[c.ball].velocity[2]);
    return FW_ISA::opening_speed<S>(scene, w.motion, nullptr, lane, c);
  }

  bool solve_several(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w, bool* solved) {
    joints_.start(pack, solved, w.near_rows, w.n_near_rows);
    start(joints_.n_places(), gaps_, problem_);
    for (int lane = 0; lane < pack.count; ++lane)
      if (solved[lane])
        gather(job, w, pack.first + static_cast<std::size_t>(lane), LaneOf<S>{lane}, LaneOf<S>{lane}, gaps_, problem_);
    if (problem_.n > 0) {
      set_laws(job, w, AllLanes<S>{}, gaps_, problem_);
      set_matrix(w.balls);
      solve_pack(problem_, job.options.tolerance, most_steps(job.options), alone_);
    } else {
      set_none(problem_);
    }
    for (int lane = 0; lane < pack.count; ++lane) {
      const std::size_t environment = pack.first + static_cast<std::size_t>(lane);
      const auto hand_to_ball = [&](const Contact& c) FW_LAMBDA_INLINE {
        BallPoint<S>& ball = w.balls.walked(c.ball);
        for (int r = 0; r < 3; ++r) LaneOf<S>{lane}.set(ball.impulse[r], c.impulse[r]);
      };
      if (solved[lane])
        solved[lane] = scatter(job, environment, LaneOf<S>{lane}, LaneOf<S>{lane}, problem_, hand_to_ball, w);
    }
    respond(pack, solved);
    return problem_.n > 0;
  }

  // Of a pack that holds one environment. Its rows respond here; balls are not walked, and do not.
  bool solve_one(const RolloutJob& job, std::size_t environment, StepWorkspace<S>& w, bool& solved) {
    if (!solved) return false;
    const LaneOf<S> lane{0};
    const LaneOf<double> own{0};
    const int n_near = w.n_near_rows[0];
    start((n_near + 2) / 3, own_gaps_, alone_);
    gather(job, w, environment, lane, own, own_gaps_, alone_);
    if (alone_.n > 0) {
      set_laws(job, w, lane, own_gaps_, alone_);
      rows_.start(alone_.n);
      for (int i = 0; i < n_points_; ++i) rows_.add(w.balls[ball_[i]]);
      rows_.walk_balls();
      for (int k = 0; k < n_near; ++k) {
        const JointTerm<double>& term = job.scene->joint_rows[w.near_rows[k]].term;
        rows_.add_row(3 * n_points_ + k, term.link, job.scene->depth[term.dof] + 1, joints_.walked(term));
      }
      rows_.couple(alone_.G);
      solve_own(alone_, job.options.tolerance, most_steps(job.options));
    } else {
      set_none(alone_);
    }
    solved = scatter(job, environment, lane, own, alone_, [](const Contact&) {}, w);
    for (int i = n_points_; i < alone_.n && solved; ++i) rows_.respond(i, alone_.points[i].lambda);
    for (int i = 0; i < n_points_ && solved; ++i) rows_.respond(i, alone_.points[i].lambda);
    return alone_.n > 0;
  }

  // The points of balls that touch in some lane, in their order, then places of joints; none is there yet.
  template <class T>
  void start(int n_joints, T* gaps, PointProblem<T>& problem) const {
    problem.n = n_points_ + n_joints;
    for (int i = 0; i < n_points_; ++i) gaps[i] = T(0);
    for (int i = 0; i < problem.n; ++i) {
      PackPoint<T>& point = problem.points[i];
      point.are_joints = i >= n_points_;
      point.is_there = T(-1), point.mu = T(0);
      for (int r = 0; r < 3; ++r) point.lambda[r] = point.g[r] = point.lower[r] = point.upper[r] = T(0);
    }
  }
  template <class T>
  void set_none(PointProblem<T>& problem) {
    problem.of = {T(0), T(0), T(0), T(0), T(0)};
    problem.scale = T(1), left_out_ = S(-1);
  }

  // to: the lane of the problem.
  template <class T>
  void gather(const RolloutJob& job, const StepWorkspace<S>& w, std::size_t environment, LaneOf<S> lane, LaneOf<T> to,
              T* gaps, PointProblem<T>& problem) {
    const double friction = job.friction ? job.friction[environment] : 1;
    const ContactList& contacts = job.contacts[environment];
    for (int k = 0; k < contacts.count; ++k) {
      const Contact& c = contacts.data[k];
      if (c.ball < 0) continue;
      const int place = place_[c.ball];
      PackPoint<T>& point = problem.points[place];
      to.set(point.is_there, 1);
      to.set(point.mu, job.scene->materials[c.material].friction * friction);
      to.set(gaps[place], c.gap);
      for (int r = 0; r < 3; ++r) to.set(point.lambda[r], c.impulse[r]);
    }
    const std::size_t n_rows = static_cast<std::size_t>(job.scene->n_joint_rows);
    joints_.gather(w.near_rows + static_cast<std::size_t>(lane.lane) * n_rows, w.n_near_rows[lane.lane],
                   kept_impulses(job, environment), lane, to, problem.points + n_points_);
  }

  // Velocities and laws, as in contact_rows.hpp. `read`: one lane of a number, or all.
  template <class T, class Read>
  void set_laws(const RolloutJob& job, const StepWorkspace<S>& w, const Read& read, const T* gaps,
                PointProblem<T>& problem) {
    const T per_dt(1 / job.dt), fall = read(w.motion.fall);
    problem.scale = select(fall > T(0), fall, T(job.scene->kick));
    T reach = read(reach_);
    for (int i = 0; i < n_points_; ++i) {
      const T up_to = T(DetectTuning::resting_reach) - read(w.balls[ball_[i]].velocity[2]) * T(2);
      reach = select((problem.points[i].is_there > T(0)) & (up_to > reach), up_to, reach);
    }
    T left_out(-1);
    for (int i = 0; i < n_points_; ++i) {
      PackPoint<T>& point = problem.points[i];
      const S* const velocity = w.balls[ball_[i]].velocity;
      const T u[3] = {read(velocity[0]), read(velocity[1]), read(velocity[2])};
      point.g[0] = u[0], point.g[1] = u[1];
      point.g[2] = select(gaps[i] > T(0), plus_product(u[2], gaps[i], per_dt), u[2]);
      const auto parts = (point.is_there > T(0)) & (point.g[2] > reach);
      left_out = select(parts, T(1), left_out);
      point.is_there = select(parts, T(-1), point.is_there);
      for (int r = 0; r < 3; ++r) {
        point.lambda[r] = select(parts, T(0), point.lambda[r]);
        problem.scale = select((point.is_there > T(0)) & (abs(u[r]) > problem.scale), abs(u[r]), problem.scale);
      }
    }
    left_out_ = S(left_out);
  }

  void set_matrix(BallPoints<S>& balls) {
    for (int i = 0; i < problem_.n; ++i)
      for (int j = 0; j <= i; ++j) problem_.G[i * problem_.n + j] = block(balls, i, j);
  }
  const S* block(BallPoints<S>& balls, int i, int j) {
    if (i < n_points_) return balls.block(ball_[i], ball_[j]);
    const int place = i - n_points_;
    return j < n_points_ ? joints_.block(place, balls.walked(ball_[j]), j) : joints_.block(place, j - n_points_);
  }

  // False if it was not solved, and nothing is changed. from: the lane of the problem; solved(contact): of a ball.
  template <class T, class Solved>
  bool scatter(const RolloutJob& job, std::size_t environment, LaneOf<S> lane, LaneOf<T> from,
               const PointProblem<T>& problem, const Solved& solved, StepWorkspace<S>& w) {
    ContactList& contacts = job.contacts[environment];
    StepReport& report = job.reports[environment];
    const std::size_t n_rows = static_cast<std::size_t>(job.scene->n_joint_rows);
    const int* const near = w.near_rows + static_cast<std::size_t>(lane.lane) * n_rows;
    const int n_near = w.n_near_rows[lane.lane];
    if (contacts.count + n_near > 0) {
      const double residual = from(problem.of.residual) / from(problem.scale);
      if (!(residual <= job.options.tolerance) || is_sliding_face(job, contacts, from, problem, w.balls)) return false;
      report.last.residual = residual, report.last.primal = from(problem.of.primal);
      report.last.dual = from(problem.of.dual), report.last.complementarity = from(problem.of.complementarity);
      report.last.newton = static_cast<int>(from(problem.of.steps));
    }
    report.contacts = contacts.count;
    w.separates[lane.lane] = false, w.n_pushes[lane.lane] = 0;
    w.left_out[lane.lane] = lane(left_out_) > 0 && contacts.count > 0;
    for (int k = 0; k < contacts.count; ++k) {
      Contact& c = contacts.data[k];
      const PackPoint<T>* const point = c.ball < 0 ? nullptr : problem.points + place_[c.ball];
      for (int r = 0; r < 6; ++r) c.impulse[r] = point && r < 3 ? from(point->lambda[r]) : 0;
      if (-c.gap > report.last.penetration) report.last.penetration = -c.gap;
      if (point)
        solved(c);
      else
        w.left_out[lane.lane] = true;
    }
    double* const of_joints = kept_impulses(job, environment);
    for (std::size_t k = 0; k < n_rows; ++k) of_joints[k] = 0;
    joints_.scatter(near, n_near, problem.points + n_points_, lane, from, of_joints);
    return true;
  }
  // More than three balls of one link may carry its load, and some of them slide. How they share it changes the motion:
  // for the solvers of one environment, which see to that (cones/level.hpp).
  template <class T>
  bool is_sliding_face(const RolloutJob& job, const ContactList& contacts, LaneOf<T> from,
                       const PointProblem<T>& problem, const BallPoints<S>& balls) const {
    const double still = job.options.tolerance * from(problem.scale);
    int n_touching = 0, link = -1;
    bool slides = false;
    for (int k = 0; k < contacts.count; ++k) {
      const int ball = contacts.data[k].ball;
      if (ball < 0) continue;
      const PackPoint<T>& point = problem.points[place_[ball]];
      const double load = from(point.lambda[2]);
      if (!(from(point.is_there) > 0) || !(load > 0 || from(point.sigma[2]) <= still)) continue;
      if (n_touching++ > 0 && balls[ball].link != link) return false;
      link = balls[ball].link;
      slides |= is_at_bound(from(point.lambda[0]), from(point.lambda[1]), from(point.mu) * load);
    }
    return n_touching > 3 && slides;
  }
  // Of joints; balls respond with those of environments that are solved by themselves.
  void respond(const Pack& pack, const bool* solved) const {
    for (int i = n_points_; i < problem_.n; ++i) {
      S lambda[3] = {S(0), S(0), S(0)};
      for (int lane = 0; lane < pack.count; ++lane)
        for (int r = 0; r < 3 && solved[lane]; ++r)
          LaneOf<S>{lane}.set(lambda[r], LaneOf<S>{lane}(problem_.points[i].lambda[r]));
      joints_.respond(i - n_points_, lambda);
    }
  }
};

}  // namespace featherweight::FW_ISA
