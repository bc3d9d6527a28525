// step_diff/pull_together.hpp -- products of cotangents with steps of environments that touch with balls alone,
// together.
//
// As reverse() of linearise.hpp and pull_back.hpp, on lanes, for environments that are simple: balls on planes of the
// world, rigid, that neither bounce nor overlap, and joint rows that hold their joint where it is, drive it or leave
// it. A ball has the same link and path in all of them; those that an environment does not touch with add zeros. With
// H = L^T D L and a ball's rows Z = L^-T J^T along its path, all systems are seen from within the factors:
//   G = Z^T D^-1 Z,   J H^-1 x = Z^T D^-1 y,  y = L^-T x,   H^-1 (x + J^T eta) = (D L)^-1 (y + Z eta)
// Modes differ by environment: their systems are solved one by one.
// Cost: O(n d + b d^2 + b^2 d) for b balls, divided by the environments of a pack, and O(b^3) each. Oracle:
// pull_back.hpp.
#pragma once
#include "step/ball_points.hpp"
#include "step_diff/advance_diff.hpp"
#include "step_diff/modes_diff.hpp"
#include "step_diff/smooth_lanes.hpp"

namespace featherweight::FW_ISA {

class PulledTogether {
 public:
  PulledTogether(const StepDiffJob& job, SmoothLanes& lanes, ModesDiff& modes, LeastNormLu& lift, Arena& arena)
      : job_(job), scene_(*job.scene), tree_(job.scene->tree), lanes_(lanes), modes_(modes), lift_(lift) {
    const ColumnLayout& has = job.columns;
    is_asked_ = job.reading == Reading::reverse && has.of(Wrt::q) == 0 && has.of(Wrt::v) == tree_.nv;
    for (Wrt x : {Wrt::f_ext, Wrt::friction, Wrt::gains, Wrt::heights, Wrt::restitution})
      is_asked_ = is_asked_ && !has.has(x);
    const std::size_t n_balls = is_asked_ ? scene_.n_balls : 0, nv = is_asked_ ? tree_.nv : 0;
    const std::size_t n_links = is_asked_ ? tree_.n_links : 0, n_rows = 3 * n_balls;
    for (S** x : {&to_moved_, &to_v_, &x_, &by_q_, &by_v_, &armature_, &free_}) *x = arena.take<S>(nv);
    in_ = arena.take<S>(2 * nv), g_ = arena.take<S>(is_asked_ ? has.count : 0);
    by_control_ = arena.take<S>(is_asked_ ? scene_.n_actuators : 0);
    held_factor_ = arena.take<S>(is_asked_ ? tree_.row[nv] : 0);
    balls_ = arena.take<Ball>(n_balls);
    path_ = arena.take<int>(n_balls * deepest());
    for (Walked* w : {&held_, &plain_}) {
      w->rows = arena.take<Triple<S>>(n_balls * deepest());
      w->scaled = arena.take<Triple<S>>(n_balls * deepest());
      w->blocks = arena.take<Block3<S>>(n_balls * (n_balls + 1) / 2);
    }
    X_ = arena.take<Motion<S>>(n_links);
    all_ = arena.take<Force<S>>(n_links), end_ = arena.take<Force<S>>(n_links);
    for (Environment& e : environments_) e.rows = arena.take<DiffRow>(n_rows), e.ball = arena.take<int>(n_rows);
    G_ = take_matrix(arena, static_cast<int>(n_rows), static_cast<int>(n_rows));
    for_rows_ = arena.take<double>(n_rows), on_ = arena.take<int>(n_rows);
  }

  // Whether all that is asked for is known here.
  bool is_asked() const { return is_asked_; }
  // Before environments of a pack are looked at.
  void start() {
    for (Environment& e : environments_) e.is_taken = false;
    for (int k = 0; is_asked_ && k < scene_.n_balls; ++k) balls_[k].is_used = false;
    any_ = any_held_ = any_corrected_ = false;
  }

  // What an environment has, as linearised_rows.hpp finds it.
  struct Rows {
    const DiffContact* contacts;
    int n_contacts;
    const DiffRow* rows;
    int n_rows;
    const JointHold* hold;
    const bool* locked;
    const JointForces& forces;
    const DriveSlope* row_force;
  };
  // True if it is simple: then it is pulled with the others.
  bool take(int lane, const Rows& own) {
    if (!is_simple(own)) return false;
    take_joints(lane, own);
    Environment& e = environments_[lane];
    e.is_taken = true, e.n_rows = own.n_rows;
    for (int r = 0; r < own.n_rows; ++r) {
      e.rows[r] = own.rows[r];
      e.ball[r] = own.contacts[own.rows[r].contact].contact->ball;
    }
    for (int k = 0; k < own.n_contacts; ++k) take_contact(lane, own.contacts[k], own);
    any_ = true;
    return true;
  }

