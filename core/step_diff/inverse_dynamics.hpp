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

class InverseDynamics {
 public:
  Matrix dq, dv;  // nv x nv
  double* H;      // packed rows of dynamics/crba.hpp, with what is added to the diagonal
  double* tau;    // nv
  Wrench* IS;     // of degrees of freedom: momentum of all outboard per unit of their velocity

  InverseDynamics(const WorldTree& world, Arena& arena)
      : dq(take_matrix(arena, world.scene->tree.nv, world.scene->tree.nv)),
        dv(take_matrix(arena, world.scene->tree.nv, world.scene->tree.nv)),
        H(arena.take<double>(world.scene->tree.row[world.scene->tree.nv])),
        tau(arena.take<double>(world.scene->tree.nv)),
        IS(arena.take<Wrench>(world.scene->tree.nv)),
        world_(world),
        V_(arena.take<Twist>(world.scene->tree.n_links)),
        A_(arena.take<Twist>(world.scene->tree.n_links)),
        I_(arena.take<RigidInertia<double>>(world.scene->tree.n_links)),
        B_(arena.take<CoriolisMatrix<double>>(world.scene->tree.n_links)),
        F_(arena.take<Wrench>(world.scene->tree.n_links)),
        W_(arena.take<Wrench>(world.scene->tree.n_links)),
        dot_(arena.take<Twist>(world.scene->tree.nv)),
        ddot_(arena.take<Twist>(world.scene->tree.nv)) {}

  const Twist* accelerations() const { return A_; }
  const Twist* velocities() const { return V_; }

  // base: the acceleration that stands in for gravity; f: wrenches on links that turn with them, or null; W: wrenches
  // that stay in the world, or null.
  void differentiate(const double* v, const double* a, const Twist& base, const Wrench* f, const Wrench* W) {
    const Tree<double>& tree = world_.scene->tree;
    set_zero(dq, tree.nv), set_zero(dv, tree.nv);
    move(v, a, base, f, W);
    for (int i = tree.n_links - 1; i >= 0; --i) {
      const Link<double>& l = tree.links[i];
      for (int k = l.v; k < l.v + l.nv; ++k) {
        add_inboard(i, k);
        add_outboard(i, k, a);
      }
      if (l.turns_armature) add_armature(l, v);
      if (l.parent < 0) continue;
      const RigidInertia<double>& own = I_[i];
      RigidInertia<double>& to = I_[l.parent];
      to.m += own.m, to.h += own.h, to.I = to.I + own.I;
      B_[l.parent] += B_[i];
      F_[l.parent] += F_[i];
      W_[l.parent] += W_[i];
    }
  }

 private:
  const WorldTree& world_;
  Twist *V_, *A_;
  RigidInertia<double>* I_;
  CoriolisMatrix<double>* B_;
  Wrench *F_, *W_;
  Twist *dot_, *ddot_;  // s', s''

