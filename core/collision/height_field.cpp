#include "collision/height_field.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "collision/manifold.hpp"
#include "collision/separate.hpp"

namespace featherweight {

HeightFieldStorage build_height_field(const double* heights, int rows, int columns, double size_x, double size_y,
                                      double base) {
  if (rows < 2 || columns < 2)
    throw std::invalid_argument("heights: want at least 2 rows and 2 columns, got " + std::to_string(rows) + " x " +
                                std::to_string(columns));
  for (double length : {size_x, size_y, base})
    if (!(length > 0 && std::isfinite(length)))
      throw std::invalid_argument("size: want positive lengths, got " + std::to_string(length));
  HeightFieldStorage field;
  field.heights.assign(heights, heights + static_cast<std::ptrdiff_t>(rows) * columns);
  for (double h : field.heights)
    if (!std::isfinite(h)) throw std::invalid_argument("heights: got a number that is not finite");
  const auto [low, high] = std::minmax_element(field.heights.begin(), field.heights.end());
  field.view = {rows, columns, field.heights.data(), size_x, size_y, base, *low, *high};
  return field;
}

namespace geometry {
namespace {

// Marks features of the ground; others are corners of the shape.
constexpr std::uint32_t grid_feature = 1u << 31;
constexpr int buffer = 48;  // points kept before they are reduced

struct HeightFieldTuning {
  // [1] slope by which a normal may lean farther than the faces beyond an edge: rounding of the polish.
  static constexpr double lean = 1e-6;
  // [1] of a cell: points of two triangles that are closer are one,
  static constexpr double same = 1e-6;
  // if [1] the cosine of the angle of their normals is larger: the ground pushes the same way there.
  static constexpr double aligned = 0.99;
  // So many points are kept without asking whether all are needed: as many as a flat base has corners.
  static constexpr int few = 4;
};

struct Node {
  int row, column;
};

struct Grid {
  const HeightField& field;
  double step_x, step_y;
  explicit Grid(const HeightField& f)
      : field(f), step_x(2 * f.size_x / (f.columns - 1)), step_y(2 * f.size_y / (f.rows - 1)) {}

