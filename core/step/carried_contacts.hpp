// step/carried_contacts.hpp -- contacts of steps in halves: what the motion of a step does to their rows.
//   in    contacts that push, velocities with impulses, where the step would lead
//   out   of each: by how much its velocities in the middle of the step differ from those along the rows at its start,
//         and whether it slides, so that friction is opposite to the mean of the velocities at both ends of a kick
//
// Rows at the start and velocities along them are right to first order: a vertex that something pivots on leaves its
// place along the tangent of its circle, and what turned the velocity is lost, as with closures (shake.hpp). Where the
// shapes are half way they touch at x along n. The two material points that meet there have come closer or apart by u
// over the step, and with n . u = 0 and, sticking, t . u = 0 the step is the same forwards and backwards in time:
//   opening = axes . u / dt - axes_start . (velocities at the start of the motion)
// is the shift of the rows, as it is for closures. Oracle: orders of convergence; a vertex that stays where it is.
#pragma once
#include "scene/contacts.hpp"
#include "step/strays.hpp"
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

template <class S>
class CarriedContacts {
 public:
  CarriedContacts(const RolloutJob& job, const StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                  StepMemory& memory)
      : job_(job), scene_(*job.scene), w_(w), lane_(lane), environment_(environment), memory_(memory) {}

  // Before the first look.
  void forget() const {
    const int n = job_.contacts[environment_].count;
    reserve(memory_.carried[lane_.lane], sizeof(CarriedContact) * static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k) own()[k] = {};
  }

  // The largest change [m/s].
  double look(bool is_first) const {
    const ContactList& contacts = job_.contacts[environment_];
    double change = 0;
    const Contact* last = nullptr;
    for (int k = 0; k < contacts.count; ++k) {
      const Contact& c = contacts.data[k];
      if (!(c.impulse[2] > 0) || c.is_ahead) continue;
      if (!w_.motion.holds && !(last && last->a == c.a && last->b == c.b)) find_halfway(c);
      last = &c;
      CarriedContact next = own()[k];
      const Vec3<double> u = velocity(c, w_.motion.velocity, w_.response);
      if (!w_.motion.holds) find_opening(c, u, next);
      find_slip(c, u, is_first, next);
      for (int r = 0; r < 3; ++r) change = larger_of(change, next.opening[r] - own()[k].opening[r]);
      for (int r = 0; r < 2; ++r) change = larger_of(change, next.slip[r] - own()[k].slip[r]);
      own()[k] = next;
    }
    return change;
  }

 private:
  const RolloutJob& job_;
  const Scene& scene_;
  const StepWorkspace<S>& w_;
  LaneOf<S> lane_;
  std::size_t environment_;
  StepMemory& memory_;

  CarriedContact* own() const { return static_cast<CarriedContact*>(memory_.carried[lane_.lane].data); }
  static Vec3<double> axis(const Contact& c, int r) { return {c.frame[3 * r], c.frame[3 * r + 1], c.frame[3 * r + 2]}; }
  static double larger_of(double most, double x) { return x > most ? x : -x > most ? -x : most; }

  // Of the first side as seen from the second, by the velocities of links and what is added to them.
  Vec3<double> velocity(const Contact& c, const Motion<S>* velocities, const Motion<S>* response) const {
    Vec3<double> u = zero3<double>();
    for (int side = 0; side < 2; ++side) {
      const int link = scene_.shapes[side == 0 ? c.a : c.b].link;
      if (link < 0) continue;
      Motion<double> m = lane_(velocities[link]);
      if (response && scene_.touchable[link]) m += lane_(response[link]);
      u += velocity_at(m, vec3(c.position) - lane_(w_.motion.pose[scene_.root[link]].p)) * (side == 0 ? 1.0 : -1.0);
    }
    return u;
  }