  // Root to leaf.
  void move(const double* v, const double* a, const Twist& base, const Wrench* f, const Wrench* W) {
    const Tree<double>& tree = world_.scene->tree;
    world_.twists(v, V_);
    for (int i = 0; i < tree.n_links; ++i) {
      const Link<double>& l = tree.links[i];
      const Twist V = l.parent < 0 ? zero_motion<double>() : V_[l.parent], A = l.parent < 0 ? base : A_[l.parent];
      Twist own = A;
      for (int k = l.v; k < l.v + l.nv; ++k) {
        const Twist& S = world_.axis[k];
        own += S * a[k];
        own += cross(V_[i], S) * v[k];
        dot_[k] = cross(V, S);
        ddot_[k] = cross(A, S) + cross(V, dot_[k]);
      }
      A_[i] = own;
      I_[i] = world_.inertia[i];
      B_[i] = coriolis_matrix(I_[i], V_[i]);
      F_[i] = I_[i] * own + cross(V_[i], I_[i] * V_[i]);
      if (f) F_[i] -= f[i];
      W_[i] = W ? W[i] : zero_force<double>();
    }
  }
  // Column k at degrees of freedom inboard of its joint.
  void add_inboard(int i, int k) {
    const Twist& S = world_.axis[k];
    Wrench by_q = I_[i] * ddot_[k] + cross(S, F_[i]), by_v = I_[i] * (dot_[k] + cross(V_[i], S));
    add_coriolis(by_q, B_[i], dot_[k]), add_coriolis(by_v, B_[i], S);
    world_.for_path(world_.parent(i), [&](int j) FW_LAMBDA_INLINE {
      dq(j, k) = dot(world_.axis[j], by_q);
      dv(j, k) = dot(world_.axis[j], by_v);
    });
  }
  // Row j at degrees of freedom of its joint and inboard of it, and the row of H.
  void add_outboard(int i, int j, const double* a) {
    const Tree<double>& tree = world_.scene->tree;
    const Twist& S = world_.axis[j];
    const Wrench momentum = IS[j] = I_[i] * S, turn = cross(S, W_[i]);
    const Vector BS = transposed_coriolis(B_[i], S);
    tau[j] = dot(S, F_[i]) - dot(S, W_[i]) + world_.rotor[j] * a[j];
    double* const row = H + tree.row[j];
    row[0] = dot(S, momentum) + world_.rotor[j];
    for (int k = tree.dof_parent[j], s = 1; k >= 0; k = tree.dof_parent[k], ++s) row[s] = dot(world_.axis[k], momentum);
    world_.for_path(i, [&](int k) FW_LAMBDA_INLINE {
      const Twist &Sk = world_.axis[k], &d = dot_[k];
      dq(j, k) = dot(ddot_[k], momentum) + FW_ISA::dot(d.ang, BS) - dot(Sk, turn);
      dv(j, k) = FW_ISA::dot(Sk.ang, BS);
    });
    // V_i x S_k, of the link that carries k
    for (int link = i; link >= 0; link = world_.parent(link)) {
      const Link<double>& l = tree.links[link];
      for (int k = l.v; k < l.v + l.nv; ++k) {
        dv(j, k) += dot(dot_[k] + cross(V_[link], world_.axis[k]), momentum);
      }
    }
  }
  // w x R w + u x R u and w x R u, in the axes of the joint.
  void add_armature(const Link<double>& l, const double* v) {
    visit(l.kind, [&](auto joint) { add_armature_bias(joint, l, v + l.v, 1.0, tau + l.v); });
    const int turn = l.nv - 3;
    const double* const R = l.ball_armature;
    const double* const x = v + l.v;
    const auto three = [](const double* y) { return Vector{y[0], y[1], y[2]}; };
    const auto carried = [&](int k) { return Vector{R[k] * x[k], R[k + 1] * x[k + 1], R[k + 2] * x[k + 2]}; };
    const Vector w = three(x + turn), L = carried(turn);
    for (int c = 0; c < 3; ++c) {
      Vector e = zero3<double>();
      e[c] = 1;
      Vector moment = FW_ISA::cross(e, L) + FW_ISA::cross(w, e * R[turn + c]);
      for (int r = 0; r < 3; ++r) dv(l.v + turn + r, l.v + turn + c) += moment[r];
      if (turn == 0) continue;
      const Vector u = three(x), p = carried(0), force = FW_ISA::cross(e, p);
      const Vector by_u = FW_ISA::cross(w, e * R[c]), moment_by_u = FW_ISA::cross(e, p) + FW_ISA::cross(u, e * R[c]);
      for (int r = 0; r < 3; ++r) {
        dv(l.v + r, l.v + 3 + c) += force[r];
        dv(l.v + r, l.v + c) += by_u[r];
        dv(l.v + 3 + r, l.v + c) += moment_by_u[r];
      }
    }
  }
};

}  // namespace featherweight::FW_ISA
