// step_diff/start_forces.hpp -- forces that act where a step begins, and their derivatives: of tendons, of actuators on
// several joints or on links, of muscles, of what carries weight, and of struts.
//
// A force s along a row L of degrees of freedom, tau = L^T s, changes by L^T s' and by what turns L. On links it is a
// wrench W that turns with its link, and D_k, what of its rate as k moves is beyond that:
//   tau_j,q_k = S_j . D_k + [j inboard of the joint of k] S_j . (S_k x* W)
// since the turn of S_j cancels that of W behind k. Laws of transmissions are differentiated by dual numbers.
// Cost: O(d^2) of each. Oracle: finite differences.
#pragma once
#include "step/transmit.hpp"
#include "step_diff/columns.hpp"
#include "step_diff/dual.hpp"
#include "step_diff/job.hpp"
#include "step_diff/motion.hpp"

namespace featherweight::FW_ISA {

class StartForces {
 public:
  StartForces(const StepDiffJob& job, Arena& arena)
      : job_(job),
        scene_(*job.scene),
        tree_(job.scene->tree),
        laws_(arena.take<Law>(scene_.n_transmissions)),
        points_(arena.take<Point>(scene_.most_strut_points)),
        spans_(arena.take<Span>(scene_.most_strut_points)),
        along_(arena.take<double>(tree_.nv)) {}

  bool are_there() const { return scene_.n_transmissions + scene_.n_lifts + scene_.n_struts > 0; }

  // control, gains: of laws, or null: zero, and one. masses: factors of the user's links, or null. up: what stands in
  // for gravity.
  void find(const WorldTree& world, const Twist* V, const double* q, const double* v, const double* control,
            const double* gains, const double* masses, const Vector& up) {
    world_ = &world, V_ = V, v_ = v, masses_ = masses, up_ = up;
    for (int k = 0; k < scene_.n_transmissions; ++k) {
      const int law = scene_.n_actuators + k;
      laws_[k] = law_of(scene_.transmissions[k], q, control ? control[law] : 0, gains ? gains[law] : 1);
    }
  }
  // Along degrees of freedom.
  void add_to(double* tau) const {
    for (int k = 0; k < scene_.n_transmissions; ++k) add_transmission(scene_.transmissions[k], laws_[k].force, tau);
    for (int k = 0; k < scene_.n_lifts; ++k) add_wrench(scene_.lifts[k].link, lift(scene_.lifts[k]).wrench, 1, tau);
    for_struts([&](const Strut& strut, const Pull& pull) {
      for (int i = 0; i < strut.n_points; ++i)
        if (points_[i].link >= 0) add_wrench(points_[i].link, at(points_[i], point_force(strut, pull, i)), 1, tau);
    });
  }
  // R += s times derivatives. q, v: where their columns begin, or -1; others: those of all else.
  template <class M>
  void add_columns(double s, int q, int v, bool others, const M& R) const {
    if (!are_there()) return;
    for (int k = 0; k < scene_.n_transmissions; ++k) differentiate_transmission(k, s, q, v, others, R);
    for (int k = 0; k < scene_.n_lifts; ++k) differentiate_lift(scene_.lifts[k], s, q, others, R);
    for_struts([&](const Strut& strut, const Pull& pull) { differentiate_strut(strut, pull, s, q, v, R); });
  }

 private:
  struct Law {
    double force, by_length, by_rate, by_control, by_gain;
  };
  struct Lifted {
    Vector center, force;
    Wrench wrench;
  };
  // Of a strut: a point, about the root of its tree, and the way to it from the point before.
  struct Point {
    int link;
    Vector r, x, v;
  };
  struct Span {
    Vector direction;
    double length;
  };
  struct Pull {
    double force, by_length, by_rate;
  };

  const StepDiffJob& job_;
  const Scene& scene_;
  const Tree<double>& tree_;
  Law* laws_;
  Point* points_;
  Span* spans_;
  double* along_;
  const WorldTree* world_ = nullptr;
  const Twist* V_ = nullptr;
  const double *v_ = nullptr, *masses_ = nullptr;
  Vector up_ = zero3<double>();

  static Wrench at(const Point& p, const Vector& force) { return {force, FW_ISA::cross(p.r, force)}; }

  // tau += s J^T W
  void add_wrench(int link, const Wrench& W, double s, double* tau) const {
    world_->for_path(link, [&](int j) FW_LAMBDA_INLINE { tau[j] += s * dot(world_->axis[j], W); });
  }
  // R(:, column) += s J^T W
  template <class M>
  void add_column(int link, const Wrench& W, double s, int column, const M& R) const {
    world_->for_path(link, [&](int j) FW_LAMBDA_INLINE { R(j, column) += s * dot(world_->axis[j], W); });
  }
  // What a wrench that turns with its link changes by: use(k, what it does on joints inboard of that of k).
  template <class M>
  void add_turned(int link, const Wrench& W, double s, int q, const M& R) const {
    for (int i = link; i >= 0; i = world_->parent(i)) {
      const Link<double>& l = tree_.links[i];
      for (int k = l.v; k < l.v + l.nv; ++k) add_column(l.parent, cross(world_->axis[k], W), s, q + k, R);
    }
  }

