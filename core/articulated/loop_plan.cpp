#include "articulated/loop_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "articulated/survey.hpp"
#include "linalg/packed_ldl.hpp"

namespace featherweight {
namespace {

using namespace host;

std::size_t at(int k) { return static_cast<std::size_t>(k); }

// Eigenvectors of a symmetric matrix of at most six rows, by Jacobi's rotations; A is left diagonal.
using Matrix6 = std::array<std::array<double, 6>, 6>;
void diagonalise(int n, Matrix6& A, Matrix6& vectors) {
  vectors = {};
  for (int k = 0; k < n; ++k) vectors[at(k)][at(k)] = 1;
  for (int sweep = 0; sweep < 30; ++sweep)
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        const double off = A[at(p)][at(q)];
        if (std::abs(off) < 1e-300) continue;
        const double zeta = (A[at(q)][at(q)] - A[at(p)][at(p)]) / (2 * off);
        const double t = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t), s = t * c;
        const auto rotate = [&](double& x, double& y) {
          const double before = x;
          x = c * before - s * y;
          y = s * before + c * y;
        };
        for (int k = 0; k < n; ++k) rotate(A[at(k)][at(p)], A[at(k)][at(q)]);
        for (int k = 0; k < n; ++k) rotate(A[at(p)][at(k)], A[at(q)][at(k)]);
        for (int k = 0; k < n; ++k) rotate(vectors[at(k)][at(p)], vectors[at(k)][at(q)]);
      }
}

class Planner {
 public:
  Planner(const Tree<double>& tree, const ConstraintRows<double>& constraints, const RowSurvey& survey)
      : tree_(tree),
        constraints_(constraints),
        survey_(survey),
        arriving_(at(tree.n_links + 1)),
        starting_(at(tree.n_links)) {}

  LoopPlanStorage plan() {
    choose_rows();
    for (std::size_t e = 0; e < plan_.ends.size(); ++e)
      starting_[at(plan_.ends[e].link)].push_back(static_cast<int>(e));
    plan_.of_link.resize(at(tree_.n_links + 1));
    for (int i = tree_.n_links - 1; i >= 0; --i) visit_link(i);
    visit_link(tree_.n_links);
    return std::move(plan_);
  }

 private:
  // -- which combinations of rows are carried ------------------------------------------------------------------------

  // A motion of this part of what the row's joints can do is taken for rounding in the numbers of a file.
  static constexpr double negligible = 1e-5;

  // Combinations that move by less are never moved: what is left is rounding of ours.
  static constexpr double nothing = 1e-12;

  void choose_rows() {
    std::vector<std::vector<int>> ends_of(at(constraints_.n_rows));
    for (int e = 0; e < constraints_.n_ends; ++e) ends_of[at(constraints_.ends[e].row)].push_back(e);
    for (int c = 0; c < constraints_.n_closures; ++c) {
      const Closure<double>& closure = constraints_.closures[c];
      const int first = constraints_.places[c].row;
      if (closure.length > 0)
        carry_rod(c, ends_of[at(first)]);
      else if (closure.b.link < 0)
        for (int r = 0; r < closure.n_rows; ++r) {
          plan_.anchors.push_back(static_cast<int>(plan_.ends.size()));
          carry(first + r, ends_of[at(first + r)]);
        }
      else
        carry_closure(c, ends_of);
    }
    plan_.first_coupling = static_cast<int>(plan_.rows.size());
    for (int c = 0; c < constraints_.n_couplings; ++c) {
      const int row = constraints_.places[constraints_.n_closures + c].row, end = static_cast<int>(plan_.ends.size());
      carry(row, ends_of[at(row)]);
      for (int e = end; e < static_cast<int>(plan_.ends.size()); ++e) plan_.couplings.push_back(e);
    }
  }

