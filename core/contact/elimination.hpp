// contact/elimination.hpp -- the order in which blocks of a sparse matrix are eliminated, and what that fills.
//
// Minimum degree: next comes a block that then couples to the fewest others. Blocks that are eliminated and coupled
// form components, and a block is coupled to all others on the boundary of each component that it touches; the
// boundary is that of the component's last block, so that the fill is found on the way and no graph is ever changed.
// Source: quotient graphs [George and Liu 1989]. Oracle: the dense factor.
#pragma once
#include "contact/matrix.hpp"
#include "contact/scratch.hpp"

namespace featherweight::FW_ISA {

struct Elimination {
  int n, capacity;
  int *order, *position;  // blocks in order; the place of each in it, -1: not in the matrix, or not yet
  int *start, *end, *later,
      *from;             // block j fills later[start[j] .. end[j]), rising in the order; from: j of each entry
  int *row_start, *row;  // the entries of each block as a later one, rising likewise

  // fill: the most entries per block that there is room for.
  Elimination(int n_blocks, int fill, Scratch& scratch) : n(n_blocks), capacity(fill * n_blocks) {
    const std::size_t k = static_cast<std::size_t>(n), entries = static_cast<std::size_t>(capacity);
    order = scratch.take<int>(k);
    position = scratch.take<int>(k);
    start = scratch.take<int>(k);
    end = scratch.take<int>(k);
    later = scratch.take<int>(entries);
    from = scratch.take<int>(entries);
    row_start = scratch.take<int>(k + 1);
    row = scratch.take<int>(entries);
    head_ = scratch.take<int>(k);
    next_ = scratch.take<int>(k);
    previous_ = scratch.take<int>(k);
    degree_ = scratch.take<int>(k);
    mark_ = scratch.take<int>(k);
    joined_ = scratch.take<int>(k);
  }

  // Of the blocks for which in(j); nothing is done again for the same. False where there is no room.
  template <class In>
  bool analyse(const ContactMatrix& G, const In& in) {
    bool is_same = count > 0;
    for (int j = 0; is_same && j < n; ++j) is_same = (position[j] >= 0) == in(j);
    if (is_same) return true;
    for (int j = 0; j < n; ++j) head_[j] = -1, mark_[j] = -1, joined_[j] = j, position[j] = in(j) ? waits : absent;
    int left = 0, stamp = n;
    for (int j = 0; j < n; ++j) {
      if (position[j] == absent) continue;
      int degree = -1;
      for (int k = G.start[j]; k < G.start[j + 1]; ++k) degree += position[G.neighbour[k]] == waits;
      put(j, degree);
      ++left;
    }
    int used = 0;
    count = 0;
    work = 0;
    for (int least = 0; count < left;) {
      while (head_[least] < 0) ++least;
      const int j = head_[least];
      take(j);
      start[j] = used;
      mark_[j] = stamp;
      bool fits = true;
      for_boundary(G, j, stamp, [&](int i) {
        fits = used < capacity;
        if (fits) later[used++] = i;
        return fits;
      });
      if (!fits) return count = 0, false;
      end[j] = used;
      work += static_cast<double>(used - start[j]) * (used - start[j] + 1);
      for (int k = G.start[j]; k < G.start[j + 1]; ++k)
        if (position[G.neighbour[k]] >= 0) joined_[component(G.neighbour[k])] = j;
      position[j] = count;
      order[count++] = j;
      ++stamp;
      for (int s = start[j]; s < used; ++s, ++stamp) {
        const int i = later[s];
        int degree = 0;
        mark_[i] = stamp;
        for_boundary(G, i, stamp, [&](int) { return ++degree, true; });
        take(i);
        put(i, degree);
        if (degree < least) least = degree;
      }
    }
    list_rows(used);
    return true;
  }
  int count = 0;    // of blocks in the matrix
  double work = 0;  // products of blocks that an unsymmetric factor takes

 private:
  static constexpr int waits = -1, absent = -2;
  int *head_, *next_, *previous_, *degree_;  // blocks by degree, in lists
  int *mark_, *joined_;                      // joined: the component of an eliminated block, by steps

  int component(int j) {
    while (joined_[j] != j) j = joined_[j] = joined_[joined_[j]];
    return j;
  }
  // f(i) for every waiting block that j couples to, until it says false.
  template <class F>
  void for_boundary(const ContactMatrix& G, int j, int stamp, const F& f) {
    for (int k = G.start[j]; k < G.start[j + 1]; ++k) {
      int i = G.neighbour[k];
      if (position[i] == waits && mark_[i] != stamp) {
        mark_[i] = stamp;
        if (!f(i)) return;
      }
      if (position[i] < 0) continue;
      i = component(i);
      if (mark_[i] == stamp) continue;
      mark_[i] = stamp;
      for (int s = start[i]; s < end[i]; ++s) {
        const int b = later[s];
        if (position[b] != waits || mark_[b] == stamp) continue;
        mark_[b] = stamp;
        if (!f(b)) return;
      }
    }
  }
  void put(int j, int degree) {
    degree_[j] = degree;
    previous_[j] = -1;
    next_[j] = head_[degree];
    if (head_[degree] >= 0) previous_[head_[degree]] = j;
    head_[degree] = j;
  }
  void take(int j) {
    (previous_[j] >= 0 ? next_[previous_[j]] : head_[degree_[j]]) = next_[j];
    if (next_[j] >= 0) previous_[next_[j]] = previous_[j];
  }
  // The entries of each block as a later one; and from there the entries of each block again, now in order.
  void list_rows(int used) {
    for (int j = 0; j <= n; ++j) row_start[j] = 0;
    for (int s = 0; s < used; ++s) ++row_start[later[s] + 1];
    for (int j = 0; j < n; ++j) row_start[j + 1] += row_start[j];
    for (int j = 0; j < n; ++j) next_[j] = row_start[j];
    for (int p = 0; p < count; ++p)
      for (int s = start[order[p]]; s < end[order[p]]; ++s) {
        from[s] = order[p];
        row[next_[later[s]]++] = s;
      }
    for (int p = 0; p < count; ++p) next_[order[p]] = start[order[p]];
    for (int p = 0; p < count; ++p)
      for (int q = row_start[order[p]]; q < row_start[order[p] + 1]; ++q) {
        const int s = next_[from[row[q]]]++;
        later[s] = order[p];
        row[q] = s;
      }
  }
};

}  // namespace featherweight::FW_ISA
