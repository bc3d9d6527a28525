// step/free_motion.hpp -- how the environments of a pack move without impulses, on lanes.
#pragma once
#include "articulated/dofs.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct FreeMotion {
  S fall;    // what gravity adds to velocities in a step [m/s]
  S *q, *v;  // at the start of the step
  S *v_free, *control, *gain_scale;
  S* drive;               // of actuators: what of their force would drive joints beyond their velocity limit
  Pose<S>* pose;          // of links
  Dof<S>* dofs;           // of the eliminated tree
  Motion<S>* velocity;    // of links without impulses, about the roots of their trees
  Motion<S>* before;      // the same at the start of the step; null unless the scene has restitution
  S *response, *correct;  // of degrees of freedom: Y^T lambda, and that of the impulses that separate
};

}  // namespace featherweight::FW_ISA
