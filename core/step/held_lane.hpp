// step/held_lane.hpp -- what holds one environment's mechanisms together, as its contacts see it.
//
// Of a quartet with y, walked to the roots, c = D^-1/2 L^-1 Y y: one number per row and row that is held. They count as
// degrees of freedom with the opposite sign: y_a . y_b - c_a . c_b is the matrix of the mechanism (held_system.hpp).
// Cost: as many operations as Y and L have numbers, for four rows at a time. Oracle: the twin, dense.
#pragma once
#include "step/held_system.hpp"

namespace featherweight::FW_ISA {

class HeldLane {
 public:
  HeldLane() = default;
  // One lane of the system, close together.
  template <class S>
  HeldLane(const Scene& scene, const HeldSystem<S>& system, LaneOf<S> lane, Memory& memory)
      : scene_(&scene), plan_(&scene.held) {
    carve_out(memory, [&](Arena& arena) {
      y_ = arena.take<double>(plan_->n_numbers);
      F_ = arena.take<double>(plan_->n_factors);
      roots_ = arena.take<double>(plan_->n_rows);
      dense_ = arena.take<Rows>(scene.tree.nv);
    });
    for (std::size_t k = 0; k < plan_->n_numbers; ++k) y_[k] = lane(system.numbers()[k]);
    for (std::size_t k = 0; k < plan_->n_factors; ++k) F_[k] = lane(system.factors()[k]);
    for (int i = 0; i < plan_->n_rows; ++i) roots_[i] = root(lane(system.inverse_pivot(i)));
    for (int f = 0; f < scene.tree.nv; ++f) dense_[f] = Rows{};
  }

  // The rows that react to a quartet.
  void find_rows(const Quartet& quartet, int& first, int& end) const {
    first = plan_->n_rows, end = 0;
    for (int e = 0; e < quartet.n_ends; ++e) {
      const int cluster = quartet.ends[e].cluster;
      if (plan_->first_row[cluster] < first) first = plan_->first_row[cluster];
      if (plan_->no_row[cluster] > end) end = plan_->no_row[cluster];
    }
    if (first > end) first = end;
  }
  // c of a quartet whose y are known, of rows [first, end).
  void react(const Quartet& quartet, int first, int end, Rows* c) const {
    if (first == end) return;
    for_dofs(quartet, [&](int f, const Rows& y) FW_LAMBDA_INLINE { dense_[f] += y; });
    for (int p = 0; p < plan_->n_parts; ++p) {
      const HeldPart& part = plan_->parts[p];
      if (part.first < first || part.first >= end) continue;
      for (int r = 0; r < part.n_rows; ++r) {
        const double* const y = y_ + part.y + static_cast<std::size_t>(r) * part.n_dofs;
        Rows sum = Rows{};
        for (int k = 0; k < part.n_dofs; ++k) sum += y[k] * dense_[part.dofs[k]];
        c[part.first + r - first] = sum;
      }
    }
    for_dofs(quartet, [&](int f, const Rows&) FW_LAMBDA_INLINE { dense_[f] = Rows{}; });
    for (int i = first; i < end; ++i) {
      const HeldRow& own = plan_->rows[i];
      const double* const row = F_ + own.factor;
      for (int j = own.start > first ? own.start : first; j < i; ++j) c[i - first] -= row[j - own.start] * c[j - first];
    }
    for (int i = first; i < end; ++i) c[i - first] *= roots_[i];
  }

 private:
  const Scene* scene_ = nullptr;
  const HeldPlan* plan_ = nullptr;
  double *y_ = nullptr, *F_ = nullptr, *roots_ = nullptr;
  Rows* dense_ = nullptr;  // of degrees of freedom: zero between calls

  template <class F>
  FW_INLINE void for_dofs(const Quartet& quartet, const F& f) const {
    for (int e = 0; e < quartet.n_ends; ++e) {
      const QuartetEnd& end = quartet.ends[e];
      for_path(*scene_, end.link, end.count, [&](int k, int dof) FW_LAMBDA_INLINE { f(dof, end.y[k]); });
    }
  }
};

}  // namespace featherweight::FW_ISA
