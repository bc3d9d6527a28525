// constrained/yielding_rows.hpp -- rows that give way, as part of the links they act on.
//
// A row that gives way by R per force exerts f = (k - K a) / R. That adds K^T K / R to the inertia of its link and
// -K^T k / R to its bias force (docs/theory.md, "Rows that give way"); nothing else of aba changes. K and R are
// constant, so the inertia that an active constraint adds is too.
#pragma once
#include "constrained/start_rows.hpp"

namespace featherweight::FW_ISA {

template <class S>
class YieldingRows {
 public:
  using T = ElementOf<S>;

  S* k;         // per row, wanted K a
  T* per_miss;  // force per acceleration that a row misses, 1 / R

  YieldingRows(const ConstraintRows<T>& constraints, Arena& arena)
      : k(arena.take<S>(constraints.n_ends)),
        per_miss(arena.take<T>(constraints.n_ends)),
        inertia_(arena.take<ArticulatedInertia<T>>(constraints.n_constraints)) {}

  // For compliances increased by eps. Once, before the first pack.
  void prepare(const ConstraintRows<T>& constraints, const T& eps) {
    for (int c = 0; c < constraints.n_constraints; ++c) inertia_[c] = zero_inertia<T>();
    for (int r = 0; r < constraints.n_ends; ++r) {
      const Force<T> K = row_direction(constraints.ends[r]);
      const T w = per_miss[r] = T(1) / (constraints.ends[r].compliance + eps);
      ArticulatedInertia<T>& I = inertia_[constraints.ends[r].constraint];
      I.A = minus_outer(I.A, K.lin, K.lin * -w);
      I.B = minus_outer(I.B, K.lin, K.ang * -w);
      I.C = minus_outer(I.C, K.ang, K.ang * -w);
    }
  }

  // Link i, which moves with v, takes on the inertia and the bias of its rows.
  FW_INLINE void join(const ConstrainedProblem<S, T>& problem, int i, const Motion<S>& v, const Vec3<S>& gravity,
                      Outboard<S>& outboard) {
    const ConstraintRows<T>& constraints = problem.constraints;
    const RowRange range = constraints.of_link[i];
    for (int r = range.begin; r < range.own_end;) {
      const int c = constraints.ends[r].constraint;
      add_inertia(inertia_[c], problem.active[r], outboard.I);
      const Vec3<S> bias = given_acceleration(constraints.ends[r], v, gravity);  // the rows of a constraint share it
      for (; r < range.own_end && constraints.ends[r].constraint == c; ++r) {
        const Force<T> K = row_direction(constraints.ends[r]);
        k[r] = problem.targets[r] - dot(K.lin, bias);
        const S f = k[r] * (problem.active[r] * -per_miss[r]);
        add_scaled(outboard.p.lin, K.lin, f);
        add_scaled(outboard.p.ang, K.ang, f);
      }
    }
  }

 private:
  [[gnu::noinline]] static void add_inertia(const ArticulatedInertia<T>& added, const S& active,
                                            ArticulatedInertia<S>& I) {
#pragma GCC unroll 6
    for (int e = 0; e < 6; ++e) {
      I.A.e[e] = I.A.e[e] + added.A.e[e] * active;
      I.C.e[e] = I.C.e[e] + added.C.e[e] * active;
    }
#pragma GCC unroll 3
    for (int e = 0; e < 3; ++e) add_scaled(I.B.rows[e], added.B.rows[e], active);
  }

  ArticulatedInertia<T>* inertia_;  // per constraint, what it adds to its link
};

}  // namespace featherweight::FW_ISA
