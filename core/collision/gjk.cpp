#include "collision/gjk.hpp"

#include <algorithm>
#include <cmath>

namespace featherweight::geometry {
namespace {

struct GjkTuning {
  // Polytopes end in about ten, curved cores converge linearly to a limit of their rounding.
  static constexpr int max_iterations = 128;
  // [1] of the squared distance: duality gap at the end. Rounding, for polytopes.
  static constexpr double converged = 1e-14;
  // [1] the same with curved cores, to which convergence is slow: the polish does the rest.
  static constexpr double converged_curved = 1e-9;
  // [1] of the largest vertex of the difference: a shorter distance has no direction, and the cores touch.
  static constexpr double touching = 1e-9;
  // [1] of the product of its edges: a tetrahedron of less volume is flat, and the signs of its parts are rounding.
  static constexpr double flat = 1e-15;
};

bool same_sign(double a, double b) { return (a > 0 && b > 0) || (a < 0 && b < 0); }

void keep(Simplex& s, int i, double weight) {
  s.n = 1;
  s.point[0] = s.point[i];
  s.weight[0] = weight;
}

Vec closest(const Simplex& s) {
  Vec v{};
  for (int k = 0; k < s.n; ++k) v = v + s.weight[k] * s.point[k].w;
  return v;
}

// Each of these replaces the simplex by its face closest to the origin and gives the weights there.
void closest_of_segment(Simplex& s) {
  const Vec p = s.point[0].w, d = s.point[1].w - p;
  const double length2 = norm2(d);
  if (!(length2 > 0)) return keep(s, 0, 1);
  const double t = -dot(p, d) / length2;
  if (t <= 0) return keep(s, 0, 1);
  if (t >= 1) return keep(s, 1, 1);
  s.weight[0] = 1 - t, s.weight[1] = t;
}

// The best of the faces opposite to the points marked.
void closest_of_faces(Simplex& s, const bool* opposite, void (*closest_of_face)(Simplex&)) {
  Simplex best;
  double shortest = 0;
  for (int skip = 0; skip < s.n; ++skip) {
    if (!opposite[skip]) continue;
    Simplex face;
    for (int k = 0; k < s.n; ++k)
      if (k != skip) face.point[face.n++] = s.point[k];
    closest_of_face(face);
    const double length = norm2(closest(face));
    if (best.n == 0 || length < shortest) best = face, shortest = length;
  }
  s = best;
}

void closest_of_triangle(Simplex& s) {
  const Vec &p = s.point[0].w, &q = s.point[1].w, &r = s.point[2].w;
  const Vec n = cross(q - p, r - p);
  const double n2 = norm2(n);
  const bool all[3] = {true, true, true};
  if (!(n2 > 0)) return closest_of_faces(s, all, closest_of_segment);
  const Vec o = (dot(n, p) / n2) * n;  // the origin, projected
  const int k = std::fabs(n[0]) >= std::fabs(n[1]) && std::fabs(n[0]) >= std::fabs(n[2]) ? 0
                : std::fabs(n[1]) >= std::fabs(n[2])                                     ? 1
                                                                                         : 2;
  const double area[3] = {cross(q - o, r - o)[k], cross(r - o, p - o)[k], cross(p - o, q - o)[k]};
  bool opposite[3], inside = true;
  for (int j = 0; j < 3; ++j) {
    opposite[j] = !same_sign(area[j], n[k]);
    inside = inside && !opposite[j];
  }
  if (!inside) return closest_of_faces(s, opposite, closest_of_segment);
  const double sum = area[0] + area[1] + area[2];
  for (int j = 0; j < 3; ++j) s.weight[j] = area[j] / sum;
}

void closest_of_tetrahedron(Simplex& s) {
  const Vec &p = s.point[0].w, &q = s.point[1].w, &r = s.point[2].w, &t = s.point[3].w;
  const double volume[4] = {dot(q, cross(r, t)), -dot(p, cross(r, t)), dot(p, cross(q, t)), -dot(p, cross(q, r))};
  const double sum = dot(q - p, cross(r - p, t - p));
  const double size = norm(q - p) * norm(r - p) * norm(t - p);
  bool opposite[4], inside = true;
  const bool flat = !(std::fabs(sum) > GjkTuning::flat * size);
  for (int j = 0; j < 4; ++j) {
    opposite[j] = flat || !same_sign(volume[j], sum);
    inside = inside && !opposite[j];
  }
  if (!inside) return closest_of_faces(s, opposite, closest_of_triangle);
  for (int j = 0; j < 4; ++j) s.weight[j] = volume[j] / sum;
}

void reduce(Simplex& s) {
  switch (s.n) {
    case 1: s.weight[0] = 1; return;
    case 2: return closest_of_segment(s);
    case 3: return closest_of_triangle(s);
    default: return closest_of_tetrahedron(s);
  }
}

}  // namespace

Difference difference(const Convex& a, const Convex& b, const Vec& d) {
  const Vec pa = support(a, d), pb = support(b, -d);
  return {pa - pb, pa, pb};
}

Closest gjk(const Convex& a, const Convex& b, double max_distance, Simplex& s) {
  Vec v = center(a) - center(b);
  if (!(norm2(v) > 0)) v = {1, 0, 0};
  s.n = 1;
  s.point[0] = difference(a, b, -v);
  s.weight[0] = 1;
  v = s.point[0].w;
  double largest = norm2(v);
  const double tolerance = a.curved() || b.curved() ? GjkTuning::converged_curved : GjkTuning::converged;
  for (int iteration = 0; iteration < GjkTuning::max_iterations; ++iteration) {
    const double v2 = norm2(v);
    if (v2 <= GjkTuning::touching * GjkTuning::touching * largest) return {Proximity::touching, {}, {}, {}};
    const Difference next = difference(a, b, -v);
    const double vw = dot(v, next.w);
    if (vw > 0 && vw * vw > max_distance * max_distance * v2) return {Proximity::far, {}, {}, {}};
    if (v2 - vw <= tolerance * v2) break;
    bool known = false;
    for (int k = 0; k < s.n; ++k) {
      const Vec d = s.point[k].w - next.w;
      known = known || (d[0] == 0 && d[1] == 0 && d[2] == 0);
    }
    if (known) break;
    largest = std::max(largest, norm2(next.w));
    Simplex trial = s;
    trial.point[trial.n++] = next;
    reduce(trial);
    const Vec shorter = closest(trial);
    if (trial.n == 4) {
      s = trial;
      return {Proximity::touching, {}, {}, {}};
    }
    if (!(norm2(shorter) < v2)) break;  // rounding: no progress
    s = trial;
    v = shorter;
  }
  Closest result{Proximity::near, unit(v), {}, {}};
  for (int k = 0; k < s.n; ++k) {
    result.a = result.a + s.weight[k] * s.point[k].a;
    result.b = result.b + s.weight[k] * s.point[k].b;
  }
  return result;
}

}  // namespace featherweight::geometry
