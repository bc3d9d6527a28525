// step/nearby.hpp -- which pairs of shapes may touch in this step, on lanes: by bounding spheres, capsules and boxes
// that grow with the travel of each shape in a step, and over planes by the shapes themselves.
#pragma once
#include "scene/contacts.hpp"
#include "step/along_row.hpp"
#include "step/cone_rows.hpp"

namespace featherweight::FW_ISA {

// A bounding sphere, and how far its shape moves in a step: its centre, and what turns around that.
template <class S>
struct Bound {
  Vec3<S> center;
  S travel;
  Vec3<S> half;  // of the segment of its bounding capsule
};

// How far a shape moves in a step if its link has velocity m about the root of its tree.
template <class S>
FW_INLINE S travel_of(const Scene& scene, const PlacedShape& shape, const FreeMotion<S>& motion, const Motion<S>& m,
                      const Vec3<S>& center, const S& dt) {
  const Vec3<S> u = velocity_at(m, center - motion.pose[scene.root[shape.link]].p);
  S speed = square_root(dot(u, u));
  if (shape.shape.kind != ShapeKind::sphere) speed = speed + square_root(dot(m.ang, m.ang)) * shape.shape.radius;
  return speed * dt;
}

template <class S>
FW_INLINE Bound<S> bound(const Scene& scene, const PlacedShape& shape, const FreeMotion<S>& motion, const S& dt) {
  const Vec3<double> c = vec3(shape.center);
  const Vec3<double> half = vec3(shape.half);
  if (shape.link < 0) return {{S(c[0]), S(c[1]), S(c[2])}, S(0), {S(half[0]), S(half[1]), S(half[2])}};
  const Pose<S>& X = motion.pose[shape.link];
  const Vec3<S> center = X.R * c + X.p;
  const S travel = travel_of(scene, shape, motion, motion.velocity[shape.link], center, dt);
  return {center, travel, shape.is_long() ? X.R * half : zero3<S>()};
}

// The square of the distance of two segments with their middles `apart` and halves a and b, of lengths that do not
// depend on the lane. [Ericson 2005, 5.1.9]
template <class S>
FW_INLINE S squared_distance(const Vec3<S>& apart, const Vec3<S>& a, double aa, const Vec3<S>& b, double bb) {
  const auto within = [](const S& x) FW_LAMBDA_INLINE { return larger(smaller(x, S(1)), S(-1)); };
  const S ab = dot(a, b), ad = dot(a, apart), bd = dot(b, apart);
  const double per_aa = aa > 0 ? 1 / aa : 0, per_bb = bb > 0 ? 1 / bb : 0;
  const S det = S(aa * bb) - ab * ab;
  const auto crosses = det > S(1e-12 * aa * bb);  // else any point of the one will do
  S s = select(crosses, within((ab * bd - ad * bb) / select(crosses, det, S(1))), S(0));
  const S t = within((ab * s + bd) * per_bb);
  s = within((ab * t - ad) * per_aa);
  const Vec3<S> d = apart + a * s - b * t;
  return dot(d, d);
}

template <class S>
FW_INLINE Placement<double> placement(const PlacedShape& shape, const Pose<S>* poses, LaneOf<S> lane) {
  Pose<double> X{mat3(shape.R), vec3(shape.p)};
  if (shape.link >= 0) X = compose(lane(poses[shape.link]), X.R, X.p);
  Placement<double> out;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) out.R[3 * r + c] = X.R(r, c);
    out.p[r] = X.p[r];
  }
  return out;
}

// The velocity at which a limit is reached at the end of the step, or 0 where it is already [rad/s or m/s].
template <class S>
FW_INLINE S closing_speed(const Scene& scene, const JointRow& row, const FreeMotion<S>& motion, double per_dt) {
  if (row.is_tendon()) return larger(gap_of_row(scene, motion.struts, row, motion.q, AllLanes<S>{}) * S(per_dt), S(0));
  return larger((motion.q[row.term.q] - row.bound) * (S(row.term.coefficient) * per_dt), S(0));
}

// The velocity v of a joint in the direction of what its drive would have to take back; where that is nothing, none.
template <class S>
FW_INLINE S speed_of_drive(const JointRow& row, const FreeMotion<S>& motion, const S& v) {
  const S& drive = motion.drive[row.actuator];
  return select(drive > S(0), v, select(drive < S(0), -v, S(-DetectTuning::everything)));
}

