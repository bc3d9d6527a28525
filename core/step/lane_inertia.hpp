// step/lane_inertia.hpp -- inertias of links on lanes: environments may have their own.
//
// The sweeps of a step always read them here, whether environments differ or not: a register that is loaded costs no
// more than a constant that is broadcast, and all environments go through the same instructions.
#pragma once
#include "dynamics/aba.hpp"
#include "runtime/lane_io.hpp"
#include "step/job.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct LaneInertia {
  RigidInertia<S> body;
  S rotor;
};

// The inertias a sweep goes by, and, at a link, its own.
template <class S>
struct OfLanes {
  const LaneInertia<S>* at;
  const int* weighs;  // 1: rows of the joint may be inertia (absorb.hpp)
  FW_INLINE OfLanes operator()(int i) const { return {at + i, weighs + i}; }
};
template <class S, class C>
FW_INLINE const RigidInertia<S>& body(OfLanes<S> own, const Link<C>&) {
  return own.at->body;
}
template <class S, class C>
FW_INLINE const S& rotor(OfLanes<S> own, const Link<C>&) {
  return own.at->rotor;
}
template <class S, class C>
FW_INLINE bool may_have_rotor(OfLanes<S> own, const Link<C>& l) {
  return l.armature[0] != 0 || *own.weighs;
}

// Those of the scene, in all lanes.
template <class S>
void share_inertias(const Tree<double>& tree, LaneInertia<S>* inertias) {
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    inertias[i] = {{S(l.mass), {S(l.h[0]), S(l.h[1]), S(l.h[2])}, {}}, S(l.armature[0])};
    for (int k = 0; k < 6; ++k) inertias[i].body.I.e[k] = S(l.inertia[k]);
  }
}
// Those of each environment.
template <class S>
void load_inertias(const RolloutJob& job, const Pack& pack, LaneInertia<S>* inertias) {
  static_assert(sizeof(LaneInertia<S>) == inertia_numbers * sizeof(S));
  const int n = inertia_numbers * job.scene->tree.n_links;
  Watch<S> watch;
  load(Input<double>{job.inertias, n}, pack, n, reinterpret_cast<S*>(inertias), watch);
}

// Centres of mass of links on free joints, in their coordinates: what goes straight if nothing acts. The armature of
// the joint is a mass at its origin, which is in them but has no weight.
template <class S>
void find_centers(const Tree<double>& tree, const LaneInertia<S>* inertias, Vec3<S>* centers) {
  for (int i = 0; i < tree.n_links; ++i) {
    if (tree.links[i].kind != JointKind::free) continue;
    const RigidInertia<S>& b = inertias[i].body;
    const S m = b.m + S(tree.links[i].ball_armature[0]);
    centers[i] = b.h * select(m > S(0), S(1) / select(m > S(0), m, S(1)), S(0));
  }
}

}  // namespace featherweight::FW_ISA
