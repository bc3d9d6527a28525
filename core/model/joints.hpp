// model/joints.hpp -- the joints, each a small type with the same few functions.
//
//   nv, n_state, n_factor           number of degrees of freedom, of scalars in `state` and in its factor
//   set_state(link, q, state)       what depends on q only (sines, matrices), kept in `state`
//   to_child(link, state, motion)   X m: a motion of the parent, seen at the link
//   to_parent(link, state, x)       X^T x: a force or an inertia of the link, seen at the parent
//   axes_to_child, axes_to_parent   a free vector of the parent, in the link's axes, and the other way round
//   orientation, origin             pose of the link in its parent
//   add_motion(link, rate, m)       m += S rate
//   project(link, f, out)           out = S^T f
//   column(link, k)                 column k of S
//   add_velocity_product(...)       c += v x (S rate): S is constant in link coordinates for every joint
#pragma once
#include "lanes/native.hpp"
#include "model/tree.hpp"
#include "spatial/coriolis.hpp"

namespace featherweight::FW_ISA {

template <class S>
FW_INLINE Vec3<S> along_axis(int K, const S& length) {
  Vec3<S> x = zero3<S>();
  x[K] = length;
  return x;
}

// One degree of freedom about and / or along coordinate axis K, after a constant rotation where `turned`.
template <int K, bool is_turned, bool does_rotate, bool does_travel>
struct AxisJoint {
  static constexpr int nv = 1, axis = K;
  static constexpr bool turned = is_turned, rotates = does_rotate, travels = does_travel;
  static constexpr int travel = rotates ? 2 : 0;  // state: cosine, sine where it rotates, then the travel
  static constexpr int n_state = travel + (travels ? 1 : 0), n_factor = 8;

  template <class S, class C>
  static FW_INLINE void set_state(const Link<C>& l, const S* q, S* state) {
    if constexpr (rotates) sincos(S(q[0] * l.sign + l.offset), state[1], state[0]);
    if constexpr (travels) state[travel] = q[0] * (l.sign * pitch(l));
  }
  template <class C>
  static FW_INLINE C pitch(const Link<C>& l) {
    return rotates ? l.pitch : C(1);
  }
  template <class S>
  static FW_INLINE AxisRotation<K, S> rotation(const S* state) {
    return {state[0], state[1]};
  }
  // Origin of the link in its parent: a constant unless the joint travels.
  template <class S, class C>
  static FW_INLINE auto origin(const Link<C>& l, const S* state) {
    if constexpr (!travels) {
      return vec3(l.p);
    } else if constexpr (turned) {
      return vec3(l.p) + Vec3<C>{l.R[K], l.R[3 + K], l.R[6 + K]} * state[travel];
    } else {
      Vec3<S> p{S(l.p[0]), S(l.p[1]), S(l.p[2])};
      p[K] = p[K] + state[travel];
      return p;
    }
  }
  template <class S, class C>
  static FW_INLINE Motion<S> to_child(const Link<C>& l, const S* state, const Motion<S>& m) {
    Motion<S> r = shift_to_child(m, origin(l, state));
    if constexpr (turned) r = FW_ISA::to_child(Rotation<C>{mat3(l.R)}, r);
    if constexpr (rotates) r = FW_ISA::to_child(rotation(state), r);
    return r;
  }
  template <class S, class C, class X>
  static FW_INLINE X to_parent(const Link<C>& l, const S* state, const X& x) {
    X r = x;
    if constexpr (rotates) r = FW_ISA::to_parent(rotation(state), r);
    if constexpr (turned) r = FW_ISA::to_parent(Rotation<C>{mat3(l.R)}, r);
    return shift_to_parent(r, origin(l, state));
  }
  template <class S, class C>
  static FW_INLINE Vec3<S> axes_to_child(const Link<C>& l, const S* state, const Vec3<S>& x) {
    Vec3<S> y = x;
    if constexpr (turned) y = Rotation<C>{mat3(l.R)}.to_child(y);
    if constexpr (rotates) y = rotation(state).to_child(y);
    return y;
  }
  template <class S, class C>
  static FW_INLINE Vec3<S> axes_to_parent(const Link<C>& l, const S* state, const Vec3<S>& x) {
    Vec3<S> y = x;
    if constexpr (rotates) y = rotation(state).to_parent(y);
    if constexpr (turned) y = Rotation<C>{mat3(l.R)}.to_parent(y);
    return y;
  }
  template <class S, class C>
  static FW_INLINE Mat3<S> orientation(const Link<C>& l, const S* state) {
    const Mat3<S> R{
        {S(l.R[0]), S(l.R[1]), S(l.R[2])}, {S(l.R[3]), S(l.R[4]), S(l.R[5])}, {S(l.R[6]), S(l.R[7]), S(l.R[8])}};
    if constexpr (rotates)
      return rotation(state).after(R);
    else
      return R;
  }
  template <class S, class C>
  static FW_INLINE void add_motion(const Link<C>& l, const S* rate, Motion<S>& m) {
    const S x = rate[0] * l.sign;
    if constexpr (rotates) m.ang[K] = m.ang[K] + x;
    if constexpr (travels) m.lin[K] = m.lin[K] + x * pitch(l);
  }
  template <class S, class C>
  static FW_INLINE void project(const Link<C>& l, const Force<S>& f, S* out) {
    if constexpr (rotates && travels)
      out[0] = (f.ang[K] + f.lin[K] * l.pitch) * l.sign;
    else
      out[0] = (rotates ? f.ang[K] : f.lin[K]) * l.sign;
  }
  template <class S, class C>
  static FW_INLINE Motion<S> column(const Link<C>& l, int) {
    return {along_axis(K, S(travels ? l.sign * pitch(l) : C(0))), along_axis(K, S(rotates ? l.sign : C(0)))};
  }
  // v x (S rate)
  template <class S, class C>
  static FW_INLINE void add_velocity_product(const Link<C>& l, const Motion<S>& v, const S* rate, Motion<S>& c) {
    constexpr int i = (K + 1) % 3, j = (K + 2) % 3;
    const S x = rate[0] * l.sign;
    if constexpr (rotates) {
      c.lin[i] = c.lin[i] + v.lin[j] * x;
      c.lin[j] = c.lin[j] - v.lin[i] * x;
      c.ang[i] = c.ang[i] + v.ang[j] * x;
      c.ang[j] = c.ang[j] - v.ang[i] * x;
    }
    if constexpr (travels) {
      const S y = x * pitch(l);
      c.lin[i] = c.lin[i] + v.ang[j] * y;
      c.lin[j] = c.lin[j] - v.ang[i] * y;
    }
  }
};
template <int K, bool turned = false>
using Revolute = AxisJoint<K, turned, true, false>;
template <int K, bool turned = false>
using Prismatic = AxisJoint<K, turned, false, true>;
using Helical = AxisJoint<2, true, true, true>;

// Three rotations, and three translations where it travels; the state is the matrix and the origin.
template <bool travels>
struct Ball {
  static constexpr int nv = travels ? 6 : 3, n_state = 12, n_factor = 27;

