// dynamics/eliminate.hpp -- the three steps of articulated-body sweeps at one joint, by joint type.
//   move_outward   velocity of the link from its parent's
//   project_out    articulated inertia and bias force of the link, joint eliminated, handed to the parent
//   accelerate     joint and link acceleration from the parent's
//
// With V(a) = 1/2 a^T I a + a^T p the joint is minimised out along S (docs/theory.md, "eliminating a joint"):
//   U = I S,  D = S^T U + armature,  u = tau - S^T p
//   I <- I - U D^-1 U^T,   p <- p + U D^-1 u + I c,   c = v x S rate
//   outward:  a' = X a_parent + c,   rate' = D^-1 (u - U^T a'),   a = a' + S rate'
// The steps are out of line on purpose: one copy per joint type stays in the instruction cache.
#pragma once
#include "linalg/ldl.hpp"
#include "model/joints.hpp"

namespace featherweight::FW_ISA {

// Articulated inertia and bias force of everything outboard.
template <class S>
struct Outboard {
  ArticulatedInertia<S> I;
  Force<S> p;

  FW_INLINE void operator+=(const Outboard& b) {
    I += b.I;
    p += b.p;
  }
};

// What an eliminated joint leaves behind. UD = U D^-1.
template <class S>
struct AxisFactor {
  Force<S> UD;
  S D_inverse, D_inverse_u;
};
template <class S>
struct SphericalFactor {
  Force<S> UD[3];
  Sym3<S> D_inverse;
  Vec3<S> D_inverse_u;
};
template <class S>
struct FreeFactor {  // U D^-1 = 1 but for the armature, so D = I + armature itself is kept
  Ldl<6, S> D;
  S u[6];
};
template <class J>
struct FactorOf {
  template <class S>
  using Type = AxisFactor<S>;
};
template <>
struct FactorOf<Spherical> {
  template <class S>
  using Type = SphericalFactor<S>;
};
template <>
struct FactorOf<Free> {
  template <class S>
  using Type = FreeFactor<S>;
};
template <class J, class S>
using Factor = typename FactorOf<J>::template Type<S>;

// The factor of link l in the array of all factors, where the compiler of the model left room for it.
template <class J, class S, class C>
FW_INLINE Factor<J, S>& factor_of(J, const Link<C>& l, S* factors) {
  static_assert(sizeof(Factor<J, S>) == J::n_factor * sizeof(S));
  return *reinterpret_cast<Factor<J, S>*>(factors + l.factor);
}

template <class J, class S, class C>
[[gnu::noinline]] void move_outward(J, const Link<C>& l, const S* q, const S* rate, S* state, const Motion<S>& v_parent,
                                    Motion<S>& v) {
  J::set_state(l, q, state);
  Motion<S> r = J::to_child(l, state, v_parent);
  J::add_motion(l, rate, r);
  v = r;
}

// Steps that project out a joint change what is outboard: an Outboard, if they are given v, rate and tau; or only an
// ArticulatedInertia, at rest, weightless and without forces. (Three arguments, for in a struct they would pass through
// memory.)
template <class S>
FW_INLINE ArticulatedInertia<S>& inertia_of(Outboard<S>& out) {
  return out.I;
}
template <class S>
FW_INLINE ArticulatedInertia<S>& inertia_of(ArticulatedInertia<S>& I) {
  return I;
}

// Whose inertia a link has: its body, and the rotor of an axis joint. A constant of the model, the same in all lanes,
// unless a caller brings other ones: then with a `body`, a `rotor` and a `may_have_rotor` of
// their own.
struct SharedByLanes {
  FW_INLINE SharedByLanes operator()(int) const { return {}; }  // of link i
};
template <class C>
FW_INLINE RigidInertia<C> body(SharedByLanes, const Link<C>& l) {
  return body(l);
}
template <class C>
FW_INLINE C rotor(SharedByLanes, const Link<C>& l) {
  return l.armature[0];
}
// Whether any lane may have one.
template <class C>
FW_INLINE bool may_have_rotor(SharedByLanes, const Link<C>& l) {
  return l.armature[0] != C(0);
}

template <class S>
struct BiasInputs {
  const Motion<S>* v = nullptr;
  const S *rate = nullptr, *tau = nullptr;

  // tau less what the armature of a ball joint takes
  template <class J, class C>
  FW_INLINE void drive(J joint, const Link<C>& l, S* out) const {
    for (int k = 0; k < J::nv; ++k) out[k] = tau[k];
    add_armature_bias(joint, l, rate, C(-1), out);
  }
};

// The bias force on its way through an axis joint: p <- p + U D^-1 u + I c, block by block as those of I become known.
template <class J, bool planar, class S, class C, class Out>
class AxisBias {
  static constexpr int K = J::axis, i = (K + 1) % 3, j = (K + 2) % 3;

