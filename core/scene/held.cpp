#include "scene/held.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace featherweight {
namespace {

std::size_t index(int k) { return static_cast<std::size_t>(k); }

// Degrees of freedom from the root of its tree to a link.
std::vector<int> path_to(const Tree<double>& tree, int link) {
  std::vector<int> path;
  for (int f = tree.links[link].v + tree.links[link].nv - 1; f >= 0; f = tree.dof_parent[f]) path.push_back(f);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

HeldStorage::HeldStorage(const Tree<double>& tree, const std::vector<HeldSpec>& specs, std::vector<GuideLaw> guides)
    : guides_(std::move(guides)) {
  find_clusters(tree, specs);
  for (const HeldSpec& spec : specs) add_part(tree, spec);
  find_starts(tree, specs);
  if (!guides_.empty() && guides_.size() != rows_.size())
    throw std::invalid_argument("guides: expected one for each of " + std::to_string(rows_.size()) + " rows, got " +
                                std::to_string(guides_.size()));
}

HeldPlan HeldStorage::plan() const {
  HeldPlan plan = plan_;
  plan.n_parts = static_cast<int>(parts_.size());
  plan.n_rows = static_cast<int>(rows_.size());
  plan.parts = parts_.data();
  plan.rows = rows_.data();
  plan.guides = guides_.empty() ? nullptr : guides_.data();
  plan.cluster = cluster_.data();
  plan.first_row = first_row_.data();
  plan.no_row = no_row_.data();
  return plan;
}

void HeldStorage::find_clusters(const Tree<double>& tree, const std::vector<HeldSpec>& specs) {
  for (int i = 0; i < tree.n_links; ++i)
    cluster_.push_back(tree.links[i].parent < 0 ? i : cluster_[index(tree.links[i].parent)]);
  const auto find = [&](int link) {
    int root = cluster_[index(link)];
    while (cluster_[index(root)] != root) root = cluster_[index(root)];
    return root;
  };
  for (const HeldSpec& spec : specs)
    for (int link : spec.links) {
      const int a = find(link), b = find(spec.links.front());
      cluster_[index(std::max(a, b))] = std::min(a, b);
    }
  for (int i = 0; i < tree.n_links; ++i) cluster_[index(i)] = find(i);
}

void HeldStorage::add_part(const Tree<double>& tree, const HeldSpec& spec) {
  std::vector<int>& dofs = dofs_.emplace_back();
  for (int link : spec.links)
    for (int f : path_to(tree, link)) dofs.push_back(f);
  std::sort(dofs.begin(), dofs.end());
  dofs.erase(std::unique(dofs.begin(), dofs.end()), dofs.end());
  std::vector<HeldEnd>& ends = ends_.emplace_back();
  for (int link : spec.links) {
    std::vector<int>& places = places_.emplace_back();
    for (int f : path_to(tree, link))
      places.push_back(static_cast<int>(std::lower_bound(dofs.begin(), dofs.end(), f) - dofs.begin()));
    ends.push_back({link, places.data()});  // moving a vector leaves its numbers where they are
  }
  const int n_dofs = static_cast<int>(dofs.size()), n_rows = static_cast<int>(spec.units.size());
  parts_.push_back({static_cast<int>(rows_.size()), n_rows, n_dofs, dofs.data(), plan_.n_numbers,
                    static_cast<int>(ends.size()), ends.data()});
  plan_.n_numbers += index(n_dofs) * index(n_rows);
  rows_.resize(rows_.size() + index(n_rows));
}

void HeldStorage::find_starts(const Tree<double>& tree, const std::vector<HeldSpec>& specs) {
  first_row_.assign(cluster_.size(), static_cast<int>(rows_.size()));
  no_row_.assign(cluster_.size(), 0);
  std::vector<int> first_on(index(tree.nv), static_cast<int>(rows_.size()));  // row that moves each degree of freedom
  std::map<std::pair<int, int>, int> scales;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const HeldPart& part = parts_[k];
    const int own = specs[k].links.empty() ? -1 : cluster_[index(specs[k].links.front())];  // -1: nothing moves
    if (own >= 0) {
      first_row_[index(own)] = std::min(first_row_[index(own)], part.first);
      no_row_[index(own)] = part.first + part.n_rows;
    }
    int start = part.first;
    for (int f : dofs_[k]) start = std::min(start, first_on[index(f)] = std::min(first_on[index(f)], part.first));
    for (int r = 0; r < part.n_rows; ++r) {
      const auto [scale, is_new] = scales.try_emplace({own, specs[k].units[index(r)]}, static_cast<int>(scales.size()));
      rows_[index(part.first + r)] = {start, plan_.n_factors, scale->second};
      plan_.n_factors += index(part.first + r - start + 1);
    }
  }
  plan_.n_scales = static_cast<int>(scales.size());
}

}  // namespace featherweight
