// step/tumble.hpp -- products of velocities by the implicit midpoint rule, where something turns fast.
//   in    q, v at the start
//   out   w.explicit_v: velocities whose products are left to aba; w.turned: velocities after a step of the products
//         alone; w.bend: what coordinates move with beside the velocities at the end of the step
//
// The moment w x I w is perpendicular to w. Explicit, it adds the square of the turn of a step to the energy, always
// with the same sign: what tumbles fast explodes. With
//   H (v' - v) + dt c(q, m) = 0,   m = (v + v') / 2,   R' = R Cayley(dt m)
// energy and angular momentum of a body stay, since both are quadratic. v' are components in the axes after the turn;
// the step goes on in those at its start. Forces come first, and what they leave is turned: as symmetric as a step can
// be that begins with forces, it keeps the energy of a spinning top; turned first, it would gain some in every step.
// Impulses, and forces in scenes with closures, are added after the turn (docs/adr/0029).
// Oracle: conservation laws; the twin, dense.
#pragma once
#include "dynamics/aba.hpp"
#include "step/advance.hpp"
#include "step/tuning.hpp"
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

// The rotation vector of Cayley(m dt), and half its tangent's angle where x = |m| dt / 2.
template <class S>
FW_INLINE Vec3<S> cayley_path(const Vec3<S>& m, const S& dt) {
  const S x = square_root(dot(m, m)) * dt * S(0.5);
  const auto turns = x > S(0);
  const S angle = map_lanes(x, [](ElementOf<S> e) { return library_atan2(e, ElementOf<S>(1)); });
  return m * (dt * select(turns, angle / select(turns, x, S(1)), S(1)));
}

// From components in the axes after the turn `path` to those before it; `bend` is what the turn differs from them by.
template <bool travels, class S>
FW_INLINE void turn_back(Ball<travels>, const Vec3<S>& path, const Vec3<S>* center, const S& per_dt, const S* v_next,
                         S* turned, S* bend) {
  constexpr int turn = travels ? 3 : 0;
  S step[4];
  exponential(path, step);
  const Mat3<S> E = quaternion_matrix(step);
  const Vec3<S> ang{v_next[turn], v_next[turn + 1], v_next[turn + 2]}, ang_before = E * ang;
  const Vec3<S> more = path * per_dt - ang_before;
  for (int k = 0; k < 3; ++k) turned[turn + k] = ang_before[k], bend[turn + k] = more[k];
  if constexpr (travels) {
    Vec3<S> u{v_next[0], v_next[1], v_next[2]};  // of the centre of mass, which the turn leaves alone
    add_cross(u, ang, *center);
    const Vec3<S> lin = E * u - cross(ang_before, *center), aside = cross(*center, more);
    for (int k = 0; k < 3; ++k) turned[k] = lin[k], bend[k] = aside[k];
  }
}

// x of A x = b, by Cramer's rule.
template <class S>
FW_INLINE Vec3<S> solve3(const Mat3<S>& A, const Vec3<S>& b) {
  const Vec3<S> c0 = column(A, 0), c1 = column(A, 1), c2 = column(A, 2), c12 = cross(c1, c2), bc = cross(c0, b);
  const S scale = S(1) / dot(c0, c12);
  return Vec3<S>{dot(b, c12), dot(c2, bc), -dot(c1, bc)} * scale;
}

