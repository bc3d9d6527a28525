// model/tree.hpp -- the compiled tree: what a kernel reads. Plain data, no code, shared by all instruction sets.
//
// Links are numbered depth first, so a subtree is a contiguous range and a parent precedes its children. Link frames
// are not the user's: they were re-chosen at compile time (model/compile.cpp) so that most joints are "identity
// rotation, then a coordinate axis". A Mount says where a user's link or frame sits on its compiled link.
#pragma once
#include <cstddef>

#include "spatial/placement.hpp"

namespace featherweight {

enum class JointKind : int {
  revolute_x,
  revolute_y,
  revolute_z,
  revolute_turned,  // about z, after a constant rotation
  prismatic_x,
  prismatic_y,
  prismatic_z,
  prismatic_turned,
  helical,    // about and along z, after a constant rotation
  spherical,  // after a constant rotation
  free,       // after a constant rotation
};

// Constants of a link and of the joint that carries it. C is double or float.
template <class C>
struct Link {
  JointKind kind;
  int parent;          // -1: world
  int subtree_end;     // links [i, subtree_end) are i and everything outboard
  int q, v;            // first coordinate in configurations and in velocities
  int nv;              // degrees of freedom of the joint
  int state;           // first scalar of the joint's state (model/joints.hpp)
  int factor;          // first scalar of the joint's elimination (dynamics/eliminate.hpp)
  int carries;         // 1: link i+1 is a child and hands its quantities over directly
  int collects;        // accumulator where further children add theirs, -1: none
  int adds_to;         // accumulator of the parent this link adds to, -1: it hands over directly (or to the world)
  int arrives_first;   // 1: in an inward sweep it is the first to reach that accumulator
  C sign;              // +1 or -1: direction of the user's axis along the coordinate axis
  C offset;            // constant angle added to that of an axis joint [rad]
  C pitch;             // helical: travel per angle [m/rad]
  C R[9];              // constant rotation, joint to parent axes, row-major (turned, helical, spherical, free)
  C p[3];              // joint origin in the parent [m]
  C mass;              // [kg]
  C h[3];              // mass times centre of mass [kg m]
  C inertia[6];        // about the link origin, xx xy xz yy yz zz [kg m^2]
  C armature[6];       // rotor inertia per degree of freedom [kg m^2] or [kg]
  C ball_armature[6];  // the same of a ball joint, whose axes turn: it has products of velocities; zero for others
  int turns_armature;  // 1: and some of it is not zero
  C subtree_mass;      // of the link and everything outboard [kg]
};

// Whose axes and origin a frame's motion is expressed in; local_world_aligned has the frame's origin and world axes.
enum class Reference : int { local, world, local_world_aligned };

// Where a user's link or frame, or anything else, sits on a compiled link.
template <class C>
struct Mount : Placement<C> {
  int link;  // -1: world
};

template <class C>
struct Tree {
  int n_links, nq, nv;
  int n_states;        // scalars of joint state per sample
  int n_factors;       // scalars of joint elimination per sample
  int n_accumulators;  // branching links
  int n_user_links;    // mounts[0 .. n_user_links) are the user's links, the rest further frames
  int n_mounts;
  int n_quaternions;
  const Link<C>* links;
  const Mount<C>* mounts;
  const int* quaternions;  // first coordinate of every quaternion in q
  const int* dof_parent;   // of each degree of freedom the next one inboard, -1 at a root
  const int* row;  // of each degree of freedom where its row of the packed inertia starts; row[nv] is the length
  C gravity[3];    // [m/s^2], world axes
  C mass;          // of everything that moves [kg]
};

}  // namespace featherweight
