// articulated/dofs.hpp -- the eliminated tree, degree of freedom by degree of freedom, in world axes.
//
// After the sweep inward of aba every joint is eliminated. Here each degree of freedom becomes a triple
//   axis    motion it allows                              S' = S L^-T      with D = L d L^T of its joint
//   carry   what it takes from a force on its way inward  U D^-1 L         so that  f <- f - carry (axis . f)
//   weight  1 / sqrt(d)
// in world axes about the origin of its tree's root. In this basis the degrees of freedom of a joint are decoupled, all
// joints look alike, and a force reaches the root, or a velocity the tips, without changes of frame:
//   y = weight (axis . f)   along the path gives   J H^-1 J^T = Y Y^T   (PV-OSIM with square roots)
//   x = weight y' - carry . a,  a <- a + axis x   is the response to y' = Y^T lambda.
// Cost: O(n), once a step, on lanes. Oracle: fw.delassus, fw.minverse.
#pragma once
#include "dynamics/aba.hpp"
#include "kinematics/forward.hpp"
#include "lanes/square_root.hpp"
#include "lanes/transpose.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct Dof {
  Motion<S> axis;
  Force<S> carry;
  S weight;
};

// A vector of the link's joint, seen from the root of its tree: r leads from there to the link.
template <class S>
struct SeenFromRoot {
  const Mat3<S>& R;
  const Vec3<S>& r;

  FW_INLINE Motion<S> operator()(const Motion<S>& m) const {
    Motion<S> out{R * m.lin, R * m.ang};
    add_cross(out.lin, r, out.ang);
    return out;
  }
  FW_INLINE Force<S> operator()(const Force<S>& f) const {
    Force<S> out{R * f.lin, R * f.ang};
    add_cross(out.ang, r, out.lin);
    return out;
  }
};

template <int K, bool turned, bool rotates, bool travels, class S, class C>
[[gnu::noinline]] void set_dofs(AxisJoint<K, turned, rotates, travels>, const Link<C>& l, const AxisFactor<S>& factor,
                                const SeenFromRoot<S>& seen, Dof<S>* dof) {
  using J = AxisJoint<K, turned, rotates, travels>;
  const Vec3<S> axis = column(seen.R, K);
  Motion<S> m = zero_motion<S>();
  if constexpr (rotates) m = {cross(seen.r, axis), axis};
  if constexpr (travels) m.lin += axis * J::pitch(l);
  dof->axis = m;
  dof->carry = seen(factor.UD);
  dof->weight = square_root(factor.D_inverse);
}

