// step_diff/dynamics_adjoint.hpp -- products of derivatives of inverse dynamics with a vector x, with all of a tree
// about one point: x . tau by q, by v and by a, without a matrix.
//
// As dynamics/rnea_adjoint.hpp, in world axes, where composites are sums. X: twists of links for x. With M = I X,
// b = B^T X and F, summed over what is outboard of a joint, and V, A, X of the link that carries it:
//   by q:  S . (V x* (V x* M - b) - A x* M - X x* F),   by v:  S . (b - (V + V') x* M),   by a:  S . M
// Wrenches W that stay in the world are among the forces, and moved along: whoever has them adds X x* W of each link.
// Cost: O(n). Oracle: step_diff/inverse_dynamics.hpp.
#pragma once
#include "dynamics/rnea_adjoint.hpp"
#include "step_diff/motion.hpp"

namespace featherweight::FW_ISA {

template <class S>
class DynamicsAdjointOf {
 public:
  S *by_q, *by_v, *by_a;  // nv each

  DynamicsAdjointOf(const WorldTreeOf<S>& world, Arena& arena)
      : by_q(arena.take<S>(world.scene->tree.nv)),
        by_v(arena.take<S>(world.scene->tree.nv)),
        by_a(arena.take<S>(world.scene->tree.nv)),
        world_(world),
        A_(arena.take<Motion<S>>(world.scene->tree.n_links)),
        X_(arena.take<Motion<S>>(world.scene->tree.n_links)),
        sums_(arena.take<AdjointForces<S>>(world.scene->tree.n_links)) {}

  // V: twists of links for v; base, f, W as of InverseDynamicsOf::differentiate.
  void find(const S* v, const Motion<S>* V, const S* a, const Motion<S>& base, const Force<S>* f, const Force<S>* W,
            const S* x) {
    const Tree<double>& tree = world_.scene->tree;
    world_.twists(x, X_);
    for (int i = 0; i < tree.n_links; ++i) set_link(i, v, V[i], a, base, f, W);
    for (int i = tree.n_links - 1; i >= 0; --i) {
      project(i, V, base, v, x);
      if (const int parent = world_.parent(i); parent >= 0) sums_[parent] += sums_[i];
    }
  }

 private:
  const WorldTreeOf<S>& world_;
  Motion<S>*A_, *X_;
  AdjointForces<S>* sums_;

  void set_link(int i, const S* v, const Motion<S>& V, const S* a, const Motion<S>& base, const Force<S>* f,
                const Force<S>* W) {
    const Link<double>& l = world_.scene->tree.links[i];
    Motion<S> own = l.parent < 0 ? base : A_[l.parent];
    for (int k = l.v; k < l.v + l.nv; ++k) {
      const Motion<S>& axis = world_.axis[k];
      own += axis * a[k];
      own += cross(V, axis) * v[k];
    }
    A_[i] = own;
    const RigidInertia<S>& I = world_.inertia[i];
    const CoriolisMatrix<S> B = coriolis_matrix(I, V);
    AdjointForces<S>& sum = sums_[i];
    sum = {I * X_[i], body_force(I, B, V, own), transposed_coriolis(B, X_[i])};
    if (f) sum.F -= f[i];
    if (W) sum.F -= W[i];
  }
  void project(int i, const Motion<S>* V, const Motion<S>& base, const S* v, const S* x) {
    const Link<double>& l = world_.scene->tree.links[i];
    const AdjointForces<S>& c = sums_[i];
    Force<S> turned = zero_force<S>(), along = cross(V[i], c.M);
    if (l.parent >= 0) {
      const Force<S> carried = cross(V[l.parent], c.M);
      along += carried;
      turned = cross(V[l.parent], Force<S>{carried.lin, carried.ang - c.b});
      turned -= cross(X_[l.parent], c.F);
    }
    turned -= cross(l.parent < 0 ? base : A_[l.parent], c.M);
    along = {zero3<S>() - along.lin, c.b - along.ang};
    for (int k = l.v; k < l.v + l.nv; ++k) {
      const Motion<S>& axis = world_.axis[k];
      by_q[k] = dot(axis, turned);
      by_v[k] = dot(axis, along);
      by_a[k] = dot(axis, c.M) + world_.rotor[k] * x[k];
    }
    if (l.turns_armature)
      visit(l.kind, [&](auto joint) { add_adjoint_armature(joint, l, v + l.v, x + l.v, by_v + l.v); });
  }
};

}  // namespace featherweight::FW_ISA
