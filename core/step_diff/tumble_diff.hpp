// step_diff/tumble_diff.hpp -- derivatives of what turns by the implicit midpoint rule (step/tumble.hpp).
//
// Forces come first, u = v + dt a without products of velocities of what tumbles, and u is then turned.
//   single bodies   turned(u) and bend(u) by dual numbers: six variables
//   trees           H x + c(q, m) = 0,  m = u + dt/2 x:   (H + dt/2 C) x' = -(H x + c)_q - C u',   C = c_m
//                   and with x, the turn of ball joints by dual numbers: u and x of the joint
// Oracle: finite differences.
#pragma once
#include "step/tumble.hpp"
#include "step_diff/dual.hpp"
#include "step_diff/inverse_dynamics.hpp"
#include "step_diff/least_norm_lu.hpp"

namespace featherweight::FW_ISA {

class TumbleDiff {
 public:
  double* explicit_v;     // velocities whose products are left to the forces
  double *turned, *bend;  // what u comes to, and what coordinates move with beside
  Matrix bends;           // derivatives of bend

  TumbleDiff(const Scene& scene, int columns, Arena& arena)
      : explicit_v(arena.take<double>(scene.tree.nv)),
        turned(arena.take<double>(scene.tree.nv)),
        bend(arena.take<double>(scene.tree.nv)),
        bends(take_matrix(arena, scene.tree.nv, columns)),
        scene_(scene),
        tree_(scene.tree),
        is_turned_(arena.take<bool>(scene.tree.n_links)),
        turns_(arena.take<Turned>(scene.tree.n_links)),
        x_(arena.take<double>(scene.tree.nv)),
        middle_(arena.take<double>(scene.tree.nv)),
        step_(arena.take<double>(scene.tree.nv)),
        dx_(take_matrix(arena, scene.tree.nv, columns)),
        lu_(scene.tree.nv, columns, arena) {
    for (int i = 0; i < tree_.n_links; ++i) has_bodies_ = has_bodies_ || is_single_body(tree_, i);
  }

  // That nothing tumbles, as far as velocities tell.
  bool is_calm(const double* v, double dt) const {
    return !has_bodies_ && !(largest_turn(scene_, dt, v).growth > growth_borne(scene_));
  }

  bool tumbles(int link) const { return is_turned_[link]; }

  // Whether anything does.
  bool find(const WorldTree& world, const double* inertias, const double* v, double dt) {
    dt_ = dt;
    bool some = false;
    trees_tumble_ = largest_turn(scene_, dt, v).growth > growth_borne(scene_);
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      const bool single = is_single_body(tree_, i);
      is_turned_[i] = single ? body<double>(world, inertias, i, v + l.v).tumbles() : trees_tumble_;
      some = some || is_turned_[i];
      for (int k = l.v; k < l.v + l.nv; ++k) explicit_v[k] = is_turned_[i] ? 0 : v[k];
    }
    return some;
  }
  // From velocities u; leaves the derivatives of inverse dynamics elsewhere.
  void turn(const WorldTree& world, const double* inertias, const double* v, const double* u,
            InverseDynamics& dynamics) {
    for (int f = 0; f < tree_.nv; ++f) turned[f] = u[f], bend[f] = 0;
    if (trees_tumble_) find_products(u, dynamics);
    turn_all(world, inertias, v, u);
  }
  // The same with the acceleration x of products that is given: of closed mechanisms.
  void turn_by(const WorldTree& world, const double* inertias, const double* v, const double* x) {
    for (int f = 0; f < tree_.nv; ++f) turned[f] = v[f], bend[f] = 0, x_[f] = x[f];
    turn_all(world, inertias, v, v);
  }
  // Of a joint: entries [r][k] by u, and [r][6 + k] by x.
  double turned_slope(int link, int r, int k) const {
    return is_turned_[link] ? turns_[link].turned[r][k] : (r == k ? 1 : 0);
  }
  double bend_slope(int link, int r, int k) const { return is_turned_[link] ? turns_[link].bend[r][k] : 0; }
  // Rows of u' become those of what it comes to. q: the first column of coordinates, or -1; add_masses(to): what
  // factors on masses add to -(H x + c).
  template <class AddMasses>
  void apply(const Matrix& u, int q, const AddMasses& add_masses) {
    set_zero(bends, tree_.nv);
    if (trees_tumble_) find_product_rates(u, q, add_masses);
    const int n = u.stride;
    for (int i = 0; i < tree_.n_links; ++i) {
      if (!is_turned_[i]) continue;
      const Link<double>& l = tree_.links[i];
      const Turned& t = turns_[i];
      for (int c = 0; c < n; ++c) {
        double from[12], to[6] = {}, more[6] = {};
        for (int k = 0; k < l.nv; ++k) from[k] = u(l.v + k, c), from[6 + k] = trees_tumble_ ? dx_(l.v + k, c) : 0;
        for (int r = 0; r < l.nv; ++r)
          for (int k = 0; k < l.nv; ++k) {
            to[r] += t.turned[r][k] * from[k] + t.turned[r][6 + k] * from[6 + k];
            more[r] += t.bend[r][k] * from[k] + t.bend[r][6 + k] * from[6 + k];
          }
        for (int r = 0; r < l.nv; ++r) u(l.v + r, c) = to[r], bends(l.v + r, c) = more[r];
      }
    }
  }