// Of a single body with inertia I about its centre of mass: the angular velocity after the step, in the axes there.
// Newton's iteration on I (x - w) + dt m x I m = 0; lanes stop each for itself.
template <class S, class Mask>
FW_INLINE Vec3<S> tumble(const Sym3<S>& I, const Vec3<S>& w, const S& dt, Mask going) {
  const S half = dt * S(0.5), enough = dot(w, w) * S(TumbleTuning::last_newton * TumbleTuning::last_newton);
  Vec3<S> x = w;
  for (int iteration = 0; iteration < TumbleTuning::most_newton; ++iteration) {
    const Vec3<S> m = (w + x) * S(0.5), L = I * m;
    Vec3<S> error = I * (x - w);
    add_cross(error, m, L * dt);
    // I + dt/2 ([m] I - [L])
    const auto slope = [&](int c) FW_LAMBDA_INLINE {
      Vec3<S> y = column(I, c);
      add_cross(y, m, column(I, c) * half);
      const Vec3<S> unit{S(c == 0 ? 1 : 0), S(c == 1 ? 1 : 0), S(c == 2 ? 1 : 0)};
      add_cross(y, unit, L * half);
      return y;
    };
    const Vec3<S> s0 = slope(0), s1 = slope(1), s2 = slope(2);
    const Mat3<S> J{{s0[0], s1[0], s2[0]}, {s0[1], s1[1], s2[1]}, {s0[2], s1[2], s2[2]}};
    const Vec3<S> step = solve3(J, error);
    for (int k = 0; k < 3; ++k) x[k] = select(going, x[k] - step[k], x[k]);
    going = going & (dot(step, step) > enough);
    if (!any(dt, going)) break;
  }
  return x;
}

// A body alone on its free joint, about its centre of mass. What the armature adds counts as part of it.
template <class S>
class SingleBody {
 public:
  FW_INLINE SingleBody(const Link<double>& l, const RigidInertia<S>& b, const Vec3<S>& center, const S* v, const S& dt)
      : center_(center), w_{v[3], v[4], v[5]}, I_(b.I) {
    const S d = dot(b.h, center);
    for (int r = 0; r < 3; ++r) {
      for (int c = r; c < 3; ++c) I_(r, c) = I_(r, c) + b.h[r] * center[c];
      I_(r, r) = I_(r, r) - d + S(l.ball_armature[3 + r]);
    }
    const Vec3<S> L = I_ * w_, moment = cross(w_, L) * dt;
    constexpr double share = TumbleTuning::negligible;
    tumbles_ = dot(moment, moment) > dot(L, L) * (share * share);
  }
  FW_INLINE bool tumbles() const { return any(w_[0], tumbles_); }
  FW_INLINE void leave_out(S* explicit_v) const {
    for (int k = 0; k < 6; ++k) explicit_v[k] = select(tumbles_, S(0), explicit_v[k]);
  }

  // From velocities v. So that a body spun about a principal axis turns by w dt and no less, time is stretched a
  // little; what is conserved does not depend on it.
  [[gnu::noinline]] void turn(const S& dt, const S* v, S* turned, S* bend) const {
    const Vec3<S> w{v[3], v[4], v[5]};
    const S half = square_root(dot(w, w)) * dt * S(0.5), most(TumbleTuning::most_half_turn);
    const S angle = select(half < most, half, most);
    S sine, cosine;
    sincos(angle, sine, cosine);
    const auto turns = tumbles_ & (half > S(0));
    const S stretched = dt * select(turns, sine / (cosine * select(turns, half, S(1))), S(1));
    const Vec3<S> next = tumble(I_, w, stretched, tumbles_);
    const Vec3<S> path = cayley_path((w + next) * S(0.5), stretched);
    S step[4], own[6], after[6], more[6];
    exponential(path, step);
    const Mat3<S> E = quaternion_matrix(step);
    Vec3<S> u{v[0], v[1], v[2]};
    add_cross(u, w, center_);
    const Vec3<S> lin = transposed_times(E, u) - cross(next, center_);
    for (int k = 0; k < 3; ++k) own[k] = lin[k], own[3 + k] = next[k];
    turn_back(Free{}, path, &center_, S(1) / dt, own, after, more);
    for (int k = 0; k < 6; ++k) {
      turned[k] = select(tumbles_, after[k], turned[k]);
      bend[k] = select(tumbles_, more[k], bend[k]);
    }
  }

 private:
  Vec3<S> center_, w_;
  Sym3<S> I_;
  decltype(S() < S()) tumbles_;
};

