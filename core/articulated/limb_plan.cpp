#include "articulated/limb_plan.hpp"

#include <algorithm>
#include <array>

namespace featherweight {
namespace {

using namespace host;

std::size_t at(int k) { return static_cast<std::size_t>(k); }

// Rows that travel together, and how they have fared in each posture.
struct Group {
  std::vector<int> rows;    // compiled, in the order of their slots
  std::vector<int> joined;  // groups it was made of, after n_own rows of the link where it starts
  int n_own = 0;
  struct State {
    std::vector<Row<double>> rows;
    std::vector<double> L;
  };
  std::array<State, Survey::n_postures> in;
  int begin = -1;  // first slot
  bool regular = false;
};

class Planner {
 public:
  Planner(const Tree<double>& tree, const ConstraintRows<double>& constraints, Survey& survey)
      : tree_(tree), constraints_(constraints), survey_(survey), arriving_(at(tree.n_links + 1)) {
    plan_.of_link.resize(at(tree.n_links + 1), {-1, 0, 0, 0, 0, 0, -1});
  }

  LimbPlanStorage plan() {
    for (int i = tree_.n_links - 1; i >= 0; --i) visit_link(i);
    for (int g : arriving_.back()) groups_[at(g)].regular = is_regular(groups_[at(g)]);
    arrive(tree_.n_links, arriving_.back(), {});
    number_slots();
    find_trunk();
    return std::move(plan_);
  }

 private:
  // Compared with the mobility of the row. Ten times what limb_pv demands of a single posture.
  static constexpr double smallest_pivot = 1e-4;

  void visit_link(int i) {
    std::vector<int> own, ends, joins;
    for (int r = constraints_.of_link[i].begin; r < constraints_.of_link[i].own_end; ++r) own.push_back(r);
    const std::vector<int>& arriving = arriving_[at(i)];
    const bool limbs_end = tree_.links[i].kind == JointKind::free || arriving.size() + (own.empty() ? 0 : 1) > 1;
    for (int g : arriving) (limbs_end && is_regular(groups_[at(g)]) ? ends : joins).push_back(g);
    for (int g : ends) groups_[at(g)].regular = true;

    int group = -1;
    if (own.empty() && joins.size() == 1)
      group = joins[0], joins.clear();
    else if (!own.empty() || !joins.empty())
      group = join(own, joins);
    arrive(i, ends, joins);
    const bool floating = tree_.links[i].kind == JointKind::free && tree_.links[i].parent < 0;
    if (floating && !ends.empty()) plan_.of_link[at(i)].base = plan_.n_bases++;
    if (group < 0) return;

    LinkGroups& at_link = plan_.of_link[at(i)];
    at_link.group = group;
    at_link.n_own = static_cast<int>(own.size());
    at_link.entries = plan_.n_entries;
    plan_.n_entries += static_cast<int>(groups_[at(group)].rows.size()) * tree_.links[i].nv;
    for (int k = 0; k < Survey::n_postures; ++k) {
      Group::State& state = groups_[at(group)].in[at(k)];
      survey_.pass_joint(i, k, state.rows.data(), static_cast<int>(state.rows.size()), state.L.data());
    }
    arriving_[at(tree_.links[i].parent < 0 ? tree_.n_links : tree_.links[i].parent)].push_back(group);
  }

  // Can the joints passed so far move all rows independently, in most postures?
  bool is_regular(const Group& group) const {
    int votes = 0;
    for (const Group::State& state : group.in) {
      std::vector<double> factor(state.L.size());
      const int n = static_cast<int>(group.rows.size());
      factorise_packed(n, state.L.data(), 0.0, factor.data());
      bool healthy = true;
      for (int r = 0; r < n; ++r) {
        const double share = factor[triangle(r, r)] * smallest_pivot * constraints_.ends[group.rows[at(r)]].mobility;
        healthy = healthy && share > 0 && share < 1;
      }
      votes += healthy ? 1 : 0;
    }
    return 2 * votes > Survey::n_postures;
  }

