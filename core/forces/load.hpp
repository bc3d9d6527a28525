// forces/load.hpp -- rows that carry a load together, after they were solved. Plain data.
//
// One island of one environment: the rows that may have an impulse, what they do to the degrees of freedom, and what
// the laws still leave open once velocities are known. Where a contact slides, friction is on its bound and has a
// direction; where it sticks, it is anywhere within; a contact that is about to open has none and is not listed.
// Impulses are all in N s: moments are divided by a length (carried_rows.hpp).
#pragma once
#include <cstddef>
#include <vector>

namespace featherweight {

// One or two rows that are bounded by a normal impulse: sliding, spinning, rolling friction.
struct LoadFriction {
  int first, rows;
  double bound;                  // times the normal
  bool slides;                   // on the bound,
  double along[2] = {0.0, 0.0};  // in this direction
};

// Rows that act at the same place, and their law.
struct LoadBlock {
  enum Law : int {
    any,       // holds that pull as well as push
    interval,  // one row within bounds: dry friction of a joint that sticks
    pushing,   // a normal that only pushes, and friction that it bounds
  } law;
  int first = 0, rows = 0;             // rows [first, first + rows) of the load
  double lower = 0.0, upper = 0.0;     // interval
  int normal = -1;                     // pushing: the row of the normal; -1: its impulse is known,
  double known = 0.0;                  // and this
  int n_frictions = 0;                 // of a pushing block
  LoadFriction frictions[3] = {};      //
  int n_dofs = 0;                      // degrees of freedom it moves
  std::size_t dofs = 0, jacobian = 0;  // where they and the Jacobian, rows by n_dofs, begin
};

struct Load {
  std::vector<LoadBlock> blocks;
  std::vector<int> dofs;         // of each block
  std::vector<double> jacobian;  // of each block, row by row
  std::vector<double> impulses;  // of each row
  int n_dofs = 0;

  void clear() {
    blocks.clear(), dofs.clear(), jacobian.clear(), impulses.clear();
    n_dofs = 0;
  }
};

}  // namespace featherweight