 public:
  template <class Body>
  FW_INLINE AxisBias(const Link<C>& l, const Body& b, Out& out, const Motion<S>* v, const S* rate, const S* tau)
      : l_(l), out_(out), v_(*v), rate_(rate), tau_(tau), p_(out.p) {
    add_velocity_bias(p_, b, v_);
  }
  FW_INLINE void drive(const S& D_inverse, AxisFactor<S>& factor) {
    u_ = tau_[0] * l_.sign;
    if constexpr (J::rotates) u_ = u_ - p_.ang[K];
    if constexpr (J::travels) u_ = u_ - p_.lin[K] * J::pitch(l_);
    du_ = D_inverse * u_;
    factor.D_inverse_u = du_;
  }
  // c = v x S rate, which has no component along the axis
  FW_INLINE void accelerate() {
    const S x = rate_[0] * l_.sign;
    if constexpr (J::rotates)
      cl_i_ = v_.lin[j] * x, cl_j_ = -(v_.lin[i] * x), ca_i_ = v_.ang[j] * x, ca_j_ = -(v_.ang[i] * x);
    if constexpr (J::travels && !J::rotates) cl_i_ = v_.ang[j] * x, cl_j_ = -(v_.ang[i] * x);
    if constexpr (J::travels && J::rotates) cl_i_ = cl_i_ + ca_i_ * l_.pitch, cl_j_ = cl_j_ + ca_j_ * l_.pitch;
  }
  FW_INLINE void pass_A(const Force<S>& U, const Sym3<S>& A) {
    p_.lin = p_.lin + U.lin * du_ + column(A, i) * cl_i_ + column(A, j) * cl_j_;
  }
  FW_INLINE void pass_B(const Force<S>& U, const Mat3<S>& B) {
    if constexpr (J::rotates) p_.lin = p_.lin + column(B, i) * ca_i_ + column(B, j) * ca_j_;
    if constexpr (planar) {
      p_.ang[i] = p_.ang[i] + U.ang[i] * du_ + B(i, i) * cl_i_ + B(j, i) * cl_j_;
      p_.ang[j] = p_.ang[j] + U.ang[j] * du_ + B(i, j) * cl_i_ + B(j, j) * cl_j_;
    } else {
      p_.ang = p_.ang + B.rows[i] * cl_i_ + B.rows[j] * cl_j_;
    }
  }
  FW_INLINE void pass_C(const Force<S>& U, const Sym3<S>& R) {
    if constexpr (planar) {
      p_.ang[i] = p_.ang[i] + R(i, i) * ca_i_ + R(i, j) * ca_j_;
      p_.ang[j] = p_.ang[j] + R(j, i) * ca_i_ + R(j, j) * ca_j_;
      p_.ang[K] = p_.ang[K] + u_;  // U D^-1 u, where U = D
    } else {
      p_.ang = p_.ang + U.ang * du_;
      if constexpr (J::rotates) p_.ang = p_.ang + column(R, i) * ca_i_ + column(R, j) * ca_j_;
    }
  }
  FW_INLINE void leave(const S* state) { out_.p = J::to_parent(l_, state, p_); }