// Calls near(row, excess) for joint rows that may act in any lane: in those where the excess is negative. `change`: of
// velocities by impulses; null: none yet.
template <class S, class Near>
void for_nearby_joint_rows(const Scene& scene, const FreeMotion<S>& motion, const S* change, double per_dt,
                           const Near& near) {
  const AllLanes<S> all;
  const auto excess_of = [&](const JointRow& row) FW_LAMBDA_INLINE {
    const S excess = closing_speed(scene, row, motion, per_dt) +
                     along_row(scene, motion.struts, row, motion.v_free, all) - DetectTuning::joint_reach;
    return change ? excess - larger(-along_row(scene, motion.struts, row, change, all), S(0)) : excess;
  };
  // A drive that is a force is a row only where the joint nears the velocity at which some of it is taken back.
  const auto excess_of_drive = [&](const JointRow& row) FW_LAMBDA_INLINE {
    const Actuator& a = scene.actuators[row.actuator];
    const S free = speed_of_drive(row, motion, motion.v_free[row.term.dof]);
    const S with = change ? speed_of_drive(row, motion, motion.v_free[row.term.dof] + change[row.term.dof]) : free;
    return S(DetectTuning::share_of_velocity_limit * a.velocity) - larger(free, with);
  };
  // Joints are mostly far from both of their limits, in whichever direction they move: where this is not negative.
  const auto excess_of_both = [&](const JointRow& lower, const JointRow& upper) FW_LAMBDA_INLINE {
    const S &q = motion.q[lower.term.q], below = q - lower.bound, above = S(upper.bound) - q;
    S speed = abs(motion.v_free[lower.term.dof]);
    if (change) speed = speed + abs(change[lower.term.dof]);
    return select(below < above, below, above) * per_dt - speed - DetectTuning::joint_reach;
  };
  for (int k = 0; k < scene.n_joint_rows; ++k) {
    const JointRow &row = scene.joint_rows[k], &next = scene.joint_rows[k + 1];
    const bool two = row.kind == JointRow::lower_limit && k + 1 < scene.n_joint_rows &&
                     next.kind == JointRow::upper_limit && next.term.dof == row.term.dof &&
                     !(row.is_tendon() || next.is_tendon());
    if (!two) {
      const S excess = row.is_limit()           ? excess_of(row)
                       : row.is_tendon()        ? S(-1)
                       : scene.is_interval(row) ? motion.intervals[k].nearness
                                                : excess_of_drive(row);
      if (any(excess, excess < S(0))) near(k, excess);
      continue;
    }
    const S of_both = excess_of_both(row, next);
    if (any(of_both, of_both < S(0)))  // in other lanes neither is near, however the excess of one is rounded
      for (int i = k; i < k + 2; ++i) {
        const JointRow& limit = scene.joint_rows[i];
        const S excess = larger(excess_of(limit), of_both);
        if (any(excess, excess < S(0))) near(i, excess);
      }
    ++k;
  }
}

// How far a shape reaches from its centre along a direction of the world, exactly where that is simple, else by its
// bounding sphere.
template <class S>
FW_INLINE S reach_along(const PlacedShape& shape, const FreeMotion<S>& motion, const Vec3<double>& direction) {
  const Shape& own = shape.shape;
  if (own.kind == ShapeKind::sphere || own.kind == ShapeKind::convex || own.kind == ShapeKind::height_field)
    return S(own.radius);
  const Mat3<S>& R = motion.pose[shape.link].R;
  const Vec3<S> d = R.rows[0] * direction[0] + R.rows[1] * direction[1] + R.rows[2] * direction[2];
  const auto along = [&](int k)
                         FW_LAMBDA_INLINE { return dot(d, Vec3<double>{shape.R[k], shape.R[3 + k], shape.R[6 + k]}); };
  switch (own.kind) {
    case ShapeKind::capsule: return abs(along(2)) * own.size[1] + own.size[0];
    case ShapeKind::cylinder: {
      const S c = abs(along(2)), s2 = S(1) - c * c;
      return c * own.size[1] + square_root(select(s2 > S(0), s2, S(0))) * own.size[0];
    }
    case ShapeKind::ellipsoid: {
      S sum(0);
      for (int k = 0; k < 3; ++k) {
        const S x = along(k) * own.size[k];
        sum = sum + x * x;
      }
      return square_root(sum);
    }
    default: return abs(along(0)) * own.size[0] + abs(along(1)) * own.size[1] + abs(along(2)) * own.size[2];
  }
}

// Negative where the bounding capsules of a pair may come within the margin.
template <class S>
FW_INLINE S capsule_distance(const PlacedShape& a, const PlacedShape& b, const Bound<S>* bounds, const ScenePair& pair,
                             const S& margin) {
  const Bound<S>&of_a = bounds[pair.a], &of_b = bounds[pair.b];
  const Vec3<double> half_a = vec3(a.half), half_b = vec3(b.half);
  const S reach = margin + (a.capsule_radius() + b.capsule_radius());
  return squared_distance(of_a.center - of_b.center, of_a.half, dot(half_a, half_a), of_b.half, dot(half_b, half_b)) -
         reach * reach;
}

