// scene/pair_rules.hpp -- who may touch whom, for scenes with too many pairs to list them.
#pragma once
#include <cstdint>
#include <vector>

#include "collision/broadphase.hpp"
#include "scene/scene.hpp"

namespace featherweight {

// What decides whether a shape may touch another.
struct ShapeRule {
  std::uint32_t contype, conaffinity;
  int body, parent_body, family;  // see CompiledShape in compiled_scene.py
  int surface;
  bool is_static;
};
struct PairRule {
  int first, second;  // first < second
  int material;       // -1: they never touch
};

class PairRules {
 public:
  std::vector<ShapeRule> shapes;
  int n_surfaces = 0;
  std::vector<int> surface_materials;  // (n_surfaces, n_surfaces)
  std::vector<PairRule> exceptions;    // in rising order

  // Index of the material of a pair, first < second; -1: they never touch.
  int material(int first, int second) const;
};

}  // namespace featherweight
