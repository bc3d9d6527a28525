#include "collision/separate.hpp"

#include <algorithm>

#include "collision/box_box.hpp"
#include "collision/epa.hpp"
#include "collision/gjk.hpp"
#include "collision/polish.hpp"

namespace featherweight::geometry {

bool part(const Convex& a, const Convex& b, double margin, Parting& parting) {
  Simplex simplex;
  Closest closest = gjk(a, b, std::max(0.0, margin + a.radius + b.radius), simplex);
  if (closest.proximity == Proximity::far) return false;
  if (closest.proximity == Proximity::touching) closest = epa(a, b, simplex);
  parting = {closest.normal, closest.a, closest.b, 0};
  parting.s = polish(a, b, parting.normal);
  return parting.s - a.radius - b.radius < margin;
}

int convex_pair(const Convex& a, const Convex& b, double margin, Candidate* points, Vec& normal) {
  if (a.core == Core::box && b.core == Core::box) {
    const SeparatingAxis axis = separating_axis(a, b);
    normal = axis.n;
    if (!(axis.s < margin)) return 0;
    const Vec corner = support(a, -normal);
    bool attained;
    const int n = manifold(a, b, normal, axis.s, corner, corner - axis.s * normal, margin, points, &attained);
    if (attained || axis.s <= 0 || axis.are_parallel_edges) return n;
  }
  Parting p;
  if (!part(a, b, margin, p)) return 0;
  normal = p.normal;
  return manifold(a, b, p.normal, p.s, p.a, p.b, margin, points);
}

}  // namespace featherweight::geometry
