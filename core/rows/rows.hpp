// rows/rows.hpp -- rows as kernels read them. Plain data, no code, shared by all instruction sets.
//
//   sum_l K_l a_l + sum_j E_j a_j = k
//
// A row names links and joints. It acts on a link by an end, a force-like six-vector fixed to the link: K^T lambda is
// the force it exerts there, K a the acceleration it constrains. It acts on a joint by a term: E lambda is the force it
// exerts along a degree of freedom. Equality constraints, couplings of joints, joint limits, dry friction, servos and
// contacts are all rows; they differ in the law that their force obeys.
//
// Ends are sorted by link, so those outboard of a link are a contiguous range.
#pragma once
#include "model/tree.hpp"

namespace featherweight {

struct StopPlan;  // delassus/stops.hpp
struct LimbPlan;  // articulated/limbs.hpp
struct LoopPlan;  // articulated/loops.hpp

// A closure of two frames, or an anchor where one is the world: its rows are components of the motion of frame a as
// seen from frame b, in the axes of a.
template <class C>
struct Closure {
  Mount<C> a, b;  // on compiled links; link -1: the world
  int of_point;   // 1: of the points at the origins of both frames; 0: of frame a, as if the other link were extended
  int n_rows;
  int axes[6];  // of each row: 0..2 along, 3..5 about
  C length;     // of a rod between the two points: its one row is along it, whatever the axes; 0: no rod
};

// How a row acts on an axis joint.
template <class C>
struct JointTerm {
  int link;       // compiled link that the joint carries
  int dof, q;     // its degree of freedom, and its coordinate
  C coefficient;  // E
};

// A coupling is one row of joints only: sum_j p_j(q_j) = 0, each p_j a polynomial of the coordinate of an axis joint.
// So E_j = p_j'(q_j), and the bias is the sum of p_j''(q_j) v_j^2 (rows/coupling.hpp).
template <class C>
struct CouplingTerm {
  static constexpr int most_coefficients = 8;

  int link;    // compiled link that the joint carries
  int dof, q;  // its degree of freedom, and its coordinate
  int n;       // coefficients, the constant first
  C polynomial[most_coefficients];
};
struct Coupling {
  int begin, end;  // terms
};

// What K of an end depends on (rows/ends.hpp).
enum class EndKind : int {
  fixed,   // nothing: fixed to its link
  second,  // the second end of a closure's row: in the axes and at the origin of the first, on another link
  rod,     // of a rod: along the line between two points
  joint,   // of a coupling's term: the axis of a joint, times E. On the link that the joint carries, and opposite on
           // its parent: the sum of both is the joint's own motion
};

// How a row acts on a link.
template <class C>
struct RowEnd {
  EndKind kind;
  int link;        // compiled link it acts on
  int constraint;  // that it belongs to, for the activity mask
  int part;        // number of its closure, or of its coupling's term
  int row;         // its place in the user's vector of all rows
  int path_end;    // where its entries along the path to the root end (articulated/path_rows.hpp)
  int axis;        // which of its frame's axes: 0..2 along, 3..5 about
  int first_link;  // of the second end of a row or term: the link of the first; else -1
  int leads;       // 1: the one of its row's ends that stands for the row
  int grounded;    // 1: what it is relative to is the world: gravity matters to it
  int of_point;    // 1: it is of a material point, which adds n . (w x v) to the spatial acceleration
  C K[6];          // [linear; angular], link coordinates
  C p[3];          // the point, link coordinates
  C compliance;    // acceleration per force the row yields [1/kg] or [1/(kg m^2)]; 0: rigid
  C mobility;      // acceleration per force at typical configurations, the entry of J H^-1 J^T: what is small for it
};

// The ends outboard of each compiled link: [begin, end), its own first, and where their entries G = K S are kept.
struct RowRange {
  int begin, own_end, end, entries;
};

// A link that has ends, or has them outboard.
struct SupportingLink {
  int link;           // compiled link
  int is_tip;         // 1: has none outboard
  int arrives_first;  // 1: in an inward sweep it is the first of its siblings
};

// The place of a closure or coupling in the user's list of constraints, and its first row.
struct ConstraintPlace {
  int constraint, row;
};

// A set of closures and couplings, compiled.
template <class C>
struct ConstraintRows {
  int n_rows, n_constraints, n_closures, n_couplings;
  int n_ends;     // more than rows where some are between two links
  int n_varying;  // ends that are not fixed
  int n_entries, n_supporting;
  const RowEnd<C>* ends;
  const RowRange* of_link;
  const SupportingLink* supporting;  // level by level from the root
  const Closure<C>* closures;
  const Coupling* couplings;
  const CouplingTerm<C>* terms;
  const ConstraintPlace* places;  // of the closures, then of the couplings
  const StopPlan* stops;          // where pv_osimr has six rows take the place of many
  const LimbPlan* limbs;          // where limb_pv carries rows if all ends are fixed,
  const LoopPlan* loops;          // and else; null where there is the other
};

}  // namespace featherweight