  // One of the user's rows as it is. It ends where its ends have come together, or at the world.
  void carry(int row, const std::vector<int>& ends) {
    CarriedRow carried{row, 1, {1}, constraints_.ends[ends[0]].compliance, survey_.mobility[at(row)]};
    int top = constraints_.ends[ends[0]].grounded ? tree_.n_links : constraints_.ends[ends[0]].link;
    for (int e : ends) {
      const RowEnd<double>& end = constraints_.ends[e];
      top = end.grounded ? tree_.n_links : common(top, end.link);
      const int varying = end.kind == EndKind::fixed ? -1 : plan_.n_varying++;
      CarriedEnd made{static_cast<int>(plan_.rows.size()), end.link, e, end.leads, varying, {}};
      std::copy(end.K, end.K + 6, made.K);
      plan_.ends.push_back(made);
    }
    plan_.rows.push_back(carried);
    top_.push_back(top);
  }

  // A rod's first end is that on the link of frame a.
  void carry_rod(int c, std::vector<int> ends) {
    std::stable_partition(ends.begin(), ends.end(), [&](int e) { return constraints_.ends[e].first_link < 0; });
    const int row = static_cast<int>(plan_.rows.size()), end = static_cast<int>(plan_.ends.size());
    carry(constraints_.places[c].row, ends);
    add_path(c, row, end, LeftOut::nothing);
  }

  // The combinations of a closure's rows that joints can move.
  void carry_closure(int c, const std::vector<std::vector<int>>& ends_of) {
    const int n = constraints_.closures[c].n_rows, row = constraints_.places[c].row;
    const RowEnd<double>* second = nullptr;
    std::array<const RowEnd<double>*, 6> firsts{};
    for (int r = 0; r < n; ++r)
      for (int e : ends_of[at(row + r)]) {
        const RowEnd<double>& end = constraints_.ends[e];
        (end.first_link < 0 ? firsts[at(r)] : second) = &end;
      }
    const int first_row = static_cast<int>(plan_.rows.size()), first_end = static_cast<int>(plan_.ends.size());
    const Reachable reached = reachable(row, n);
    for (const Combination& part : reached.moved) {
      const int index = static_cast<int>(plan_.rows.size());
      CarriedRow carried{row, n, {}, 0, 0};
      CarriedEnd a{index, firsts[0]->link, static_cast<int>(firsts[0] - constraints_.ends), 1, -1, {}};
      for (int r = 0; r < n; ++r) {
        carried.part[r] = part[at(r)];
        carried.compliance += part[at(r)] * part[at(r)] * firsts[at(r)]->compliance;
        carried.mobility += part[at(r)] * part[at(r)] * survey_.mobility[at(row + r)];
        for (int k = 0; k < 6; ++k) a.K[k] += part[at(r)] * firsts[at(r)]->K[k];
      }
      plan_.rows.push_back(carried);
      plan_.ends.push_back(a);
      const int of = static_cast<int>(second - constraints_.ends);
      plan_.ends.push_back({index, second->link, of, 0, plan_.n_varying++, {}});
      top_.push_back(common(a.link, second->link));
    }
    add_path(c, first_row, first_end, reached.left_out);
  }

  void add_path(int c, int row, int end, LeftOut left_out) {
    const Closure<double>& closure = constraints_.closures[c];
    const int top = closure.b.link < 0 ? tree_.n_links : common(closure.a.link, closure.b.link);
    LoopPath path{c, row, static_cast<int>(plan_.rows.size()) - row, end, 0, 0, 0, 0, -1, left_out};
    path.a = static_cast<int>(plan_.way.size());
    add_way(closure.a.link, top);
    path.a_end = path.b = static_cast<int>(plan_.way.size());
    if (closure.b.link >= 0) add_way(closure.b.link, top);
    path.b_end = static_cast<int>(plan_.way.size());
    const auto kind = [&](int k) { return tree_.links[plan_.way[at(k)]].kind; };
    for (const JointKind hinge : {JointKind::revolute_x, JointKind::revolute_y, JointKind::revolute_z}) {
      bool all = closure.length == 0 && path.a < path.b_end;
      for (int k = path.a; k < path.b_end; ++k) all = all && kind(k) == hinge;
      if (all) path.axis = hinge == JointKind::revolute_x ? 0 : hinge == JointKind::revolute_y ? 1 : 2;
    }
    plan_.paths.push_back(path);
  }
  // Links from the first outboard of `top` to `link`.
  void add_way(int link, int top) {
    const std::size_t first = plan_.way.size();
    for (int i = link; i >= 0 && i != top; i = tree_.links[i].parent) plan_.way.push_back(i);
    std::reverse(plan_.way.begin() + static_cast<std::ptrdiff_t>(first), plan_.way.end());
  }

