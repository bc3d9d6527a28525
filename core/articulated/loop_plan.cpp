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

  void choose_rows() {
    std::vector<std::vector<int>> ends_of(at(constraints_.n_rows));
    for (int e = 0; e < constraints_.n_ends; ++e) ends_of[at(constraints_.ends[e].row)].push_back(e);
    for (int c = 0; c < constraints_.n_closures; ++c) {
      const Closure<double>& closure = constraints_.closures[c];
      const int first = constraints_.places[c].row;
      const std::size_t before = plan_.rows.size();
      if (closure.b.link < 0 || closure.length > 0)
        for (int r = 0; r < closure.n_rows; ++r) carry(first + r, ends_of[at(first + r)]);
      else
        carry_closure(c, ends_of);
      plan_.closures_reduced.push_back(plan_.rows.size() - before < at(closure.n_rows) ? 1 : 0);
    }
    for (int c = 0; c < constraints_.n_couplings; ++c) {
      const int row = constraints_.places[constraints_.n_closures + c].row;
      carry(row, ends_of[at(row)]);
    }
  }

  // One of the user's rows as it is. It ends where its ends have come together, or at the world.
  void carry(int row, const std::vector<int>& ends) {
    CarriedRow carried{row, 1, {1}, constraints_.ends[ends[0]].compliance, survey_.mobility[at(row)]};
    int top = constraints_.ends[ends[0]].grounded ? tree_.n_links : constraints_.ends[ends[0]].link;
    for (int e : ends) {
      const RowEnd<double>& end = constraints_.ends[e];
      top = end.grounded ? tree_.n_links : common(top, end.link);
      CarriedEnd made{static_cast<int>(plan_.rows.size()), end.link, e, -1, end.leads, {}, end.kind == EndKind::fixed};
      std::copy(end.K, end.K + 6, made.K);
      plan_.ends.push_back(made);
    }
    plan_.rows.push_back(carried);
    top_.push_back(top);
  }

  // The combinations of a closure's rows that joints can move.
  void carry_closure(int c, const std::vector<std::vector<int>>& ends_of) {
    const Closure<double>& closure = constraints_.closures[c];
    const int n = closure.n_rows, row = constraints_.places[c].row;
    const RowEnd<double>*first = nullptr, *second = nullptr;
    std::array<const RowEnd<double>*, 6> firsts{};
    for (int r = 0; r < n; ++r)
      for (int e : ends_of[at(row + r)]) {
        const RowEnd<double>& end = constraints_.ends[e];
        (end.first_link < 0 ? firsts[at(r)] : second) = &end;
      }
    first = firsts[0];
    for (const std::array<double, 6>& part : reachable(row, n)) {
      const int index = static_cast<int>(plan_.rows.size());
      CarriedRow carried{row, n, {}, 0, 0};
      CarriedEnd a{index, first->link, static_cast<int>(first - constraints_.ends), -1, 1, {}, true};
      CarriedEnd b{index, second->link, static_cast<int>(second - constraints_.ends), c, 0, {}, false};
      for (int r = 0; r < n; ++r) {
        carried.part[r] = part[at(r)];
        carried.compliance += part[at(r)] * part[at(r)] * firsts[at(r)]->compliance;
        carried.mobility += part[at(r)] * part[at(r)] * survey_.mobility[at(row + r)];
        for (int k = 0; k < 6; ++k) a.K[k] += part[at(r)] * firsts[at(r)]->K[k];
        b.K[closure.axes[r]] += part[at(r)];
      }
      plan_.rows.push_back(carried);
      plan_.ends.push_back(a);
      plan_.ends.push_back(b);
      top_.push_back(common(first->link, second->link));
    }
  }

  // Orthonormal combinations of rows [row, row + n); the rows themselves if they can all be moved, or none of them
  // together with another.
  std::vector<std::array<double, 6>> reachable(int row, int n) const {
    std::vector<std::array<double, 6>> found;
    const auto unit = [](int k) {
      std::array<double, 6> part{};
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
    Matrix6 B = A;
    diagonalise(n, A, vectors);
    int rank = 0, moved = 0;
    for (int k = 0; k < n; ++k) rank += A[at(k)][at(k)] > smallest;
    for (int k = 0; k < n; ++k) moved += B[at(k)][at(k)] > smallest;
    for (int k = 0; k < n; ++k) {
      if (!rigid || rank == n) {
        found.push_back(unit(k));
      } else if (separate && moved == rank) {
        if (B[at(k)][at(k)] > smallest) found.push_back(unit(k));
      } else if (A[at(k)][at(k)] > smallest) {
        std::array<double, 6> part{};
        for (int r = 0; r < n; ++r) part[at(r)] = vectors[at(r)][at(k)];
        found.push_back(part);
      }
    }
    return found;
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
    link = {static_cast<int>(plan_.blocks.size()), 0, -1, plan_.n_entries, false};
    for (const std::vector<Part>& parts : connected(i)) {
      make_block(i, parts);
      const LoopBlock& block = plan_.blocks.back();
      link.answers = link.answers || block.n_ending > 0;
      if (block.n_ending == block.n) continue;
      link.passing = static_cast<int>(plan_.blocks.size()) - 1;
      plan_.n_entries += (block.n - block.n_ending) * tree_.links[i].nv;
    }
    link.last = static_cast<int>(plan_.blocks.size());
    if (i == tree_.n_links) return;
    const int parent = tree_.links[i].parent < 0 ? tree_.n_links : tree_.links[i].parent;
    for (int child = i + 1; child < tree_.links[i].subtree_end; child = tree_.links[child].subtree_end)
      link.answers = link.answers || plan_.of_link[at(child)].answers;
    if (link.passing >= 0) arriving_[at(parent)].push_back(link.passing);
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
      plan_.sources.push_back({part.source, static_cast<int>(plan_.places.size())});
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
  return {count(rows),    count(ends),     count(row_of), n_triangle,    n_entries,
          widest,         rows.data(),     ends.data(),   blocks.data(), of_link.data(),
          sources.data(), starting.data(), places.data(), row_of.data(), closures_reduced.data()};
}

}  // namespace featherweight