 private:
  // By u, and from the seventh on by x, of one joint.
  struct Turned {
    double turned[6][12], bend[6][12];
  };
  static constexpr int most_newton = 8;

  const Scene& scene_;
  const Tree<double>& tree_;
  bool* is_turned_;
  Turned* turns_;
  double *x_, *middle_, *step_;
  Matrix dx_;
  LeastNormLu lu_;
  double dt_ = 0;
  bool trees_tumble_ = false, has_bodies_ = false;

  void turn_all(const WorldTree& world, const double* inertias, const double* v, const double* u) {
    for (int i = 0; i < tree_.n_links; ++i) {
      if (!is_turned_[i]) continue;
      const Link<double>& l = tree_.links[i];
      if (is_single_body(tree_, i)) {
        Dual<12> from[6], to[6], more[6];
        for (int k = 0; k < 6; ++k) from[k] = Dual<12>::variable(u[l.v + k], k), to[k] = from[k], more[k] = 0.0;
        body<Dual<12>>(world, inertias, i, v + l.v).turn(Dual<12>(dt_), from, to, more);
        keep(l, to, more, turns_[i]);
      } else {
        visit(l.kind, [&](auto joint) { turn_joint(joint, l, world.center[i], u, turns_[i]); });
      }
    }
  }
  template <class S>
  SingleBody<S> body(const WorldTree& world, const double* inertias, int i, const double* v) const {
    const double* const own = inertias ? inertias + inertia_numbers * i : nullptr;
    const Link<double>& l = tree_.links[i];
    const RigidInertia<double> b =
        own ? RigidInertia<double>{own[0], {own[1], own[2], own[3]}, {own[4], own[5], own[6], own[7], own[8], own[9]}}
            : FW_ISA::body(l);
    RigidInertia<S> I;
    I.m = S(b.m);
    Vec3<S> c;
    S start[6];
    for (int k = 0; k < 3; ++k) I.h[k] = S(b.h[k]), c[k] = S(world.center[i][k]);
    for (int k = 0; k < 6; ++k) I.I.e[k] = S(b.I.e[k]), start[k] = S(v[k]);
    return SingleBody<S>(l, I, c, start, S(dt_));
  }
  void keep(const Link<double>& l, const Dual<12>* to, const Dual<12>* more, Turned& out) {
    for (int r = 0; r < l.nv; ++r) {
      turned[l.v + r] = to[r].x, bend[l.v + r] = more[r].x;
      for (int k = 0; k < 12; ++k) out.turned[r][k] = to[r].d[k], out.bend[r][k] = more[r].d[k];
    }
  }
  template <class J>
  void turn_joint(J joint, const Link<double>& l, const Vector& center, const double* u, Turned& out) {
    using S = Dual<12>;
    S next[6], more[6], own[6], v[6], x[6];
    for (int k = 0; k < l.nv; ++k) {
      v[k] = S::variable(u[l.v + k], k), x[k] = S::variable(x_[l.v + k], 6 + k);
      own[k] = next[k] = v[k] + x[k] * S(dt_);
      more[k] = 0.0;
    }
    if constexpr (J::nv > 1) {
      constexpr int t = J::nv - 3;
      const Vec3<S> c{S(center[0]), S(center[1]), S(center[2])};
      const Vec3<S> ang{v[t], v[t + 1], v[t + 2]}, change{x[t], x[t + 1], x[t + 2]};
      turn_back(joint, cayley_path(ang + change * S(0.5 * dt_), S(dt_)), &c, S(1 / dt_), own, next, more);
    }
    keep(l, next, more, out);
  }

