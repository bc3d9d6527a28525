// step/row_velocities.hpp -- velocities of rows while their impulses change one after the other.
//
// With the matrix they are kept: a change adds a column to all of them. Without it Y^T lambda is kept, of degrees of
// freedom, and a row adds to it, or finds its velocity in it, on its own path to the root: O(depth) each. Oracle: each
// other.
#pragma once
#include "step/cone_matrix.hpp"

namespace featherweight::FW_ISA {

template <class S>
class KeptVelocities {
 public:
  // cause: Y^T lambda of other impulses; null: none.
  KeptVelocities(const ConeRows<S>& rows, const ConeMatrix<S>& matrix, const S* cause)
      : problem_(matrix.problem()), sigma_(matrix.sigma) {
    for (int i = 0; i < rows.m; ++i) sigma_[i] = rows.rows[i].velocity;
    for (int i = 0; cause && i < rows.n_quartets; ++i) {
      const Rows seen = rows.seen(rows.quartets[i], cause, nullptr);
      for (int r = 0; r < rows.quartets[i].rows; ++r) sigma_[rows.quartets[i].first + r] += seen[r];
    }
  }
  FW_INLINE double operator()(int block, int row) const { return sigma_[problem_.blocks[block].first + row]; }
  FW_INLINE void add(int block, int row, double impulse) { add_column(problem_, block, row, impulse, sigma_); }

 private:
  const ConeProblem problem_;
  double* sigma_;
};

// Of rows without compliance.
template <class S>
class WalkedVelocities {
 public:
  WalkedVelocities(const Scene& scene, const ConeRows<S>& rows, const ConeMatrix<S>& matrix, const S* cause)
      : scene_(scene), rows_(rows), response_(matrix.of_dofs()), quartet_(rows.quartets) {
    for (int f = 0; f < scene.tree.nv + scene.held.n_rows; ++f)
      response_[f] = cause && f < scene.tree.nv ? rows.lane()(cause[f]) : 0;
  }
  FW_INLINE double operator()(int block, int row) {
    double sum = rows_.rows[rows_.blocks[block].first + row].velocity;
    walk(rows_.blocks[block].first + row,
         [&](int sign, double y, int f) FW_LAMBDA_INLINE { sum += sign * y * response_[f]; });
    return sum;
  }
  FW_INLINE void add(int block, int row, double impulse) {
    walk(rows_.blocks[block].first + row, [&](int, double y, int f) FW_LAMBDA_INLINE { response_[f] += y * impulse; });
  }

 private:
  const Scene& scene_;
  const ConeRows<S>& rows_;
  double* response_;        // Y^T lambda
  const Quartet* quartet_;  // of the last row: the next one is near

  // f(sign, y, place) along the paths of a row.
  template <class F>
  FW_INLINE void walk(int row, const F& f) {
    if (row < quartet_->first) quartet_ = rows_.quartets;
    while (row >= quartet_->first + quartet_->rows) ++quartet_;
    for_walked(scene_, *quartet_,
               [&](int sign, const Rows& y, int place) FW_LAMBDA_INLINE { f(sign, y[row - quartet_->first], place); });
  }
};

}  // namespace featherweight::FW_ISA