  bool any() const { return any_; }
  // Of all that were taken; what is left for inverse dynamics goes to the lanes.
  void pull(const Pack& pack, double* out, std::size_t stride) {
    pull_coordinates(pack);
    const S* const L = any_held_ ? hold_factor() : lanes_.factor();
    walk(L, any_held_, held_);
    for (int f = 0; f < tree_.nv; ++f) x_[f] = to_v_[f] + to_moved_[f];
    for (int f = 0; any_held_ && f < tree_.nv; ++f) x_[f] = x_[f] * free_[f];
    solve_inward(tree_, L, x_);
    if (any_corrected_) pull_corrections(L);
    pull_impulses(pack);
    solve_outward(tree_, L, x_);
    for (int f = 0; f < tree_.nv; ++f) lanes_.leave_where(taken(), f, x_[f]);
    pull_contacts();
    pull_joints();
    for (int lane = 0; lane < pack.count; ++lane)
      for (int c = 0; environments_[lane].is_taken && c < job_.columns.count; ++c)
        out[static_cast<std::size_t>(lane) * stride + static_cast<std::size_t>(c)] = ScalarTraits<S>::get(g_[c], lane);
  }

 private:
  using S = Native<double>;
  static constexpr int width = width_of<S>;

  struct Ball {
    bool is_used;
    int link, count;   // degrees of freedom from the link to the root
    Vec3<S> axis[3];   // t1, t2, n
    Vec3<S> position;  // of the point
    Vec3<S> center;    // of the ball
    S flat;            // 1: the point stays in the plane
    S force[3];        // impulses along the axes
    S gap_slope, slack_slope;
    S eta[3], lift;  // cotangents of rows, and of what takes overlaps out
  };
  struct Environment {
    bool is_taken;
    int n_rows;
    DiffRow* rows;
    int* ball;  // of each row
  };
  // Z and D^-1 Z along the path of each ball, leaf to root, and how balls couple.
  struct Walked {
    Triple<S>*rows, *scaled;
    Block3<S>* blocks;
  };

  const StepDiffJob& job_;
  const Scene& scene_;
  const Tree<double>& tree_;
  SmoothLanes& lanes_;
  ModesDiff& modes_;
  LeastNormLu& lift_;
  bool is_asked_, any_ = false, any_held_ = false, any_corrected_ = false;
  S *to_moved_, *to_v_, *x_, *by_q_, *by_v_, *armature_, *free_, *in_, *g_, *by_control_, *held_factor_;
  Ball* balls_;
  int* path_;
  Walked held_, plain_;
  Motion<S>* X_;
  Force<S>*all_, *end_;  // on links: of all, and of rows by whose velocities at the end they are
  Environment environments_[width];
  Matrix G_;
  double* for_rows_;
  int* on_;  // rows whose positions are asked for

  std::size_t deepest() const { return static_cast<std::size_t>(scene_.most_contact_dofs) / 2; }
  static void set(S& x, int lane, double value) { ScalarTraits<S>::set(x, lane, value); }
  static double get(const S& x, int lane) { return ScalarTraits<S>::get(x, lane); }
  static void set(Vec3<S>& x, int lane, const Vector& value) {
    for (int i = 0; i < 3; ++i) set(x[i], lane, value[i]);
  }
  S taken() const {
    S mask(0);
    for (int lane = 0; lane < width; ++lane) set(mask, lane, environments_[lane].is_taken ? 1 : 0);
    return mask;
  }
  template <class Use>
  void for_balls(const Use& use) {
    for (int k = 0; k < scene_.n_balls; ++k)
      if (balls_[k].is_used) use(k, balls_[k]);
  }

  // -- what an environment has