  template <class S, class C>
  static FW_INLINE void set_state(const Link<C>& l, const S* q, S* state) {
    const Mat3<S> R = mat3(l.R) * quaternion_matrix(travels ? q + 3 : q);
    Vec3<S> p{S(l.p[0]), S(l.p[1]), S(l.p[2])};
    if constexpr (travels) p += mat3(l.R) * Vec3<S>{q[0], q[1], q[2]};
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r) {
#pragma GCC unroll 3
      for (int c = 0; c < 3; ++c) state[3 * r + c] = R(r, c);
      state[9 + r] = p[r];
    }
  }
  template <class S, class C>
  static FW_INLINE Mat3<S> orientation(const Link<C>&, const S* s) {
    return {{s[0], s[1], s[2]}, {s[3], s[4], s[5]}, {s[6], s[7], s[8]}};
  }
  template <class S, class C>
  static FW_INLINE Vec3<S> origin(const Link<C>&, const S* s) {
    return {s[9], s[10], s[11]};
  }
  template <class S, class C>
  static FW_INLINE Motion<S> to_child(const Link<C>& l, const S* state, const Motion<S>& m) {
    return FW_ISA::to_child(Rotation<S>{orientation(l, state)}, shift_to_child(m, origin(l, state)));
  }
  template <class S, class C>
  static FW_INLINE Vec3<S> axes_to_child(const Link<C>& l, const S* state, const Vec3<S>& x) {
    return transposed_times(orientation(l, state), x);
  }
  template <class S, class C>
  static FW_INLINE Vec3<S> axes_to_parent(const Link<C>& l, const S* state, const Vec3<S>& x) {
    return orientation(l, state) * x;
  }
  template <class S, class C, class X>
  static FW_INLINE X to_parent(const Link<C>& l, const S* state, const X& x) {
    return shift_to_parent(FW_ISA::to_parent(Rotation<S>{orientation(l, state)}, x), origin(l, state));
  }
  template <class S, class C>
  static FW_INLINE void add_motion(const Link<C>&, const S* rate, Motion<S>& m) {
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) {
      if constexpr (travels) m.lin[k] = m.lin[k] + rate[k];
      m.ang[k] = m.ang[k] + rate[nv - 3 + k];
    }
  }
  template <class S, class C>
  static FW_INLINE void project(const Link<C>&, const Force<S>& f, S* out) {
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) {
      if constexpr (travels) out[k] = f.lin[k];
      out[nv - 3 + k] = f.ang[k];
    }
  }
  template <class S, class C>
  static FW_INLINE Motion<S> column(const Link<C>&, int k) {
    const int angular = k - (nv - 3);
    return angular < 0 ? Motion<S>{along_axis(k, S(1)), zero3<S>()} : Motion<S>{zero3<S>(), along_axis(angular, S(1))};
  }
  template <class S, class C>
  static FW_INLINE void add_velocity_product(const Link<C>&, const Motion<S>& v, const S* rate, Motion<S>& c) {
    const Vec3<S> w{rate[nv - 3], rate[nv - 2], rate[nv - 1]};
    add_cross(c.lin, v.lin, w);
    add_cross(c.ang, v.ang, w);
    if constexpr (travels) add_cross(c.lin, v.ang, Vec3<S>{rate[0], rate[1], rate[2]});
  }
};
using Spherical = Ball<false>;
using Free = Ball<true>;