  // By how much the point of a shape that is at x half way moves in the step: vertices of what has some, and of what
  // rolls as far as it rolls, along the arc and not the chord.
  struct Travel {
    Vec3<double> moved;
    double way;  // of the shape's centre, and of what is as far from it as the point and turns fastest [m]
  };
  Travel travel(int shape, const Vec3<double>& x) const {
    const PlacedShape& own = scene_.shapes[shape];
    if (own.link < 0) return {zero3<double>(), 0};
    const Pose<double> X0 = lane_(w_.motion.pose[own.link]), X = lane_(w_.halfway[own.link]),
                       X1 = lane_(w_.placed[own.link]);
    const Vec3<double> center = vec3(own.center), y = transposed_times(X.R, x - X.p) - center;
    const Vec3<double> straight = X1.R * center - X0.R * center + (X1.p - X0.p), turning = X1.R * y - X0.R * y;
    const double s2 = half_turn(X0.R, X1.R);
    return {straight + turning * (is_round(own.shape.kind) ? arc_over_chord(s2) : 1.0),
            root(dot(straight, straight)) + 2 * root(s2 * dot(y, y))};
  }
  static bool is_round(ShapeKind kind) {
    return kind == ShapeKind::sphere || kind == ShapeKind::capsule || kind == ShapeKind::cylinder ||
           kind == ShapeKind::ellipsoid;
  }
  // sin^2 of half the angle between two orientations, to rounding of one.
  static double half_turn(const Mat3<double>& A, const Mat3<double>& B) {
    double trace = 0;
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < 3; ++k) trace += A(r, k) * B(r, k);
    return trace < 3 ? 0.25 * (3 - trace) : 0;
  }
  // x / sin x of half the angle.
  static double arc_over_chord(double s2) {
    if (s2 < 1e-6) return 1 + s2 / 6;  // and the angle is known no better
    const double s = root(s2 < 1 ? s2 : 1);
    return library_atan2(s, root(s2 < 1 ? 1 - s2 : 0)) / s;
  }

  // Contacts of a pair in the middle of the step, into memory.next.
  void find_halfway(const Contact& c) const {
    memory_.next.count = 0;
    const double margin = scene_.materials[c.material].margin + look_ahead + (c.gap > 0 ? c.gap : 0);
    featherweight::find_contacts(scene_, environment_, c.a, c.b, c.material,
                                 placement(scene_.shapes[c.a], w_.halfway, lane_),
                                 placement(scene_.shapes[c.b], w_.halfway, lane_), margin, memory_.next);
  }
  // x as it is seen along the axes of n, of x along those that turned with n to m on the shortest way: axes of
  // contacts by themselves are chosen for each normal anew, and turn about it as well.
  static Vec3<double> turned_back(const Vec3<double>& n, const Vec3<double>& m, const Vec3<double>& x) {
    const Vec3<double> a = cross(m, n), y = cross(a, x);
    const double c = 1 + dot(n, m);
    return c > 0.5 ? x + y + cross(a, y) * (1 / c) : x;
  }
  void find_opening(const Contact& c, const Vec3<double>& u, CarriedContact& next) const {
    const ContactList& found = memory_.next;
    const double floor = VerifyTuning::unseen_opening * lane_(w_.motion.fall);
    for (int k = 0; k < found.count; ++k) {
      const Contact& half = found.data[k];
      if (half.feature != c.feature) continue;
      const Travel a = travel(c.a, vec3(half.position)), b = travel(c.b, vec3(half.position));
      const Vec3<double> moved = (a.moved - b.moved) * (1 / job_.dt);
      const Vec3<double> back = turned_back(axis(c, 2), axis(half, 2), moved);
      double largest = 0;
      for (int r = 0; r < 3; ++r) {
        const double opening = dot(axis(c, r), back) - dot(axis(c, r), u);
        next.opening[r] = opening < floor && -opening < floor ? 0 : opening;
        largest = larger_of(largest, opening);
      }
      // where the point of contact jumps, as between bars side by side, halves of the step tell nothing of each other
      if (largest > VerifyTuning::most_opening * (a.way + b.way) / job_.dt)
        for (double& opening : next.opening) opening = 0;
      return;
    }
  }

  // Friction that turned or stopped what slides within the kick is left as it is.
  void find_slip(const Contact& c, const Vec3<double>& u, bool is_first, CarriedContact& next) const {
    const PairMaterial& material = scene_.materials[c.material];
    const double friction = material.friction * (job_.friction ? job_.friction[environment_] : 1);
    const double tangential = root(c.impulse[0] * c.impulse[0] + c.impulse[1] * c.impulse[1]);
    const Vec3<double> before = velocity(c, w_.motion.start, nullptr);
    double slip[2], along = 0, across = 0, size = 0;
    for (int r = 0; r < 2; ++r) slip[r] = dot(axis(c, r), before), size += slip[r] * slip[r];
    const double end[2] = {dot(axis(c, 0), u), dot(axis(c, 1), u)};
    along = end[0] * slip[0] + end[1] * slip[1], across = end[0] * slip[1] - end[1] * slip[0];
    const bool slides = tangential > (1 - 1e-6) * friction * c.impulse[2] && friction > 0;
    const bool turns = across > 1e-9 * size || -across > 1e-9 * size;
    const bool was_so = next.slip[0] != 0 || next.slip[1] != 0;
    const bool counts = is_first ? slides && turns && along > 0.5 * size : was_so && along > 0;
    for (int r = 0; r < 2; ++r) next.slip[r] = counts ? slip[r] : 0;
  }
};

}  // namespace featherweight::FW_ISA