  using Combination = std::array<double, 6>;
  struct Reachable {
    std::vector<Combination> moved;  // orthonormal
    LeftOut left_out = LeftOut::nothing;
  };

  // What of rows [row, row + n) is carried: the rows themselves if they can all be moved, or none of them together with
  // another.
  Reachable reachable(int row, int n) const {
    Reachable reached;
    const auto unit = [](int k) {
      Combination part{};
      part[at(k)] = 1;
      return part;
    };
    const bool rigid = std::all_of(constraints_.ends, constraints_.ends + constraints_.n_ends, [&](const auto& end) {
      return end.row < row || end.row >= row + n || end.compliance == 0;
    });
    Matrix6 A{}, vectors{};
    double trace = 0;
    for (int r = 0; r < n; ++r)
      for (int s = 0; s < n; ++s) {
        for (int k = 0; k < Survey::n_postures; ++k) A[at(r)][at(s)] += survey_.delassus(k, tree_.nv, row + r, row + s);
        if (r == s) trace += A[at(r)][at(r)];
      }
    const double smallest = negligible * negligible * trace;
    bool separate = true;
    for (int r = 0; r < n; ++r)
      for (int s = 0; s < n; ++s)
        if (r != s && A[at(r)][at(r)] <= smallest) separate = separate && std::abs(A[at(r)][at(s)]) <= smallest;
    const Matrix6 B = A;
    diagonalise(n, A, vectors);
    int rank = 0, moved = 0;
    for (int k = 0; k < n; ++k) rank += A[at(k)][at(k)] > smallest;
    for (int k = 0; k < n; ++k) moved += B[at(k)][at(k)] > smallest;
    const bool as_they_are = !rigid || rank == n || (separate && moved == rank);
    for (int k = 0; k < n; ++k) {
      Combination part = unit(k);
      if (!as_they_are)
        for (int r = 0; r < n; ++r) part[at(r)] = vectors[at(r)][at(k)];
      if (!rigid || rank == n || (as_they_are ? B : A)[at(k)][at(k)] > smallest)
        reached.moved.push_back(part);
      else if (moves(row, n, part))
        reached.left_out = LeftOut::rounding;
      else if (reached.left_out == LeftOut::nothing)
        reached.left_out = LeftOut::unmoved;
    }
    return reached;
  }
  // Whether joints move a combination of rows [row, row + n) at all.
  bool moves(int row, int n, const Combination& part) const {
    double own = 0, all = 0;
    for (const RowSurvey::Posture& posture : survey_.postures)
      for (int k = 0; k < tree_.nv; ++k) {
        double sum = 0;
        for (int r = 0; r < n; ++r) {
          const double entry = posture.J[at(row + r) * at(tree_.nv) + at(k)];
          sum += part[at(r)] * entry;
          all += entry * entry;
        }
        own += sum * sum;
      }
    return own > nothing * nothing * all;
  }

  // The outermost link that both are on or outboard of; the world is one past the last.
  int common(int a, int b) const {
    const auto is_outboard = [&](int link, int of) { return of <= link && link < tree_.links[of].subtree_end; };
    while (a < tree_.n_links && !(b < tree_.n_links && is_outboard(b, a)))
      a = tree_.links[a].parent < 0 ? tree_.n_links : tree_.links[a].parent;
    return a;
  }

  // -- where they go -------------------------------------------------------------------------------------------------

  struct Part {             // of a block in the making
    int source;             // block of a child, or -1: ends that start here
    std::vector<int> ends;  // in that case
    std::vector<int> rows;  // in the order in which they come
  };

