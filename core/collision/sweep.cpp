#include "collision/sweep.hpp"

#include <algorithm>
#include <cmath>

#include "collision/vector.hpp"

namespace featherweight {

using namespace geometry;

namespace {

struct SweepTuning {
  // Advances at most. Shapes that do not turn take one or two; what is not decided then counts as a hit, so that
  // nothing passes through anything. tests/collision/test_sweep.py.
  static constexpr int most_advances = 64;
  // [rad] below which the coefficients of a rotation are their series.
  static constexpr double small_turn = 1e-4;
};

// The rotation by `angular * time`: of vectors, and integrated over the time.
struct Turn {
  Vec axis;             // times the angle
  double sine, cosine;  // sin(x)/x and (1 - cos(x))/x^2
  double integral;      // (x - sin(x))/x^3
  Turn(const Vec& angular, double time) : axis(time * angular) {
    const double x2 = norm2(axis), x = std::sqrt(x2);
    if (x < SweepTuning::small_turn) {
      sine = 1 - x2 / 6, cosine = 0.5 - x2 / 24, integral = 1 / 6.0 - x2 / 120;
    } else {
      sine = std::sin(x) / x, cosine = (1 - std::cos(x)) / x2, integral = (1 - sine) / x2;
    }
  }
  Vec turned(const Vec& u) const {
    const Vec across = cross(axis, u);
    return u + sine * across + cosine * cross(axis, across);
  }
  // The mean of u while it turns.
  Vec mean(const Vec& u) const {
    const Vec across = cross(axis, u);
    return u + cosine * across + integral * cross(axis, across);
  }
};

// How fast points of a shape go along n because it turns, at most.
double turning_speed(const Moving& m, const Vec& n) {
  const Vec angular = load(m.angular);
  const double along = norm(cross(angular, n));
  switch (m.shape->kind) {
    case ShapeKind::sphere: return 0;
    case ShapeKind::capsule:
    case ShapeKind::cylinder: {  // spin about the axis moves nothing
      const Vec axis{m.start.R[2], m.start.R[5], m.start.R[8]};
      return std::min(along, norm(cross(angular, axis))) * m.shape->radius;
    }
    default: return along * m.shape->radius;
  }
}
// How far a shape can go along n per time, from `time` on for as long as `left`.
double speed_along(const Moving& m, const Vec& n, double time, double left) {
  const Vec angular = load(m.angular), turning = load(m.turning);
  return dot(n, load(m.straight) + Turn(angular, time).turned(turning)) + 0.5 * left * norm(cross(angular, turning)) +
         turning_speed(m, n);
}
double fastest(const Moving& m) {
  return norm(load(m.straight)) + norm(load(m.turning)) + norm(load(m.angular)) * m.shape->radius;
}

}  // namespace

Placement<double> placed(const Moving& m, double time) {
  const Vec angular = load(m.angular);
  if (norm2(angular) == 0 && norm2(load(m.straight)) == 0 && norm2(load(m.turning)) == 0) return m.start;
  const Turn turn(angular, time);
  Placement<double> X;
  const double* R = m.start.R;
  for (int c = 0; c < 3; ++c) {
    const Vec column = turn.turned({R[c], R[3 + c], R[6 + c]});
    for (int r = 0; r < 3; ++r) X.R[3 * r + c] = column[r];
  }
  const Vec center = load(m.center), moved = time * (load(m.straight) + turn.mean(load(m.turning)));
  const Vec origin = turn.turned(load(m.start.p) - center);
  store(center + origin + moved, X.p);
  return X;
}

void velocity_at(const Moving& m, const double* position, double* velocity) {
  store(load(m.straight) + load(m.turning) + cross(load(m.angular), load(position) - load(m.center)), velocity);
}

Meeting sweep(const Moving& a, const Moving& b, double duration, double margin, const Depths& depths,
              const double* normal, double gap, const Carried& carried) {
  const bool is_field = b.shape->kind == ShapeKind::height_field || a.shape->kind == ShapeKind::height_field;
  const double speed = fastest(a) + fastest(b);
  Meeting meeting{Passage::misses, 0, {}};
  double time = 0;
  // the closest points at `time`; false if they are too far apart to meet
  const auto look = [&] {
    ContactPoint points[max_points];
    int n = collide(*a.shape, placed(a, time), *b.shape, placed(b, time),
                    margin + depths.most + (duration - time) * speed, points);
    n = static_cast<int>(std::remove_if(points, points + n, [&](const auto& p) { return carried.has(p.normal); }) -
                         points);
    if (n == 0) return false;
    const ContactPoint* const closest =
        std::min_element(points, points + n, [](const auto& p, const auto& q) { return p.gap < q.gap; });
    gap = closest->gap - margin;
    std::copy_n(closest->normal, 3, meeting.normal);
    return true;
  };
  if (normal)
    std::copy_n(normal, 3, meeting.normal);
  else if (!look())
    return meeting;
  for (int advances = 0;; ++advances) {
    const double left = duration - time;
    const Vec n = load(meeting.normal);
    // a field is not convex: what is beside the normal may be closer
    const double closing = is_field ? speed : speed_along(a, -n, time, left) + speed_along(b, n, time, left);
    if (!(closing * left > gap)) return meeting;
    if (gap <= -depths.least || advances == SweepTuning::most_advances) {
      meeting.passage = Passage::hits;
      meeting.time = std::max(0.0, time + std::min(0.0, gap) / closing);
      return meeting;
    }
    if (!(closing * left > gap + depths.most)) break;
    time += (gap + depths.most) / closing;
    if (!look()) return meeting;
  }
  time = duration;
  if (look() && gap < -depths.none) meeting.passage = Passage::grazes, meeting.time = duration;
  return meeting;
}

}  // namespace featherweight