  // -- transmissions

  Law law_of(const Transmission& t, const double* q, double control, double scale) const {
    using S = Dual<3>;
    double length = 0, rate = 0;
    for (int i = 0; i < t.n_terms; ++i) {
      const TransmissionTerm& term = scene_.transmission_terms[t.first_term + i];
      if (term.q >= 0) length += q[term.q] * term.coefficient;
      rate += v_[term.dof] * term.coefficient;
    }
    const S L = S::variable(length, 0), V = S::variable(rate, 1), u = S::variable(control, 2);
    const S stretch = L - clamped(L, S(t.slack[0]), S(t.slack[1]));
    const S raw =
        t.is_muscle ? pull_of(t.muscle, L, V, u)
                    : (S(t.gain) + L * t.gain_length + V * t.gain_rate) * u + S(t.constant) - stretch * t.kp - V * t.kd;
    const double wanted = raw.x * scale;
    if (wanted > t.upper || wanted < t.lower) return {wanted > t.upper ? t.upper : t.lower, 0, 0, 0, 0};
    return {wanted, scale * raw.d[0], scale * raw.d[1], scale * raw.d[2], raw.x};
  }
  Wrench wrench_of(const Transmission& t, double force) const {
    const Wrench local{{t.wrench[0] * force, t.wrench[1] * force, t.wrench[2] * force},
                       {t.wrench[3] * force, t.wrench[4] * force, t.wrench[5] * force}};
    return shift_to_parent(to_parent(Rotation<double>{world_->pose[t.link].R}, local), world_->from_root(t.link));
  }
  void add_transmission(const Transmission& t, double force, double* tau) const {
    for (int i = 0; i < t.n_terms; ++i) {
      const TransmissionTerm& term = scene_.transmission_terms[t.first_term + i];
      tau[term.dof] += force * term.coefficient;
    }
    if (t.link >= 0) add_wrench(t.link, wrench_of(t, force), 1, tau);
  }
  template <class M>
  void differentiate_transmission(int index, double s, int q, int v, bool others, const M& R) const {
    const Transmission& t = scene_.transmissions[index];
    const Law& law = laws_[index];
    const auto add = [&](int column, double by) {
      if (column < 0 || by == 0) return;
      for (int f = 0; f < tree_.nv; ++f) R(f, column) += s * by * along_[f];
    };
    for (int f = 0; f < tree_.nv; ++f) along_[f] = 0;
    add_transmission(t, 1, along_);
    for (int i = 0; i < t.n_terms; ++i) {
      const TransmissionTerm& term = scene_.transmission_terms[t.first_term + i];
      if (term.q >= 0) add(q < 0 ? -1 : q + term.dof, law.by_length * term.coefficient);
      add(v < 0 ? -1 : v + term.dof, law.by_rate * term.coefficient);
    }
    if (q >= 0 && t.link >= 0) add_turned(t.link, wrench_of(t, law.force), s, q, R);
    const ColumnLayout& at = job_.columns;
    const int k = scene_.n_actuators + index;
    if (others && at.has(Wrt::control)) add(at.of(Wrt::control) + k, law.by_control);
    if (others && at.has(Wrt::gains)) add(at.of(Wrt::gains) + k, law.by_gain);
  }

  // -- weight that is carried

  Lifted lift(const Lift& lift) const {
    const Vector center =
        world_->from_root(lift.link) + world_->pose[lift.link].R * vec3(lift.moment) * (1 / lift.mass);
    const Vector force = up_ * (lift.mass * (masses_ ? masses_[lift.of] : 1));
    return {center, force, {force, FW_ISA::cross(center, force)}};
  }
  template <class M>
  void differentiate_lift(const Lift& own, double s, int q, bool others, const M& R) const {
    const Lifted lifted = lift(own);
    const auto at_center = [&](const Vector& force) { return Wrench{force, FW_ISA::cross(lifted.center, force)}; };
    if (q >= 0) {
      add_turned(own.link, lifted.wrench, s, q, R);
      world_->for_path(own.link, [&](int k) FW_LAMBDA_INLINE {  // it does not turn
        add_column(own.link, at_center(FW_ISA::cross(lifted.force, world_->axis[k].ang)), s, q + k, R);
      });
    }
    const ColumnLayout& at = job_.columns;
    const double factor = masses_ ? masses_[own.of] : 1;
    for (int r = 0; others && at.has(Wrt::gravity) && r < 3; ++r) {
      Vector e = zero3<double>();
      e[r] = -own.mass * factor;
      add_column(own.link, at_center(e), s, at.of(Wrt::gravity) + r, R);
    }
    if (others && at.has(Wrt::masses))
      add_column(own.link, at_center(up_ * own.mass), s, at.of(Wrt::masses) + own.of, R);
  }

  // -- struts