  void visit_link(int i) {
    LoopLink& link = plan_.of_link[at(i)];
    link = {static_cast<int>(plan_.blocks.size()), 0, -1, 0, 0, -1, plan_.n_entries, false};
    std::vector<std::vector<Part>> sets = connected(i);
    std::stable_partition(sets.begin(), sets.end(), [&](const auto& parts) { return !passes_on(i, parts); });
    for (const std::vector<Part>& parts : sets) {
      make_block(i, parts);
      const LoopBlock& block = plan_.blocks.back();
      link.answers = link.answers || block.n_ending > 0;
      if (block.n_ending == block.n) continue;
      link.passing = static_cast<int>(plan_.blocks.size()) - 1;
      link.first = block.n_ending;
      link.n = block.n - block.n_ending;
      link.forces = first_in_order(passing_rows(link.passing));
      plan_.n_entries += link.n * tree_.links[i].nv;
    }
    link.last = static_cast<int>(plan_.blocks.size()) - (!sets.empty() && passes_on(i, sets.back()) ? 1 : 0);
    if (i == tree_.n_links) return;
    const int parent = tree_.links[i].parent < 0 ? tree_.n_links : tree_.links[i].parent;
    for (int child = i + 1; child < tree_.links[i].subtree_end; child = tree_.links[child].subtree_end)
      link.answers = link.answers || plan_.of_link[at(child)].answers;
    if (link.passing >= 0) arriving_[at(parent)].push_back(link.passing);
  }

  // Whether what comes together at link i is the block of one child, none of whose rows ends.
  bool passes_on(int i, const std::vector<Part>& parts) const {
    const auto ends = [&](int row) { return top_[at(row)] == i; };
    return parts.size() == 1 && parts[0].source >= 0 && plan_.blocks[at(parts[0].source)].n_ending == 0 &&
           std::none_of(parts[0].rows.begin(), parts[0].rows.end(), ends);
  }

  // What comes together at link i, in sets that have no row in common; those with rows that pass the joint are one.
  std::vector<std::vector<Part>> connected(int i) const {
    std::vector<Part> parts;
    for (int block : arriving_[at(i)]) parts.push_back({block, {}, passing_rows(block)});
    if (i < tree_.n_links)
      for (int e : starting_[at(i)]) parts.push_back({-1, {e}, {plan_.ends[at(e)].row}});
    std::vector<std::vector<Part>> sets;
    for (Part& part : parts) {
      std::vector<Part> joined;
      std::vector<std::vector<Part>> apart;
      for (std::vector<Part>& set : sets) {
        if (!are_connected(i, set, part)) {
          apart.push_back(std::move(set));
          continue;
        }
        joined.insert(joined.end(), std::make_move_iterator(set.begin()), std::make_move_iterator(set.end()));
      }
      joined.push_back(std::move(part));
      apart.push_back(std::move(joined));
      sets = std::move(apart);
    }
    return sets;
  }
  bool are_connected(int i, const std::vector<Part>& set, const Part& part) const {
    const auto passes = [&](int row) { return top_[at(row)] != i; };
    const bool part_passes = std::any_of(part.rows.begin(), part.rows.end(), passes);
    for (const Part& other : set) {
      if (part_passes && std::any_of(other.rows.begin(), other.rows.end(), passes)) return true;
      for (int row : part.rows)
        if (std::find(other.rows.begin(), other.rows.end(), row) != other.rows.end()) return true;
    }
    return false;
  }
  // The first row, if the others follow it as carried rows do; else -1.
  static int first_in_order(const std::vector<int>& rows) {
    for (std::size_t k = 1; k < rows.size(); ++k)
      if (rows[k] != rows[k - 1] + 1) return -1;
    return rows.front();
  }
  std::vector<int> passing_rows(int block) const {
    const LoopBlock& b = plan_.blocks[at(block)];
    return {plan_.row_of.begin() + b.begin + b.n_ending, plan_.row_of.begin() + b.begin + b.n};
  }

