// articulated/loops.hpp -- where loop_pv carries rows of any kind, and where it solves for their forces. Plain data.
//
// Rows are carried from all their ends inward. A row between links, or of joints, does not notice what moves all its
// links as one: it is solved for at the link where its ends have come together. All others go on to the world.
//
// Rows that meet at a link form blocks: what is eliminated there comes first, what passes the link's joint after it. At
// most one block of a link passes its joint. The same row may come along two branches; at their meeting copies add up.
#pragma once

namespace featherweight {

struct TiePlan;  // articulated/ties.hpp

// A row as it is carried. Of a closure between two links it is a combination of the user's rows, since only those
// combinations are carried that the loop can move at all: two, not five, for a hinge in a plane.
struct CarriedRow {
  int first, n;    // the user's rows
  double part[6];  // of each of them
  double compliance;
  double mobility;  // as of a RowEnd
};

// An end of a carried row.
struct CarriedEnd {
  int row;      // carried
  int link;     // compiled
  int of;       // the end of the compiled row that it is made of; or, of a combination of rows, of any of those
  int leads;    // 1: the one of its row's ends that starts with what the row asks for
  int varying;  // its place among the ends that depend on the configuration, -1: it is fixed to its link
  double K[6];  // in the coordinates of its link, if it is
};

// What of a closure is not carried.
enum class LeftOut {
  nothing,
  unmoved,  // combinations of rows that no joint ever moves
  rounding  // some that joints move by no more than rounding in the numbers of a file would make them
};

// How the second ends of a closure between two links follow from the first: along the joints on both ways to the link
// where these meet, or to the world.
struct LoopPath {
  int closure;
  int row, n;    // its carried rows, [row, row + n)
  int end;       // first end of the first of them; each has two, one after the other
  int a, a_end;  // [a, a_end) of `way`: outward to the link of frame a,
  int b, b_end;  // and to that of frame b
  int axis;      // of all joints on both, which are hinges: the loop moves in a plane. -1: any others
  LeftOut left_out;
};

struct LoopBlock {
  int begin;          // first slot
  int n_ending, n;    // rows that are eliminated here, and all of them
  int L;              // first scalar of its lower triangle
  int sources, last;  // [sources, last) of its parts; the first may be in place
  bool in_place;      // its first source is: same rows, same slots
  int own, own_end;   // [own, own_end) of the ends that start here
  bool starts;        // all of it does, and nothing ends: rows are in the order of those ends
  bool meets;         // it is there but for one source that fills it, and all of it ends
  double smallest;    // pivot that counts: what is smaller is rounding, in the posture or in the numbers of a file
};

// A block of a child whose passing rows come in.
struct BlockSource {
  int block;
  int places;  // where each of its passing rows goes in the new block, in `places`
  bool fills;  // they are the rows of the new block, in their order
};

// An end that starts in a block.
struct StartingEnd {
  int end, place;
  bool is_first;  // nothing is there yet
};

struct LoopLink {
  int blocks, last;  // [blocks, last); without the block that passes if it comes as it is from a child
  int passing;       // the block whose rows pass the joint, -1: none
  int first, n;      // of its rows, those that pass: how many come before them, and how many there are
  int forces;        // the carried row of the first of them if the others follow it, else -1
  int entries;       // where their entries G = K S are kept
  bool answers;      // forces that are solved for at this link or outboard change the force on its joint
};

struct LoopPlan {
  int n_rows, n_ends, n_varying, n_paths, n_anchors, n_couplings, n_slots, n_triangle, n_entries, widest;
  const CarriedRow* rows;
  const CarriedEnd* ends;
  const LoopBlock* blocks;
  const LoopLink* of_link;  // then one more for the world
  const BlockSource* sources;
  const StartingEnd* starting;
  const int* places;
  const int* row_of;  // of each slot the carried row
  const LoopPath* paths;
  const int* way;
  const int *anchors, *couplings;  // ends of either kind
  int first_coupling;              // row of the first
  const TiePlan* ties;             // how loop_aba couples links instead
};

}  // namespace featherweight