// How far joints of trees turn in a step [rad], and how fast explicit products feed that, as a share of what is borne;
// single bodies aside.
template <class S>
struct Turn {
  S angle2, growth;  // the square of the angle: roots take long, and few ask for it

  S angle() const { return square_root(angle2); }
};
template <class S>
Turn<S> largest_turn(const Scene& scene, const S& dt, const S* v) {
  S ball2(0), axis2(0), limited2(0);
  for (int i = 0; i < scene.tree.n_links; ++i) {
    const Link<double>& l = scene.tree.links[i];
    if (is_single_body(scene.tree, i)) continue;
    visit(l.kind, [&](auto joint) {
      using J = decltype(joint);
      if constexpr (J::nv > 1) {
        const S* const w = v + l.v + J::nv - 3;
        ball2 = larger(w[0] * w[0] + w[1] * w[1] + w[2] * w[2], ball2);
      } else if constexpr (J::rotates) {
        S& most = scene.limited[i] ? limited2 : axis2;
        most = larger(v[l.v] * v[l.v], most);
      }
    });
  }
  const S angle2 = larger(ball2, larger(axis2, limited2)) * (dt * dt);
  return {angle2, larger(ball2 * (dt * S(1 / TumbleTuning::ball_growth)),
                         larger(axis2 * (dt * S(1 / TumbleTuning::axis_growth)),
                                limited2 * (dt * S(1 / TumbleTuning::limited_growth))))};
}

// x = -H^-1 c(q, w.middle) into w.x_next. The joints are eliminated already.
template <class S>
FW_INLINE void products_of_middle(const Scene& scene, StepWorkspace<S>& w) {
  products_of_velocities(scene.tree, OfLanes<S>{w.inertias, scene.weighs}, w.aba, w.middle, w.of_products, w.x_next);
}

// A step of the products alone from velocities v, with the acceleration w.x, of trees in the lanes where `here`.
template <class S, class Mask>
[[gnu::noinline]] void turn_trees(const Tree<double>& tree, const S& dt, const Mask& here, const S* v,
                                  StepWorkspace<S>& w) {
  for (int i = 0; i < tree.n_links; ++i) {
    if (is_single_body(tree, i)) continue;
    const Link<double>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      using J = decltype(joint);
      S next[J::nv], more[J::nv];
      for (int k = 0; k < J::nv; ++k) next[k] = v[l.v + k] + w.x[l.v + k] * dt, more[k] = S(0);
      if constexpr (J::nv > 1) {
        const int k = l.v + J::nv - 3;
        const Vec3<S> ang{v[k], v[k + 1], v[k + 2]}, change{w.x[k], w.x[k + 1], w.x[k + 2]};
        S own[J::nv];
        for (int f = 0; f < J::nv; ++f) own[f] = next[f];
        turn_back(joint, cayley_path(ang + change * (dt * S(0.5)), dt), w.centers + i, S(1) / dt, own, next, more);
      }
      for (int k = 0; k < J::nv; ++k) {
        w.turned[l.v + k] = select(here, next[k], w.turned[l.v + k]);
        w.bend[l.v + k] = select(here, more[k], w.bend[l.v + k]);
      }
    });
  }
}