  // use(strut, its force): with its points and spans in place.
  template <class Use>
  void for_struts(const Use& use) const {
    for (int k = 0; k < scene_.n_struts; ++k) {
      const Strut& strut = scene_.struts[k];
      double length = 0, rate = 0;
      for (int i = 0; i < strut.n_points; ++i) {
        points_[i] = moving_point(scene_.strut_points[strut.first_point + i]);
        if (i == 0) continue;
        const Vector span = points_[i].x - points_[i - 1].x;
        const double part = __builtin_sqrt(FW_ISA::dot(span, span));
        spans_[i] = {part > 0 ? span * (1 / part) : zero3<double>(), part};
        length += part;
        rate += FW_ISA::dot(spans_[i].direction, points_[i].v - points_[i - 1].v);
      }
      const bool is_slack = length > strut.slack[0] && length < strut.slack[1];
      const double stretch = length < strut.slack[0]   ? length - strut.slack[0]
                             : length > strut.slack[1] ? length - strut.slack[1]
                                                       : 0;
      use(strut, Pull{stretch * strut.stiffness + rate * strut.damping, is_slack ? 0 : strut.stiffness, strut.damping});
    }
  }
  Point moving_point(const StrutPoint& point) const {
    const Vector p = vec3(point.p);
    if (point.link < 0) return {-1, p, p, zero3<double>()};
    const Pose<double>& pose = world_->pose[point.link];
    const Vector x = pose.R * p + pose.p, r = x - world_->root(point.link);
    return {point.link, r, x, point_velocity(V_[point.link], r)};
  }
  Vector point_force(const Strut& strut, const Pull& pull, int i) const {
    Vector force = zero3<double>();
    if (i + 1 < strut.n_points) force += spans_[i + 1].direction * pull.force;
    if (i > 0) force += spans_[i].direction * -pull.force;
    return force;
  }
  // Rates of a point and of its velocity as k moves.
  void move(const Point& p, int k, int link_of_k, Vector& dx, Vector& dv) const {
    dx = dv = zero3<double>();
    if (!world_->moves(link_of_k, p.link)) return;
    const int inboard = world_->parent(link_of_k);
    const Twist before = inboard < 0 ? zero_motion<double>() : V_[inboard];
    dx = point_velocity(world_->axis[k], p.r);
    dv = point_velocity(cross(world_->axis[k], V_[p.link] - before), p.r) + FW_ISA::cross(V_[p.link].ang, dx);
  }
  template <class M>
  void differentiate_strut(const Strut& strut, const Pull& pull, double s, int q, int v, const M& R) const {
    for (int i = 0; q >= 0 && i < strut.n_points; ++i)
      if (points_[i].link >= 0) add_turned(points_[i].link, at(points_[i], point_force(strut, pull, i)), s, q, R);
    for (int link = 0; link < tree_.n_links; ++link)
      for (int k = tree_.links[link].v; k < tree_.links[link].v + tree_.links[link].nv; ++k)
        differentiate_strut(strut, pull, link, k, s, q, v, R);
  }
  template <class M>
  void differentiate_strut(const Strut& strut, const Pull& pull, int link, int k, double s, int q, int v,
                           const M& R) const {
    double by_x = 0, rate_by_q = 0;
    Vector dx, dv, dx_before, dv_before;
    move(points_[0], k, link, dx_before, dv_before);
    const auto turned = [&](int i, const Vector& dspan) {  // direction
      const Span& span = spans_[i];
      const Vector across = dspan - span.direction * FW_ISA::dot(span.direction, dspan);
      return span.length > 0 ? across * (1 / span.length) : zero3<double>();
    };
    for (int i = 1; i < strut.n_points; ++i) {
      move(points_[i], k, link, dx, dv);
      by_x += FW_ISA::dot(spans_[i].direction, dx - dx_before);
      rate_by_q += FW_ISA::dot(turned(i, dx - dx_before), points_[i].v - points_[i - 1].v) +
                   FW_ISA::dot(spans_[i].direction, dv - dv_before);
      dx_before = dx, dv_before = dv;
    }
    const double by_v = pull.by_rate * by_x, by_q = pull.by_length * by_x + pull.by_rate * rate_by_q;
    for (int i = 0; i < strut.n_points; ++i) {
      const Point& p = points_[i];
      if (p.link < 0) continue;
      if (v >= 0) add_column(p.link, at(p, point_force(strut, {by_v, 0, 0}, i)), s, v + k, R);
      if (q < 0) continue;
      Vector force = point_force(strut, {by_q, 0, 0}, i);
      move(p, k, link, dx, dv);
      for (int side = 0; side < 2; ++side) {
        const int other = side == 0 ? i - 1 : i + 1;
        if (other < 0 || other >= strut.n_points) continue;
        move(points_[other], k, link, dx_before, dv_before);
        force += turned(side == 0 ? i : i + 1, side == 0 ? dx - dx_before : dx_before - dx) *
                 (side == 0 ? -pull.force : pull.force);
      }
      if (world_->moves(link, p.link))
        force -= FW_ISA::cross(world_->axis[k].ang, point_force(strut, pull, i));  // it does not turn with its link
      add_column(p.link, at(p, force), s, q + k, R);
    }
  }
};

}  // namespace featherweight::FW_ISA
