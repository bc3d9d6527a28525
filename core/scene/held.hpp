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
  const int* cluster;             // of each link: the root of the first tree that it is held to; its own if to none
  const int *first_row, *no_row;  // of clusters, by that root: their rows are in [first_row, no_row)
};

// Ends of one part, by links.
struct HeldSpec {
  std::vector<int> links;
  std::vector<int> units;  // of each row: rows of one unit are compared with each other
};

class HeldStorage {
 public:
  HeldStorage() = default;
  HeldStorage(const Tree<double>& tree, const std::vector<HeldSpec>& specs);
  HeldStorage(const HeldStorage&) = delete;
  HeldStorage& operator=(const HeldStorage&) = delete;
  HeldStorage(HeldStorage&&) = default;
  HeldStorage& operator=(HeldStorage&&) = default;

  HeldPlan plan() const;

 private:
  HeldPlan plan_{};
  std::vector<HeldPart> parts_;
  std::vector<HeldRow> rows_;
  std::vector<std::vector<int>> dofs_, places_;
  std::vector<std::vector<HeldEnd>> ends_;
  std::vector<int> cluster_, first_row_, no_row_;

  void find_clusters(const Tree<double>& tree, const std::vector<HeldSpec>& specs);
  void add_part(const Tree<double>& tree, const HeldSpec& spec);
  void find_starts(const Tree<double>& tree, const std::vector<HeldSpec>& specs);
};

}  // namespace featherweight
