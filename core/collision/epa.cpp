#include "collision/epa.hpp"

#include <algorithm>
#include <cmath>

namespace featherweight::geometry {
namespace {

struct EpaTuning {
  // Room on the stack; polytopes need a few dozen, curved cores end at their tolerance before.
  static constexpr int max_vertices = 128;
  static constexpr int max_faces = 2 * max_vertices;  // a closed polytope of triangles has 2 vertices - 4
  // [1] of the size of the difference: a point this little above a face is on it. Where the nearest face has no other
  // beyond it, the search ends. tests/collision/test_depths.py.
  static constexpr double rounding = 1e-13;
  // [1] of the smaller core: added to it where cores are curved, for the polish does the rest.
  static constexpr double converged_curved = 1e-7;
};
constexpr int max_vertices = EpaTuning::max_vertices, max_faces = EpaTuning::max_faces;

struct Face {
  int v[3];       // counterclockwise from outside
  int beside[3];  // the face across the edge from v[k] to v[k + 1]
  Vec normal;
  double distance;  // from the origin, signed
  bool alive, seen;
};

struct Polytope {
  int n_vertices = 0, n_faces = 0;
  double scale = 0;  // largest distance of a vertex from the origin
  Difference vertex[max_vertices];
  Face face[max_faces];

  bool set_face(Face& f, int i, int j, int k) {
    const Vec p = vertex[i].w, e = vertex[j].w - p, d = vertex[k].w - p;
    const Vec n = cross(e, d);
    const double area = norm(n);
    if (!(area > 0)) return false;
    f = {{i, j, k}, {-1, -1, -1}, (1 / area) * n, 0, true, false};
    f.distance = dot(f.normal, p);
    return true;
  }

