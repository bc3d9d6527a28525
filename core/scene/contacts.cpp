#include "scene/contacts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "collision/collide.hpp"
#include "runtime/interrupt.hpp"
#include "scene/pair_rules.hpp"

namespace featherweight {
namespace {

// Of two shapes that may touch, roughly.
constexpr double operations_per_pair = 1e4;

// Impulses act in one plane, that of a static plane or the middle one of a patch. Points at different heights would ask
// for the impossible: a body that turns until all gaps are closed moves them against each other, by the gap times the
// difference of heights, and sticking would not let it.
void level(const Shape& b, int n, ContactPoint* points) {
  const auto height = [&](const ContactPoint& p) {
    return p.position[0] * p.normal[0] + p.position[1] * p.normal[1] + p.position[2] * p.normal[2];
  };
  double mean = 0;
  for (int k = 0; k < n; ++k) {
    if (std::memcmp(points[k].normal, points[0].normal, sizeof points[k].normal) != 0) return;
    mean += height(points[k]) / n;
  }
  for (int k = 0; k < n; ++k) {
    const double down = b.kind == ShapeKind::plane ? 0.5 * points[k].gap : height(points[k]) - mean;
    for (int i = 0; i < 3; ++i) points[k].position[i] -= down * points[k].normal[i];
  }
}

}  // namespace

const Shape& shape_of(const Scene& scene, std::size_t environment, int k) {
  const Shape* const own = scene.own_shapes ? scene.own_shapes[k] : nullptr;
  return own ? own[environment] : scene.shapes[k].shape;
}

void set_frame(const double* n, double* frame) {
  const int axis = std::abs(n[0]) < 0.9 ? 0 : 1;
  double t[3] = {-n[axis] * n[0], -n[axis] * n[1], -n[axis] * n[2]};
  t[axis] += 1;
  const double scale = 1 / std::sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    frame[k] = t[k] * scale;
    frame[3 + k] = (n[i] * t[j] - n[j] * t[i]) * scale;
    frame[6 + k] = n[k];
  }
}

void find_contacts(const Scene& scene, std::size_t environment, int a, int b, int material,
                   const Placement<double>& X_Wa, const Placement<double>& X_Wb, double margin, ContactList& list) {
  ContactPoint points[max_points];
  const int n = collide(shape_of(scene, environment, a), X_Wa, shape_of(scene, environment, b), X_Wb, margin, points);
  level(scene.shapes[b].shape, n, points);
  reserve(list, list.count + n);
  for (int k = 0; k < n; ++k) {
    Contact& c = list.data[list.count++];
    c.a = a, c.b = b, c.material = material, c.feature = points[k].feature, c.ball = -1;
    c.standing = Standing::certain, c.was_loaded = c.is_ahead = false;
    c.gap = points[k].gap - scene.materials[material].margin;
    for (int i = 0; i < 3; ++i) c.position[i] = points[k].position[i];
    for (double& impulse : c.impulse) impulse = 0;
    set_frame(points[k].normal, c.frame);
  }
}

void find_all_contacts(const Scene& scene, std::size_t environment, const Placement<double>* placements,
                       const double* travels, Broadphase& broadphase, Memory& room, ContactList& list) {
  const std::size_t n = static_cast<std::size_t>(scene.n_shapes);
  reserve(room, n * sizeof(Bounds));
  Bounds* const boxes = static_cast<Bounds*>(room.data);
  double widest = 0;
  for (int k = 0; k < scene.n_materials; ++k) widest = std::max(widest, scene.materials[k].margin);
  for (std::size_t k = 0; k < n; ++k)
    boxes[k] = bounds(shape_of(scene, environment, static_cast<int>(k)), placements[k],
                      travels[k] + 0.5 * (look_ahead + widest));
  PairFilter filter;
  filter.context = scene.rules;
  filter.allowed = [](const void* rules, int a, int b) {
    return static_cast<const PairRules*>(rules)->material(a, b) >= 0;
  };
  const int n_pairs = broadphase.find(boxes, scene.n_shapes, filter);
  list.count = 0;
  for (int k = 0; k < n_pairs && !interrupted(operations_per_pair); ++k) {
    int a = broadphase.pairs()[k].first, b = broadphase.pairs()[k].second;
    const int material = scene.rules->material(a, b);
    const ShapeKind kind = scene.shapes[a].shape.kind;
    if (kind == ShapeKind::plane || kind == ShapeKind::height_field) std::swap(a, b);  // as in lists of pairs
    const double margin = travels[a] + travels[b] + (scene.materials[material].margin + look_ahead);
    find_contacts(scene, environment, a, b, material, placements[a], placements[b], margin, list);
  }
  std::sort(list.data, list.data + list.count, [](const Contact& x, const Contact& y) {
    return std::tie(x.a, x.b, x.feature) < std::tie(y.a, y.b, y.feature);
  });
}

void warm_start(const ContactList& before, bool is_same_step, ContactList& now) {
  int first = 0;  // both lists are ordered by pairs
  for (int k = 0; k < now.count; ++k) {
    Contact& c = now.data[k];
    const auto earlier = [&](const Contact& o) { return o.a < c.a || (o.a == c.a && o.b < c.b); };
    while (first < before.count && earlier(before.data[first])) ++first;
    for (int j = first; j < before.count && before.data[j].a == c.a && before.data[j].b == c.b; ++j) {
      const Contact& o = before.data[j];
      if (o.feature != c.feature) continue;
      c.was_loaded = is_same_step ? o.was_loaded : o.impulse[2] > 0;
      if (o.frame[6] == c.frame[6] && o.frame[7] == c.frame[7] && o.frame[8] == c.frame[8]) {  // and so the tangents
        std::memcpy(c.impulse, o.impulse, sizeof c.impulse);
        break;
      }
      for (int half = 0; half < 6; half += 3) {
        double world[3] = {0, 0, 0};
        for (int r = 0; r < 3; ++r)
          for (int i = 0; i < 3; ++i) world[i] += o.frame[3 * r + i] * o.impulse[half + r];
        for (int r = 0; r < 3; ++r)
          c.impulse[half + r] =
              c.frame[3 * r] * world[0] + c.frame[3 * r + 1] * world[1] + c.frame[3 * r + 2] * world[2];
      }
      break;
    }
  }
}

}  // namespace featherweight
