// step_diff/contact_diff.hpp -- what a motion of its two links does to a contact: its point, its axes, its gap.
//
// Rows are unit wrenches on two links, opposite to each other: a force along an axis at the point, or a moment about an
// axis. With the rates dp, dc of point and axis,
//   d(wrench) = [dc; dp x c + p x dc],   d(J v) at fixed v = dc . u + c . (w x dp + z)
// where u and w are relative velocities, and z what the turn of the joints inboard does to the velocity of the links.
#pragma once
#include "scene/contact_slopes.hpp"
#include "step_diff/motion.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct ContactRates {
  Vec3<S> point;
  Vec3<S> axis[3];  // t1, t2, n
  S gap;
};
// What multiplies them, and what then multiplies the twists that they are rates of.
using ContactCotangents = ContactRates<double>;
struct PointWrenches {
  Wrench a, b;
};

// What rows act between: a contact; two frames of a closure, whose rows are along and about the axes of the first at
// the origin of the second; two points at the ends of a rod, whose row is along it; a joint that has a limit, or the
// joints of a tendon; or those of a coupling.
enum class Between : int { contact, closure, rod, joints, coupling };

struct DiffContact {
  Between between = Between::contact;
  const Contact* contact;  // or null
  int held;                // which closure, row of joints or coupling
  int link[2];
  Vector point, axis[3];
  Vector rod;  // from the point to its other end
  ContactSlopes slopes;
  int first, count;      // of its degrees of freedom, in the list of all
  int rows;              // first row
  double force[6];       // impulses along and about the axes
  double correction[6];  // of what takes overlaps out, likewise

  bool is_held() const { return between != Between::contact && between != Between::joints; }

  // One without a contact. which: of closures, rows of joints or couplings; row: its first.
  void start(Between what, int which, int row) {
    between = what;
    contact = nullptr;
    held = which;
    link[0] = link[1] = -1;
    rows = row;
    for (int k = 0; k < 6; ++k) force[k] = correction[k] = 0;
  }

  // Of motions of a and b given as twists of the point.
  template <class S>
  ContactRates<S> rates(const Motion<S>& a, const Motion<S>& b) const {
    if (between == Between::closure) {
      const auto turn = [&](int k) { return FW_ISA::cross(a.ang, axis[k]); };
      return {b.lin, {turn(0), turn(1), turn(2)}, S(0)};
    }
    if (between == Between::rod) {
      const Vector& along = axis[0];
      const Vec3<S> stretch = a.lin + FW_ISA::cross(a.ang, rod) - b.lin;
      const Vec3<S> turn = (stretch - along * FW_ISA::dot(along, stretch)) * S(1 / FW_ISA::dot(along, rod));
      return {b.lin, {turn, zero3<S>(), zero3<S>()}, S(0)};
    }
    const Motion<S> seen = a - b;
    const S x[6] = {seen.lin[0], seen.lin[1], seen.lin[2], seen.ang[0], seen.ang[1], seen.ang[2]};
    ContactRates<S> r{b.lin, {}, S(0)};
    Vec3<S> n = FW_ISA::cross(b.ang, axis[2]);
    for (int c = 0; c < 6; ++c) {
      r.gap = r.gap + x[c] * S(slopes.gap[c]);
      for (int i = 0; i < 3; ++i) {
        r.point[i] = r.point[i] + x[c] * S(slopes.position[i][c]);
        n[i] = n[i] + x[c] * S(slopes.normal[i][c]);
      }
    }
    turn_frame(n, r);
    return r;
  }
  // The same transposed, of a contact: w . rates(a, b) = a . out.a + b . out.b
  PointWrenches pulled_back(const ContactCotangents& w) const {
    const Vector turned = turned_back(w);
    double x[6];
    for (int c = 0; c < 6; ++c) {
      x[c] = w.gap * slopes.gap[c];
      for (int i = 0; i < 3; ++i) x[c] += w.point[i] * slopes.position[i][c] + turned[i] * slopes.normal[i][c];
    }
    const Wrench seen{{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
    return {seen, Wrench{w.point, FW_ISA::cross(axis[2], turned)} - seen};
  }

 private:
  // turn_frame transposed: what multiplies the rate of the normal.
  Vector turned_back(const ContactCotangents& w) const {
    const Vector& n = axis[2];
    const int k = tangent_axis();
    const double scale = 1 / axis[0][k];
    Vector raw = w.axis[0] + FW_ISA::cross(w.axis[1], n);
    raw = raw - axis[0] * FW_ISA::dot(axis[0], raw);
    Vector out = w.axis[2] + FW_ISA::cross(axis[0], w.axis[1]) - raw * (scale * n[k]);
    out[k] -= scale * FW_ISA::dot(n, raw);
    return out;
  }
  int tangent_axis() const { return (axis[2][0] < 0 ? -axis[2][0] : axis[2][0]) < 0.9 ? 0 : 1; }
  // Tangents as of set_frame (scene/contacts.hpp): the first is a coordinate axis, as far as it is across the normal.
  template <class S>
  void turn_frame(const Vec3<S>& dn, ContactRates<S>& r) const {
    const Vector& n = axis[2];
    const int k = tangent_axis();
    const double scale = 1 / axis[0][k];  // its component there was its length
    const Vec3<S> raw = (n * -dn[k] + dn * S(-n[k])) * S(scale);
    r.axis[0] = raw - axis[0] * FW_ISA::dot(axis[0], raw);
    r.axis[1] = FW_ISA::cross(dn, axis[0]) + FW_ISA::cross(n, r.axis[0]);
    r.axis[2] = dn;
  }
};

}  // namespace featherweight::FW_ISA
