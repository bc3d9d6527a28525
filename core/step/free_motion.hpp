// step/free_motion.hpp -- how the environments of a pack move without impulses, on lanes.
#pragma once
#include "articulated/dofs.hpp"
#include "step/interval_row.hpp"
#include "step/strut_lengths.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct FreeMotion {
  S fall;              // what gravity adds to velocities in a step [m/s]
  bool holds = false;  // coordinates stay, and so do gaps: the second half of a step in halves (verlet.hpp)
  S *q, *v;            // at the start of the step
  S *v_free, *control, *gain_scale;
  const S* v_before;          // velocities that restitution reverses: those at the start, or half a kick earlier
  S* drive;                   // of actuators: what of their force would drive joints beyond their velocity limit
  StrutState<S> struts;       // at the start of the step
  IntervalRow<S>* intervals;  // of joint rows: those that are dry friction or servos of limited effort
  Pose<S>* pose;              // of links
  Dof<S>* dofs;               // of the eliminated tree
  Motion<S>* velocity;        // of links without impulses, about the roots of their trees
  Motion<S>* before;          // the same of v_before; null unless the scene has restitution, or takes steps in halves
  Motion<S>* start;           // the same at the start of the kick; null unless the step is in halves
  const S* grips;             // of closures that are switched: see RolloutJob
  S *response, *correct;      // of degrees of freedom: Y^T lambda, and that of the impulses that separate
};

}  // namespace featherweight::FW_ISA
