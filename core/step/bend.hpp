// step/bend.hpp -- the shortest way of a thread past a ball or a cylinder.
//
// In the plane across the axis of the cylinder, or through the ends and the centre of the ball, the thread is straight,
// or it is straight up to the circle, follows it, and is straight again. Along a cylinder its height grows in
// proportion to its way in that plane: it is straight where the surface is unrolled. A point on a side of the shape
// tells which way round. If that is inside, the thread is on the inside: it runs straight through the circle, or is
// deflected towards it at one point, where both parts meet the circle at the same angle.
// Source: MuJoCo's documentation, "tendon/spatial/geom", for which way is taken where there are two.
// Oracle: MuJoCo's ten_length, ten_wrapadr and ten_J; the twin, by angles; the shortest of many lines.
#pragma once
#include "kinematics/integrate.hpp"
#include "linalg/vectors.hpp"
#include "spatial/spatial.hpp"

namespace featherweight::FW_ISA {

// Where a thread meets the shape and where it leaves it, in the coordinates of the shape, and how far it follows it.
struct Bend {
  bool is_straight = true;
  double along = 0;
  Vec3<double> from = zero3<double>(), to = zero3<double>();
};

struct PlanePoint {
  double x, y;

  FW_INLINE friend PlanePoint operator+(const PlanePoint& a, const PlanePoint& b) { return {a.x + b.x, a.y + b.y}; }
  FW_INLINE friend PlanePoint operator-(const PlanePoint& a, const PlanePoint& b) { return {a.x - b.x, a.y - b.y}; }
  FW_INLINE friend PlanePoint operator*(const PlanePoint& a, double s) { return {a.x * s, a.y * s}; }
  FW_INLINE friend double dot(const PlanePoint& a, const PlanePoint& b) { return a.x * b.x + a.y * b.y; }
  FW_INLINE friend double turn(const PlanePoint& a, const PlanePoint& b) { return a.x * b.y - a.y * b.x; }
};
FW_INLINE double length_of(const PlanePoint& a) { return root(dot(a, a)); }

// The same in the plane.
struct PlaneBend {
  bool is_straight = true;
  double along = 0;
  PlanePoint from{0, 0}, to{0, 0};
};

struct BendTuning {
  // Shorter lengths are none [m], as in MuJoCo.
  static constexpr double nothing = 1e-15;
  // Of the point at which a thread inside is deflected: Newton's iterations, each within the interval that is left.
  static constexpr int most_iterations = 60;
};

// The point of a segment that is nearest to the origin.
inline PlanePoint nearest_point(const PlanePoint& a, const PlanePoint& b) {
  const PlanePoint ab = b - a;
  const double squares = dot(ab, ab), s = squares > 0 ? -dot(ab, a) / squares : 0;
  return a + ab * (s < 0 ? 0 : s > 1 ? 1 : s);
}

// The way that turns so (1: counterclockwise) about the circle: tangents from both ends.
inline PlaneBend way_around(const PlanePoint& a, const PlanePoint& b, double radius, double turning, bool is_far) {
  const auto tangent_point = [&](const PlanePoint& p, double towards) {
    const double squares = dot(p, p), along = radius * radius / squares;
    const double across = towards * radius * root(squares - radius * radius) / squares;
    return PlanePoint{p.x * along - p.y * across, p.y * along + p.x * across};
  };
  PlaneBend bend{false, 0, tangent_point(a, turning), tangent_point(b, -turning)};
  constexpr double whole_turn = 6.283185307179586477;
  double angle = turning * library_atan2(turn(bend.from, bend.to), dot(bend.from, bend.to));
  if (angle < 0) angle = is_far ? angle + whole_turn : 0;  // the near way is grazed
  bend.along = radius * angle;
  return bend;
}

// The near way is within the angle between both ends. side: null, or a direction: the thread runs on the far side if it
// is opposite to that angle.
inline PlaneBend bend_outside(const PlanePoint& a, const PlanePoint& b, double radius, const PlanePoint* side) {
  const PlanePoint ab = b - a;
  if (dot(a, a) < radius * radius || dot(b, b) < radius * radius || dot(ab, ab) < BendTuning::nothing) return {};
  const double near_turning = turn(a, b) < 0 ? -1 : 1;
  const bool is_far = side && near_turning * turn(a, *side) < 0 && near_turning * turn(*side, b) < 0;
  const PlanePoint nearest = nearest_point(a, b);
  if (dot(nearest, nearest) > radius * radius && !is_far) return {};
  return way_around(a, b, radius, is_far ? -near_turning : near_turning, is_far);
}

// Where a thread that runs inside a circle is deflected, if its ends are outside and it would pass beside.
inline PlaneBend bend_inside(const PlanePoint& a, const PlanePoint& b, double radius) {
  const double at_a = length_of(a), at_b = length_of(b);
  if (at_a <= radius || at_b <= radius) return {};
  const PlanePoint nearest = nearest_point(a, b);
  if (dot(nearest, nearest) <= radius * radius) return {};
  const double between = library_atan2(turn(a, b), dot(a, b)), whole = magnitude(between);
  // the sines of the angles at which both parts meet the circle, and their slopes, at an angle from a
  const auto sine = [&](double distance, double angle, double& slope) {
    const double s = __builtin_sin(angle), c = __builtin_cos(angle);
    const double squares = radius * radius + distance * distance - 2 * radius * distance * c, way = root(squares);
    slope = distance * c / way - distance * s * (radius * distance * s) / (squares * way);
    return distance * s / way;
  };
  double low = 0, high = whole, angle = 0.5 * whole;
  for (int i = 0; i < BendTuning::most_iterations && high > low; ++i) {
    double slope_a, slope_b;
    const double excess = sine(at_a, angle, slope_a) - sine(at_b, whole - angle, slope_b);
    (excess > 0 ? high : low) = angle;
    double next = angle - excess / (slope_a + slope_b);
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (magnitude(next - angle) < 1e-16) break;
    angle = next;
  }
  const double turned = between < 0 ? -angle : angle, c = __builtin_cos(turned), s = __builtin_sin(turned);
  const PlanePoint along = a * (radius / at_a), at{along.x * c - along.y * s, along.y * c + along.x * s};
  return {false, 0, at, at};
}

// From a to b past a ball at the origin, or past a cylinder along z; side: a point that tells which way, or null.
inline Bend bend_thread(bool is_ball, double radius, const Vec3<double>& a, const Vec3<double>& b,
                        const Vec3<double>* side) {
  Bend bend;
  const double at_a = root(dot(a, a));
  if (radius < BendTuning::nothing || at_a < BendTuning::nothing || root(dot(b, b)) < BendTuning::nothing) return bend;
  Vec3<double> x{1, 0, 0}, y{0, 1, 0};
  if (is_ball) {
    x = a * (1 / at_a);
    Vec3<double> normal = cross(a, b);
    if (root(dot(normal, normal)) < BendTuning::nothing) {  // any plane will do: across its least axis
      int least = 0;
      for (int k = 1; k < 3; ++k) least = magnitude(x[k]) < magnitude(x[least]) ? k : least;
      Vec3<double> e = zero3<double>();
      e[least] = 1;
      normal = cross(x, e);
    }
    y = cross(normal, x);
    y = y * (1 / root(dot(y, y)));
  }
  const auto in_plane = [&](const Vec3<double>& p) { return PlanePoint{dot(x, p), dot(y, p)}; };
  const PlanePoint a_plane = in_plane(a), b_plane = in_plane(b);
  PlaneBend flat;
  if (side && root(dot(*side, *side)) < radius) {
    flat = bend_inside(a_plane, b_plane, radius);
  } else {
    const PlanePoint towards = side ? in_plane(*side) : PlanePoint{0, 0};
    flat = bend_outside(a_plane, b_plane, radius, side ? &towards : nullptr);
  }
  if (flat.is_straight) return bend;
  bend = {false, flat.along, x * flat.from.x + y * flat.from.y, x * flat.to.x + y * flat.to.y};
  if (is_ball) return bend;
  const double before = length_of(flat.from - a_plane), after = length_of(b_plane - flat.to);
  const double per_way = (b[2] - a[2]) / (before + flat.along + after);
  bend.from[2] = a[2] + per_way * before;
  bend.to[2] = a[2] + per_way * (before + flat.along);
  const double rise = bend.to[2] - bend.from[2];
  bend.along = root(flat.along * flat.along + rise * rise);
  return bend;
}

}  // namespace featherweight::FW_ISA
