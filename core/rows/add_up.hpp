// rows/add_up.hpp -- from what methods find for ends, as if they were rows, to rows: sums over the ends of each.
#pragma once
#include "linalg/packed_ldl.hpp"
#include "rows/rows.hpp"

namespace featherweight::FW_ISA {

// Whether every row has one end, fixed to its link: rows are then in the order of their ends, else in the user's.
template <class C>
FW_INLINE bool single_ends(const ConstraintRows<C>& constraints) {
  return constraints.n_varying == 0;
}
template <class C>
FW_INLINE int row_of_end(const ConstraintRows<C>& constraints, int end) {
  return single_ends(constraints) ? end : constraints.ends[end].row;
}

// The lower triangle of the rows from that of the ends.
template <class S, class C>
[[gnu::noinline]] void add_up_triangle(const ConstraintRows<C>& constraints, const S* of_ends, S* of_rows) {
  for (std::size_t k = 0; k < triangle(constraints.n_rows, 0); ++k) of_rows[k] = S(0);
  for (int r = 0; r < constraints.n_ends; ++r)
    for (int s = 0; s <= r; ++s) {
      const int i = constraints.ends[r].row, j = constraints.ends[s].row;
      S& sum = of_rows[i < j ? triangle(j, i) : triangle(i, j)];
      const S part = of_ends[triangle(r, s)];
      sum = sum + part;
      if (i == j && r != s) sum = sum + part;
    }
}
template <class S, class C>
FW_INLINE void add_up(const ConstraintRows<C>& constraints, const S* of_ends, S* of_rows) {
  for (int r = 0; r < constraints.n_rows; ++r) of_rows[r] = S(0);
  for (int r = 0; r < constraints.n_ends; ++r)
    of_rows[constraints.ends[r].row] = of_rows[constraints.ends[r].row] + of_ends[r];
}

}  // namespace featherweight::FW_ISA
