// articulated/row_steps.hpp -- constraint rows passing an eliminated joint, by joint type.
//
// With the multipliers kept, the function handed inward is V(a, f) = 1/2 a'Ia + a'p - f'(K a - k) - 1/2 f'L f.
// Minimising over the joint (docs/theory.md, "Rows passing a joint") changes the rows by
//   G = K S,   K <- K - G D^-1 U^T,   L <- L + G D^-1 G^T,   k <- k - G D^-1 u - K c,   and K moves like a force.
#pragma once
#include "articulated/row_count.hpp"
#include "dynamics/aba.hpp"
#include "linalg/packed_ldl.hpp"
#include "rows/link_rows.hpp"

namespace featherweight::FW_ISA {

// How a joint moves, if it does; if only K and L are asked for, it is AtRest and the k of the rows stay as they are.
struct AtRest {
  static constexpr bool moves = false;
};
template <class S>
struct JointMotion {
  static constexpr bool moves = true;
  const Motion<S>& v;  // of the link
  const S* rate;
};
template <class J, class S, class C>
FW_INLINE Motion<S> velocity_product(J, const Link<C>& l, const JointMotion<S>& motion) {
  Motion<S> c = zero_motion<S>();
  J::add_velocity_product(l, motion.v, motion.rate, c);
  return c;
}

// n rows, and their entries of L: those from row and column `first` on.
template <class N, class First, class S>
struct RowBlock {
  N n;
  First first;
  Row<S>* rows;
  S* L;
  S* G;  // receives nv entries per row

