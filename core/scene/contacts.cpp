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

struct ContactTuning {
  // [1] Points whose normals turn against each other by less than this, squared, are of one patch (1e-4 rad).
  // tests/physics/test_impacts.py.
  static constexpr double one_patch = 1e-8;
};

double height(const ContactPoint& p) {
  return p.position[0] * p.normal[0] + p.position[1] * p.normal[1] + p.position[2] * p.normal[2];
}
bool is_of_patch(const ContactPoint& p, const ContactPoint& first) {
  double turned = 0;
  for (int i = 0; i < 3; ++i) turned += (p.normal[i] - first.normal[i]) * (p.normal[i] - first.normal[i]);
  return turned < ContactTuning::one_patch;
}

// Impulses act in one plane for each patch. Points at different heights would ask for the impossible: a body that turns
// until all gaps are closed moves them against each other, by the gap times the difference of heights, and sticking
// would not let it.
enum class Level {
  middle,    // between the surfaces where they are nearest: for two that move, so that momentum balances
  ground,    // the surface of what does not move: for links of several shapes, all in one plane
  touching,  // where the nearest point of the moving surface is: friction on a ball has its radius for an arm, however
             // far it has still to go
};
Level level_of(const PlacedShape& moving, const PlacedShape& other) {
  if (other.link >= 0) return Level::middle;
  if (moving.is_alone) return Level::touching;
  return other.shape.kind == ShapeKind::plane ? Level::ground : Level::middle;
}

// outward: 1 if a moves over b, -1 if b moves under a.
void level(int n, Level at, int outward, double margin, ContactPoint* points) {
  int patch[max_points];  // of each point: the first one of its patch
  for (int k = 0; k < n; ++k) {
    patch[k] = 0;
    while (patch[k] < k && !(patch[patch[k]] == patch[k] && is_of_patch(points[k], points[patch[k]]))) ++patch[k];
  }
  for (int first = 0; first < n; ++first) {
    if (patch[first] != first) continue;
    int nearest = first;
    for (int k = first; k < n; ++k)
      if (patch[k] == first && points[k].gap < points[nearest].gap) nearest = k;
    const ContactPoint& p = points[nearest];
    const double open = at == Level::touching ? std::max(p.gap - margin, 0.0) : 0;
    const double plane = height(p) + (at == Level::middle ? 0 : outward * (open - 0.5 * p.gap));
    for (int k = first; k < n; ++k) {
      const double down = patch[k] == first ? height(points[k]) - plane : 0;
      for (int i = 0; i < 3; ++i) points[k].position[i] -= down * points[k].normal[i];
    }
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
  const PlacedShape &shape_a = scene.shapes[a], &shape_b = scene.shapes[b];
  const bool a_moves = shape_a.link >= 0;
  level(n, a_moves ? level_of(shape_a, shape_b) : level_of(shape_b, shape_a), a_moves ? 1 : -1,
        scene.materials[material].margin, points);
  reserve(list, list.count + n);
  for (int k = 0; k < n; ++k) {
    Contact& c = list.data[list.count++];
    c.a = a, c.b = b, c.material = material, c.feature = points[k].feature, c.ball = -1;
    c.standing = Standing::certain, c.was_loaded = c.is_ahead = c.is_beside = false;
    c.gap = points[k].gap - scene.materials[material].margin;
    for (int i = 0; i < 3; ++i) c.position[i] = points[k].position[i];
    for (double& impulse : c.impulse) impulse = 0;
    // mostly all points of a patch have one normal
    if (k > 0 && std::equal(points[k].normal, points[k].normal + 3, points[k - 1].normal))
      std::copy(list.data[list.count - 2].frame, list.data[list.count - 2].frame + 9, c.frame);
    else
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