  bool is_simple(const Rows& own) const {
    for (int k = 0; k < own.n_contacts; ++k) {
      const DiffContact& c = own.contacts[k];
      if (c.between != Between::contact || c.contact->ball < 0 || c.contact->is_ahead || c.correction[2] != 0)
        return false;
    }
    for (int r = 0; r < own.n_rows; ++r)
      if (own.rows[r].bounce != 0 || own.rows[r].compliance != 0 || own.rows[r].component >= 3) return false;
    for (int f = 0; f < tree_.nv; ++f)
      if (own.locked[f] && (own.hold[f].lock_by_q != 0 || own.hold[f].lock_by_v != 0)) return false;
    return true;
  }
  void take_joints(int lane, const Rows& own) {
    const double dt = job_.dt;
    for (int f = 0; f < tree_.nv; ++f) {
      set(by_q_[f], lane, dt * own.forces.by_q[f]), set(by_v_[f], lane, dt * own.forces.by_v[f]);
      set(armature_[f], lane, own.hold[f].armature), set(free_[f], lane, own.locked[f] ? 0 : 1);
      any_held_ = any_held_ || own.locked[f] || own.hold[f].armature != 0;
    }
    for (int k = 0; k < scene_.n_actuators; ++k) {
      const int f = scene_.actuators[k].dof;
      const DriveSlope& impulse = own.row_force[k];
      set(by_q_[f], lane, get(by_q_[f], lane) + impulse.by_q);
      set(by_v_[f], lane, get(by_v_[f], lane) + impulse.by_v);
      set(by_control_[k], lane, dt * own.forces.force[k].by_control + impulse.by_control);
    }
  }
  void take_contact(int lane, const DiffContact& c, const Rows& own) {
    const Contact& found = *c.contact;
    Ball& ball = balls_[found.ball];
    if (!ball.is_used) start(found.ball, scene_.shapes[found.a]);
    for (int k = 0; k < 3; ++k) set(ball.axis[k], lane, c.axis[k]), set(ball.force[k], lane, c.force[k]);
    set(ball.position, lane, c.point);
    set(ball.flat, lane, scene_.shapes[found.a].is_alone && found.gap > 0 ? 0 : 1);
    for (int r = c.rows; r < own.n_rows && own.rows[r].contact == own.rows[c.rows].contact; ++r) {
      const DiffRow& row = own.rows[r];
      if (row.component != 2) continue;
      set(ball.gap_slope, lane, row.gap_slope), set(ball.slack_slope, lane, row.is_corrected ? row.slack_slope : 0);
      any_corrected_ = any_corrected_ || row.is_corrected;
    }
  }
  void start(int k, const PlacedShape& shape) {
    Ball& ball = balls_[k];
    const Pose<S>& X = lanes_.world().pose[shape.link];
    ball.is_used = true, ball.link = shape.link, ball.count = 0;
    ball.position = zero3<S>(), ball.center = X.p + X.R * vec3(shape.p);
    ball.flat = ball.gap_slope = ball.slack_slope = ball.lift = S(0);
    for (int i = 0; i < 3; ++i) ball.axis[i] = zero3<S>(), ball.force[i] = ball.eta[i] = S(0);
    lanes_.world().for_path(shape.link, [&](int f) FW_LAMBDA_INLINE { path_[k * deepest() + ball.count++] = f; });
  }

  // -- cotangents of the end of the step

  void pull_coordinates(const Pack& pack) {
    Watch<S> unwatched;
    const int nv = tree_.nv;
    load(Input<double>{job_.in, 2 * nv}, pack, 2 * nv, in_, unwatched);
    for (int c = 0; c < job_.columns.count; ++c) g_[c] = S(0);
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      if (l.nv > 1) {
        pull_ball_joint(i);
        continue;
      }
      for (int f = l.v; f < l.v + l.nv; ++f) g_[f] = in_[f], to_moved_[f] = in_[f] * S(job_.dt), to_v_[f] = in_[nv + f];
    }
  }
  // A free one, or a spherical one.
  void pull_ball_joint(int i) {
    const int f = tree_.links[i].v, turn = tree_.links[i].nv - 3, nv = tree_.nv;
    const auto motion = [&](const S* x) {
      const Vec3<S> ang{x[f + turn], x[f + turn + 1], x[f + turn + 2]};
      return Motion<S>{turn ? Vec3<S>{x[f], x[f + 1], x[f + 2]} : zero3<S>(), ang};
    };
    const Motion<S> v = motion(lanes_.v_plus());
    const FreeCotangents<S> to = pull_advance(lanes_.world().center[i], v, v, job_.dt, motion(in_), motion(in_ + nv));
    const auto put = [&](const Motion<S>& m, S* x) {
      for (int k = 0; k < 3; ++k) x[f + turn + k] = m.ang[k];
      for (int k = 0; k < turn; ++k) x[f + k] = m.lin[k];
    };
    put(to.q, g_), put(to.m, to_moved_), put(to.v, to_v_);
  }

  // -- rows

