// constrained/eliminate_rows.hpp -- the force of one row eliminated: the row becomes inertia of the body it is on.
//
// Stationary in f_r: K_r a + sum_s L_rs f_s = k_r, which with l = L_rr > 0 leaves (docs/theory.md, "Forces on the way")
//   I += K_r^T K_r / l,   p -= K_r^T k_r / l,   and of the other rows
//   K_s -= L_sr / l K_r,  k_s -= L_sr / l k_r,  L_st -= L_sr L_rt / l.
#pragma once
#include "constrained/row_stack.hpp"

namespace featherweight::FW_ISA {

// The equation of a row when it went.
template <class S>
struct RemovedRow {
  Force<S> K;
  S k, inverse;    // 1 / l; 0 in lanes where the row did not go
  S L[most_rows];  // to the other rows of its block

  FW_INLINE bool in_no_lane() const { return !any(inverse, inverse > S(0)); }

  // Increments: of the targets k of the block and, unless it is the world, of the bias force p of the body.
  FW_INLINE void remove_again(int r, int n, S* targets, Force<S>* p) {
    if (in_no_lane()) return;
    k = targets[r];
    const S push = k * inverse;
    for (int s = 0; s < n; ++s) targets[s] = targets[s] - L[s] * push;
    targets[r] = select(inverse > S(0), S(0), k);
    if (!p) return;
    add_scaled(p->lin, K.lin, -push);
    add_scaled(p->ang, K.ang, -push);
  }
  // Its force, from the others and the acceleration of the body.
  FW_INLINE void recover(int r, int n, const Motion<S>& a, S* forces) const {
    if (in_no_lane()) return;
    S left = k - K * a;
    for (int s = 0; s < n; ++s) left = left - L[s] * forces[s];
    forces[r] = select(inverse > S(0), left * inverse, forces[r]);
  }
};

// Row r goes in the lanes where it is still alive and its pivot l exceeds `smallest`. outboard: what the body is
// handed; null for the world.
template <class S>
[[gnu::noinline]] void eliminate_row(RowStack<S>& block, int r, const S& smallest, Outboard<S>* outboard,
                                     RemovedRow<S>& removed) {
  const S pivot = block.L[triangle(r, r)];
  const S goes = select(pivot > smallest, block.alive[r], S(0));
  removed.inverse = select(goes > S(0.5), S(1) / pivot, S(0));
  if (removed.in_no_lane()) return;
  const auto is_gone = removed.inverse > S(0);

  const Row<S> row = block.rows[r];
  removed.K = row.K;
  removed.k = row.k;
  for (int s = 0; s < block.n; ++s) removed.L[s] = s == r ? S(0) : block.coupling(r, s);

  for (int s = 0; s < block.n; ++s) {
    if (s == r || !block.is_alive(s)) continue;
    const S share = removed.L[s] * removed.inverse;
    Row<S>& other = block.rows[s];
    add_scaled(other.K.lin, row.K.lin, -share);
    add_scaled(other.K.ang, row.K.ang, -share);
    other.k = other.k - share * row.k;
    for (int t = 0; t <= s; ++t)
      if (t != r) block.L[triangle(s, t)] = block.L[triangle(s, t)] - share * removed.L[t];
  }
  if (outboard) {
    const Vec3<S> lin = row.K.lin * -removed.inverse, ang = row.K.ang * -removed.inverse;
    outboard->I.A = minus_outer(outboard->I.A, lin, row.K.lin);
    outboard->I.B = minus_outer(outboard->I.B, lin, row.K.ang);
    outboard->I.C = minus_outer(outboard->I.C, ang, row.K.ang);
    add_scaled(outboard->p.lin, lin, row.k);
    add_scaled(outboard->p.ang, ang, row.k);
  }

  for (int c = 0; c < 7; ++c) block.numbers(r)[c] = select(is_gone, S(0), block.numbers(r)[c]);
  for (int s = 0; s < block.n; ++s) block.coupling(r, s) = select(is_gone, S(s == r ? 1 : 0), block.coupling(r, s));
  block.alive[r] = select(is_gone, S(0), block.alive[r]);
}

}  // namespace featherweight::FW_ISA
