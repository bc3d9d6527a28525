#include "scene/pair_rules.hpp"

#include <algorithm>

namespace featherweight {

int PairRules::material(int first, int second) const {
  const auto before = [](const PairRule& rule, const std::pair<int, int>& pair) {
    return std::pair(rule.first, rule.second) < pair;
  };
  const auto rule = std::lower_bound(exceptions.begin(), exceptions.end(), std::pair(first, second), before);
  if (rule != exceptions.end() && rule->first == first && rule->second == second) return rule->material;
  const ShapeRule &a = shapes[static_cast<std::size_t>(first)], &b = shapes[static_cast<std::size_t>(second)];
  const bool related = a.body == b.body || a.parent_body == b.body || b.parent_body == a.body;
  if (related || (a.is_static && b.is_static) || (a.family >= 0 && a.family == b.family)) return -1;
  if (!(a.contype & b.conaffinity) && !(b.contype & a.conaffinity)) return -1;
  return surface_materials[static_cast<std::size_t>(a.surface * n_surfaces + b.surface)];
}

}  // namespace featherweight
