// linalg/ldl.hpp -- A = L D L^T of a positive definite matrix whose size is known at compile time, unrolled; on lanes.
//
// Lower triangles packed by rows, L in place of A, with the inverses of D on its diagonal. N^3 / 6 multiply-adds and N
// divisions, no square roots, no pivoting.
#pragma once
#include "spatial/spatial.hpp"

namespace featherweight::FW_ISA {

// Unit lower triangle L and the inverses of D, packed by rows: row r holds L(r, 0..r-1), then 1 / D(r).
template <int N, class S>
struct Ldl {
  S e[N * (N + 1) / 2];

  static constexpr int at(int r, int c) { return r * (r + 1) / 2 + c; }

  // In place on a matrix whose lower triangle is packed like the result.
  FW_INLINE void factorise() {
#pragma GCC unroll 6
    for (int r = 0; r < N; ++r) {
      S d = e[at(r, r)];
#pragma GCC unroll 6
      for (int c = 0; c < r; ++c) {
        S y = e[at(r, c)];  // L(r, c) D(c) until divided
#pragma GCC unroll 6
        for (int k = 0; k < c; ++k) y = y - e[at(r, k)] * e[at(c, k)];
        e[at(r, c)] = y;
      }
#pragma GCC unroll 6
      for (int c = 0; c < r; ++c) {
        const S y = e[at(r, c)];
        e[at(r, c)] = y * e[at(c, c)];
        d = d - y * e[at(r, c)];
      }
      e[at(r, r)] = S(1) / d;
    }
  }
  // L^-1 x
  FW_INLINE void solve_lower(S* x) const {
#pragma GCC unroll 6
    for (int r = 1; r < N; ++r)
#pragma GCC unroll 6
      for (int c = 0; c < r; ++c) x[r] = x[r] - e[at(r, c)] * x[c];
  }
  FW_INLINE void solve(S* x) const {
    solve_lower(x);
#pragma GCC unroll 6
    for (int r = 0; r < N; ++r) x[r] = x[r] * e[at(r, r)];
#pragma GCC unroll 6
    for (int r = N - 2; r >= 0; --r)
#pragma GCC unroll 6
      for (int c = r + 1; c < N; ++c) x[r] = x[r] - e[at(c, r)] * x[c];
  }
  // (L D L^T)^-1 = M^T D^-1 M with M = L^-1: its lower triangle, packed alike.
  FW_INLINE void invert(S* inverse) const {
    S M[N * (N + 1) / 2];  // off the diagonal
#pragma GCC unroll 6
    for (int r = 1; r < N; ++r)
#pragma GCC unroll 6
      for (int c = 0; c < r; ++c) {
        S x = -e[at(r, c)];
#pragma GCC unroll 6
        for (int k = c + 1; k < r; ++k) x = x - e[at(r, k)] * M[at(k, c)];
        M[at(r, c)] = x;
      }
#pragma GCC unroll 6
    for (int c = 0; c < N; ++c) {
      S DM[N];  // column c of D^-1 M
      DM[c] = e[at(c, c)];
#pragma GCC unroll 6
      for (int k = c + 1; k < N; ++k) DM[k] = M[at(k, c)] * e[at(k, k)];
#pragma GCC unroll 6
      for (int r = c; r < N; ++r) {
        S x = DM[r];
#pragma GCC unroll 6
        for (int k = r + 1; k < N; ++k) x = x + M[at(k, r)] * DM[k];
        inverse[at(r, c)] = x;
      }
    }
  }
};

template <class S, class C>
FW_INLINE Ldl<6, S> ldl(const ArticulatedInertia<S>& I, const C (&diagonal)[6]) {
  Ldl<6, S> f;
#pragma GCC unroll 3
  for (int r = 0; r < 3; ++r) {
#pragma GCC unroll 3
    for (int c = 0; c < 3; ++c) {
      if (c <= r) f.e[f.at(r, c)] = I.A(r, c);
      if (c <= r) f.e[f.at(3 + r, 3 + c)] = I.C(r, c);
      f.e[f.at(3 + r, c)] = I.B(c, r);
    }
    f.e[f.at(r, r)] = f.e[f.at(r, r)] + diagonal[r];
    f.e[f.at(3 + r, 3 + r)] = f.e[f.at(3 + r, 3 + r)] + diagonal[3 + r];
  }
  f.factorise();
  return f;
}

template <class S, class C>
FW_INLINE Ldl<3, S> ldl(const Sym3<S>& m, const C (&diagonal)[6]) {
  Ldl<3, S> f{{m(0, 0) + diagonal[0], m(1, 0), m(1, 1) + diagonal[1], m(2, 0), m(2, 1), m(2, 2) + diagonal[2]}};
  f.factorise();
  return f;
}
template <class S>
FW_INLINE Sym3<S> inverse(const Ldl<3, S>& f) {
  S e[6];
  f.invert(e);
  return {e[0], e[1], e[3], e[2], e[4], e[5]};
}

}  // namespace featherweight::FW_ISA
