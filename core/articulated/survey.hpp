// articulated/survey.hpp -- a tree at rest in a few generic postures, swept inward link by link.
//
// What a set of constraints is like (how far its rows give way, which limbs can move them all) is found once, by
// trying. Host code: plain double, std containers.
#pragma once
#include <memory>
#include <vector>

#include "articulated/row_steps.hpp"
#include "dynamics/aba.hpp"

namespace featherweight::host {

class Survey {
 public:
  static constexpr int n_postures = 5;

  explicit Survey(const Tree<double>& tree);
  Survey(const Tree<double>& tree, const std::vector<std::vector<double>>& configurations);

  // The accelerations H^-1 tau.
  void respond(int posture, const double* tau, double* a);

  // n rows on link i pass its joint. L: their lower triangle.
  void pass_joint(int i, int posture, Row<double>* rows, int n, double* L);

 private:
  struct Posture {
    std::unique_ptr<double[]> memory;
    AbaWorkspace<double> aba;
  };
  const Tree<double>& tree_;
  std::vector<double> none_;  // velocities, joint forces
  std::vector<double> G_;
  std::vector<Posture> postures_;
};

// The row of a constraint on its link, at rest and without gravity.
inline Row<double> row_at_rest(const RowEnd<double>& row) { return {row_direction(row), 0.0}; }

}  // namespace featherweight::host
