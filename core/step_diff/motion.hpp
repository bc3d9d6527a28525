// step_diff/motion.hpp -- a tree in world axes, seen from its root: axes of degrees of freedom, inertias, twists.
//
// All of a tree is written about one point, where its root is, so that twists and wrenches of its links add without
// being carried. Far from the world's origin no digits are lost.
#pragma once
#include "kinematics/forward.hpp"
#include "memory/arena.hpp"
#include "scene/scene.hpp"
#include "spatial/coriolis.hpp"
#include "step/lane_inertia.hpp"

namespace featherweight::FW_ISA {

using Twist = Motion<double>;
using Wrench = Force<double>;
using Vector = Vec3<double>;

template <class S>
FW_INLINE Motion<S> operator*(const Motion<S>& m, const S& s) {
  return {m.lin * s, m.ang * s};
}
template <class S>
FW_INLINE Motion<S> operator+(const Motion<S>& a, const Motion<S>& b) {
  return {a.lin + b.lin, a.ang + b.ang};
}
template <class S>
FW_INLINE Motion<S> operator-(const Motion<S>& a, const Motion<S>& b) {
  return {a.lin - b.lin, a.ang - b.ang};
}
template <class S>
FW_INLINE Force<S> operator*(const Force<S>& f, const S& s) {
  return {f.lin * s, f.ang * s};
}
template <class S>
FW_INLINE Force<S> operator+(const Force<S>& a, const Force<S>& b) {
  return {a.lin + b.lin, a.ang + b.ang};
}
template <class S>
FW_INLINE Force<S> operator-(const Force<S>& a, const Force<S>& b) {
  return {a.lin - b.lin, a.ang - b.ang};
}
template <class S>
FW_INLINE S dot(const Motion<S>& m, const Force<S>& f) {
  return dot(m.lin, f.lin) + dot(m.ang, f.ang);
}

// v x m, and v x* f: (v x m) . f = -m . (v x* f)
template <class S>
FW_INLINE Motion<S> cross(const Motion<S>& v, const Motion<S>& m) {
  return motion_cross(v, m);
}
template <class S>
FW_INLINE Force<S> cross(const Motion<S>& v, const Force<S>& f) {
  return force_cross(v, f);
}
// Velocity of a point at r.
template <class S>
FW_INLINE Vec3<S> point_velocity(const Motion<S>& m, const Vec3<S>& r) {
  return m.lin + cross(m.ang, r);
}

// Of one environment at the start of a step, or of a pack of them on lanes.
template <class S>
struct WorldTreeOf {
  const Scene* scene;
  Pose<S>* pose;             // of links
  Motion<S>* axis;           // of degrees of freedom: column of S
  RigidInertia<S>* inertia;  // of links
  S* rotor;                  // of degrees of freedom: what is added to the diagonal of H
  Vec3<S>* center;           // of mass, of links on free joints, in their axes
  S* state;                  // scratch

  WorldTreeOf(const Scene& s, Arena& arena)
      : scene(&s),
        pose(arena.take<Pose<S>>(s.tree.n_links)),
        axis(arena.take<Motion<S>>(s.tree.nv)),
        inertia(arena.take<RigidInertia<S>>(s.tree.n_links)),
        rotor(arena.take<S>(s.tree.nv)),
        center(arena.take<Vec3<S>>(s.tree.n_links)),
        state(arena.take<S>(s.tree.n_states)) {}

  const Vec3<S>& root(int link) const { return pose[scene->root[link]].p; }
  Vec3<S> from_root(int link) const { return pose[link].p - root(link); }

  // inertias: of links.
  void place(const S* q, const LaneInertia<S>* inertias) {
    const Tree<double>& tree = scene->tree;
    const Pose<S> world = identity_pose<S>();
    for (int i = 0; i < tree.n_links; ++i) {
      const Link<double>& l = tree.links[i];
      visit(l.kind, [&](auto joint) {
        using J = decltype(joint);
        FW_ISA::place(joint, l, q + l.q, state + l.state, l.parent < 0 ? world : pose[l.parent], pose[i]);
        const Vec3<S> r = from_root(i);
        for (int k = 0; k < J::nv; ++k) {
          const Motion<double> s = J::template column<double>(l, k);
          const Vec3<S> ang = pose[i].R * s.ang;
          axis[l.v + k] = {pose[i].R * s.lin + FW_ISA::cross(r, ang), ang};
          rotor[l.v + k] = J::nv == 1 ? inertias[i].rotor : S(l.armature[k]);
        }
      });
      inertia[i] = in_world(inertias[i].body, i);
      center[i] = zero3<S>();
    }
    find_centers(tree, inertias, center);
  }
  // An inertia in the axes of a link, about its origin.
  RigidInertia<S> in_world(const RigidInertia<S>& body, int link) const {
    return shift_to_parent(to_parent(Rotation<S>{pose[link].R}, body), from_root(link));
  }

  int parent(int link) const { return scene->tree.links[link].parent; }
  // Twists of links for velocities of degrees of freedom.
  void twists(const S* v, Motion<S>* of_link) const {
    const Tree<double>& tree = scene->tree;
    for (int i = 0; i < tree.n_links; ++i) {
      const Link<double>& l = tree.links[i];
      Motion<S> m = l.parent < 0 ? zero_motion<S>() : of_link[l.parent];
      for (int k = l.v; k < l.v + l.nv; ++k) m += axis[k] * v[k];
      of_link[i] = m;
    }
  }
  // f(degree of freedom) from a link to its root; none for the world.
  template <class F>
  FW_INLINE void for_path(int link, const F& f) const {
    if (link < 0) return;
    for (int k = scene->last_dof[link]; k >= 0; k = scene->tree.dof_parent[k]) f(k);
  }
  bool moves(int dof_link, int link) const {
    return link >= 0 && dof_link <= link && link < scene->tree.links[dof_link].subtree_end;
  }
};
using WorldTree = WorldTreeOf<double>;

}  // namespace featherweight::FW_ISA
