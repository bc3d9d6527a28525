// step_diff/rows_diff.hpp -- the rows of a solved step, as far as they have a part in its derivative.
//
// Rows of joints leave the system: a servo within its bounds is an armature, a joint that friction or a limit holds is
// locked, one at a bound is a force. What is left are contacts that are closed, or that overlaps are taken out of.
#pragma once
#include "step/solution.hpp"
#include "step/tuning.hpp"
#include "step_diff/columns.hpp"
#include "step_diff/contact_diff.hpp"
#include "step_diff/joint_forces.hpp"

namespace featherweight::FW_ISA {

// A row of a contact.
struct DiffRow {
  int contact;    // in the list of those that have a part
  int component;  // along t1, t2, n, then about them
  Mode mode;      // of its block
  Law law;
  double impulse, correction;
  double slip;  // velocity with what restitution asks for
  double compliance;
  double mu;           // of its block
  double bounce;       // what of the velocity before it leaves with; 0: it does not strike
  double gap_slope;    // of the shift of its law, by the gap [1/s]
  double slack_slope;  // of what its position asks of the velocity, by the gap [1/s]
  double share;        // of restitution that was kept
  double give;
  bool is_corrected;          // its position is asked for
  double by_restitution = 0;  // what it changes by as restitution does [m/s]
  bool is_guided = false;     // by its constraint, instead of held (step/guide.hpp)
  double keep = 0, pull = 0;  // what its speed takes from that before, and from its error [1/s]
};

// What joint rows do along their degrees of freedom.
struct JointHold {
  bool is_locked;
  double lock_by_q, lock_by_v, lock_by_restitution;  // rates of the velocity that is held
  double armature;                                   // of servos within their bounds [kg]
};

}  // namespace featherweight::FW_ISA