// Degree of freedom k of the N of a ball joint, from L with the inverse of d on its diagonal.
template <int k, int N, class S>
FW_INLINE void set_coupled_axis(const Ldl<N, S>& L, const SeenFromRoot<S>& seen, Dof<S>* dofs) {
  S e[N];  // row k of L^-1
#pragma GCC unroll 6
  for (int r = 0; r < N; ++r) e[r] = S(r == k ? 1 : 0);
#pragma GCC unroll 6
  for (int r = k - 1; r >= 0; --r) {
    e[r] = -L.e[L.at(k, r)];
#pragma GCC unroll 6
    for (int c = r + 1; c < k; ++c) e[r] = e[r] - L.e[L.at(c, r)] * e[c];
  }
  constexpr int turn = N - 3;
  Vec3<S> lin = zero3<S>();
  if constexpr (N == 6) lin = seen.R * Vec3<S>{e[0], e[1], e[2]};
  if constexpr (N == 6 && k < 3) {
    dofs[k].axis = {lin, zero3<S>()};
  } else {
    const Vec3<S> ang = seen.R * Vec3<S>{e[turn], e[turn + 1], e[turn + 2]};
    add_cross(lin, seen.r, ang);
    dofs[k].axis = {lin, ang};
  }
  dofs[k].weight = square_root(L.e[L.at(k, k)]);
}
template <int N, class S, int... k>
FW_INLINE void set_coupled_axes(const Ldl<N, S>& L, const SeenFromRoot<S>& seen, Dof<S>* dofs, Indices<k...>) {
  (set_coupled_axis<k>(L, seen, dofs), ...);
}
// What they take from a force on its way inward: U D^-1 L, from U D^-1 by columns. A root needs none.
template <int N, class S>
FW_INLINE void set_coupled_carries(const Ldl<N, S>& L, const Force<S>* UD, const SeenFromRoot<S>& seen, Dof<S>* dofs) {
  for (int k = 0; k < N; ++k) {
    Force<S> carry = UD[k];
    for (int r = k + 1; r < N; ++r) {
      carry.lin += UD[r].lin * L.e[L.at(r, k)];
      carry.ang += UD[r].ang * L.e[L.at(r, k)];
    }
    dofs[k].carry = seen(carry);
  }
}
template <class S, class C>
[[gnu::noinline]] void set_dofs(Spherical, const Link<C>&, const SphericalFactor<S>& factor,
                                const SeenFromRoot<S>& seen, Dof<S>* dofs) {
  // D^-1 = L^-T d^-1 L^-1, factorised from its last row up
  const Sym3<S>& E = factor.D_inverse;
  const S e2 = E(2, 2), i2 = S(1) / e2;
  const S m21 = E(1, 2) * i2, m20 = E(0, 2) * i2;  // row 2 of L^-1
  const S e1 = E(1, 1) - m21 * E(1, 2), i1 = S(1) / e1;
  const S m10 = (E(0, 1) - m20 * E(1, 2)) * i1;
  const S e0 = E(0, 0) - m20 * E(0, 2) - m10 * m10 * e1;
  const Ldl<3, S> L{{e0, -m10, e1, m21 * m10 - m20, -m21, e2}};
  set_coupled_axes(L, seen, dofs, IndicesUpTo<3>::Type{});
  set_coupled_carries(L, factor.UD, seen, dofs);
}
template <class S, class C>
[[gnu::noinline]] void set_dofs(Free, const Link<C>& l, const FreeFactor<S>& factor, const SeenFromRoot<S>& seen,
                                Dof<S>* dofs) {
  set_coupled_axes(factor.D, seen, dofs, IndicesUpTo<6>::Type{});
  if (l.parent < 0) {
    for (int k = 0; k < 6; ++k) dofs[k].carry = zero_force<S>();
    return;
  }
  Force<S> UD[6];  // 1 - R D^-1 with the armature R
  for (int k = 0; k < 6; ++k) {
    S x[6] = {S(0), S(0), S(0), S(0), S(0), S(0)};
    x[k] = S(1);
    factor.D.solve(x);
    for (int r = 0; r < 6; ++r) x[r] = S(r == k ? 1 : 0) - x[r] * l.armature[r];
    UD[k] = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
  }
  set_coupled_carries(factor.D, UD, seen, dofs);
}

// The pose of a link, from its parent's, and the degrees of freedom of its joint.
template <class J, class S, class C>
[[gnu::noinline]] void place_eliminated(J joint, const Link<C>& l, S* state, S* factors, const Pose<S>& parent,
                                        const Vec3<S>* root, Pose<S>& pose, Dof<S>* dofs) {
  const auto origin = J::origin(l, state);
  pose = {parent.R * J::orientation(l, state), parent.R * origin + parent.p};
  const Vec3<S> r = root ? pose.p - *root : zero3<S>();
  set_dofs(joint, l, factor_of(joint, l, factors), SeenFromRoot<S>{pose.R, r}, dofs);
}

// Outward over a joint: the motion of its link, from its parent's and y' of its degrees of freedom. `rate(k, x)`
// receives their rates.
template <class S, class Rate>
FW_INLINE Motion<S> carry_outward(const Link<double>& l, const Dof<S>* dofs, const S* y, const Motion<S>& parent,
                                  const Rate& rate) {
  Motion<S> m = parent;
  for (int k = l.v; k < l.v + l.nv; ++k) {
    const Dof<S>& d = dofs[k];
    S x = y[k] * d.weight;
    if (l.parent >= 0) x = x - dot(d.carry.lin, parent.lin) - dot(d.carry.ang, parent.ang);
    add_scaled(m.lin, d.axis.lin, x);
    add_scaled(m.ang, d.axis.ang, x);
    rate(k, x);
  }
  return m;
}

// Motion of a link about its root that the rates of its joint cause, world axes.
template <class J, class S, class C>
FW_INLINE Motion<S> joint_motion(J, const Link<C>& l, const S* rate, const Pose<S>& pose, const Vec3<S>& r,
                                 const Dof<S>* dof) {
  if constexpr (J::nv == 1) {
    const S x = rate[0] * l.sign;
    return {dof->axis.lin * x, dof->axis.ang * x};
  } else {
    Motion<S> m = zero_motion<S>();
    J::add_motion(l, rate, m);
    return SeenFromRoot<S>{pose.R, r}(m);
  }
}

}  // namespace featherweight::FW_ISA