// Trees that turn far: x = -H^-1 c(q, v + dt/2 x) by relaxed fixed-point iterations, in the lanes where `going`; the
// others get a first guess, which settle.hpp goes on from: x at the middle velocity, if it changes as in the last step.
template <class S, class Mask>
void settle_products(const Scene& scene, const S& dt, const S& angle, Mask going, const S* v, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  // Products turn velocities without stretching them: the slope of an iteration is a rotation by at most the turn of a
  // step, and this share of it shrinks errors however fast that is.
  const S half = angle * S(0.5), share = S(1) / (S(1) + half * half);
  S speed(0);
  for (int f = 0; f < tree.nv; ++f) {
    w.middle[f] = scene.held.n_rows ? v[f] + (v[f] - w.last_v[f]) * S(0.5) : v[f];
    speed = larger(abs(v[f]), speed);
  }
  products_of_middle(scene, w);
  for (int f = 0; f < tree.nv; ++f) w.x[f] = w.x_next[f];
  for (int iteration = 1; iteration < TumbleTuning::most_evaluations && any(dt, going); ++iteration) {
    for (int f = 0; f < tree.nv; ++f) w.middle[f] = v[f] + w.x[f] * (dt * S(0.5));
    products_of_middle(scene, w);
    S change(0);
    for (int f = 0; f < tree.nv; ++f) {
      const S step = (w.x_next[f] - w.x[f]) * share;
      change = larger(abs(step), change);
      w.x[f] = select(going, w.x[f] + step, w.x[f]);
    }
    going = going & (change * dt > speed * S(TumbleTuning::last_change));
  }
}

// Where there are closures, all trees take products by the midpoint rule: shake.hpp goes on from here.
FW_INLINE double growth_borne(const Scene& scene) { return scene.held.n_rows ? -1 : 1; }

// Products that are left to aba are those of w.explicit_v.
template <class S>
FW_INLINE void begin_tumbling(int nv, StepWorkspace<S>& w) {
  if (w.tumbles) return;
  w.tumbles = true;
  for (int f = 0; f < nv; ++f) w.explicit_v[f] = w.v[f];
}
// Those of single bodies that tumble are not.
template <class S>
FW_INLINE void find_tumbling_bodies(const Tree<double>& tree, const S& dt, StepWorkspace<S>& w) {
  w.tumbles = false;
  for (int i = 0; i < tree.n_links; ++i) {
    if (!is_single_body(tree, i)) continue;
    const int f = tree.links[i].v;
    const SingleBody<S> body(tree.links[i], w.inertias[i].body, w.centers[i], w.v + f, dt);
    if (!body.tumbles()) continue;
    begin_tumbling(tree.nv, w);
    body.leave_out(w.explicit_v + f);
  }
}

// Sets w.tumbles, whether anything turns so far that its products are not left to aba, and w.explicit_v.
template <class S>
Turn<S> find_tumbling(const Scene& scene, const S& dt, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  find_tumbling_bodies(tree, dt, w);
  const Turn<S> turn = largest_turn(scene, dt, w.v);
  const auto here = turn.growth > S(growth_borne(scene));
  if (!any(dt, here)) return turn;
  begin_tumbling(tree.nv, w);
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    if (is_single_body(tree, i)) continue;
    for (int k = l.v; k < l.v + l.nv; ++k) w.explicit_v[k] = select(here, S(0), w.explicit_v[k]);
  }
  return turn;
}

// A step of the products alone from velocities v, of single bodies that were found to tumble; others keep v.
template <class S>
FW_INLINE void turn_bodies(const Tree<double>& tree, const S& dt, const S* v, StepWorkspace<S>& w) {
  for (int f = 0; f < tree.nv; ++f) w.turned[f] = v[f], w.bend[f] = S(0);
  for (int i = 0; i < tree.n_links; ++i) {
    if (!is_single_body(tree, i)) continue;
    const int f = tree.links[i].v;
    const SingleBody<S> body(tree.links[i], w.inertias[i].body, w.centers[i], w.v + f, dt);
    if (body.tumbles()) body.turn(dt, v + f, w.turned + f, w.bend + f);
  }
}
// And of trees.
template <class S>
void turn_by_midpoint(const Scene& scene, const S& dt, const Turn<S>& turn, const S* v, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  turn_bodies(tree, dt, v, w);
  const auto here = turn.growth > S(growth_borne(scene));
  if (!any(dt, here)) return;
  settle_products(scene, dt, turn.angle(), turn.growth > S(1), v, w);
  turn_trees(tree, dt, here, v, w);
}

}  // namespace featherweight::FW_ISA
