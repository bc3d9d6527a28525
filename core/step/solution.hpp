// step/solution.hpp -- the solution of a step, for callers that keep it. Plain data, shared by all instruction sets.
#pragma once
#include "cones/problem.hpp"
#include "memory/memory.hpp"

namespace featherweight {

// Where a row of the cone problem comes from.
enum class RowSource : int {
  closure,  // index: of the closure; component: its row
  joint,    // index: of the joint row
  contact,  // index: in the environment's list; component: along t1, t2, n, then about them
};

struct SolvedRow {
  RowSource source;
  int index, component;
  int block;  // rows of one block obey their law together
  Law law;
  Mode mode;          // of the block
  double impulse;     // [N s] or [N m s]
  double velocity;    // along the row at the end of the step [m/s] or [rad/s]: of contacts that slide, the slip
  double shift;       // what the law adds to it: gap over step, bounce, drive of a servo
  double compliance;  // velocity per impulse that the row yields
  double bound;       // coefficient of friction, or the upper bound of an interval
  double correction;  // the impulse that takes overlaps out of coordinates, and leaves velocities alone
  double give;        // by how much it yields to that
  bool strikes;       // its shift is what restitution asks for
  double predicted;   // what of the impulse is in the prediction (absorb.hpp):
  bool absorbed;      // all of it, and it was not solved for
};

// Of one environment's last step.
struct StepSolution {
  int n_rows = 0;
  SolvedRow* rows = nullptr;
  Memory memory{};
};

// A degree of freedom of the eliminated tree: axis (6), carry (6), weight (1); articulated/dofs.hpp.
inline constexpr int dof_numbers = 13;

}  // namespace featherweight
