// step/closure_system.hpp -- the rows of one environment's closures, which are the first of its problem, by themselves.
//
// Their matrix, factorised, answers what impulses change errors by how much. Rows that depend on earlier ones get no
// impulse: what counts as dependent is decided by the scale of the mechanism, since frames in files are rounded, and
// rows that repeat each other then differ by that.
#pragma once
#include "linalg/semidefinite_ldl.hpp"
#include "rows/closure.hpp"
#include "step/cone_rows.hpp"

namespace featherweight::FW_ISA {

class ClosureSystem {
 public:
  ClosureSystem() = default;
  ClosureSystem(const Scene& scene, const Quartet* quartets, Memory& memory)
      : quartets_(quartets), n_(scene.n_closure_rows) {
    const std::size_t n = n_;
    reserve(memory, (2 * n * n + 2 * n + 4) * sizeof(double));
    F_ = static_cast<double*>(memory.data);
    double* const G = F_ + n * n;
    floors_ = G + n * n;
    impulses_ = floors_ + n;
    for (std::size_t k = 0; k < n * n; ++k) G[k] = 0;
    for (int first_after = 0; first_after < n_; ++n_quartets_) first_after += quartets[n_quartets_].rows;
    for (int i = 0; i < n_quartets_; ++i)
      for (int j = 0; j <= i; ++j) {
        const Block4 block = couple(scene, quartets[i], quartets[j]);
        for (int c = 0; c < quartets[j].rows; ++c)
          for (int r = 0; r < quartets[i].rows; ++r)
            G[(quartets[j].first + c) * n + quartets[i].first + r] = block.columns[c][r];
      }
    double largest[2] = {0, 0};  // mobility along axes, and about them
    for_rows(scene, [&](int k, int kind) {
      const double x = G[k * (n + 1)];
      largest[kind] = x > largest[kind] ? x : largest[kind];
    });
    for_rows(scene, [&](int k, int kind) { floors_[k] = ClosureTuning::dependent * largest[kind]; });
    factorise_above(n_, G, n_, [this](int k) { return floors_[k]; }, F_);
  }

  bool empty() const { return n_quartets_ == 0; }
  int n_quartets() const { return n_quartets_; }
  const Quartet* quartets() const { return quartets_; }
  bool depends(int row) const { return F_[row * (n_ + 1)] == 0; }
  // Of each row, padded: errors over the time step on the way in, and impulses that take them out on the way out.
  double* impulses() { return impulses_; }
  void solve() {
    for (int k = 0; k < n_; ++k) impulses_[k] = -impulses_[k];
    for (int k = n_; k < n_ + 4; ++k) impulses_[k] = 0;
    solve_semidefinite(n_, F_, impulses_);
  }

  // Rows that depend on others are left in the problem, where they do nothing.
  template <class S>
  void leave_out_dependent(ConeRows<S>& rows) const {
    for (int i = 0; i < n_quartets_; ++i)
      for (int r = 0; r < quartets_[i].rows; ++r) {
        const int k = quartets_[i].first + r;
        if (!depends(k)) continue;
        for (int e = 0; e < quartets_[i].n_ends; ++e) {
          for (int f = 0; f < quartets_[i].ends[e].count; ++f) quartets_[i].ends[e].y[f][r] = 0;
          for (int c = 0; rows.forces && c < 6; ++c) rows.forces[2 * i + e].e[c][r] = 0;
        }
        rows.leave_out(k, floors_[k] > 0 ? floors_[k] / ClosureTuning::dependent : 1);
      }
  }

 private:
  const Quartet* quartets_ = nullptr;
  int n_ = 0, n_quartets_ = 0;
  double *F_ = nullptr, *floors_ = nullptr, *impulses_ = nullptr;

  // f(row, 0 along axes or 1 about them)
  template <class F>
  static void for_rows(const Scene& scene, const F& f) {
    int k = 0;
    for (int c = 0; c < scene.n_closures; ++c)
      for (int r = 0; r < scene.closures[c].n_rows; ++r) f(k++, scene.closures[c].axes[r] < 3 ? 0 : 1);
  }
};

}  // namespace featherweight::FW_ISA
