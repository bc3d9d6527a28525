#include "collision/hull.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "collision/vector.hpp"

namespace featherweight {

using namespace geometry;

namespace {

struct HullTuning {
  // [1] of the size of the hull: triangles whose corners are this close to a plane are one face. Meshes are often in
  // single precision.
  static constexpr double flat = 1e-6;
  // [1] of the size of the hull: how far a vertex may stick out of a face.
  static constexpr double convex = 1e-5;
  // [1] of the size of the hull cubed: a solid has more volume.
  static constexpr double solid = 1e-9;
};

using Triangle = std::array<int, 3>;
using Loop = std::vector<int>;

std::size_t at(int k) { return static_cast<std::size_t>(k); }

struct Surface {
  std::vector<Vec> point;
  std::vector<Triangle> triangle;
  std::vector<Vec> normal;  // of each triangle times twice its area
  double extent;
};

Surface oriented(const double* vertices, int n_vertices, const int* triangles, int n_triangles) {
  Surface s;
  if (n_vertices < 4 || n_triangles < 4)
    throw std::invalid_argument("faces: a solid needs at least 4 vertices and 4 triangles, got " +
                                std::to_string(n_vertices) + " and " + std::to_string(n_triangles));
  Vec mean{}, lower{INFINITY, INFINITY, INFINITY}, upper = -lower;
  for (int v = 0; v < n_vertices; ++v) {
    const Vec p = load(vertices + 3 * v);
    if (!std::isfinite(p[0] + p[1] + p[2])) throw std::invalid_argument("vertices: got a number that is not finite");
    s.point.push_back(p);
  }
  std::set<int> used(triangles, triangles + 3 * n_triangles);
  if (*used.begin() < 0 || *used.rbegin() >= n_vertices)
    throw std::invalid_argument("faces: want indices of the " + std::to_string(n_vertices) + " vertices, got " +
                                std::to_string(*used.begin() < 0 ? *used.begin() : *used.rbegin()));
  for (int v : used) {
    const Vec& p = s.point[at(v)];
    mean = mean + (1.0 / static_cast<double>(used.size())) * p;
    for (int k = 0; k < 3; ++k) lower[k] = std::min(lower[k], p[k]), upper[k] = std::max(upper[k], p[k]);
  }
  s.extent = norm(upper - lower);
  double volume = 0;
  for (int t = 0; t < n_triangles; ++t) {
    Triangle c{triangles[3 * t], triangles[3 * t + 1], triangles[3 * t + 2]};
    const Vec p = s.point[at(c[0])];
    Vec n = cross(s.point[at(c[1])] - p, s.point[at(c[2])] - p);
    if (dot(n, p - mean) < 0) std::swap(c[1], c[2]), n = -n;
    volume += dot(n, p - mean) / 6;
    s.triangle.push_back(c);
    s.normal.push_back(n);
  }
  if (!(volume > HullTuning::solid * s.extent * s.extent * s.extent))
    throw std::invalid_argument("vertices: want a solid, got a hull without volume");
  return s;
}

// The triangle across each directed edge.
std::map<std::pair<int, int>, int> edges(const Surface& s) {
  std::map<std::pair<int, int>, int> owner;
  for (std::size_t t = 0; t < s.triangle.size(); ++t)
    for (std::size_t k = 0; k < 3; ++k)
      if (!owner.emplace(std::pair{s.triangle[t][k], s.triangle[t][(k + 1) % 3]}, static_cast<int>(t)).second)
        throw std::invalid_argument("faces: want the surface of a convex solid, got an edge with more than two faces");
  for (const auto& [edge, t] : owner)
    if (!owner.contains({edge.second, edge.first}))
      throw std::invalid_argument("faces: want a closed surface, got an edge with one face");
  return owner;
}

// Outline of some triangles, empty if it is not one loop.
Loop outline(const Surface& s, const std::vector<int>& group) {
  std::set<std::pair<int, int>> inside;
  for (int t : group)
    for (std::size_t k = 0; k < 3; ++k) inside.emplace(s.triangle[at(t)][k], s.triangle[at(t)][(k + 1) % 3]);
  std::map<int, int> next;
  std::size_t n_border = 0;
  for (const auto& [i, j] : inside)
    if (!inside.contains({j, i})) next[i] = j, ++n_border;
  if (next.size() != n_border) return {};
  Loop loop;
  for (int v = next.begin()->first; loop.size() < n_border; v = next[v]) {
    if (!next.contains(v)) return {};
    loop.push_back(v);
  }
  return std::set<int>(loop.begin(), loop.end()).size() == n_border ? loop : Loop{};
}

// Triangles in one plane, grown from the largest ones.
std::vector<std::pair<Loop, Vec>> merged(const Surface& s) {
  const auto owner = edges(s);
  std::vector<int> order(s.triangle.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int i, int j) { return norm2(s.normal[at(i)]) > norm2(s.normal[at(j)]); });
  std::vector<bool> taken(s.triangle.size(), false);
  std::vector<std::pair<Loop, Vec>> faces;
  for (int seed : order) {
    if (taken[at(seed)]) continue;
    if (!(norm2(s.normal[at(seed)]) > 0))
      throw std::invalid_argument("faces: got a triangle without area beside no flat face");
    const Vec n = unit(s.normal[at(seed)]), p = s.point[at(s.triangle[at(seed)][0])];
    std::vector<int> group{seed};
    taken[at(seed)] = true;
    for (std::size_t g = 0; g < group.size(); ++g)
      for (std::size_t k = 0; k < 3; ++k) {
        const Triangle& c = s.triangle[at(group[g])];
        const int other = owner.at({c[(k + 1) % 3], c[k]});
        bool level = !taken[at(other)] && dot(s.normal[at(other)], n) >= -HullTuning::flat * s.extent * s.extent;
        for (int v : s.triangle[at(other)])
          level = level && std::fabs(dot(n, s.point[at(v)] - p)) <= HullTuning::flat * s.extent;
        if (level) taken[at(other)] = true, group.push_back(other);
      }
    if (const Loop loop = outline(s, group); !loop.empty()) {
      faces.emplace_back(loop, n);
    } else {
      for (int t : group)
        if (norm2(s.normal[at(t)]) > 0)
          faces.emplace_back(Loop(s.triangle[at(t)].begin(), s.triangle[at(t)].end()), unit(s.normal[at(t)]));
    }
  }
  return faces;
}

// Drops the corners that matter least for the area.
void thin(const Surface& s, Loop& loop) {
  while (loop.size() > at(max_face_vertices)) {
    std::size_t least = 0;
    double smallest = INFINITY;
    const std::size_t n = loop.size();
    for (std::size_t k = 0; k < n; ++k) {
      const Vec p = s.point[at(loop[(k + n - 1) % n])];
      const double area = norm(cross(s.point[at(loop[k])] - p, s.point[at(loop[(k + 1) % n])] - p));
      if (area < smallest) smallest = area, least = k;
    }
    loop.erase(loop.begin() + static_cast<std::ptrdiff_t>(least));
  }
}

void flatten(const std::vector<std::set<int>>& lists, std::vector<int>& start, std::vector<int>& values) {
  start = {0};
  for (const std::set<int>& list : lists) {
    values.insert(values.end(), list.begin(), list.end());
    start.push_back(static_cast<int>(values.size()));
  }
}

}  // namespace

