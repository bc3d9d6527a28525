// step_diff/motion.hpp -- a tree in world axes, seen from its root: axes of degrees of freedom, inertias, twists.
//
// All of a tree is written about one point, where its root is, so that twists and wrenches of its links add without
// being carried. Far from the world's origin no digits are lost.
#pragma once
#include "kinematics/forward.hpp"
#include "memory/arena.hpp"
#include "scene/scene.hpp"
#include "spatial/coriolis.hpp"

namespace featherweight::FW_ISA {

using Twist = Motion<double>;
using Wrench = Force<double>;
using Vector = Vec3<double>;

FW_INLINE Twist operator*(const Twist& m, double s) { return {m.lin * s, m.ang * s}; }
FW_INLINE Twist operator+(const Twist& a, const Twist& b) { return {a.lin + b.lin, a.ang + b.ang}; }
FW_INLINE Twist operator-(const Twist& a, const Twist& b) { return {a.lin - b.lin, a.ang - b.ang}; }
FW_INLINE Wrench operator*(const Wrench& f, double s) { return {f.lin * s, f.ang * s}; }
FW_INLINE Wrench operator+(const Wrench& a, const Wrench& b) { return {a.lin + b.lin, a.ang + b.ang}; }
FW_INLINE Wrench operator-(const Wrench& a, const Wrench& b) { return {a.lin - b.lin, a.ang - b.ang}; }
FW_INLINE double dot(const Twist& m, const Wrench& f) { return dot(m.lin, f.lin) + dot(m.ang, f.ang); }

// v x m, and v x* f: (v x m) . f = -m . (v x* f)
FW_INLINE Twist cross(const Twist& v, const Twist& m) { return motion_cross(v, m); }
FW_INLINE Wrench cross(const Twist& v, const Wrench& f) { return force_cross(v, f); }
// Velocity of a point at r.
FW_INLINE Vector point_velocity(const Twist& m, const Vector& r) { return m.lin + cross(m.ang, r); }

// Of one environment at the start of a step.
struct WorldTree {
  const Scene* scene;
  Pose<double>* pose;             // of links
  Twist* axis;                    // of degrees of freedom: column of S
  RigidInertia<double>* inertia;  // of links
  double* rotor;                  // of degrees of freedom: what is added to the diagonal of H
  Vector* center;                 // of mass, of links on free joints, in their axes
  double* state;                  // scratch

  WorldTree(const Scene& s, Arena& arena)
      : scene(&s),
        pose(arena.take<Pose<double>>(s.tree.n_links)),
        axis(arena.take<Twist>(s.tree.nv)),
        inertia(arena.take<RigidInertia<double>>(s.tree.n_links)),
        rotor(arena.take<double>(s.tree.nv)),
        center(arena.take<Vector>(s.tree.n_links)),
        state(arena.take<double>(s.tree.n_states)) {}

  const Vector& root(int link) const { return pose[scene->root[link]].p; }
  Vector from_root(int link) const { return pose[link].p - root(link); }

  // inertias: of links, inertia_numbers each; null: the scene's.
  void place(const double* q, const double* inertias) {
    const Tree<double>& tree = scene->tree;
    const Pose<double> world = identity_pose<double>();
    for (int i = 0; i < tree.n_links; ++i) {
      const Link<double>& l = tree.links[i];
      const double* const own = inertias ? inertias + inertia_numbers * i : nullptr;
      visit(l.kind, [&](auto joint) {
        using J = decltype(joint);
        FW_ISA::place(joint, l, q + l.q, state + l.state, l.parent < 0 ? world : pose[l.parent], pose[i]);
        const Vector r = from_root(i);
        for (int k = 0; k < J::nv; ++k) {
          const Twist s = J::template column<double>(l, k);
          const Vector ang = pose[i].R * s.ang;
          axis[l.v + k] = {pose[i].R * s.lin + FW_ISA::cross(r, ang), ang};
          rotor[l.v + k] = J::nv == 1 && own ? own[inertia_numbers - 1] : l.armature[k];
        }
      });
      const RigidInertia<double> body =
          own ? RigidInertia<double>{own[0], {own[1], own[2], own[3]}, {own[4], own[5], own[6], own[7], own[8], own[9]}}
              : FW_ISA::body(l);
      inertia[i] = in_world(body, i);
      const double m = body.m + l.ball_armature[0];
      center[i] = l.kind == JointKind::free && m > 0 ? body.h * (1 / m) : zero3<double>();
    }
  }
  // An inertia in the axes of a link, about its origin.
  RigidInertia<double> in_world(const RigidInertia<double>& body, int link) const {
    return shift_to_parent(to_parent(Rotation<double>{pose[link].R}, body), from_root(link));
  }

  int parent(int link) const { return scene->tree.links[link].parent; }
  // Twists of links for velocities of degrees of freedom.
  void twists(const double* v, Twist* of_link) const {
    const Tree<double>& tree = scene->tree;
    for (int i = 0; i < tree.n_links; ++i) {
      const Link<double>& l = tree.links[i];
      Twist m = l.parent < 0 ? zero_motion<double>() : of_link[l.parent];
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

}  // namespace featherweight::FW_ISA
