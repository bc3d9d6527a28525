// step/closure_system.hpp -- closures closed again at the end of a step.
//
// A step moves along tangents, so that closures open by the square of the step. Newton's iteration with the matrix of
// the step takes that out of the coordinates; velocities stay. Contacts are ignored: these are micrometres.
#pragma once
#include "linalg/dense_ldl.hpp"
#include "rows/closure.hpp"
#include "step/quartets.hpp"
#include "step/tuning.hpp"

namespace featherweight::FW_ISA {

// The rows of one environment's closures, which are the first of its problem, and their matrix, factorised.
class ClosureSystem {
 public:
  ClosureSystem() = default;
  ClosureSystem(const Scene& scene, const Quartet* quartets, Memory& memory)
      : quartets_(quartets), n_((scene.n_closure_rows + 3) / 4 * 4) {
    const std::size_t n = n_;
    reserve(memory, (n * n + n + 4) * sizeof(double));
    L_ = static_cast<double*>(memory.data);
    impulses_ = L_ + n * n;
    for (std::size_t k = 0; k < n * n; ++k) L_[k] = k % (n + 1) == 0 ? 1 : 0;  // what is beyond the rows stays so
    double largest = 0;
    while (first_after_ < scene.n_closure_rows) first_after_ += quartets[n_quartets_++].rows;
    for (int i = 0; i < n_quartets_; ++i)
      for (int j = 0; j <= i; ++j) {
        const Block4 block = couple(scene, quartets[i], quartets[j]);
        for (int c = 0; c < quartets[j].rows; ++c)
          for (int r = 0; r < quartets[i].rows; ++r) {
            const double x = block.columns[c][r];
            L_[(quartets[j].first + c) * n + quartets[i].first + r] = x;
            largest = x > largest ? x : largest;
          }
      }
    // redundant rows share the load
    for (int k = 0; k < scene.n_closure_rows; ++k) L_[k * (n + 1)] += ClosureTuning::damping * largest;
    factorise_dense(n_, ClosureTuning::smallest_pivot * largest + 1e-300, L_);
  }

  bool empty() const { return n_quartets_ == 0; }
  int n_quartets() const { return n_quartets_; }
  const Quartet* quartets() const { return quartets_; }
  const double* impulses() const { return impulses_; }

  // The impulses whose velocities close the errors in a time dt; returns the largest error.
  template <class S>
  double solve(const Scene& scene, LaneOf<S> lane, const Pose<S>* poses, double dt) {
    double* next = impulses_;
    for (int k = 0; k < scene.n_closures; ++k) {
      const Closure<double>& closure = scene.closures[k];
      position_errors(closure, frame_of(closure.a, lane, poses), frame_of(closure.b, lane, poses), next);
      next += closure.n_rows;
    }
    double largest = 0;
    for (int k = 0; k < scene.n_closure_rows; ++k) {
      const double size = impulses_[k] < 0 ? -impulses_[k] : impulses_[k];
      largest = size > largest ? size : largest;
      impulses_[k] /= -dt;
    }
    for (int k = scene.n_closure_rows; k < n_ + 4; ++k) impulses_[k] = 0;
    solve_dense(n_, L_, impulses_);
    return largest;
  }

 private:
  const Quartet* quartets_ = nullptr;
  int n_ = 0, n_quartets_ = 0, first_after_ = 0;
  double *L_ = nullptr, *impulses_ = nullptr;
};

}  // namespace featherweight::FW_ISA
