// step_diff/inverse_dynamics.hpp -- H, and the derivatives of tau = H a + h - J^T f by q and v, with all of a tree
// about one point.
//
// In world axes composites are sums. Let i be the link of degree of freedom k and p its parent,
//   s' = V_p x S_k,   s'' = A_p x S_k + V_p x s',   B: twice the Coriolis matrix (spatial/coriolis.hpp).
// Turning about k takes what is outboard along, except for the velocity and acceleration the parent has:
//   dF/dq_k = S_k x* F + I s'' + B s',    dF/dv_k = I (s' + V_i x S_k) + B S_k      (composites of i)
// so for j inboard of k       tau_j,q_k = S_j . (dF/dq_k)
//    for k inboard of j, or of the same joint, tau_j,q_k = I S_j . s'' + B^T S_j . s' - (S_k x S_j) . W
// where the turn of S_j cancels that of F, but not that of W: wrenches that stay in the world (of contacts).
// Cost: O(n d). Source: Carpentier and Mansard 2018; Singh, Russell and Wensing 2022. Oracle: finite differences.
#pragma once
#include "spatial/coriolis.hpp"
#include "step_diff/columns.hpp"
#include "step_diff/motion.hpp"

namespace featherweight::FW_ISA {

template <class S>
class InverseDynamicsOf {
 public:
  MatrixOf<S> dq, dv;  // nv x nv
  S* H;                // packed rows of dynamics/crba.hpp, with what is added to the diagonal
  S* tau;              // nv
  Force<S>* IS;        // of degrees of freedom: momentum of all outboard per unit of their velocity

  // Rows of dq and dv are side by side.
  InverseDynamicsOf(const WorldTreeOf<S>& world, Arena& arena)
      : dq{arena.take<S>(2 * world.scene->tree.nv * world.scene->tree.nv), 2 * world.scene->tree.nv},
        dv{dq.data + world.scene->tree.nv, dq.stride},
        H(arena.take<S>(world.scene->tree.row[world.scene->tree.nv])),
        tau(arena.take<S>(world.scene->tree.nv)),
        IS(arena.take<Force<S>>(world.scene->tree.nv)),
        world_(world),
        V_(arena.take<Motion<S>>(world.scene->tree.n_links)),
        A_(arena.take<Motion<S>>(world.scene->tree.n_links)),
        I_(arena.take<RigidInertia<S>>(world.scene->tree.n_links)),
        B_(arena.take<CoriolisMatrix<S>>(world.scene->tree.n_links)),
        F_(arena.take<Force<S>>(world.scene->tree.n_links)),
        W_(arena.take<Force<S>>(world.scene->tree.n_links)),
        dot_(arena.take<Motion<S>>(world.scene->tree.nv)),
        ddot_(arena.take<Motion<S>>(world.scene->tree.nv)),
        both_(arena.take<Motion<S>>(world.scene->tree.nv)) {}

  const Motion<S>* accelerations() const { return A_; }
  const Motion<S>* velocities() const { return V_; }

  // H alone.
  void find_inertia() {
    const Tree<double>& tree = world_.scene->tree;
    for (int i = 0; i < tree.n_links; ++i) I_[i] = world_.inertia[i];
    for (int i = tree.n_links - 1; i >= 0; --i) {
      const Link<double>& l = tree.links[i];
      for (int k = l.v; k < l.v + l.nv; ++k) set_inertia_row(k, I_[i] * world_.axis[k]);
      if (l.parent >= 0) add_inertia(I_[i], I_[l.parent]);
    }
  }
  // base: the acceleration that stands in for gravity; f: wrenches on links that turn with them, or null; W: wrenches
  // that stay in the world, or null.
  void differentiate(const S* v, const S* a, const Motion<S>& base, const Force<S>* f, const Force<S>* W) {
    const Tree<double>& tree = world_.scene->tree;
    for (; n_clear_ < tree.nv * dq.stride; ++n_clear_) dq.data[n_clear_] = S(0);  // others are always written
    move(v, a, base, f, W);
    for (int i = tree.n_links - 1; i >= 0; --i) {
      const Link<double>& l = tree.links[i];
      for (int k = l.v; k < l.v + l.nv; ++k) {
        add_inboard(i, k);
        add_outboard(i, k, a);
      }
      if (l.turns_armature) add_armature(l, v);
      if (l.parent < 0) continue;
      add_inertia(I_[i], I_[l.parent]);
      B_[l.parent] += B_[i];
      F_[l.parent] += F_[i];
      W_[l.parent] += W_[i];
    }
  }

 private:
  const WorldTreeOf<S>& world_;
  Motion<S>*V_, *A_;
  RigidInertia<S>* I_;
  CoriolisMatrix<S>* B_;
  Force<S>*F_, *W_;
  Motion<S>*dot_, *ddot_, *both_;  // s', s'', s' + V_i x S
  int n_clear_ = 0;

