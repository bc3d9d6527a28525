// dynamics/momentum.hpp -- centre of mass, energies and centroidal momentum.
//   O(n), one sweep each. The mass outboard of every link is a constant of the tree, so the centre of mass needs only
//   first moments.
//   Oracle: sums over bodies; energy conservation; momentum == dense sum of transformed body momenta.
#pragma once
#include "memory/arena.hpp"
#include "model/joints.hpp"

namespace featherweight::FW_ISA {

// A first moment of link i and everything outboard, as seen in the parent. Forces have no mass, so they move as usual.
template <class J, class S, class C>
[[gnu::noinline]] void moment_to_parent(J, const Link<C>& l, const S* q, S* state, const Vec3<S>& h,
                                        Vec3<S>& h_parent) {
  J::set_state(l, q, state);
  h_parent += J::orientation(l, state) * h;
  add_scaled(h_parent, J::origin(l, state), l.subtree_mass);
}

// Mass times centre of mass, in the world; `h` has room for one moment per link.
template <class S, class C>
Vec3<S> first_moment(const Tree<C>& tree, const S* q, S* state, Vec3<S>* h) {
  Vec3<S> world = zero3<S>();
  for (int i = 0; i < tree.n_links; ++i) h[i] = zero3<S>() + vec3(tree.links[i].h);
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      moment_to_parent(joint, l, q + l.q, state + l.state, h[i], l.parent < 0 ? world : h[l.parent]);
    });
  }
  return world;
}

template <class J, class S, class C>
[[gnu::noinline]] void move_body(J, const Link<C>& l, const S* q, const S* rate, S* state, const Motion<S>& v_parent,
                                 Motion<S>& v, Force<S>& momentum) {
  J::set_state(l, q, state);
  v = J::to_child(l, state, v_parent);
  J::add_motion(l, rate, v);
  momentum = body(l) * v;
}

// Velocity and momentum of every link.
template <class S, class C>
void body_momenta(const Tree<C>& tree, const S* q, const S* v, S* state, Motion<S>* motion, Force<S>* momentum) {
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      move_body(joint, l, q + l.q, v + l.v, state + l.state, l.parent < 0 ? rest : motion[l.parent], motion[i],
                momentum[i]);
    });
  }
}

// 1/2 v^T H v, rotors included.
template <class S, class C>
S kinetic_energy(const Tree<C>& tree, const S* q, const S* v, S* state, Motion<S>* motion, Force<S>* momentum) {
  body_momenta(tree, q, v, state, motion, momentum);
  S twice = S(0);
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<C>& l = tree.links[i];
    twice = twice + dot(motion[i].lin, momentum[i].lin) + dot(motion[i].ang, momentum[i].ang);
    for (int k = 0; k < l.nv; ++k) twice = twice + v[l.v + k] * v[l.v + k] * l.armature[k];
  }
  return twice * S(0.5);
}

// Momentum of the whole about its centre of mass, world axes.
template <class S, class C>
Force<S> centroidal_momentum(const Tree<C>& tree, const S* q, const S* v, S* state, Motion<S>* motion,
                             Force<S>* momentum, Vec3<S>* h) {
  body_momenta(tree, q, v, state, motion, momentum);
  Force<S> total = zero_force<S>();
  for (int i = tree.n_links - 1; i >= 0; --i) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      (l.parent < 0 ? total : momentum[l.parent]) += decltype(joint)::to_parent(l, state + l.state, momentum[i]);
    });
  }
  const Vec3<S> com = first_moment(tree, q, state, h) * (C(1) / tree.mass);
  add_cross(total.ang, total.lin, com);
  return total;
}

}  // namespace featherweight::FW_ISA
