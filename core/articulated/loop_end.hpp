// articulated/loop_end.hpp -- a block of rows some of which are eliminated, while the others pass on.
//
// The forces of the first n_E rows maximise V(a, f) (articulated/row_steps.hpp): L_EE f_E = k_E - K_E a - L_EP f_P.
// With L_EE = F D F^T this is elimination by rows, which also leaves what the others become:
//   K_P -= L_PE L_EE^-1 K_E,   k_P -= L_PE L_EE^-1 k_E,   L_PP -= L_PE L_EE^-1 L_EP,
// and the inertia K_E^T L_EE^-1 K_E. A row whose pivot vanishes depends on those before it and is left out. Rows that
// do not notice the link leave no more inertia than if all the loop were rigid, however small the pivots
// (docs/theory.md, "Loops").
#pragma once
#include "articulated/limb_end.hpp"
#include "articulated/loops.hpp"

namespace featherweight::FW_ISA {

template <class F>
FW_INLINE void with_loop_rows(int n, F&& f) {
  if (n == 1) return f(Fixed<1>{});
  if (n == 2) return f(Fixed<2>{});
  if (n == 3) return f(Fixed<3>{});
  f(n);
}

// L: F in the first n_E columns, with the inverses of D on its diagonal, zero where rows are left out; then what is
// left of L.
template <class N, class S>
[[gnu::noinline]] void eliminate_block(N n_E, int n, const S& smallest, Row<S>* rows, S* L) {
  for (int i = 0; i < n; ++i) {
    const int known = i < n_E ? i : int(n_E);
    for (int j = 0; j < i; ++j) {
      const int m = j < n_E ? j : int(n_E);
      S y = L[triangle(i, j)];
      for (int k = 0; k < m; ++k) y = y - L[triangle(i, k)] * L[triangle(j, k)];  // F D of row i, F of row j
      L[triangle(i, j)] = y;
    }
    S d = L[triangle(i, i)];
    Row<S> row = rows[i];
    for (int k = 0; k < known; ++k) {
      const S y = L[triangle(i, k)], x = y * L[triangle(k, k)];
      L[triangle(i, k)] = x;
      d = d - y * x;
      row.K.lin = row.K.lin - rows[k].K.lin * x;
      row.K.ang = row.K.ang - rows[k].K.ang * x;
      row.k = row.k - rows[k].k * x;
    }
    L[triangle(i, i)] = i < n_E ? select(d > smallest, S(1) / d, S(0)) : d;
    rows[i] = row;
  }
}

// f_E = L_EE^-1 (k - K a - L_EP f_P), from reduced rows; f(r): where the force of row r is. k(r): of a reduced row.
template <class N, class S, class K, class F>
FW_INLINE void forces_of_block(N n_E, int n, const Row<S>* rows, const S* L, const Motion<S>& a, K&& k, F&& f) {
  for_each_row(n_E, [&](int back) FW_LAMBDA_INLINE {
    const int r = n_E - 1 - back;
    S x = (k(r) - rows[r].K * a) * L[triangle(r, r)];
    for (int s = r + 1; s < n; ++s) x = x - L[triangle(s, r)] * f(s);
    f(r) = x;
  });
}

}  // namespace featherweight::FW_ISA