 private:
  const Link<C>& l_;
  Out& out_;
  const Motion<S>& v_;
  const S *rate_, *tau_;
  Force<S> p_;
  S u_, du_;
  S cl_i_ = S(0), cl_j_ = S(0), ca_i_ = S(0), ca_j_ = S(0);
};
template <class J, bool planar, class S, class C>
class AxisBias<J, planar, S, C, ArticulatedInertia<S>> {
 public:
  template <class Body>
  FW_INLINE AxisBias(const Link<C>&, const Body&, ArticulatedInertia<S>&) {}
  FW_INLINE void drive(const S&, AxisFactor<S>&) {}
  FW_INLINE void accelerate() {}
  FW_INLINE void pass_A(const Force<S>&, const Sym3<S>&) {}
  FW_INLINE void pass_B(const Force<S>&, const Mat3<S>&) {}
  FW_INLINE void pass_C(const Force<S>&, const Sym3<S>&) {}
  FW_INLINE void leave(const S*) {}
};

// One degree of freedom. Written block by block (A, then B, then C) because 21 lane scalars do not fit in 16 registers:
// each block is completed and stored before the next is touched, which is worth 20 % over updating the inertia as a
// whole. Without a rotor nothing is left of the inertia about the axis of a revolute joint: `planar` skips those zeros.
// A `leaf` has nothing outboard; its articulated inertia is its own.
template <bool planar, bool leaf, int K, bool turned, bool rotates, bool travels, class S, class C, class Own,
          class Out, class... Given>
[[gnu::noinline]] void project_out_axis(AxisJoint<K, turned, rotates, travels>, const Link<C>& l, Own own,
                                        const S* state, AxisFactor<S>& factor, Out& out, Given... given) {
  using J = AxisJoint<K, turned, rotates, travels>;
  constexpr bool revolute = rotates && !travels, prismatic = travels && !rotates;
  const auto& b = body(own, l);
  AxisBias<J, planar, S, C, Out> bias(l, b, out, given...);
  ArticulatedInertia<S>& I = inertia_of(out);

  // The link's own inertia joins what its children handed over, block by block, when it is needed.
  const auto A_all = [&]() FW_LAMBDA_INLINE { return leaf ? mass_block<S>(b) : plus_mass(I.A, b.m); };
  const auto B_all = [&]() FW_LAMBDA_INLINE { return leaf ? coupling_block<S>(b) : minus_skew(I.B, b.h); };
  const auto C_all = [&]() FW_LAMBDA_INLINE { return leaf ? rotational_block<S>(b) : I.C + b.I; };

  // U = I S, D = S^T U + armature, u = tau - S^T p
  Force<S> U;
  if constexpr (revolute) U = {column(B_all(), K), column(C_all(), K)};
  if constexpr (prismatic) U = {column(A_all(), K), B_all().rows[K]};
  if constexpr (rotates && travels)
    U = {column(B_all(), K) + column(A_all(), K) * l.pitch, column(C_all(), K) + B_all().rows[K] * l.pitch};
  S D = S(rotor(own, l));
  if constexpr (rotates) D = D + U.ang[K];
  if constexpr (travels) D = D + U.lin[K] * J::pitch(l);
  const S D_inverse = S(1) / D;
  const Force<S> UD{U.lin * D_inverse, U.ang * D_inverse};
  factor.UD = UD;
  factor.D_inverse = D_inverse;
  bias.drive(D_inverse, factor);
  if (l.parent < 0) return;  // nothing is handed to the world
  bias.accelerate();

  // I <- I - U D^-1 U^T,  p <- p + U D^-1 u + I c,  then both in the parent's axes.
  // Along the axis only the armature is left of the inertia: written as a product, it does not cancel.
  const S kept = D_inverse * rotor(own, l);  // not used if planar

  Sym3<S> A = minus_outer(A_all(), U.lin, UD.lin);
  if constexpr (prismatic) A(0, K) = U.lin[0] * kept, A(1, K) = U.lin[1] * kept, A(2, K) = U.lin[2] * kept;
  bias.pass_A(U, A);
  if constexpr (rotates) A = J::rotation(state).to_parent(A);
  if constexpr (turned) A = Rotation<C>{mat3(l.R)}.to_parent(A);
  I.A = A;

  Mat3<S> B = minus_outer(B_all(), U.lin, UD.ang);
  if constexpr (revolute && !planar) B(0, K) = U.lin[0] * kept, B(1, K) = U.lin[1] * kept, B(2, K) = U.lin[2] * kept;
  if constexpr (prismatic) B(K, 0) = U.ang[0] * kept, B(K, 1) = U.ang[1] * kept, B(K, 2) = U.ang[2] * kept;
  bias.pass_B(U, B);

  Sym3<S> R = minus_outer(C_all(), U.ang, UD.ang);
  if constexpr (revolute && !planar) R(0, K) = U.ang[0] * kept, R(1, K) = U.ang[1] * kept, R(2, K) = U.ang[2] * kept;
  bias.pass_C(U, R);
  bias.leave(state);

  if constexpr (rotates) {
    B = J::rotation(state).template to_parent<planar>(B);
    R = J::rotation(state).template to_parent<planar>(R);
  }
  if constexpr (turned) B = Rotation<C>{mat3(l.R)}.to_parent(B), R = Rotation<C>{mat3(l.R)}.to_parent(R);
  const Mat3<S> B_parent = shift_coupling<planar ? K : -1>(A, B, J::origin(l, state));
  I.B = B_parent;
  I.C = shift_rotational<planar ? K : -1>(R, B, B_parent, J::origin(l, state));
}
template <bool leaf, int K, bool turned, bool rotates, bool travels, class S, class C, class Own, class Out,
          class... Given>
FW_INLINE void project_out(AxisJoint<K, turned, rotates, travels> joint, const Link<C>& l, Own own, const S* state,
                           AxisFactor<S>& factor, Out& out, Given... given) {
  constexpr bool can_be_planar = rotates && !travels && !turned;
  if (can_be_planar && !may_have_rotor(own, l))
    project_out_axis<can_be_planar, leaf>(joint, l, own, state, factor, out, given...);
  else
    project_out_axis<false, leaf>(joint, l, own, state, factor, out, given...);
}

// Three rotations: U is 6 x 3 with the linear part B and the angular part C.
template <bool leaf, class S, class C, class Own, class Out, class... Given>
[[gnu::noinline]] void project_out(Spherical, const Link<C>& l, Own own, const S* state, SphericalFactor<S>& factor,
                                   Out& out, Given... given) {
  constexpr bool biased = sizeof...(Given) > 0;
  const BiasInputs<S> bias{given...};
  ArticulatedInertia<S>& I = inertia_of(out);
  if constexpr (leaf) I = zero_inertia<S>();
  I += body(own, l);
  const Ldl<3, S> D = ldl(I.C, l.armature);
  factor.D_inverse = inverse(D);
  S tau[3];
  if constexpr (biased) {
    bias.drive(Spherical{}, l, tau);
    add_velocity_bias(out.p, body(own, l), *bias.v);
    factor.D_inverse_u = {tau[0] - out.p.ang[0], tau[1] - out.p.ang[1], tau[2] - out.p.ang[2]};
    D.solve(factor.D_inverse_u.e);
  }
  Mat3<S> BD = I.B;
  for (int r = 0; r < 3; ++r) D.solve(BD.rows[r].e);
  for (int k = 0; k < 3; ++k) {  // C D^-1 = 1 - R D^-1 with the armature R
    factor.UD[k].lin = column(BD, k);
    for (int r = 0; r < 3; ++r) factor.UD[k].ang[r] = S(r == k ? 1 : 0) - factor.D_inverse(r, k) * l.armature[r];
  }
  if (l.parent < 0) return;

  // As along the axis of other joints, only the armature R is left of B and C, and nothing but R and tau of the moment:
  //   B <- B D^-1 R,   C <- (1 - R D^-1) R,   p.ang <- tau - R D^-1 u
  // A loses B D^-1 B^T one rotation after the other, so that each cancels no more than its own part.
  if constexpr (biased) {
    out.p.lin += I.B * factor.D_inverse_u;
    for (int k = 0; k < 3; ++k) out.p.ang[k] = tau[k] - factor.D_inverse_u[k] * l.armature[k];
  }
  Mat3<S> W = I.B;
  for (int r = 0; r < 3; ++r) D.solve_lower(W.rows[r].e);
  for (int k = 0; k < 3; ++k) {
    const Vec3<S> W_k = column(W, k);
    I.A = minus_outer(I.A, W_k, W_k * D.e[D.at(k, k)]);
  }
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) {
      I.B(r, c) = BD(r, c) * l.armature[c];
      if (c >= r) I.C(r, c) = factor.UD[c].ang[r] * l.armature[c];
    }
  if constexpr (biased) {
    Motion<S> c = zero_motion<S>();
    Spherical::add_velocity_product(l, *bias.v, bias.rate, c);
    out.p += I * c;
    out.p = Spherical::to_parent(l, state, out.p);
  }
  I = Spherical::to_parent(l, state, I);
}