  FW_INLINE S& at(int r, int s) const { return L[triangle(first + r, first + s)]; }
  // What a row was before the joint, and an entry of L.
  FW_INLINE const Row<S>& before(int r) const { return rows[r]; }
  FW_INLINE const S& before(int r, int s) const { return at(r, s); }
};

// block: a RowBlock, or what has the same functions and members.
template <int K, bool turned, bool rotates, bool travels, class S, class C, class M, class Block>
[[gnu::noinline]] void pass_joint(AxisJoint<K, turned, rotates, travels> joint, const Link<C>& l, const S* state,
                                  const AxisFactor<S>& factor, const M& motion, const Block& block) {
  using J = AxisJoint<K, turned, rotates, travels>;
  constexpr int i = (K + 1) % 3, j = (K + 2) % 3;
  Motion<S> c;  // nothing along the axis
  if constexpr (M::moves) c = velocity_product(joint, l, motion);
  const AxisFactor<S> f = factor;
  const S kept = f.D_inverse * l.armature[0];
  for_each_row(block.n, [&](int r) FW_LAMBDA_INLINE {
    const Row<S>& before = block.before(r);
    Row<S>& row = block.rows[r];
    Force<S> k = before.K;
    S g = rotates ? k.ang[K] : k.lin[K];
    if constexpr (rotates && travels) g = g + k.lin[K] * l.pitch;
    block.G[r] = g;
    const S gD = g * f.D_inverse;
    for (int s = 0; s <= r; ++s) block.at(r, s) = block.before(r, s) + gD * block.G[s];
    k.lin = k.lin - f.UD.lin * g;
    k.ang = k.ang - f.UD.ang * g;
    // along the axis only the armature is left: written as a product, it does not cancel
    if constexpr (rotates && !travels) k.ang[K] = g * kept;
    if constexpr (travels && !rotates) k.lin[K] = g * kept;
    if constexpr (M::moves) {
      S target = before.k - g * f.D_inverse_u - k.lin[i] * c.lin[i] - k.lin[j] * c.lin[j];
      if constexpr (rotates) target = target - k.ang[i] * c.ang[i] - k.ang[j] * c.ang[j];
      row.k = target;
    }
    row.K = J::to_parent(l, state, k);
  });
}
template <class S, class C, class M, class Block>
[[gnu::noinline]] void pass_joint(Spherical joint, const Link<C>& l, const S* state, const SphericalFactor<S>& factor,
                                  const M& motion, const Block& block) {
  for (int r = 0; r < block.n; ++r) {
    Row<S> row = block.before(r);
    const Vec3<S> g = row.K.ang, gD = factor.D_inverse * g;
    for (int k = 0; k < 3; ++k) block.G[3 * r + k] = g[k];
    for (int s = 0; s <= r; ++s) {
      const S* h = block.G + 3 * s;
      block.at(r, s) = block.before(r, s) + gD[0] * h[0] + gD[1] * h[1] + gD[2] * h[2];
    }
    for (int k = 0; k < 3; ++k) {
      row.K.lin = row.K.lin - factor.UD[k].lin * g[k];
      row.K.ang = row.K.ang - factor.UD[k].ang * g[k];
    }
    if constexpr (M::moves)
      block.rows[r].k = row.k - dot(g, factor.D_inverse_u) - row.K * velocity_product(joint, l, motion);
    block.rows[r].K = Spherical::to_parent(l, state, row.K);
  }
}
// U = D - R with the armature R: K D^-1 U^T leaves R D^-1 K, usually nothing.
template <class S, class C, class M, class Block>
[[gnu::noinline]] void pass_joint(Free joint, const Link<C>& l, const S* state, const FreeFactor<S>& factor,
                                  const M& motion, const Block& block) {
  for (int r = 0; r < block.n; ++r) {
    const Row<S> row = block.before(r);
    S* g = block.G + 6 * r;
    Free::project(l, row.K, g);
    S x[6] = {g[0], g[1], g[2], g[3], g[4], g[5]};
    factor.D.solve(x);
    for (int s = 0; s <= r; ++s) {
      const S* h = block.G + 6 * s;
      S sum = block.before(r, s);
      for (int k = 0; k < 6; ++k) sum = sum + x[k] * h[k];
      block.at(r, s) = sum;
    }
    Force<S> left;
    for (int j = 0; j < 3; ++j) {
      left.lin[j] = x[j] * l.armature[j];
      left.ang[j] = x[3 + j] * l.armature[3 + j];
    }
    if constexpr (M::moves) {
      S k = row.k;
      for (int j = 0; j < 6; ++j) k = k - x[j] * factor.u[j];
      block.rows[r].k = k - left * velocity_product(joint, l, motion);
    }
    block.rows[r].K = Free::to_parent(l, state, left);
  }
}

// The same where only joint forces change: k -= G D^-1 u, with u as dynamics/affine.hpp leaves it.
template <int K, bool turned, bool rotates, bool travels, class S>
FW_INLINE void pass_increment(AxisJoint<K, turned, rotates, travels>, const AxisFactor<S>&, const S* u, const S* G,
                              int n, S* k) {
  for (int r = 0; r < n; ++r) k[r] = k[r] - G[r] * u[0];
}
template <class S>
FW_INLINE void pass_increment(Spherical, const SphericalFactor<S>&, const S* u, const S* G, int n, S* k) {
  for (int r = 0; r < n; ++r) k[r] = k[r] - G[3 * r] * u[0] - G[3 * r + 1] * u[1] - G[3 * r + 2] * u[2];
}
template <class S>
FW_INLINE void pass_increment(Free, const FreeFactor<S>& factor, const S* u, const S* G, int n, S* k) {
  S x[6] = {u[0], u[1], u[2], u[3], u[4], u[5]};
  factor.D.solve(x);
  for (int r = 0; r < n; ++r)
    for (int j = 0; j < 6; ++j) k[r] = k[r] - G[6 * r + j] * x[j];
}

// The forces act on the joint as a further joint force G^T f. u: what solve_joint is given.
template <int K, bool turned, bool rotates, bool travels, class S, class N>
FW_INLINE void push_joint(AxisJoint<K, turned, rotates, travels>, const AxisFactor<S>& factor, const S* G, const S* f,
                          N n, S* u) {
  S x(0);
  for_each_row(n, [&](int r) FW_LAMBDA_INLINE { x = x + G[r] * f[r]; });
  u[0] = u[0] + factor.D_inverse * x;
}
template <class S>
FW_INLINE void push_joint(Spherical, const SphericalFactor<S>& factor, const S* G, const S* f, int n, S* u) {
  Vec3<S> x = zero3<S>();
  for (int r = 0; r < n; ++r) x = x + Vec3<S>{G[3 * r], G[3 * r + 1], G[3 * r + 2]} * f[r];
  const Vec3<S> solved = factor.D_inverse * x;
  for (int k = 0; k < 3; ++k) u[k] = u[k] + solved[k];
}
template <class S>
FW_INLINE void push_joint(Free, const FreeFactor<S>&, const S* G, const S* f, int n, S* u) {
  for (int r = 0; r < n; ++r)
    for (int k = 0; k < 6; ++k) u[k] = u[k] + G[6 * r + k] * f[r];
}
template <class J, class F, class S, class N>
FW_INLINE void push_joint(J joint, F& factor, const S* G, const S* f, N n) {
  push_joint(joint, factor, G, f, n, right_hand_side(factor));
}

}  // namespace featherweight::FW_ISA
