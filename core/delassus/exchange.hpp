// delassus/exchange.hpp -- inverting a symmetric matrix row by row, in place.
//
// Exchanging row r of M swaps what is given and what follows in it: forces f = M^-1 (b - K a) instead of b = M f + K a.
// With d = M_rr, c = column r and K the rows' directions,
//   M_rr <- -1/d,   M_sr <- c_s / d,   M_st <- M_st - c_s c_t / d,   K_r <- K_r / d,   K_s <- K_s - c_s / d K_r
// Rows may be exchanged in any order; when all are, M is minus its inverse. As many operations as a Cholesky factor and
// the inverse by it, and as stable where M is positive definite. Source: A. E. Beaton's sweep operator.
#pragma once
#include "articulated/row_count.hpp"
#include "linalg/packed_ldl.hpp"
#include "rows/link_rows.hpp"

namespace featherweight::FW_ISA {

// A row that resists by w per acceleration, as inertia of its link.
template <class S>
FW_INLINE void add_row_inertia(const Force<S>& K, const S& w, ArticulatedInertia<S>& I) {
  I.A = minus_outer(I.A, K.lin, K.lin * -w);
  I.B = minus_outer(I.B, K.lin, K.ang * -w);
  I.C = minus_outer(I.C, K.ang, K.ang * -w);
}

// Rows [first, first + n) of the lower triangle M, all that are coupled. Row r of them is exchanged in the lanes where
// `exchanged` is 1; others stay as they are. K may be null. c: room for n numbers.
// Returns 1 / d.
template <class N, class S>
FW_INLINE S exchange_row(N n, int first, int r, const S& exchanged, S* M, Row<S>* K, S* c) {
  const auto row = [&](int s) FW_LAMBDA_INLINE { return M + triangle(first + s, first); };
  const S d = row(r)[r], d_inverse = exchanged / select(exchanged > S(0), d, S(1));
  for_each_row(n, [&](int s) FW_LAMBDA_INLINE { c[s] = s < r ? row(r)[s] : row(s)[r]; });
  c[r] = S(0);  // row and column r have a rule of their own
  for_each_row(n, [&](int s) FW_LAMBDA_INLINE {
    const S x = c[s] * d_inverse;
    S* const M_s = row(s);
#pragma GCC unroll 6
    for (int t = 0; t <= s; ++t) M_s[t] = M_s[t] - x * c[t];
    if (K) {
      K[s].K.lin = K[s].K.lin - K[r].K.lin * x;
      K[s].K.ang = K[s].K.ang - K[r].K.ang * x;
    }
  });
  for_each_row(n, [&](int s) FW_LAMBDA_INLINE {
    (s < r ? row(r)[s] : row(s)[r]) = select(exchanged > S(0), c[s] * d_inverse, c[s]);
  });
  row(r)[r] = select(exchanged > S(0), -d_inverse, d);
  if (K) {
    const S scale = select(exchanged > S(0), d_inverse, S(1));
    K[r].K = {K[r].K.lin * scale, K[r].K.ang * scale};
  }
  return d_inverse;
}

}  // namespace featherweight::FW_ISA
