#include "scene/ahead.hpp"

#include <algorithm>

#include "collision/vector.hpp"

namespace featherweight {

using namespace geometry;

namespace {

struct AheadTuning {
  // Shapes have glanced off if they are farther apart at the end than this [1] of their approach in a step, or if the
  // cosine of the angle by which their normal has turned is less than this [1] (0.1 rad).
  // tests/physics/test_passing.py.
  static constexpr double apart = 0.1, as_before = 0.995;
};

// Where the point of a moving shape that is at p later was at the start.
Vec point_at_start(const Moving& m, const Placement<double>& later, const Vec& p) {
  const Vec d = p - load(later.p);
  const double *R = later.R, *S = m.start.R;
  Vec at_start = load(m.start.p);
  for (int c = 0; c < 3; ++c) {
    const double local = R[c] * d[0] + R[3 + c] * d[1] + R[6 + c] * d[2];
    for (int r = 0; r < 3; ++r) at_start[r] += S[3 * r + c] * local;
  }
  return at_start;
}

// How much the first of two shapes has its point where it belongs.
double share(const Scene& scene, int a, int b) {
  if (scene.shapes[a].link < 0) return 0;
  if (scene.shapes[b].link < 0) return 1;
  const double ra = scene.shapes[a].shape.radius, rb = scene.shapes[b].shape.radius;
  return rb * rb / (ra * ra + rb * rb);
}

// How fast the gap of a contact opens [m/s].
double opening(const Moving& a, const Moving& b, const Contact& c) {
  double u_a[3], u_b[3];
  velocity_at(a, c.position, u_a), velocity_at(b, c.position, u_b);
  return dot(load(c.frame + 6), load(u_a) - load(u_b));
}

// Whether shapes that no longer approach each other along the normal of a contact at `time` touch elsewhere at the end,
// or not at all.
bool glances_off(const Moving& a, const Moving& b, const Contact& c, double time, double duration, double margin) {
  const double closing = -opening(a, b, c), far = AheadTuning::apart * closing * duration;
  if (!(closing > 0 && time < duration)) return false;
  Placement<double> X_a = placed(a, duration);
  store(load(X_a.p) + (closing * (duration - time)) * load(c.frame + 6), X_a.p);
  ContactPoint points[max_points];
  const int n = collide(*a.shape, X_a, *b.shape, placed(b, duration), margin + far, points);
  return std::none_of(points, points + n, [&](const ContactPoint& p) {
    return p.gap - margin < far && dot(load(p.normal), load(c.frame + 6)) > AheadTuning::as_before;
  });
}

}  // namespace

void find_contacts_ahead(const Scene& scene, std::size_t environment, int a, int b, int material,
                         const Moving& motion_a, const Moving& motion_b, double time, double duration, double margin,
                         ContactList& list) {
  const Placement<double> X_a = placed(motion_a, time), X_b = placed(motion_b, time);
  const int first = list.count;
  find_contacts(scene, environment, a, b, material, X_a, X_b, margin, list);
  if (list.count == first) return;
  const double of_a = share(scene, a, b);
  for (int k = first; k < list.count; ++k) {
    Contact& c = list.data[k];
    const Vec p = load(c.position);
    const Vec at_start = of_a * point_at_start(motion_a, X_a, p) + (1 - of_a) * point_at_start(motion_b, X_b, p);
    store(at_start, c.position);
    c.is_ahead = true;
  }
  const Contact& closest = *std::min_element(list.data + first, list.data + list.count,
                                             [](const Contact& x, const Contact& y) { return x.gap < y.gap; });
  if (glances_off(motion_a, motion_b, closest, time, duration, scene.materials[material].margin)) return;
  for (int k = first; k < list.count; ++k) list.data[k].gap -= time * opening(motion_a, motion_b, list.data[k]);
}

}  // namespace featherweight