ConvexHullStorage build_hull(const double* vertices, int n_vertices, const int* triangles, int n_triangles) {
  const Surface s = oriented(vertices, n_vertices, triangles, n_triangles);
  std::vector<std::pair<Loop, Vec>> faces = merged(s);
  ConvexHullStorage hull;

  // vertices that are corners, renumbered
  std::map<int, int> number;
  for (const auto& [loop, n] : faces)
    for (int v : loop) number.emplace(v, 0);
  for (auto& [old, fresh] : number) {
    fresh = static_cast<int>(hull.vertices.size() / 3);
    const Vec p = s.point[at(old)];
    hull.vertices.insert(hull.vertices.end(), {p[0], p[1], p[2]});
  }

  std::vector<std::set<int>> neighbours(number.size()), faces_at(number.size());
  hull.face_start = {0};
  for (std::size_t f = 0; f < faces.size(); ++f) {
    auto& [loop, n] = faces[f];
    for (std::size_t k = 0; k < loop.size(); ++k) {
      const int i = number.at(loop[k]), j = number.at(loop[(k + 1) % loop.size()]);
      neighbours[at(i)].insert(j);
      neighbours[at(j)].insert(i);
      faces_at[at(i)].insert(static_cast<int>(f));
    }
    for (const auto& [v, fresh] : number)
      if (dot(n, s.point[at(v)] - s.point[at(loop[0])]) > HullTuning::convex * s.extent)
        throw std::invalid_argument("faces: want the hull of the vertices, got one that is not convex at vertex " +
                                    std::to_string(v));
    thin(s, loop);
    for (int v : loop) hull.face_vertex.push_back(number.at(v));
    hull.face_start.push_back(static_cast<int>(hull.face_vertex.size()));
    hull.face_normal.insert(hull.face_normal.end(), {n[0], n[1], n[2]});
  }
  if (hull.face_vertex.size() > at(max_face_corners))
    throw std::invalid_argument("faces: want at most " + std::to_string(max_face_corners) + " corners, got " +
                                std::to_string(hull.face_vertex.size()));
  flatten(neighbours, hull.neighbour_start, hull.neighbour);
  flatten(faces_at, hull.vertex_face_start, hull.vertex_face);

  ConvexHull& view = hull.view;
  view = {static_cast<int>(number.size()),
          static_cast<int>(faces.size()),
          hull.vertices.data(),
          hull.face_start.data(),
          hull.face_vertex.data(),
          hull.face_normal.data(),
          hull.neighbour_start.data(),
          hull.neighbour.data(),
          hull.vertex_face_start.data(),
          hull.vertex_face.data(),
          {},
          {},
          {}};
  for (int k = 0; k < 3; ++k) {
    for (int v = 1; v < view.n_vertices; ++v) {
      const auto x = [&](int w) { return hull.vertices[at(3 * w + k)]; };
      if (x(v) > x(view.extreme[2 * k])) view.extreme[2 * k] = v;
      if (x(v) < x(view.extreme[2 * k + 1])) view.extreme[2 * k + 1] = v;
    }
    view.upper[k] = hull.vertices[at(3 * view.extreme[2 * k] + k)];
    view.lower[k] = hull.vertices[at(3 * view.extreme[2 * k + 1] + k)];
  }
  return hull;
}

}  // namespace featherweight
