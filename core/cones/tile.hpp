// cones/tile.hpp -- 3x3 blocks of a matrix that is eliminated in place, products fused by name.
#pragma once
#include "lanes/fused.hpp"

namespace featherweight::FW_ISA {

// By rows. On the diagonal, factorised: lower and upper triangle in one, the diagonal inverted.
template <class S>
struct Tile {
  S e[9];
};

template <class S>
FW_INLINE void subtract_product(const Tile<S>& a, const Tile<S>& b, Tile<S>& t) {
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k)
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r)
#pragma GCC unroll 3
      for (int c = 0; c < 3; ++c) t.e[3 * r + c] = minus_product(t.e[3 * r + c], a.e[3 * r + k], b.e[3 * k + c]);
}
template <class S>
FW_INLINE void subtract_product(const Tile<S>& a, const S* y, S* x) {
#pragma GCC unroll 3
  for (int r = 0; r < 3; ++r)
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) x[r] = minus_product(x[r], a.e[3 * r + k], y[k]);
}

template <class S>
FW_INLINE void factorise(Tile<S>& t) {
  S* const e = t.e;
  e[0] = S(1) / e[0];
  e[3] = e[3] * e[0], e[6] = e[6] * e[0];
  e[4] = minus_product(e[4], e[3], e[1]), e[5] = minus_product(e[5], e[3], e[2]);
  e[7] = minus_product(e[7], e[6], e[1]), e[8] = minus_product(e[8], e[6], e[2]);
  e[4] = S(1) / e[4];
  e[7] = e[7] * e[4];
  e[8] = S(1) / minus_product(e[8], e[7], e[5]);
}

// A column of three, from the left; a row of three, from the right. C: of the tile; S: other numbers of the row.
template <class S>
FW_INLINE void divide_by_lower(const Tile<S>& own, const S& x, S& y, S& z) {
  y = minus_product(y, own.e[3], x);
  z = minus_product(minus_product(z, own.e[6], x), own.e[7], y);
}
template <class S, class C>
FW_INLINE void divide_by_upper(const Tile<C>& own, S& x, S& y, S& z) {
  const auto at = [&](int k) FW_LAMBDA_INLINE { return S(own.e[k]); };
  x = x * at(0);
  y = minus_product(y, x, at(1)) * at(4);
  z = minus_product(minus_product(z, x, at(2)), y, at(5)) * at(8);
}
template <class S>
FW_INLINE void solve_upper(const Tile<S>& own, S* x) {
  const S* const e = own.e;
  x[2] = x[2] * e[8];
  x[1] = minus_product(x[1], e[5], x[2]) * e[4];
  x[0] = minus_product(minus_product(x[0], e[1], x[1]), e[2], x[2]) * e[0];
}

}  // namespace featherweight::FW_ISA
