// articulated/limbs.hpp -- where limb_pv carries constraint rows, and where it solves for their forces. Plain data.
//
// Rows travel inward in groups. Where groups come together, each may end there, its rows turning into inertia of the
// link, or they go on as one. Rows are renumbered so that every group is a contiguous range of slots: a group that
// others joined holds its link's own rows first, then those of each.
#pragma once

namespace featherweight {

struct RowGroup {
  int begin, end;  // slots
  int L;           // first scalar of its lower triangle
  int from;        // the last link whose joint it passes before it ends or joins another
  bool regular;    // its joints can move every row independently, but for singular postures
};

struct LinkGroups {
  int group;              // what passes the link's joint, -1: nothing
  int entries;            // where its entries G = K S are kept
  int n_own;              // rows of the link itself, the first of the group
  int ends, joins, last;  // arrivals [ends, joins) end here, [joins, last) join the group
  int base;               // number of the floating base on which limbs end, -1: none
};

struct LimbPlan {
  int n_entries, n_triangle, n_bases;
  int n_inside;           // groups that end on moving links other than floating bases
  int largest_irregular;  // most rows of a group that reaches the world without being regular
  const int* order;       // of each slot the compiled row
  const RowGroup* groups;
  const LinkGroups* of_link;  // then one more for the world, where all that arrive end
  const int* arrivals;        // groups
  int n_trunk;
  const int* trunk;  // links on which groups end, and all inboard of them, root to leaf
};

}  // namespace featherweight
