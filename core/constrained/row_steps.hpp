// constrained/row_steps.hpp -- constraint rows passing an eliminated joint, by joint type.
//
// With the multipliers kept, the function handed inward is V(a, lam) = 1/2 a'Ia + a'p - lam'(K a - k) - 1/2 lam'L lam.
// Minimising over the joint (docs/theory.md, "Rows passing a joint") changes the rows by
//   G = K S,   K <- K - G D^-1 U^T,   L <- L + G D^-1 G^T,   k <- k - G D^-1 u - K c,   and K moves like a force.
#pragma once
#include "constrained/dense_ldl.hpp"
#include "constrained/start_rows.hpp"

namespace featherweight::FW_ISA {

// Rows [begin, end) pass the joint of link l. G receives nv entries per row.
template <int K, bool turned, bool rotates, bool travels, class S, class C>
[[gnu::noinline]] void pass_joint(AxisJoint<K, turned, rotates, travels>, const Link<C>& l, const S* state,
                                  const Motion<S>& v, const S* rate, const AxisFactor<S>& factor, int begin, int end,
                                  Row<S>* rows, S* L, S* G) {
  using J = AxisJoint<K, turned, rotates, travels>;
  Motion<S> c = zero_motion<S>();
  J::add_velocity_product(l, v, rate, c);
  for (int r = begin; r < end; ++r) {
    Row<S> row = rows[r];
    S g = rotates ? row.K.ang[K] : row.K.lin[K];
    if constexpr (rotates && travels) g = g + row.K.lin[K] * l.pitch;
    G[r - begin] = g;
    const S gD = g * factor.D_inverse;
    for (int s = begin; s <= r; ++s) L[triangle(r, s)] = L[triangle(r, s)] + gD * G[s - begin];
    row.K.lin = row.K.lin - factor.UD.lin * g;
    row.K.ang = row.K.ang - factor.UD.ang * g;
    rows[r].k = row.k - g * factor.D_inverse_u - row.K * c;
    rows[r].K = J::to_parent(l, state, row.K);
  }
}
template <class S, class C>
[[gnu::noinline]] void pass_joint(Spherical, const Link<C>& l, const S* state, const Motion<S>& v, const S* rate,
                                  const SphericalFactor<S>& factor, int begin, int end, Row<S>* rows, S* L, S* G) {
  Motion<S> c = zero_motion<S>();
  Spherical::add_velocity_product(l, v, rate, c);
  for (int r = begin; r < end; ++r) {
    Row<S> row = rows[r];
    const Vec3<S> g = row.K.ang, gD = factor.D_inverse * g;
    for (int k = 0; k < 3; ++k) G[3 * (r - begin) + k] = g[k];
    for (int s = begin; s <= r; ++s) {
      const S* h = G + 3 * (s - begin);
      L[triangle(r, s)] = L[triangle(r, s)] + gD[0] * h[0] + gD[1] * h[1] + gD[2] * h[2];
    }
    for (int k = 0; k < 3; ++k) {
      row.K.lin = row.K.lin - factor.UD[k].lin * g[k];
      row.K.ang = row.K.ang - factor.UD[k].ang * g[k];
    }
    rows[r].k = row.k - dot(g, factor.D_inverse_u) - row.K * c;
    rows[r].K = Spherical::to_parent(l, state, row.K);
  }
}
// U = D - R with the armature R: K D^-1 U^T leaves R D^-1 K, usually nothing.
template <class S, class C>
[[gnu::noinline]] void pass_joint(Free, const Link<C>& l, const S* state, const Motion<S>& v, const S* rate,
                                  const FreeFactor<S>& factor, int begin, int end, Row<S>* rows, S* L, S* G) {
  Motion<S> c = zero_motion<S>();
  Free::add_velocity_product(l, v, rate, c);
  for (int r = begin; r < end; ++r) {
    const Row<S> row = rows[r];
    S* g = G + 6 * (r - begin);
    Free::project(l, row.K, g);
    S x[6] = {g[0], g[1], g[2], g[3], g[4], g[5]};
    factor.D.solve(x);
    for (int s = begin; s <= r; ++s) {
      const S* h = G + 6 * (s - begin);
      S sum = L[triangle(r, s)];
      for (int k = 0; k < 6; ++k) sum = sum + x[k] * h[k];
      L[triangle(r, s)] = sum;
    }
    S k = row.k;
    for (int j = 0; j < 6; ++j) k = k - x[j] * factor.u[j];
    Force<S> left;
    for (int j = 0; j < 3; ++j) {
      left.lin[j] = x[j] * l.armature[j];
      left.ang[j] = x[3 + j] * l.armature[3 + j];
    }
    rows[r].k = k - left * c;
    rows[r].K = Free::to_parent(l, state, left);
  }
}

// The multipliers act on the joint as a further joint force G^T lambda.
template <int K, bool turned, bool rotates, bool travels, class S>
FW_INLINE void push_joint(AxisJoint<K, turned, rotates, travels>, AxisFactor<S>& factor, const S* G, const S* lambda,
                          int n) {
  S u(0);
  for (int r = 0; r < n; ++r) u = u + G[r] * lambda[r];
  factor.D_inverse_u = factor.D_inverse_u + factor.D_inverse * u;
}
template <class S>
FW_INLINE void push_joint(Spherical, SphericalFactor<S>& factor, const S* G, const S* lambda, int n) {
  Vec3<S> u = zero3<S>();
  for (int r = 0; r < n; ++r) u = u + Vec3<S>{G[3 * r], G[3 * r + 1], G[3 * r + 2]} * lambda[r];
  factor.D_inverse_u += factor.D_inverse * u;
}
template <class S>
FW_INLINE void push_joint(Free, FreeFactor<S>& factor, const S* G, const S* lambda, int n) {
  for (int r = 0; r < n; ++r)
    for (int k = 0; k < 6; ++k) factor.u[k] = factor.u[k] + G[6 * r + k] * lambda[r];
}

}  // namespace featherweight::FW_ISA
