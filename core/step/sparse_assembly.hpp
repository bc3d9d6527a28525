// step/sparse_assembly.hpp -- the matrix of a large cone problem, block by block.
//
// Quartets couple if they share a tree, or trees that hold together, so that listing quartets by tree tells which
// blocks there are. Columns of a quartet lie together, each block column by column, in the order of the blocks they
// couple to. Half of the blocks are computed, the others are their transposes. Cost: linear in the blocks that are not
// zero. Oracle: the dense matrix.
#pragma once
#include "cones/matrix.hpp"
#include "cones/tuning.hpp"
#include "step/cone_rows.hpp"

namespace featherweight::FW_ISA {

template <class S>
class SparseAssembly {
 public:
  SparseAssembly(const Scene& scene, const ConeRows<S>& rows)
      : scene_(scene), quartets_(rows.quartets), n_quartets_(rows.n_quartets), rows_(rows) {}

  // The first time without room for values, which place_columns counts.
  void make_room(Arena& arena) {
    first_of_root_ = arena.take<int>(n_roots() + 1);
    on_root_ = arena.take<int>(2 * static_cast<std::size_t>(n_quartets_));
    first_block_ = arena.take<int>(n_quartets_ + 1);
    columns_ = arena.take<Columns>(n_quartets_);
    start_ = arena.take<int>(rows_.n_blocks + 1);
    neighbour_ = arena.take<int>(n_neighbours_);
    at_ = arena.take<std::size_t>(n_neighbours_);
    values_ = arena.take<double>(n_values_ + 1);
  }
  ContactMatrix matrix() const { return {values_, 0, start_, neighbour_, at_}; }

  // Whether there would be far more values than in the paths of the rows. After make_room.
  bool is_crowded() {
    list_quartets_by_tree();
    double values = 0, walked = 0;
    for (int k = 0; k < n_roots(); ++k) {
      double rows = 0;
      for (int i = first_of_root_[k]; i < first_of_root_[k + 1]; ++i) rows += quartets_[on_root_[i]].rows;
      values += rows * rows;
    }
    for (int i = 0; i < n_quartets_; ++i)
      for (int e = 0; e < quartets_[i].n_ends; ++e) walked += quartets_[i].rows * quartets_[i].ends[e].count;
    return values > ProblemSizes::most_sparse_values && values > ProblemSizes::crowded * walked;
  }

  // Where the values of each block go.
  void place_columns() {
    list_quartets_by_tree();
    list_blocks_by_quartet();
    n_neighbours_ = n_values_ = 0;
    for (int i = 0; i < n_quartets_ && !interrupted(static_cast<double>(n_neighbours_)); ++i) {
      Columns& own = columns_[i] = {0, 0, 0, n_values_};
      for_neighbours(i, [&](int other) { own.blocks += n_blocks(other), own.rows += quartets_[other].rows; });
      for (int j = first_block_[i]; j < first_block_[i + 1]; ++j, n_neighbours_ += own.blocks)
        start_[j] = static_cast<int>(n_neighbours_);
      n_values_ += own.rows * quartets_[i].rows;
    }
    start_[rows_.n_blocks] = static_cast<int>(n_neighbours_);
  }

  void write_values() {
    for (int i = 0; i < n_quartets_ && !interrupted(50.0 * columns_[i].blocks); ++i)
      for_neighbours(i, [&](int other) {
        if (other > i) return;
        Block4 both = couple(scene_, quartets_[other], quartets_[i]);
        if (other == i)
          for (int r = 0; r < quartets_[i].rows; ++r)
            both.columns[r][r] += rows_.rows[quartets_[i].first + r].compliance;
        append(other, i, both);
        if (other != i) append(i, other, transposed(both));
      });
    values_[n_values_] = 0;
  }

 private:
  // Of a quartet: blocks and rows that its columns couple to, how many of both are written, and where its values start.
  struct Columns {
    std::size_t blocks, rows, done, values, done_rows = 0;
  };

