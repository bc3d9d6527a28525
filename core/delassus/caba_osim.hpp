// delassus/caba_osim.hpp -- the inverse of the damped Delassus matrix from a tree that carries its rows as springs.
//   A row that gives way by R is a spring of strength W = 1 / R, which joins the inertia of its link. With D the
//   Delassus matrix of the tree with springs, (Delta + R)^-1 = W - W D W: O(n + m^2).
//   Source: A. S. Sathya and J. Carpentier, "Constrained articulated body dynamics algorithms".
//   Oracle: dense (J H^-1 J^T + R)^-1.
//
// The difference cancels as the square of W times the mobility of the row, and no refinement of the matrix brings the
// digits back. Rows with too little damping are therefore deferred: their Delassus matrix among the springs is D, and D
// + R of these rows is inverted as it stands, O(m_deferred^3) (docs/delassus.md).
#pragma once
#include "delassus/inverse.hpp"
#include "delassus/pv_osimr.hpp"

namespace featherweight::FW_ISA {

template <class S>
class CabaOsim {
 public:
  template <class C>
  CabaOsim(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : matrix_(tree, constraints, arena),
        W_(arena.take<S>(constraints.n_ends)),
        deferred_(arena.take<S>(constraints.n_ends)),
        scale_(arena.take<S>(constraints.n_ends)),
        column_(arena.take<S>(constraints.n_ends)) {}

  template <class C>
  S invert(const DelassusProblem<S, C>& problem, const S* damping, S* inverse) {
    const ConstraintRows<C>& constraints = problem.constraints;
    const int m = constraints.n_ends;
    bool all_springs = true;
    for (int r = 0; r < m; ++r) {
      const auto is_spring = S(C(softest) * constraints.ends[r].mobility) <= damping[r];
      deferred_[r] = select(is_spring, S(0), S(1));
      W_[r] = select(is_spring, S(1) / damping[r], S(0));
      scale_[r] = W_[r] + deferred_[r];
      all_springs = all_springs && !any(deferred_[r], deferred_[r] > S(0));
    }
    matrix_.compute(problem, inverse, [&](int i, ArticulatedInertia<S>& I) {
      const RowRange range = constraints.of_link[i];
      with_row_count(range.own_end - range.begin,
                     [&](auto n) { add_springs(n, problem.K + range.begin, W_ + range.begin, I); });
    });

    // springs as if exchanged, W D W - W, and others D + R; with opposite signs if all are springs
    const S sign(C(all_springs ? -1 : 1));
    S* row = inverse;
    for (int r = 0; r < m; row += ++r) {
      const S scale = scale_[r] * sign;
      for (int s = 0; s <= r; ++s) row[s] = row[s] * (scale * scale_[s]);
      row[r] = row[r] + select(deferred_[r] > S(0), damping[r], -W_[r]) * sign;
    }
    return all_springs ? S(0) : exchange_deferred(constraints, inverse);
  }

 private:
  static constexpr double softest = 1e-2;  // of the row's mobility: four digits are lost

  template <class N>
  [[gnu::noinline]] static void add_springs(N n, const Force<S>* K, const S* W, ArticulatedInertia<S>& I) {
    ArticulatedInertia<S> sum = I;
    for_each_row(n, [&](int r) FW_LAMBDA_INLINE { add_row_inertia(K[r], W[r], sum); });
    I = sum;
  }

  template <class C>
  [[gnu::noinline]] S exchange_deferred(const ConstraintRows<C>& constraints, S* M) {
    S weakest(0);
    for (int r = 0; r < constraints.n_ends; ++r) {
      if (!any(deferred_[r], deferred_[r] > S(0))) continue;
      const S pivot = exchange_row(constraints.n_ends, 0, r, deferred_[r], M, static_cast<Row<S>*>(nullptr), column_);
      weakest = larger(weakest, abs(pivot) * constraints.ends[r].mobility);
    }
    for (std::size_t k = 0; k < triangle(constraints.n_ends, 0); ++k) M[k] = -M[k];
    return weakest;
  }

  PvOsimr<S> matrix_;
  S *W_, *deferred_, *scale_, *column_;
};

}  // namespace featherweight::FW_ISA
