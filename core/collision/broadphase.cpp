#include "collision/broadphase.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "collision/vector.hpp"
#include "runtime/interrupt.hpp"

namespace featherweight {

using namespace geometry;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Half edges of the box around a shape, along world axis k; R row-major.
double half_extent(const Shape& shape, const double* R, int k) {
  const double x = R[3 * k], y = R[3 * k + 1], z = R[3 * k + 2];
  const double* s = shape.size;
  switch (shape.kind) {
    case ShapeKind::sphere: return s[0];
    case ShapeKind::capsule: return s[0] + s[1] * std::fabs(z);
    case ShapeKind::cylinder: return s[0] * std::sqrt(x * x + y * y) + s[1] * std::fabs(z);
    case ShapeKind::ellipsoid: return std::hypot(s[0] * x, s[1] * y, s[2] * z);
    case ShapeKind::box: return s[0] * std::fabs(x) + s[1] * std::fabs(y) + s[2] * std::fabs(z);
    default: return infinity;
  }
}

// Box given in the axes of the shape.
Bounds turned(const Vec& lower, const Vec& upper, const Placement<double>& X, double margin) {
  const Vec middle = 0.5 * (lower + upper), half = 0.5 * (upper - lower);
  Bounds b;
  for (int k = 0; k < 3; ++k) {
    const double* r = X.R + 3 * k;
    const double p = r[0] * middle[0] + r[1] * middle[1] + r[2] * middle[2] + X.p[k];
    const double h = std::fabs(r[0]) * half[0] + std::fabs(r[1]) * half[1] + std::fabs(r[2]) * half[2] + margin;
    b.lower[k] = p - h, b.upper[k] = p + h;
  }
  return b;
}

}  // namespace

Bounds bounds(const Shape& shape, const Placement<double>& X, double margin) {
  if (shape.kind == ShapeKind::convex) return turned(load(shape.hull->lower), load(shape.hull->upper), X, margin);
  if (shape.kind == ShapeKind::height_field) {
    const HeightField& f = *shape.field;
    return turned({-f.size_x, -f.size_y, f.lowest - f.base}, {f.size_x, f.size_y, f.highest}, X, margin);
  }
  Bounds b;
  for (int k = 0; k < 3; ++k) {
    const double h = half_extent(shape, X.R, k) + margin;
    b.lower[k] = X.p[k] - h, b.upper[k] = X.p[k] + h;
    if (shape.kind == ShapeKind::plane && X.R[3 * k + 2] == 1) b.upper[k] = X.p[k] + margin;
    if (shape.kind == ShapeKind::plane && X.R[3 * k + 2] == -1) b.lower[k] = X.p[k] - margin;
  }
  return b;
}

struct Broadphase::Buffers {
  struct Entry {
    int shape;
    Bounds box;
  };
  std::vector<Entry> order;
  std::vector<ShapePair> pairs;
};

Broadphase::Broadphase() : buffers_(new Buffers) {}
Broadphase::~Broadphase() { delete buffers_; }
const ShapePair* Broadphase::pairs() const { return buffers_->pairs.data(); }

int Broadphase::find(const Bounds* boxes, int n, const PairFilter& filter) {
  auto& [order, pairs] = *buffers_;
  // the axis along which finite boxes are spread most
  int axis = 0;
  double widest = -1;
  for (int k = 0; k < 3; ++k) {
    double sum = 0, squares = 0;
    int finite = 0;
    for (int i = 0; i < n; ++i) {
      const double middle = 0.5 * (boxes[i].lower[k] + boxes[i].upper[k]);
      if (!std::isfinite(middle)) continue;
      sum += middle, squares += middle * middle, ++finite;
    }
    const double variance = finite ? squares - sum * sum / finite : 0;
    if (variance > widest) widest = variance, axis = k;
  }
  const int other = (axis + 1) % 3, third = (axis + 2) % 3;
  order.clear();
  for (int i = 0; i < n; ++i) {
    const auto &low = boxes[i].lower, &high = boxes[i].upper;  // the axis of the sweep first
    order.push_back({i, {{low[axis], low[other], low[third]}, {high[axis], high[other], high[third]}}});
  }
  std::sort(order.begin(), order.end(), [](const auto& p, const auto& q) {
    return p.box.lower[0] < q.box.lower[0] || (p.box.lower[0] == q.box.lower[0] && p.shape < q.shape);
  });
  const auto allowed = [&](int i, int j) {
    if (filter.group && filter.group[i] >= 0 && filter.group[i] == filter.group[j]) return false;
    if (filter.contype && !(filter.contype[i] & filter.conaffinity[j]) && !(filter.contype[j] & filter.conaffinity[i]))
      return false;
    return !filter.allowed || filter.allowed(filter.context, i, j);
  };
  pairs.clear();
  for (auto p = order.begin(); p != order.end() && !interrupted(20.0 * n); ++p) {
    const Bounds& a = p->box;
    for (auto q = p + 1; q != order.end() && q->box.lower[0] <= a.upper[0]; ++q) {
      const Bounds& b = q->box;
      // one branch: which of them fails is unpredictable
      const bool apart = static_cast<bool>((a.lower[1] > b.upper[1]) | (b.lower[1] > a.upper[1]) |
                                           (a.lower[2] > b.upper[2]) | (b.lower[2] > a.upper[2]));
      if (apart) continue;
      const int i = std::min(p->shape, q->shape), j = std::max(p->shape, q->shape);
      if (allowed(i, j)) pairs.push_back({i, j});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const ShapePair& p, const ShapePair& q) {
    return p.first < q.first || (p.first == q.first && p.second < q.second);
  });
  return static_cast<int>(pairs.size());
}

}  // namespace featherweight