  const Scene& scene_;
  const Quartet* quartets_;
  int n_quartets_;
  const ConeRows<S>& rows_;
  int *first_of_root_ = nullptr, *on_root_ = nullptr, *first_block_ = nullptr;
  int *start_ = nullptr, *neighbour_ = nullptr;
  Columns* columns_ = nullptr;
  std::size_t n_neighbours_ = 0, n_values_ = 0, *at_ = nullptr;
  double* values_ = nullptr;

  int n_roots() const { return scene_.tree.n_links; }  // trees are named by the link at their root
  int n_blocks(int quartet) const { return first_block_[quartet + 1] - first_block_[quartet]; }
  int root_of(const Quartet& quartet, int end) const { return quartet.ends[end].cluster; }

  // f(root) for the one or two trees that a quartet acts on.
  template <class F>
  FW_INLINE void for_roots(const Quartet& quartet, const F& f) const {
    for (int e = 0; e < quartet.n_ends; ++e)
      if (e == 0 || root_of(quartet, 0) != root_of(quartet, 1)) f(root_of(quartet, e));
  }

  // In rising order.
  void list_quartets_by_tree() {
    for (int k = 0; k <= n_roots(); ++k) first_of_root_[k] = 0;
    for (int i = 0; i < n_quartets_; ++i) for_roots(quartets_[i], [&](int root) { ++first_of_root_[root + 1]; });
    for (int k = 0; k < n_roots(); ++k) first_of_root_[k + 1] += first_of_root_[k];
    const int n_listed = first_of_root_[n_roots()];
    // filled from the back, by which ends become starts, one place too far
    for (int i = n_quartets_ - 1; i >= 0; --i)
      for_roots(quartets_[i], [&](int root) { on_root_[--first_of_root_[root + 1]] = i; });
    for (int k = 0; k < n_roots(); ++k) first_of_root_[k] = first_of_root_[k + 1];
    first_of_root_[n_roots()] = n_listed;
  }
  void list_blocks_by_quartet() {
    for (int b = 0, i = -1; b < rows_.n_blocks; ++b) {
      if (i + 1 < n_quartets_ && rows_.blocks[b].first >= quartets_[i + 1].first) first_block_[++i] = b;
      first_block_[i + 1] = b + 1;
    }
  }

  // f(other quartet) for every quartet that shares a tree with quartet i, in rising order, itself included.
  template <class F>
  FW_INLINE void for_neighbours(int i, const F& f) const {
    int at_root[2] = {0, 0}, end_root[2] = {0, 0}, n = 0;
    for_roots(quartets_[i], [&](int root) {
      at_root[n] = first_of_root_[root];
      end_root[n++] = first_of_root_[root + 1];
    });
    for (;;) {
      int next = n_quartets_;
      for (int k = 0; k < n; ++k)
        if (at_root[k] < end_root[k] && on_root_[at_root[k]] < next) next = on_root_[at_root[k]];
      if (next == n_quartets_) return;
      for (int k = 0; k < n; ++k)
        if (at_root[k] < end_root[k] && on_root_[at_root[k]] == next) ++at_root[k];
      f(next);
    }
  }

  // Columns of quartet i in the rows of a quartet that comes next to those it has so far.
  FW_INLINE void append(int other, int i, const Block4& both) {
    Columns& own = columns_[i];
    const Quartet &rows = quartets_[other], &quartet = quartets_[i];
    for (int j = first_block_[i]; j < first_block_[i + 1]; ++j) {
      const Block& column = rows_.blocks[j];
      const int c0 = column.first - quartet.first;
      std::size_t k = start_[j] + own.done;
      double* to = values_ + own.values + c0 * own.rows + column.rows * own.done_rows;
      for (int b = first_block_[other]; b < first_block_[other + 1]; ++b, ++k) {
        const Block& block = rows_.blocks[b];
        const int r0 = block.first - rows.first;
        neighbour_[k] = b;
        at_[k] = static_cast<std::size_t>(to - values_);
        for (int c = 0; c < column.rows; ++c)
          for (int r = 0; r < block.rows; ++r) *to++ = both.columns[c0 + c][r0 + r];
      }
    }
    own.done += n_blocks(other), own.done_rows += rows.rows;
  }
};

}  // namespace featherweight::FW_ISA