// out += s (rate x* (R rate)): what the armature R of a ball joint takes as its axes turn (Kirchhoff's equations). An
// axis joint, whose axis stays, has none.
template <int K, bool turned, bool rotates, bool travels, class S, class C>
FW_INLINE void add_armature_bias(AxisJoint<K, turned, rotates, travels>, const Link<C>&, const S*, C, S*) {}
template <bool travels, class S, class C>
FW_INLINE void add_armature_bias(Ball<travels>, const Link<C>& l, const S* rate, C s, S* out) {
  if (!l.turns_armature) return;
  constexpr int turn = travels ? 3 : 0;
  const auto carried = [&](int k) FW_LAMBDA_INLINE {  // R rate, three of it
    return Vec3<S>{rate[k] * (l.ball_armature[k] * s), rate[k + 1] * (l.ball_armature[k + 1] * s),
                   rate[k + 2] * (l.ball_armature[k + 2] * s)};
  };
  const Vec3<S> w{rate[turn], rate[turn + 1], rate[turn + 2]};
  Vec3<S> moment = cross(w, carried(turn));
  if constexpr (travels) {
    const Vec3<S> p = carried(0), force = cross(w, p);
    add_cross(moment, Vec3<S>{rate[0], rate[1], rate[2]}, p);
    for (int k = 0; k < 3; ++k) out[k] = out[k] + force[k];
  }
  for (int k = 0; k < 3; ++k) out[turn + k] = out[turn + k] + moment[k];
}

// Calls f with the joint type of a link.
template <class F>
FW_INLINE void visit(JointKind kind, F&& f) {
  switch (kind) {
    case JointKind::revolute_x: return f(Revolute<0>{});
    case JointKind::revolute_y: return f(Revolute<1>{});
    case JointKind::revolute_z: return f(Revolute<2>{});
    case JointKind::revolute_turned: return f(Revolute<2, true>{});
    case JointKind::prismatic_x: return f(Prismatic<0>{});
    case JointKind::prismatic_y: return f(Prismatic<1>{});
    case JointKind::prismatic_z: return f(Prismatic<2>{});
    case JointKind::prismatic_turned: return f(Prismatic<2, true>{});
    case JointKind::helical: return f(Helical{});
    case JointKind::spherical: return f(Spherical{});
    case JointKind::free: return f(Free{});
  }
  __builtin_unreachable();
}

template <class C>
FW_INLINE RigidInertia<C> body(const Link<C>& l) {
  return {l.mass, vec3(l.h), sym3(l.inertia)};
}

// Acceleration of the world that stands in for gravity.
template <class S, class C>
FW_INLINE Motion<S> minus_gravity(const Tree<C>& tree) {
  return {{S(-tree.gravity[0]), S(-tree.gravity[1]), S(-tree.gravity[2])}, zero3<S>()};
}

}  // namespace featherweight::FW_ISA