  int add(const Difference& p) {
    scale = std::max(scale, norm(p.w));
    vertex[n_vertices] = p;
    return n_vertices++;
  }
};

// Farthest of some supports from what `height` measures; true if it is off by more than rounding.
template <class Height>
bool widen(Polytope& p, const Convex& a, const Convex& b, const Vec* directions, int n, const Height& height) {
  Difference best{};
  double highest = 0;
  for (int k = 0; k < n; ++k) {
    const Difference next = difference(a, b, directions[k]);
    const double h = height(next.w);
    if (h > highest) highest = h, best = next;
  }
  if (!(highest > EpaTuning::rounding * std::max(norm(best.w), a.extent + b.extent))) return false;
  p.add(best);
  return true;
}

// A tetrahedron with the points of the simplex among its corners.
bool start(Polytope& p, const Convex& a, const Convex& b, const Simplex& simplex) {
  std::fill(p.vertex, p.vertex + 4, Difference{});
  for (int k = 0; k < simplex.n; ++k) p.add(simplex.point[k]);
  if (p.n_vertices == 1) {
    const Vec axes[6] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    const Vec o = p.vertex[0].w;
    if (!widen(p, a, b, axes, 6, [&](const Vec& w) { return norm(w - o); })) return false;
  }
  if (p.n_vertices == 2) {
    const Vec o = p.vertex[0].w, e = unit(p.vertex[1].w - o), u = perpendicular(e), v = cross(e, u);
    const Vec around[6] = {u, -u, v, -v, u + v, u - v};
    if (!widen(p, a, b, around, 6, [&](const Vec& w) { return norm(cross(w - o, e)); })) return false;
  }
  if (p.n_vertices == 3) {
    const Vec o = p.vertex[0].w, n = unit(cross(p.vertex[1].w - o, p.vertex[2].w - o));
    const Vec sides[2] = {n, -n};
    if (!widen(p, a, b, sides, 2, [&](const Vec& w) { return std::fabs(dot(w - o, n)); })) return false;
  }
  const Vec o = p.vertex[0].w;
  if (dot(cross(p.vertex[1].w - o, p.vertex[2].w - o), p.vertex[3].w - o) > 0) std::swap(p.vertex[1], p.vertex[2]);
  const int corners[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
  const int beside[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
  for (int f = 0; f < 4; ++f) {
    if (!p.set_face(p.face[f], corners[f][0], corners[f][1], corners[f][2])) return false;
    for (int k = 0; k < 3; ++k) p.face[f].beside[k] = beside[f][k];
  }
  p.n_faces = 4;
  return true;
}

// Replaces the faces that see the new vertex by a cone from it to the edge of the hole; false if rounding made the hole
// something else than a disc.
bool expand(Polytope& p, int first, int apex) {
  const Vec w = p.vertex[apex].w;
  int seen[max_faces], n_seen = 0;
  seen[n_seen++] = first;
  p.face[first].seen = true;
  for (int k = 0; k < n_seen; ++k)
    for (int other : p.face[seen[k]].beside) {
      Face& f = p.face[other];
      if (f.seen || dot(f.normal, w) - f.distance <= EpaTuning::rounding * p.scale) continue;
      f.seen = true;
      seen[n_seen++] = other;
    }
  int from_vertex[max_vertices], created[max_faces], n_created = 0;
  std::fill(from_vertex, from_vertex + p.n_vertices, -1);
  int free_face = 0;
  for (int k = 0; k < n_seen; ++k) {
    const Face& old = p.face[seen[k]];
    for (int e = 0; e < 3; ++e) {
      if (p.face[old.beside[e]].seen) continue;
      while (free_face < p.n_faces && p.face[free_face].alive) ++free_face;
      if (free_face == max_faces) return false;
      const int i = old.v[e], j = old.v[(e + 1) % 3];
      Face fresh;
      if (from_vertex[i] >= 0 || !p.set_face(fresh, i, j, apex)) return false;
      fresh.beside[0] = old.beside[e];
      p.face[free_face] = fresh;
      p.n_faces = std::max(p.n_faces, free_face + 1);
      Face& outside = p.face[old.beside[e]];
      for (int b = 0; b < 3; ++b)
        if (outside.v[b] == j && outside.v[(b + 1) % 3] == i) outside.beside[b] = free_face;
      from_vertex[i] = free_face;
      created[n_created++] = free_face;
    }
  }
  for (int k = 0; k < n_seen; ++k) p.face[seen[k]].alive = p.face[seen[k]].seen = false;
  for (int k = 0; k < n_created; ++k) {
    Face& f = p.face[created[k]];
    const int next = from_vertex[f.v[1]];
    if (next < 0) return false;
    f.beside[1] = next;
    p.face[next].beside[2] = created[k];
  }
  return true;
}

}  // namespace

Closest epa(const Convex& a, const Convex& b, const Simplex& simplex) {
  Polytope p;
  Closest best{Proximity::touching, {0, 0, 1}, center(a), center(b)};
  if (!start(p, a, b, simplex)) return best;
  const double smaller = std::min(a.extent, b.extent), extent = smaller > 0 ? smaller : std::max(a.extent, b.extent);
  const double rough = a.curved() || b.curved() ? EpaTuning::converged_curved * extent : 0;
  double depth = INFINITY;
  while (true) {
    int nearest = -1;
    for (int f = 0; f < p.n_faces; ++f)
      if (p.face[f].alive && (nearest < 0 || p.face[f].distance < p.face[nearest].distance)) nearest = f;
    const Face f = p.face[nearest];
    const Difference next = difference(a, b, f.normal);
    const double h = dot(f.normal, next.w);
    if (h < depth) {
      // the origin's foot on the face, as a mean of its corners
      depth = h;
      best.normal = -f.normal;
      const Vec o = f.distance * f.normal;
      const Vec &u = p.vertex[f.v[0]].w, &v = p.vertex[f.v[1]].w, &w = p.vertex[f.v[2]].w;
      const double area[3] = {dot(f.normal, cross(v - o, w - o)), dot(f.normal, cross(w - o, u - o)),
                              dot(f.normal, cross(u - o, v - o))};
      const double sum = area[0] + area[1] + area[2];
      best.a = best.b = {};
      for (int k = 0; k < 3; ++k) {
        best.a = best.a + (area[k] / sum) * p.vertex[f.v[k]].a;
        best.b = best.b + (area[k] / sum) * p.vertex[f.v[k]].b;
      }
    }
    if (depth - f.distance <= rough + EpaTuning::rounding * p.scale || p.n_vertices == max_vertices) return best;
    if (!expand(p, nearest, p.add(next))) return best;
  }
}

}  // namespace featherweight::geometry