  void make_block(int i, std::vector<Part> parts) {
    std::vector<int> rows = ordered_rows(i, parts);
    LoopBlock block{};
    block.n = static_cast<int>(rows.size());
    block.n_ending =
        static_cast<int>(std::count_if(rows.begin(), rows.end(), [&](int row) { return top_[at(row)] == i; }));
    // a source that has all rows, in this order, can stay where it is
    const auto stays = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
      return part.source >= 0 && part.rows == rows && plan_.blocks[at(part.source)].n_ending == 0;
    });
    block.in_place = stays != parts.end();
    if (block.in_place) {
      std::iter_swap(parts.begin(), stays);
      block.begin = plan_.blocks[at(parts[0].source)].begin;
      block.L = plan_.blocks[at(parts[0].source)].L;
    } else {
      block.begin = static_cast<int>(plan_.row_of.size());
      plan_.row_of.insert(plan_.row_of.end(), rows.begin(), rows.end());
      block.L = plan_.n_triangle;
      plan_.n_triangle += static_cast<int>(triangle(block.n, 0));
    }
    plan_.widest = std::max(plan_.widest, block.n);
    add_parts(block, parts, rows);
    block.starts = block.n_ending == 0 && block.sources == block.last && block.own_end - block.own == block.n;
    for (int k = 0; k < block.n && block.starts; ++k) block.starts = plan_.starting[at(block.own + k)].place == k;
    block.meets = block.n_ending == block.n && block.in_place && block.last - block.sources == 2 &&
                  block.own == block.own_end && plan_.sources.back().fills &&
                  plan_.blocks[at(plan_.sources.back().block)].n_ending == 0;
    for (int k = 0; k < block.n_ending; ++k)
      block.smallest = std::max(block.smallest, smallest_pivot * plan_.rows[at(rows[at(k)])].mobility);
    plan_.blocks.push_back(block);
  }

  // Rows that end at link i first.
  std::vector<int> ordered_rows(int i, const std::vector<Part>& parts) const {
    std::vector<int> rows;
    for (const Part& part : parts)
      for (int row : part.rows)
        if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
    std::stable_partition(rows.begin(), rows.end(), [&](int row) { return top_[at(row)] == i; });
    return rows;
  }

  void add_parts(LoopBlock& block, const std::vector<Part>& parts, const std::vector<int>& rows) {
    const auto place = [&](int row) {
      return static_cast<int>(std::find(rows.begin(), rows.end(), row) - rows.begin());
    };
    std::vector<bool> taken(rows.size(), false);
    block.sources = static_cast<int>(plan_.sources.size());
    for (const Part& part : parts) {
      if (part.source < 0) continue;
      plan_.sources.push_back({part.source, static_cast<int>(plan_.places.size()), part.rows == rows});
      for (int row : part.rows) plan_.places.push_back(place(row)), taken[at(place(row))] = true;
    }
    block.last = static_cast<int>(plan_.sources.size());
    block.own = static_cast<int>(plan_.starting.size());
    for (const Part& part : parts)
      for (int e : part.ends) {
        const int k = place(plan_.ends[at(e)].row);
        plan_.starting.push_back({e, k, !taken[at(k)]});
        taken[at(k)] = true;
      }
    block.own_end = static_cast<int>(plan_.starting.size());
  }

  // Of the mobility of rows. Parallelograms 1e-4 from flat have pivots of 1e-11; a rod too many whose ends are 1e-6
  // off, of 1e-13.
  static constexpr double smallest_pivot = 2e-12;

  const Tree<double>& tree_;
  const ConstraintRows<double>& constraints_;
  const RowSurvey& survey_;
  std::vector<int> top_;                    // of each carried row the link where it ends
  std::vector<std::vector<int>> arriving_;  // per link, and for the world last: blocks
  std::vector<std::vector<int>> starting_;  // per link: carried ends
  LoopPlanStorage plan_;
};

}  // namespace

LoopPlanStorage plan_loops(const Tree<double>& tree, const ConstraintRows<double>& constraints,
                           const RowSurvey& survey) {
  return Planner(tree, constraints, survey).plan();
}

LoopPlan LoopPlanStorage::view() const {
  const auto count = [](const auto& list) { return static_cast<int>(list.size()); };
  return {count(rows),   count(ends),    n_varying,      count(paths),     count(anchors), count(couplings),
          count(row_of), n_triangle,     n_entries,      widest,           rows.data(),    ends.data(),
          blocks.data(), of_link.data(), sources.data(), starting.data(),  places.data(),  row_of.data(),
          paths.data(),  way.data(),     anchors.data(), couplings.data(), first_coupling, nullptr};
}

}  // namespace featherweight