  int number(const Node& n) const { return n.row * field.columns + n.column; }
  bool has(const Node& n) const {
    return n.row >= 0 && n.column >= 0 && n.row < field.rows && n.column < field.columns;
  }
  Vec point(const Node& n) const {
    return {-field.size_x + step_x * n.column, -field.size_y + step_y * n.row, field.heights[number(n)]};
  }
};

// A triangle of the grid as the top of a prism.
struct Tile {
  Node node[3];
  bool has_beyond[3];
  Node beyond[3];  // across each edge, the far corner of the next triangle
  Vec corner[6];
  Convex prism;
};

// Corners of the two triangles of a cell, and what lies beyond their edges, as offsets from its first node.
constexpr Node corners[2][3] = {{{0, 0}, {0, 1}, {1, 1}}, {{0, 0}, {1, 1}, {1, 0}}};
constexpr Node beyond[2][3] = {{{-1, 0}, {1, 2}, {1, 0}}, {{0, 1}, {2, 1}, {0, -1}}};
// Nodes that an edge joins to a node.
constexpr Node around[6] = {{0, 1}, {1, 1}, {1, 0}, {0, -1}, {-1, -1}, {-1, 0}};

Node operator+(const Node& a, const Node& b) { return {a.row + b.row, a.column + b.column}; }

void make_tile(const Grid& grid, const Node& first, int half, Tile& t) {
  Convex& prism = t.prism;
  prism = {};
  prism.core = Core::prism;
  prism.corner = t.corner;
  const double bottom = grid.field.lowest - grid.field.base;
  for (int k = 0; k < 3; ++k) {
    t.node[k] = first + corners[half][k];
    t.beyond[k] = first + beyond[half][k];
    t.has_beyond[k] = grid.has(t.beyond[k]);
    t.corner[k] = grid.point(t.node[k]);
    t.corner[k + 3] = {t.corner[k][0], t.corner[k][1], bottom};
  }
  const Vec* p = t.corner;
  prism.normal = unit(cross(p[1] - p[0], p[2] - p[0]));
  prism.extent = std::max(norm(p[1] - p[0]), norm(p[2] - p[0]));
}

// Whether the surface as a whole can push along n here: the triangle's corners that are farthest along n are so among
// their neighbours too, and n is upward except over the rim.
bool pushes(const Grid& grid, const Tile& t, const Vec& n) {
  const Vec* p = t.corner;
  const double h[3] = {dot(n, p[0]), dot(n, p[1]), dot(n, p[2])};
  const double slack = HeightFieldTuning::lean * t.prism.extent, top = std::max({h[0], h[1], h[2]}) - slack;
  bool rim = false;
  for (int k = 0; k < 3; ++k) {
    if (h[k] < top) continue;
    const int next = (k + 1) % 3, last = (k + 2) % 3;
    if (h[next] < top && h[last] < top) {  // a corner alone
      for (const Node& offset : around) {
        const Node w = t.node[k] + offset;
        if (!grid.has(w))
          rim = true;
        else if (dot(n, grid.point(w)) > h[k] + slack)
          return false;
      }
    } else if (h[next] >= top && h[last] < top) {  // an edge
      if (!t.has_beyond[k])
        rim = true;
      else if (dot(n, grid.point(t.beyond[k])) > std::max(h[k], h[next]) + slack)
        return false;
    }
  }
  return rim || n[2] > HeightFieldTuning::lean;
}

// Whether the plane of a triangle keeps out what is at x, a little beside the triangle: the ground rises from every
// edge that is crossed on the way there. What slides on a floor towards a wall is beside the foot of the wall, not over
// it.
bool goes_on(const Grid& grid, const Tile& t, const Vec& x) {
  const Vec& n = t.prism.normal;
  const double slack = HeightFieldTuning::lean * t.prism.extent;
  for (int k = 0; k < 3; ++k) {
    const Vec edge = t.corner[(k + 1) % 3] - t.corner[k];
    if (!(dot(cross(edge, n), x - t.corner[k]) > slack * norm(edge))) continue;
    if (!t.has_beyond[k] || !(dot(n, grid.point(t.beyond[k]) - t.corner[k]) > slack)) return false;
  }
  return true;
}

// Features in terms of the grid, so that they are the same from whichever triangle.
std::uint32_t on_grid(const Grid& grid, const Tile& t, std::uint32_t feature) {
  const auto mix = [](std::uint32_t h, std::uint32_t value) {
    h ^= value + 0x9e3779b9u + (h << 6) + (h >> 2);
    return h * 0x85ebca6bu;
  };
  const std::uint32_t kind = feature & witness, rest = feature & ~witness;
  const auto node = [&](std::uint32_t k) { return static_cast<std::uint32_t>(grid.number(t.node[k % 3])); };
  if (kind == vertex_of_a) return rest;
  if (kind == vertex_of_b) return mix(1, node(rest)) | grid_feature;
  if (kind == crossing) {
    const std::uint32_t i = node(rest & 0x7fff), j = node((rest & 0x7fff) + 1);
    return mix(mix(mix(2, rest >> 15), std::min(i, j)), std::max(i, j)) | grid_feature;
  }
  return mix(mix(3, node(0)), node(1)) | grid_feature;
}

// Those that hold the shape: of each direction of the ground the corners of the area of contact, across their mean
// normal (of equal points, corners of the shape). What is steep and beside does not take the place of what carries.
int scatter(Touch* touches, int n) {
  if (n <= HeightFieldTuning::few) return n;
  std::stable_partition(touches, touches + n, [](const Touch& t) { return !(t.at.feature & grid_feature); });
  int order[buffer], direction[buffer], leader[max_points], n_directions = 0;
  for (int k = 0; k < n; ++k) order[k] = k;
  std::stable_sort(order, order + n, [&](int i, int j) { return touches[i].at.gap < touches[j].at.gap; });
  for (int i = 0; i < n; ++i) {  // the nearest of each direction first
    const int k = order[i];
    int& d = direction[k] = 0;
    while (d < n_directions && !(dot(touches[k].normal, touches[leader[d]].normal) > HeightFieldTuning::aligned)) ++d;
    if (d == n_directions && n_directions < max_points) leader[n_directions++] = k;
  }
  Touch kept[max_points];
  int count = 0;
  for (int d = 0; d < n_directions; ++d) {
    Candidate at[buffer];
    Vec sum{};
    int members = 0;
    for (int k = 0; k < n; ++k) {
      if (direction[k] != d) continue;
      at[members++] = {touches[k].at.position, touches[k].at.gap, static_cast<std::uint32_t>(k)};
      sum += touches[k].normal;
    }
    const int room = max_points - count - (n_directions - 1 - d);  // one place for each of the others
    members = std::min(spread(at, members, unit(sum)), room);
    for (int k = 0; k < members; ++k) kept[count++] = touches[at[k].feature];
  }
  std::copy_n(kept, count, touches);
  return count;
}

// A shape so deep that no normal of the ground fits is lifted straight up.
int lift(const Convex& a, const Grid& grid, double margin, Touch* touches) {
  const HeightField& f = grid.field;
  const Vec up{0, 0, 1}, lowest = support(a, -up) - a.radius * up;
  if (std::fabs(lowest[0]) > f.size_x || std::fabs(lowest[1]) > f.size_y) return 0;
  const double x = (lowest[0] + f.size_x) / grid.step_x, y = (lowest[1] + f.size_y) / grid.step_y;
  const int column = std::min(static_cast<int>(x), f.columns - 2), row = std::min(static_cast<int>(y), f.rows - 2);
  Tile t;
  make_tile(grid, {row, column}, y - row > x - column ? 1 : 0, t);
  const Vec &n = t.prism.normal, d = lowest - t.corner[0];
  const double gap = d[2] + (n[0] * d[0] + n[1] * d[1]) / n[2];
  if (!(gap < margin && support(a, up)[2] + a.radius > f.lowest - f.base)) return 0;
  touches[0] = {{lowest - 0.5 * gap * up, gap, 0}, up};
  return 1;
}

}  // namespace

int over_field(const Convex& a, const HeightField& field, double margin, Touch* touches) {
  const Grid grid(field);
  // the cells under the shape
  const double reach = a.radius + margin;
  const auto range = [&](const Vec& axis, double size, double step, int n, int& first, int& last) {
    const double low = dot(axis, support(a, -axis)) - reach, high = dot(axis, support(a, axis)) + reach;
    if (!(low <= size && high >= -size)) return false;
    first = static_cast<int>(std::clamp(std::floor((low + size) / step), 0.0, n - 2.0));
    last = static_cast<int>(std::clamp(std::floor((high + size) / step), 0.0, n - 2.0));
    return true;
  };
  int column0, column1, row0, row1;
  if (!range({1, 0, 0}, field.size_x, grid.step_x, field.columns, column0, column1)) return 0;
  if (!range({0, 1, 0}, field.size_y, grid.step_y, field.rows, row0, row1)) return 0;
  const double lowest = support(a, {0, 0, -1})[2] - reach;
  const Vec ball = center(a);

  Touch kept[buffer];
  int count = 0;
  const double close = HeightFieldTuning::same * std::max(grid.step_x, grid.step_y);
  const auto add = [&](const Tile& t, const Candidate& point, const Vec& n) {
    const std::uint32_t feature = on_grid(grid, t, point.feature);
    for (int k = 0; k < count; ++k)
      if (norm(kept[k].at.position - point.position) <= close && dot(kept[k].normal, n) > HeightFieldTuning::aligned) {
        if (point.gap < kept[k].at.gap - close) kept[k] = {{point.position, point.gap, feature}, n};
        return;
      }
    if (count == buffer) count = scatter(kept, count);
    kept[count++] = {{point.position, point.gap, feature}, n};
  };

  for (int row = row0; row <= row1; ++row)
    for (int column = column0; column <= column1; ++column) {
      const double* h = field.heights + grid.number({row, column});
      const double top = std::max({h[0], h[1], h[field.columns], h[field.columns + 1]});
      if (lowest > top) continue;
      // the ball around the shape against the box around the cell
      const Vec low = grid.point({row, column});
      const Vec off{ball[0] - std::clamp(ball[0], low[0], low[0] + grid.step_x),
                    ball[1] - std::clamp(ball[1], low[1], low[1] + grid.step_y), std::max(0.0, ball[2] - top)};
      if (norm2(off) >= (a.extent + reach) * (a.extent + reach)) continue;
      for (int half = 0; half < 2; ++half) {
        Tile t;
        make_tile(grid, {row, column}, half, t);
        Parting p;
        p.normal = t.prism.normal;
        p.s = separation(a, t.prism, p.normal);
        if (!(p.s - a.radius < margin)) continue;
        // along the triangle's own normal, if the lowest point of the shape is above it; or else along the shortest
        // path out of the prism, if it leads out of the ground
        Candidate point[max_points];
        bool attained;
        int n = manifold(a, t.prism, p.normal, p.s, {}, {}, margin, point, &attained);
        Parting out;
        const bool is_deep = p.s < a.radius - close;  // unless it is beside a ridge that is thinner than that
        if (!attained || is_deep) {
          const bool is_near = part(a, t.prism, margin, out);
          if (!is_near) {
            n = 0;
          } else if (!attained || out.s > a.radius) {
            if (pushes(grid, t, out.normal))
              p = out;
            else if (is_deep || !(dot(p.normal, out.a - t.corner[0]) < p.s + close) || !goes_on(grid, t, out.a))
              continue;
            else
              p.a = out.a, p.b = out.a - p.s * p.normal;
            n = manifold(a, t.prism, p.normal, p.s, p.a, p.b, margin, point);
          }
        }
        for (int k = 0; k < n; ++k) add(t, point[k], p.normal);
      }
    }
  if (count == 0) count = lift(a, grid, margin, kept);
  count = scatter(kept, count);
  for (int k = 0; k < count; ++k) {
    // a corner of the shape may touch several triangles, and two hashes may collide
    for (int j = 0; j < k; ++j)
      if (kept[j].at.feature == kept[k].at.feature) kept[k].at.feature += 1u << 24, j = -1;
    touches[k] = kept[k];
  }
  return count;
}

}  // namespace geometry
}  // namespace featherweight