  void evaluate(const double* u, InverseDynamics& dynamics) {
    for (int f = 0; f < tree_.nv; ++f) middle_[f] = u[f] + 0.5 * dt_ * x_[f];
    dynamics.differentiate(middle_, x_, zero_motion<double>(), nullptr, nullptr);
    unpack_inertia(tree_, dynamics.H, lu_.M);
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      const bool is_one = is_single_body(tree_, i);  // which turns by itself
      for (int r = l.v; r < l.v + l.nv; ++r)
        for (int c = 0; c < tree_.nv; ++c)
          lu_.M(r, c) = is_one ? (r == c ? 1 : 0) : lu_.M(r, c) + 0.5 * dt_ * dynamics.dv(r, c);
      for (int r = l.v; is_one && r < l.v + l.nv; ++r) dynamics.tau[r] = 0;
    }
    lu_.factorise(tree_.nv);
  }
  // x by Newton's iteration, and its system.
  void find_products(const double* u, InverseDynamics& dynamics) {
    double speed = 0;
    for (int f = 0; f < tree_.nv; ++f) x_[f] = 0, speed = size_of(u[f]) > speed ? size_of(u[f]) : speed;
    for (int iteration = 0; iteration < most_newton; ++iteration) {
      evaluate(u, dynamics);
      for (int f = 0; f < tree_.nv; ++f) step_[f] = dynamics.tau[f];
      lu_.solve<false>(step_);
      double change = 0;
      for (int f = 0; f < tree_.nv; ++f)
        x_[f] -= step_[f], change = size_of(step_[f]) > change ? size_of(step_[f]) : change;
      if (!(change * dt_ > 1e-13 * speed)) break;
    }
    evaluate(u, dynamics);
    dynamics_ = &dynamics;
  }
  const InverseDynamics* dynamics_ = nullptr;
  template <class AddMasses>
  void find_product_rates(const Matrix& u, int q, const AddMasses& add_masses) {
    set_zero(dx_, tree_.nv);
    add_masses(dx_);
    for (int i = 0; i < tree_.n_links; ++i) {
      if (is_single_body(tree_, i)) continue;
      const Link<double>& l = tree_.links[i];
      for (int r = l.v; r < l.v + l.nv; ++r) {
        for (int k = 0; k < tree_.nv; ++k)
          if (const double c = dynamics_->dv(r, k); c != 0) add_row(dx_, r, -c, u, k);
        for (int k = 0; q >= 0 && k < tree_.nv; ++k) dx_(r, q + k) -= dynamics_->dq(r, k);
      }
    }
    lu_.solve(dx_, nullptr, dx_.stride);
  }
};

}  // namespace featherweight::FW_ISA