// tau - R D^-1 u
template <class S, class C>
FW_INLINE Force<S> passed_by_free_joint(const Link<C>& l, const FreeFactor<S>& factor, const S* tau, const S* u) {
  S x[6] = {u[0], u[1], u[2], u[3], u[4], u[5]};
  factor.D.solve(x);
  for (int k = 0; k < 6; ++k) x[k] = tau[k] - x[k] * l.armature[k];
  return {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

// Six degrees of freedom: D = I + R with the armature R. What passes to the parent depends on R alone, usually zero:
//   I - I D^-1 I = R - R D^-1 R,   p + I D^-1 u = tau - R D^-1 u
template <bool leaf, class S, class C, class Own, class Out, class... Given>
[[gnu::noinline]] void project_out(Free, const Link<C>& l, Own own, const S* state, FreeFactor<S>& factor, Out& out,
                                   Given... given) {
  constexpr bool biased = sizeof...(Given) > 0;
  const BiasInputs<S> bias{given...};
  ArticulatedInertia<S>& I = inertia_of(out);
  if constexpr (leaf) I = zero_inertia<S>();
  I += body(own, l);
  factor.D = ldl(I, l.armature);
  S tau[6];
  if constexpr (biased) {
    bias.drive(Free{}, l, tau);
    add_velocity_bias(out.p, body(own, l), *bias.v);
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) {
      factor.u[k] = tau[k] - out.p.lin[k];
      factor.u[3 + k] = tau[3 + k] - out.p.ang[k];
    }
  }
  if (l.parent < 0) return;

  for (int k = 0; k < 6; ++k) {
    S x[6] = {S(0), S(0), S(0), S(0), S(0), S(0)};
    x[k] = S(l.armature[k]);
    factor.D.solve(x);
    for (int r = 0; r < 6; ++r) x[r] = (r == k ? l.armature[k] : C(0)) - x[r] * l.armature[r];
    for (int r = 0; r < 3; ++r) {
      if (k < 3) I.A(r, k) = x[r];
      if (k >= 3) I.B(r, k - 3) = x[r];
      if (k >= 3) I.C(r, k - 3) = x[3 + r];
    }
  }
  if constexpr (biased) {
    Motion<S> c = zero_motion<S>();
    Free::add_velocity_product(l, *bias.v, bias.rate, c);
    Force<S> p = passed_by_free_joint(l, factor, tau, factor.u);
    p += I * c;
    out.p = Free::to_parent(l, state, p);
  }
  I = Free::to_parent(l, state, I);
}

// rate' = D^-1 u - D^-1 U^T a', a = a' + S rate'. `u` is D^-1 u, for a free joint u itself.
template <int K, bool turned, bool rotates, bool travels, class S, class C>
FW_INLINE void solve_joint(AxisJoint<K, turned, rotates, travels>, const Link<C>& l, const AxisFactor<S>& factor,
                           const S* u, Motion<S>& a, S* joint_acceleration) {
  const S x = u[0] - dot(factor.UD.lin, a.lin) - dot(factor.UD.ang, a.ang);
  joint_acceleration[0] = x * l.sign;
  if constexpr (rotates) a.ang[K] = a.ang[K] + x;
  if constexpr (travels) a.lin[K] = a.lin[K] + x * AxisJoint<K, turned, rotates, travels>::pitch(l);
}
template <class S, class C>
FW_INLINE void solve_joint(Spherical, const Link<C>&, const SphericalFactor<S>& factor, const S* u, Motion<S>& a,
                           S* joint_acceleration) {
  Vec3<S> x;
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) x[k] = u[k] - dot(factor.UD[k].lin, a.lin) - dot(factor.UD[k].ang, a.ang);
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) joint_acceleration[k] = x[k];
  a.ang += x;
}
// (I + R) rate' = u - I a' with armature R, solved for a = a' + rate': (I + R) a = u + R a'
template <class S, class C>
FW_INLINE void solve_joint(Free, const Link<C>& l, const FreeFactor<S>& factor, const S* u, Motion<S>& a,
                           S* joint_acceleration) {
  S x[6];
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
    x[k] = u[k] + a.lin[k] * l.armature[k];
    x[3 + k] = u[3 + k] + a.ang[k] * l.armature[3 + k];
  }
  factor.D.solve(x);
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
    joint_acceleration[k] = x[k] - a.lin[k];
    joint_acceleration[3 + k] = x[3 + k] - a.ang[k];
  }
  a = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

