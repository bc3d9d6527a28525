#include "delassus/stop_plan.hpp"

#include <algorithm>

namespace featherweight {
namespace {

std::size_t at(int k) { return static_cast<std::size_t>(k); }

// Operations of the steps of delassus/pv_osimr.hpp, as counted.
double pairs_of(double n) { return n * (n + 1) / 2; }
double passing_cost(const Link<double>& l, double n) { return (26 + 14 * l.nv) * n + 2 * l.nv * pairs_of(n); }
double setting_out_cost(const Link<double>& l) {  // that of the six rows of a stop
  const bool is_floating_base = l.kind == JointKind::free && l.parent < 0;
  return is_floating_base ? 140 : passing_cost(l, 6);
}
double acceleration_cost(double n) { return 66 * n; }
double coupling_cost(double n_pairs) { return 12 * n_pairs; }
double leaping_cost(double n) { return 66 * n + acceleration_cost(6) + coupling_cost(pairs_of(6)); }

// A link with rows of its own, or where branches with rows join: it may be a stop.
struct Gathering {
  int link;
  int inward;  // the next gathering, -1: none
  // operations up to there, with all that is outboard, if its rows ...
  double by_themselves = 0;  // ... travel on like that
  double by_stop = 0;        // ... stop
  int stop = -1;             // its number, if it is one
};

class Planner {
 public:
  Planner(const Tree<double>& tree, const RowRange* rows) : tree_(tree), rows_(rows) {}

  StopPlanStorage plan() {
    find_gatherings();
    add_costs();
    choose_stops();
    for (int x = 0; x < static_cast<int>(plan_.stops.size()); ++x) list_arrivals(x);
    return std::move(plan_);
  }

 private:
  int n_rows(const RowRange& range) const { return range.end - range.begin; }

  // Root to leaf.
  void find_gatherings() {
    std::vector<int> branches(at(tree_.n_links), 0), nearest(at(tree_.n_links), -1);
    for (int i = 0; i < tree_.n_links; ++i)
      if (tree_.links[i].parent >= 0 && n_rows(rows_[i]) > 0) ++branches[at(tree_.links[i].parent)];
    for (int i = 0; i < tree_.n_links; ++i) {
      const int inward = tree_.links[i].parent < 0 ? -1 : nearest[at(tree_.links[i].parent)];
      nearest[at(i)] = inward;
      if (rows_[i].begin == rows_[i].own_end && branches[at(i)] < 2) continue;
      nearest[at(i)] = static_cast<int>(gatherings_.size());
      gatherings_.push_back({i, inward});
    }
  }

  // Calls f for the joints from a gathering to the next.
  template <class F>
  void walk_inward(const Gathering& g, F&& f) const {
    const int end = g.inward < 0 ? -1 : gatherings_[at(g.inward)].link;
    for (int i = g.link; i != end; i = tree_.links[i].parent) f(i);
  }

  void add_costs() {
    for (auto g = gatherings_.rbegin(); g != gatherings_.rend(); ++g) {
      const double n = n_rows(rows_[g->link]);
      g->by_stop += acceleration_cost(n) + coupling_cost(pairs_of(n));
      walk_inward(*g, [&](int i) {
        const Link<double>& l = tree_.links[i];
        g->by_themselves += passing_cost(l, n);
        g->by_stop += i == g->link ? setting_out_cost(l) : passing_cost(l, 6);
      });
      if (g->inward < 0) continue;
      g->by_stop += leaping_cost(n) - coupling_cost(pairs_of(n));  // those coupled already are not coupled again
      Gathering& inward = gatherings_[at(g->inward)];
      inward.by_themselves += g->by_themselves;
      inward.by_stop += std::min(g->by_themselves, g->by_stop);
    }
  }

  void choose_stops() {
    plan_.of_link.assign(at(tree_.n_links), -1);
    for (Gathering& g : gatherings_) {
      const int inward = g.inward < 0 ? -1 : gatherings_[at(g.inward)].stop;
      if ((g.inward >= 0 && inward < 0) || g.by_themselves <= g.by_stop) continue;
      g.stop = static_cast<int>(plan_.stops.size());
      plan_.stops.push_back({g.link, inward, 0, 0});
      walk_inward(g, [&](int i) { plan_.of_link[at(i)] = g.stop; });
    }
  }

  // The rows outboard of stop x are split where others came by a stop and where they came by themselves.
  void list_arrivals(int x) {
    Stop& stop = plan_.stops[at(x)];
    const auto add = [&](int begin, int end, int coupled) {
      if (begin < end) plan_.arrivals.push_back({begin, end, coupled});
    };
    stop.arrivals = static_cast<int>(plan_.arrivals.size());
    int begin = rows_[stop.link].begin;
    for (const Stop& arriving : plan_.stops) {
      if (arriving.inward != x) continue;
      const RowRange& arrived = rows_[arriving.link];
      add(begin, arrived.begin, 0);
      add(arrived.begin, arrived.end, 1);
      begin = arrived.end;
    }
    add(begin, rows_[stop.link].end, 0);
    stop.last = static_cast<int>(plan_.arrivals.size());
  }

  const Tree<double>& tree_;
  const RowRange* rows_;
  std::vector<Gathering> gatherings_;
  StopPlanStorage plan_;
};

}  // namespace

StopPlanStorage plan_stops(const Tree<double>& tree, const ConstraintRows<double>& constraints) {
  return Planner(tree, constraints.of_link).plan();
}

}  // namespace featherweight