// The axes of a shape in those of the world, in columns.
template <class S>
FW_INLINE Mat3<S> axes_of(const PlacedShape& shape, const FreeMotion<S>& motion) {
  const Mat3<double> R = mat3(shape.R);
  if (shape.link >= 0) return motion.pose[shape.link].R * R;
  const auto on_lanes = [&](int r) { return Vec3<S>{S(R(r, 0)), S(R(r, 1)), S(R(r, 2))}; };
  return {on_lanes(0), on_lanes(1), on_lanes(2)};
}

// Negative where no axis of either bounding box shows that they stay apart by more than the margin. Of the fifteen axes
// that decide it for boxes [Gottschalk et al. 1996] these are the six that mostly do.
template <class S>
S box_distance(const PlacedShape& a, const PlacedShape& b, const FreeMotion<S>& motion, const Vec3<S>& apart,
               const S& margin) {
  const Mat3<S> A = axes_of(a, motion), B = axes_of(b, motion);
  const Vec3<S> along_a = transposed_times(A, apart), along_b = transposed_times(B, apart);
  const S reach = margin + (a.box.round + b.box.round);
  S gap_b[3];
  for (int j = 0; j < 3; ++j) gap_b[j] = abs(along_b[j]) - b.box.half[j] - reach;
  S largest;
  for (int i = 0; i < 3; ++i) {
    S gap_a = abs(along_a[i]) - a.box.half[i] - reach;
    for (int j = 0; j < 3; ++j) {
      const S turned = abs(A(0, i) * B(0, j) + A(1, i) * B(1, j) + A(2, i) * B(2, j));
      gap_a = gap_a - turned * b.box.half[j];
      gap_b[j] = gap_b[j] - turned * a.box.half[i];
    }
    largest = i == 0 ? gap_a : larger(largest, gap_a);
  }
  return larger(larger(largest, gap_b[0]), larger(gap_b[1], gap_b[2]));
}

// Negative where a pair whose bounding spheres may touch may do so itself. The distances have different units: only
// their signs count, so that the neighbours are not asked.
template <class S>
S closer_distance(const PlacedShape& a, const PlacedShape& b, const FreeMotion<S>& motion, const Bound<S>* bounds,
                  const ScenePair& pair, const S& margin, const S& of_spheres) {
  S distance = of_spheres;
  if (a.is_long() || b.is_long()) distance = larger(distance, capsule_distance(a, b, bounds, pair, margin));
  if (a.box.is_finite && b.box.is_finite && (a.has_faces() || b.has_faces()) && any(distance, distance < S(0)))
    distance = larger(distance, box_distance(a, b, motion, bounds[pair.a].center - bounds[pair.b].center, margin));
  return distance;
}

// Calls near(pair, distance, margin) for pairs that may touch in any lane: in those where the distance is negative.
// Contacts within the margin count.
template <class S, class Near>
void for_nearby_pairs(const Scene& scene, const FreeMotion<S>& motion, const Bound<S>* bounds, const Near& near) {
  for (int k = 0; k < scene.n_pairs; ++k) {
    const ScenePair& pair = scene.pairs[k];
    const Bound<S>&of_a = bounds[pair.a], &of_b = bounds[pair.b];
    const S travel = of_a.travel + of_b.travel;
    const Vec3<S> apart = of_a.center - of_b.center;
    if (pair.side == ScenePair::body) {
      const S reach = travel + pair.reach, of_spheres = dot(apart, apart) - reach * reach;
      if (!any(of_spheres, of_spheres < S(0))) continue;
      const S margin = travel + pair.margin;
      const S distance =
          closer_distance(scene.shapes[pair.a], scene.shapes[pair.b], motion, bounds, pair, margin, of_spheres);
      if (any(distance, distance < S(0))) near(pair, distance, margin);
      continue;
    }
    const PlacedShape &a = scene.shapes[pair.a], &b = scene.shapes[pair.b];
    const S margin = travel + pair.margin;
    S distance(-1);
    if (pair.side == ScenePair::ground) {
      const Vec3<double> normal{b.R[2], b.R[5], b.R[8]};
      const S height = dot(apart, normal) - margin;
      distance = height - a.shape.radius;
      // never nearer than its sphere, so that rounding does not ask the neighbours
      if (any(distance, distance < S(0))) distance = larger(distance, height - reach_along(a, motion, normal));
    }
    if (any(distance, distance < S(0))) near(pair, distance, margin);
  }
}

}  // namespace featherweight::FW_ISA
