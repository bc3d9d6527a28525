// rows/rows.hpp -- equality constraints as kernels read them: rows K a = k on links. Plain data, no code.
//
// A row is a force-like six-vector fixed to its link: K^T lambda is the force it exerts there, K a the acceleration it
// constrains. Rows are sorted by link, so those outboard of a link are a contiguous range. A row between two links is
// compiled to two, its ends: one on each (rows/ends.hpp).
#pragma once
#include "model/tree.hpp"

namespace featherweight {

struct StopPlan;  // delassus/stops.hpp
struct LimbPlan;  // articulated/limbs.hpp

template <class C>
struct ConstraintRow {
  int link;        // compiled link it acts on
  int constraint;  // the user's constraint it belongs to, for the activity mask
  int row;         // its place in the user's vector of all rows
  int path_end;    // where its entries along the path to the root end (articulated/path_rows.hpp)
  int axis;        // which of its frame's axes: 0..2 along, 3..5 about
  int first_link;  // of the second end of a row between two links: the link of the first; else -1
  int of_point;    // 1: its constraint is of a material point, which adds n . (w x v) to the spatial acceleration
  C K[6];          // [linear; angular], link coordinates
  C p[3];          // the point, link coordinates
  C compliance;    // acceleration per force the row yields [1/kg] or [1/(kg m^2)]; 0: rigid
  C mobility;      // acceleration per force at typical configurations, the entry of J H^-1 J^T: what is small for it
};

// The rows outboard of each compiled link: [begin, end), its own first, and where their entries G = K S are kept.
struct RowRange {
  int begin, own_end, end, entries;
};

// A link that has rows, or has them outboard.
struct SupportingLink {
  int link;           // compiled link
  int is_tip;         // 1: has none outboard
  int arrives_first;  // 1: in an inward sweep it is the first of its siblings
};

template <class C>
struct ConstraintRows {
  int n_rows, n_constraints, n_entries, n_supporting;
  int n_user_rows;  // less than n_rows where rows have two ends
  const ConstraintRow<C>* rows;
  const RowRange* of_link;
  const SupportingLink* supporting;  // level by level from the root
  const Mount<C>* frames;            // of each constraint
  const StopPlan* stops;             // where pv_osimr has six rows take the place of many
  const LimbPlan* limbs;             // where limb_pv carries rows; null if some are between two links
};

}  // namespace featherweight