  static void add_inertia(const RigidInertia<S>& own, RigidInertia<S>& to) {
    to.m += own.m, to.h += own.h, to.I = to.I + own.I;
  }
  // Of the momentum of all outboard of degree of freedom j, per unit of its velocity.
  FW_INLINE void set_inertia_row(int j, const Force<S>& momentum) {
    const Tree<double>& tree = world_.scene->tree;
    S* row = H + tree.row[j];
    *row = dot(world_.axis[j], momentum) + world_.rotor[j];
    for (int k = tree.dof_parent[j]; k >= 0; k = tree.dof_parent[k]) *++row = dot(world_.axis[k], momentum);
  }
  // Root to leaf.
  void move(const S* v, const S* a, const Motion<S>& base, const Force<S>* f, const Force<S>* W) {
    const Tree<double>& tree = world_.scene->tree;
    world_.twists(v, V_);
    for (int i = 0; i < tree.n_links; ++i) {
      const Link<double>& l = tree.links[i];
      const Motion<S> V = l.parent < 0 ? zero_motion<S>() : V_[l.parent], A = l.parent < 0 ? base : A_[l.parent];
      Motion<S> own = A;
      for (int k = l.v; k < l.v + l.nv; ++k) {
        const Motion<S>& axis = world_.axis[k];
        own += axis * a[k];
        own += cross(V_[i], axis) * v[k];
        dot_[k] = cross(V, axis);
        both_[k] = dot_[k] + cross(V_[i], axis);
        ddot_[k] = cross(A, axis) + cross(V, dot_[k]);
      }
      A_[i] = own;
      I_[i] = world_.inertia[i];
      B_[i] = coriolis_matrix(I_[i], V_[i]);
      F_[i] = I_[i] * own + cross(V_[i], I_[i] * V_[i]);
      if (f) F_[i] -= f[i];
      W_[i] = W ? W[i] : zero_force<S>();
    }
  }
  // Column k at degrees of freedom inboard of its joint.
  void add_inboard(int i, int k) {
    const Motion<S>& axis = world_.axis[k];
    Force<S> by_q = I_[i] * ddot_[k] + cross(axis, F_[i]), by_v = I_[i] * both_[k];
    add_coriolis(by_q, B_[i], dot_[k]), add_coriolis(by_v, B_[i], axis);
    world_.for_path(world_.parent(i), [&](int j) FW_LAMBDA_INLINE {
      dq(j, k) = dot(world_.axis[j], by_q);
      dv(j, k) = dot(world_.axis[j], by_v);
    });
  }
  // Row j at degrees of freedom of its joint and inboard of it, and the row of H.
  void add_outboard(int i, int j, const S* a) {
    const Motion<S>& axis = world_.axis[j];
    const Force<S> momentum = IS[j] = I_[i] * axis, turn = cross(axis, W_[i]);
    const Vec3<S> BS = transposed_coriolis(B_[i], axis);
    tau[j] = dot(axis, F_[i]) - dot(axis, W_[i]) + world_.rotor[j] * a[j];
    set_inertia_row(j, momentum);
    world_.for_path(i, [&](int k) FW_LAMBDA_INLINE {
      const Motion<S>&Sk = world_.axis[k], &d = dot_[k];
      dq(j, k) = dot(ddot_[k], momentum) + FW_ISA::dot(d.ang, BS) - dot(Sk, turn);
      dv(j, k) = FW_ISA::dot(Sk.ang, BS) + dot(both_[k], momentum);
    });
  }
  // w x R w + u x R u and w x R u, in the axes of the joint.
  void add_armature(const Link<double>& l, const S* v) {
    visit(l.kind, [&](auto joint) { add_armature_bias(joint, l, v + l.v, 1.0, tau + l.v); });
    const int turn = l.nv - 3;
    const double* const R = l.ball_armature;
    const S* const x = v + l.v;
    const auto three = [](const S* y) { return Vec3<S>{y[0], y[1], y[2]}; };
    const auto carried = [&](int k) { return Vec3<S>{x[k] * R[k], x[k + 1] * R[k + 1], x[k + 2] * R[k + 2]}; };
    const Vec3<S> w = three(x + turn), L = carried(turn);
    for (int c = 0; c < 3; ++c) {
      Vec3<S> e = zero3<S>();
      e[c] = S(1);
      Vec3<S> moment = FW_ISA::cross(e, L) + FW_ISA::cross(w, e * S(R[turn + c]));
      for (int r = 0; r < 3; ++r) dv(l.v + turn + r, l.v + turn + c) += moment[r];
      if (turn == 0) continue;
      const Vec3<S> u = three(x), p = carried(0), force = FW_ISA::cross(e, p);
      const Vec3<S> by_u = FW_ISA::cross(w, e * S(R[c])),
                    moment_by_u = FW_ISA::cross(e, p) + FW_ISA::cross(u, e * S(R[c]));
      for (int r = 0; r < 3; ++r) {
        dv(l.v + r, l.v + 3 + c) += force[r];
        dv(l.v + r, l.v + c) += by_u[r];
        dv(l.v + 3 + r, l.v + c) += moment_by_u[r];
      }
    }
  }
};

using InverseDynamics = InverseDynamicsOf<double>;

}  // namespace featherweight::FW_ISA