  int join(const std::vector<int>& own, const std::vector<int>& joins) {
    Group group;
    group.n_own = static_cast<int>(own.size());
    group.joined = joins;
    group.rows = own;
    for (int g : joins) group.rows.insert(group.rows.end(), groups_[at(g)].rows.begin(), groups_[at(g)].rows.end());
    for (int k = 0; k < Survey::n_postures; ++k) {
      Group::State& state = group.in[at(k)];
      state.L.assign(triangle(static_cast<int>(group.rows.size()), 0), 0.0);
      for (int r = 0; r < group.n_own; ++r) {
        state.rows.push_back(row_at_rest(constraints_.ends[own[at(r)]]));
        state.L[triangle(r, r)] = constraints_.ends[own[at(r)]].compliance;
      }
      for (int g : joins) {
        Group::State& from = groups_[at(g)].in[at(k)];
        const int first = static_cast<int>(state.rows.size());
        for (int r = 0; r < static_cast<int>(from.rows.size()); ++r)
          for (int s = 0; s <= r; ++s) state.L[triangle(first + r, first + s)] = from.L[triangle(r, s)];
        state.rows.insert(state.rows.end(), from.rows.begin(), from.rows.end());
        from = {};  // it lives on in the new one
      }
    }
    groups_.push_back(std::move(group));
    return static_cast<int>(groups_.size()) - 1;
  }

  void arrive(int link, const std::vector<int>& ends, const std::vector<int>& joins) {
    LinkGroups& at_link = plan_.of_link[at(link)];
    std::vector<int>& all = plan_.arrivals;
    at_link.ends = static_cast<int>(all.size());
    all.insert(all.end(), ends.begin(), ends.end());
    at_link.joins = static_cast<int>(all.size());
    all.insert(all.end(), joins.begin(), joins.end());
    at_link.last = static_cast<int>(all.size());
  }

  // A group that joined another lies within it; those were made later.
  void number_slots() {
    int n_slots = 0, n_triangle = 0;
    plan_.order.resize(at(constraints_.n_ends));
    plan_.groups.resize(groups_.size());
    for (int g = static_cast<int>(groups_.size()) - 1; g >= 0; --g) {
      Group& group = groups_[at(g)];
      const int n = static_cast<int>(group.rows.size());
      if (group.begin < 0) {
        group.begin = n_slots;
        n_slots += n;
        for (int r = 0; r < n; ++r) plan_.order[at(group.begin + r)] = group.rows[at(r)];
      }
      int first = group.begin + group.n_own;
      for (int joined : group.joined) {
        groups_[at(joined)].begin = first;
        first += static_cast<int>(groups_[at(joined)].rows.size());
      }
      plan_.groups[at(g)] = {group.begin, group.begin + n, n_triangle, -1, group.regular};
      n_triangle += static_cast<int>(triangle(n, 0));
    }
    for (int i = tree_.n_links - 1; i >= 0; --i)
      if (const int g = plan_.of_link[at(i)].group; g >= 0) plan_.groups[at(g)].from = i;
  }

  void find_trunk() {
    std::vector<bool> found(at(tree_.n_links), false);
    for (int i = tree_.n_links - 1; i >= 0; --i) {
      found[at(i)] = found[at(i)] || plan_.of_link[at(i)].ends < plan_.of_link[at(i)].joins;
      if (found[at(i)] && tree_.links[i].parent >= 0) found[at(tree_.links[i].parent)] = true;
    }
    for (int i = 0; i < tree_.n_links; ++i)
      if (found[at(i)]) plan_.trunk.push_back(i);
  }

  const Tree<double>& tree_;
  const ConstraintRows<double>& constraints_;
  Survey& survey_;
  std::vector<Group> groups_;
  std::vector<std::vector<int>> arriving_;  // per link, and for the world last
  LimbPlanStorage plan_;
};

}  // namespace

LimbPlanStorage plan_limbs(const Tree<double>& tree, const ConstraintRows<double>& constraints, Survey& survey) {
  return Planner(tree, constraints, survey).plan();
}

LimbPlan LimbPlanStorage::view() const {
  LimbPlan plan{n_entries,
                0,
                n_bases,
                0,
                0,
                order.data(),
                groups.data(),
                of_link.data(),
                arrivals.data(),
                static_cast<int>(trunk.size()),
                trunk.data()};
  for (const RowGroup& group : groups)
    plan.n_triangle = std::max(plan.n_triangle, group.L + static_cast<int>(triangle(group.end - group.begin, 0)));
  for (std::size_t i = 0; i + 1 < of_link.size(); ++i)
    if (of_link[i].base < 0) plan.n_inside += of_link[i].joins - of_link[i].ends;
  const LinkGroups& world = of_link.back();
  for (int k = world.ends; k < world.joins; ++k)
    if (const RowGroup& group = groups[at(arrivals[at(k)])]; !group.regular)
      plan.largest_irregular = std::max(plan.largest_irregular, group.end - group.begin);
  return plan;
}

}  // namespace featherweight
