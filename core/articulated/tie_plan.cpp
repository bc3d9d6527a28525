#include "articulated/tie_plan.hpp"

#include <algorithm>
#include <set>

namespace featherweight {
namespace {

std::size_t at(int k) { return static_cast<std::size_t>(k); }

// Of each link, the links that it is tied to when its turn comes.
std::vector<std::set<int>> eliminate(const Tree<double>& tree, const ConstraintRows<double>& constraints) {
  std::vector<std::set<int>> tied(at(tree.n_links)), of_row(at(constraints.n_rows));
  const auto tie = [&](int a, int b) {
    if (a != b) tied[at(std::max(a, b))].insert(std::min(a, b));
  };
  for (int r = 0; r < constraints.n_ends; ++r) of_row[at(constraints.ends[r].row)].insert(constraints.ends[r].link);
  for (const std::set<int>& links : of_row)
    for (int a : links)
      for (int b : links) tie(a, b);
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const int parent = tree.links[i].parent;
    for (int a : tied[at(i)]) {
      if (parent >= 0) tie(a, parent);
      for (int b : tied[at(i)]) tie(a, b);
    }
  }
  return tied;
}

// The tie of two links, in any order; there is one.
int tie_of(const TiePlan& plan, int a, int b) {
  const TiedLink& link = plan.of_link[std::max(a, b)];
  const Tie* const first = plan.ties + link.first;
  return static_cast<int>(
      std::lower_bound(first, first + link.n, std::min(a, b), [](const Tie& tie, int j) { return tie.other < j; }) -
      plan.ties);
}

std::vector<EndPair> pair_ends(const TiePlan& plan, const ConstraintRows<double>& constraints) {
  std::vector<std::vector<int>> of_row(at(constraints.n_rows));
  for (int r = 0; r < constraints.n_ends; ++r) of_row[at(constraints.ends[r].row)].push_back(r);
  std::vector<EndPair> pairs;
  for (const std::vector<int>& ends : of_row)
    for (int a : ends)
      for (int b : ends) {
        const int i = constraints.ends[a].link, j = constraints.ends[b].link;
        if (i >= j) pairs.push_back({a, b, i == j ? -1 : tie_of(plan, i, j)});
      }
  return pairs;
}

}  // namespace

TiePlan TiePlanStorage::view() const {
  return {static_cast<int>(ties.size()),
          n_entries,
          static_cast<int>(pairs.size()),
          most,
          ties.data(),
          of_link.data(),
          between.data(),
          pairs.data()};
}

TiePlanStorage plan_ties(const Tree<double>& tree, const ConstraintRows<double>& constraints) {
  TiePlanStorage plan;
  const std::vector<std::set<int>> tied = eliminate(tree, constraints);
  for (int i = 0; i < tree.n_links; ++i) {
    const int n = static_cast<int>(tied[at(i)].size());
    plan.of_link.push_back({static_cast<int>(plan.ties.size()), n, 0, plan.n_entries});
    for (int other : tied[at(i)]) plan.ties.push_back({other, Tie::to_world});
    plan.n_entries += 6 * n * tree.links[i].nv;
    plan.most = std::max(plan.most, n);
  }
  const TiePlan found = plan.view();
  for (int i = 0; i < tree.n_links; ++i) {
    TiedLink& link = plan.of_link[at(i)];
    const int parent = tree.links[i].parent;
    link.between = static_cast<int>(plan.between.size());
    for (int t = 0; t < link.n; ++t) {
      Tie& tie = plan.ties[at(link.first + t)];
      if (parent >= 0) tie.on = tie.other == parent ? int(Tie::to_itself) : tie_of(found, tie.other, parent);
      for (int s = 0; s < t; ++s) plan.between.push_back(tie_of(found, tie.other, plan.ties[at(link.first + s)].other));
    }
  }
  plan.pairs = pair_ends(found, constraints);
  return plan;
}

}  // namespace featherweight
