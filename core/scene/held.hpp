// scene/held.hpp -- what holds a mechanism together, planned: which degrees of freedom its rows move, and which of them
// meet. Plain data for the step, and the planner.
//
// Rows of closures and couplings hold whatever else happens, so they belong to the mechanism and not to what touches it
// (step/held_system.hpp). Trees that they join are a cluster; rows of different clusters never meet. Row i of the
// factors begins at the first row that moves one of its degrees of freedom, its envelope: so clusters side by side cost
// no more than their sum, and loops in a row, each on trees of its own, no more than their number.
#pragma once
#include <cstddef>
#include <vector>

#include "rows/rows.hpp"

namespace featherweight {

// Where rows take hold of a tree: at a link, or at its joint.
struct HeldEnd {
  int link;
  const int* at;  // of each degree of freedom from the root to the link: its place among those of the part
};

// Rows that take hold of the same links and joints.
struct HeldPart {
  int first, n_rows;
  int n_dofs;       // that they move,
  const int* dofs;  // in rising order
  std::size_t y;    // where their numbers begin: n_dofs for each row
  int n_ends;
  const HeldEnd* ends;
};

// What the error e of a row obeys instead of being zero, with f the force along it:
//   e'' + damping e' + stiffness e + compliance f = acceleration
// Such rows are guided (step/guide.hpp). Where all four are zero the row is held.
struct GuideLaw {
  double acceleration;  // [m/s^2] or [rad/s^2]
  double stiffness;     // [1/s^2]
  double damping;       // [1/s]
  double compliance;    // [1/kg] or [1/(kg m^2)]

  bool is_some() const { return acceleration != 0 || stiffness > 0 || damping > 0 || compliance > 0; }
};

struct HeldRow {
  int start;           // the first row that it may meet
  std::size_t factor;  // where its factors begin: of rows start to itself
  int scale;           // rows of one cluster and unit share what counts as small
};

struct HeldPlan {
  int n_parts, n_rows, n_scales;
  std::size_t n_numbers, n_factors;
  const HeldPart* parts;
  const HeldRow* rows;
  const GuideLaw* guides;         // of rows; null: all are held
  const int* cluster;             // of each link: the root of the first tree that it is held to; its own if to none
  const int *first_row, *no_row;  // of clusters, by that root: their rows are in [first_row, no_row)

  bool is_guided(int row) const { return guides && guides[row].is_some(); }
};

// Ends of one part, by links.
struct HeldSpec {
  std::vector<int> links;
  std::vector<int> units;  // of each row: rows of one unit are compared with each other
};

class HeldStorage {
 public:
  HeldStorage() = default;
  // guides: of all rows, in their order; empty: none is guided.
  HeldStorage(const Tree<double>& tree, const std::vector<HeldSpec>& specs, std::vector<GuideLaw> guides);
  HeldStorage(const HeldStorage&) = delete;
  HeldStorage& operator=(const HeldStorage&) = delete;
  HeldStorage(HeldStorage&&) = default;
  HeldStorage& operator=(HeldStorage&&) = default;

  HeldPlan plan() const;

 private:
  HeldPlan plan_{};
  std::vector<HeldPart> parts_;
  std::vector<HeldRow> rows_;
  std::vector<GuideLaw> guides_;
  std::vector<std::vector<int>> dofs_, places_;
  std::vector<std::vector<HeldEnd>> ends_;
  std::vector<int> cluster_, first_row_, no_row_;

  void find_clusters(const Tree<double>& tree, const std::vector<HeldSpec>& specs);
  void add_part(const Tree<double>& tree, const HeldSpec& spec);
  void find_starts(const Tree<double>& tree, const std::vector<HeldSpec>& specs);
};

}  // namespace featherweight
