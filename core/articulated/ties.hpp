// articulated/ties.hpp -- which links loop_aba couples while it eliminates them. Plain data.
//
// A row with ends on two links ties them: the force on one depends on the acceleration of the other. Sweeps inward take
// links in reverse order. A link that goes leaves its ties to its parent, and ties those it was tied to.
#pragma once

namespace featherweight {

// Of a link to another that is swept after it.
struct Tie {
  int other;
  int on;  // where it goes when the link does: the tie of the parent and the other; or one of these
  static constexpr int to_itself = -1, to_world = -2;  // the other is the parent; the parent is the world
};

struct TiedLink {
  int first, n;  // ties, [first, first + n), by link
  int between;   // of every two of them, (1, 0), (2, 0), (2, 1), ..: the tie of the two others, in `between`
  int entries;   // where what joints see of ties is kept
};

// Two ends of a row, or one twice.
struct EndPair {
  int end, other;
  int tie;  // of their links, that of `end` being the one that keeps it; -1: they are on one link
};

struct TiePlan {
  int n_ties, n_entries, n_pairs, most;  // most: ties of a link
  const Tie* ties;
  const TiedLink* of_link;
  const int* between;
  const EndPair* pairs;
};

}  // namespace featherweight
