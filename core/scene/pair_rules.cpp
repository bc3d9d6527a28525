#include "scene/pair_rules.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace featherweight {
namespace {

std::pair<int, int> shapes_of(const PairRule& rule) { return {rule.first, rule.second}; }

}  // namespace

PairRules::PairRules(std::vector<ShapeRule> shapes, std::vector<int> surface_materials, int n_surfaces,
                     std::vector<PairRule> exceptions)
    : shapes_(std::move(shapes)),
      n_surfaces_(n_surfaces),
      surface_materials_(std::move(surface_materials)),
      exceptions_(std::move(exceptions)) {
  if (surface_materials_.size() != static_cast<std::size_t>(n_surfaces) * static_cast<std::size_t>(n_surfaces))
    throw std::invalid_argument("rules: materials of surfaces must be square");
  for (const ShapeRule& shape : shapes_)
    if (shape.surface < 0 || shape.surface >= n_surfaces) throw std::invalid_argument("rules: unknown surface");
  for (const PairRule& rule : exceptions_)
    if (!(0 <= rule.first && rule.first < rule.second && rule.second < n_shapes()))
      throw std::invalid_argument("rules: an exception is for two shapes, the first one first");
  std::sort(exceptions_.begin(), exceptions_.end(),
            [](const PairRule& x, const PairRule& y) { return shapes_of(x) < shapes_of(y); });
}

int PairRules::largest_material() const {
  int largest = -1;
  for (int material : surface_materials_) largest = std::max(largest, material);
  for (const PairRule& rule : exceptions_) largest = std::max(largest, rule.material);
  return largest;
}

int PairRules::material(int first, int second) const {
  if (first > second) std::swap(first, second);
  const std::pair wanted(first, second);
  const auto rule = std::lower_bound(exceptions_.begin(), exceptions_.end(), wanted,
                                     [](const PairRule& r, const auto& pair) { return shapes_of(r) < pair; });
  if (rule != exceptions_.end() && shapes_of(*rule) == wanted) return rule->material;
  const ShapeRule &a = shapes_[static_cast<std::size_t>(first)], &b = shapes_[static_cast<std::size_t>(second)];
  const bool related = a.body == b.body || a.parent_body == b.body || b.parent_body == a.body;
  if (related || (a.is_static && b.is_static) || (a.family >= 0 && a.family == b.family)) return -1;
  if (!(a.contype & b.conaffinity) && !(b.contype & a.conaffinity)) return -1;
  return surface_materials_[static_cast<std::size_t>(a.surface * n_surfaces_ + b.surface)];
}

std::optional<std::vector<PairRule>> PairRules::pairs(std::size_t most) const {
  std::vector<PairRule> found;
  for (int i = 0; i < n_shapes(); ++i)
    for (int j = i + 1; j < n_shapes(); ++j)
      if (const int own = material(i, j); own >= 0) {
        if (found.size() == most) return std::nullopt;
        found.push_back({i, j, own});
      }
  return found;
}

}  // namespace featherweight