  // Factors of H with what joint rows hold.
  const S* hold_factor() {
    for (int k = 0; k < tree_.nv; ++k) {
      S *const row = held_factor_ + tree_.row[k], *own = row;
      const S* H = lanes_.H() + tree_.row[k];
      *own = (*H + armature_[k]) * free_[k] + (S(1) - free_[k]);
      for (int i = tree_.dof_parent[k]; i >= 0; i = tree_.dof_parent[i]) *++own = *++H * free_[k] * free_[i];
    }
    factorise_ltl(tree_, held_factor_);
    return held_factor_;
  }
  void walk(const S* L, bool is_held, Walked& w) {
    for_balls([&](int k, const Ball& ball) {
      const int* const path = path_ + k * deepest();
      Triple<S>*const Z = w.rows + k * deepest(), *const scaled = w.scaled + k * deepest();
      const Vec3<S> r = ball.position - lanes_.world().root(ball.link);
      for (int s = 0; s < ball.count; ++s) {
        const Vec3<S> u = point_velocity(lanes_.world().axis[path[s]], r);
        for (int c = 0; c < 3; ++c) Z[s].e[c] = dot(ball.axis[c], u);
        if (is_held) Z[s] = Z[s] * free_[path[s]];
      }
      for (int s = 0; s < ball.count; ++s) {
        const S* const row = L + tree_.row[path[s]];
        for (int t = s + 1; t < ball.count; ++t) Z[t] -= Z[s] * row[t - s];
        scaled[s] = Z[s] * row[0];
      }
      for (int other = 0; other <= k; ++other)
        if (balls_[other].is_used) couple(k, other, w);
    });
  }
  // Row r of ball a and column c of ball b at [3 * c + r].
  void couple(int a, int b, Walked& w) {
    const int *const path_a = path_ + a * deepest(), *const path_b = path_ + b * deepest();
    Block3<S> sum;
    for (int s = balls_[a].count - 1, t = balls_[b].count - 1; s >= 0 && t >= 0 && path_a[s] == path_b[t]; --s, --t)
      sum.add(w.rows[a * deepest() + s], w.scaled[b * deepest() + t]);
    w.blocks[a * (a + 1) / 2 + b] = sum;
  }
  static double entry(const Walked& w, int a, int r, int b, int c, int lane) {
    if (a < b) return entry(w, b, c, a, r, lane);
    return get(w.blocks[a * (a + 1) / 2 + b].e[3 * c + r], lane);
  }
  // Row k of a ball, along what L^-T makes of a vector.
  S along(const Walked& w, int ball, int k, const S* y) const {
    const int* const path = path_ + ball * deepest();
    const Triple<S>* const scaled = w.scaled + ball * deepest();
    S sum(0);
    for (int s = 0; s < balls_[ball].count; ++s) sum += scaled[s].e[k] * y[path[s]];
    return sum;
  }
  void add_along(const Walked& w, int ball, int k, const S& eta, S* y) const {
    const int* const path = path_ + ball * deepest();
    for (int s = 0; s < balls_[ball].count; ++s) y[path[s]] += w.rows[ball * deepest() + s].e[k] * eta;
  }

