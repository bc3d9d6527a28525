// scene/pair_rules.hpp -- which shapes may touch, and how: the one filter of a scene.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "scene/scene.hpp"

namespace featherweight {

// What decides whether a shape may touch another.
struct ShapeRule {
  std::uint32_t contype, conaffinity;  // i and j may touch if contype_i & conaffinity_j or contype_j & conaffinity_i
  int body, parent_body;  // shapes of one body never touch, nor those of a body and the one that carries it; -1: none
  int family;             // those of one family never touch; -1: none
  int surface;
  bool is_static;  // two of these never touch
};
// A pair with a rule of its own.
struct PairRule {
  int first, second;  // first < second
  int material;       // -1: they never touch
};

class PairRules {
 public:
  // surface_materials: (n_surfaces, n_surfaces). Throws std::invalid_argument naming the culprit.
  PairRules(std::vector<ShapeRule> shapes, std::vector<int> surface_materials, int n_surfaces,
            std::vector<PairRule> exceptions);

  int n_shapes() const { return static_cast<int>(shapes_.size()); }
  int largest_material() const;
  // Index of the material of two shapes, in any order; -1: they never touch.
  int material(int a, int b) const;
  // All pairs that may touch, first < second in rising order; none if there are more than `most`.
  std::optional<std::vector<PairRule>> pairs(std::size_t most) const;

 private:
  std::vector<ShapeRule> shapes_;
  int n_surfaces_;
  std::vector<int> surface_materials_;
  std::vector<PairRule> exceptions_;  // in rising order
};

}  // namespace featherweight