template <class S>
FW_INLINE S* right_hand_side(AxisFactor<S>& factor) {
  return &factor.D_inverse_u;
}
template <class S>
FW_INLINE S* right_hand_side(SphericalFactor<S>& factor) {
  return factor.D_inverse_u.e;
}
template <class S>
FW_INLINE S* right_hand_side(FreeFactor<S>& factor) {
  return factor.u;
}

template <class S>
FW_INLINE void clear_right_hand_side(AxisFactor<S>& factor) {
  factor.D_inverse_u = S(0);
}
template <class S>
FW_INLINE void clear_right_hand_side(SphericalFactor<S>& factor) {
  factor.D_inverse_u = zero3<S>();
}
template <class S>
FW_INLINE void clear_right_hand_side(FreeFactor<S>& factor) {
  for (int k = 0; k < 6; ++k) factor.u[k] = S(0);
}

template <class J, class S, class C>
[[gnu::noinline]] void accelerate(J, const Link<C>& l, const S* state, const S* rate, Factor<J, S>& factor,
                                  const Motion<S>& a_parent, Motion<S>& motion, S* joint_acceleration) {
  Motion<S> a = J::to_child(l, state, a_parent);
  J::add_velocity_product(l, motion, rate, a);
  solve_joint(J{}, l, factor, right_hand_side(factor), a, joint_acceleration);
  motion = a;
}

}  // namespace featherweight::FW_ISA