  // Cotangents of what takes overlaps out: without what joint rows hold.
  void pull_corrections(const S* L) {
    const bool differ = L != lanes_.factor();
    Walked& w = differ ? plain_ : held_;
    if (differ) walk(lanes_.factor(), false, w);
    solve_inward(tree_, lanes_.factor(), to_moved_);
    for_balls([&](int k, Ball& ball) { ball.lift = S(0) - along(w, k, 2, to_moved_); });
    for (int lane = 0; lane < width; ++lane) solve_lift(lane, w);
    for_balls([&](int k, Ball& ball) { add_along(held_, k, 2, ball.lift, x_); });
  }
  void solve_lift(int lane, const Walked& w) {
    const Environment& e = environments_[lane];
    int n = 0;
    for (int r = 0; e.is_taken && r < e.n_rows; ++r)
      if (e.rows[r].is_corrected) on_[n++] = r;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) lift_.M(i, j) = entry(w, e.ball[on_[i]], 2, e.ball[on_[j]], 2, lane);
      lift_.M(i, i) += e.rows[on_[i]].give;
      for_rows_[i] = get(balls_[e.ball[on_[i]]].lift, lane);
    }
    for_balls([&](int, Ball& ball) { set(ball.lift, lane, 0); });
    if (n == 0) return;
    lift_.factorise(n, true);
    lift_.solve<true>(for_rows_);
    for (int i = 0; i < n; ++i) set(balls_[e.ball[on_[i]]].lift, lane, for_rows_[i]);
  }
  // Cotangents of rows, in the modes of each environment; x_ is seen from within the factors.
  void pull_impulses(const Pack& pack) {
    for_balls([&](int k, Ball& ball) {
      for (int r = 0; r < 3; ++r) ball.eta[r] = along(held_, k, r, x_);
    });
    for (int lane = 0; lane < pack.count; ++lane) solve_modes(lane, pack.first + static_cast<std::size_t>(lane));
    for_balls([&](int k, Ball& ball) {
      for (int r = 0; r < 3; ++r) add_along(held_, k, r, ball.eta[r], x_);
    });
  }
  // Of G: rows of one link know six velocities.
  int most_rank(const Environment& e) const {
    int n_links = 0;
    for (int r = 0; r < e.n_rows; ++r) {
      bool is_first = true;
      for (int other = 0; other < r && is_first; ++other)
        is_first = balls_[e.ball[other]].link != balls_[e.ball[r]].link;
      n_links += is_first;
    }
    return 6 * n_links;
  }
  void solve_modes(int lane, std::size_t environment) {
    const Environment& e = environments_[lane];
    const int m = e.is_taken ? e.n_rows : 0;
    for (int r = 0; r < m; ++r) {
      for (int c = 0; c <= r; ++c)
        G_(r, c) = G_(c, r) = entry(held_, e.ball[r], e.rows[r].component, e.ball[c], e.rows[c].component, lane);
      for_rows_[r] = get(balls_[e.ball[r]].eta[e.rows[r].component], lane);
    }
    for_balls([&](int, Ball& ball) {
      for (S& eta : ball.eta) set(eta, lane, 0);
    });
    if (m == 0) return;
    double by_friction = 0;
    modes_.set(m, e.rows, G_, job_.friction ? job_.friction[environment] : 1, true, most_rank(e));
    modes_.solve_transposed(m, for_rows_, by_friction);
    for (int r = 0; r < m; ++r) set(balls_[e.ball[r]].eta[e.rows[r].component], lane, for_rows_[r]);
  }

  // -- cotangents of the start

  void pull_contacts() {
    const WorldTreeOf<S>& world = lanes_.world();
    const Motion<S>* const V = lanes_.V_plus();
    world.twists(x_, X_);
    for (int i = 0; i < tree_.n_links; ++i) all_[i] = end_[i] = zero_force<S>();
    for_balls([&](int, const Ball& ball) {
      Vec3<S> pull = ball.axis[2] * ball.lift, given = zero3<S>();
      for (int k = 0; k < 3; ++k) pull += ball.axis[k] * ball.eta[k], given += ball.axis[k] * ball.force[k];
      const Vec3<S>& n = ball.axis[2];
      const Motion<S>&V_link = V[ball.link], &X_link = X_[ball.link];
      const Vec3<S> by_point = cross(pull, V_link.ang) + cross(given, X_link.ang);
      const S by_gap = ball.eta[2] * ball.gap_slope + ball.lift * ball.slack_slope;
      const Vec3<S> moved = by_point + n * (by_gap - ball.flat * dot(n, by_point));
      const Vec3<S>& root = world.root(ball.link);
      const Vec3<S> r = ball.position - root;
      const Force<S> turned{pull, cross(r, pull)};
      Force<S>& all = all_[ball.link];
      all += Force<S>{moved, cross(ball.center - root, moved)};
      all += cross(X_link, Force<S>{given, cross(r, given)});
      all += cross(V_link, turned);
      end_[ball.link] += turned;
    });
    for (int i = tree_.n_links - 1; i >= 0; --i) {
      const Link<double>& l = tree_.links[i];
      Force<S> all = all_[i];
      if (l.parent >= 0) {
        all -= cross(V[l.parent], end_[i]);
        all_[l.parent] += all_[i], end_[l.parent] += end_[i];
      }
      for (int f = l.v; f < l.v + l.nv; ++f) g_[f] += dot(world.axis[f], all);
    }
  }
  void pull_joints() {
    const ColumnLayout& at = job_.columns;
    for (int f = 0; f < tree_.nv; ++f) {
      g_[f] += by_q_[f] * x_[f], g_[tree_.nv + f] += by_v_[f] * x_[f];
      if (at.has(Wrt::tau)) g_[at.of(Wrt::tau) + f] = x_[f] * S(job_.dt);
    }
    for (int k = 0; at.has(Wrt::control) && k < scene_.n_actuators; ++k)
      g_[at.of(Wrt::control) + k] = by_control_[k] * x_[scene_.actuators[k].dof];
  }
};

}  // namespace featherweight::FW_ISA
