// constrained/any_rows.hpp -- rows of any kind, end by end: for methods that carry every end of a row by itself.
//
// J of a row is the sum over its ends. A method may treat ends as if they were rows, and add up what it finds: the
// matrix of the rows is P L P^T with that of the ends, and all ends of a row exert its force.
#pragma once
#include "constrained/start_rows.hpp"
#include "rows/add_up.hpp"
#include "rows/terms.hpp"

namespace featherweight::FW_ISA {

// The rows of a problem whose ends are not all fixed: how they start on their links.
template <class S>
class AnyRows {
 public:
  RowEnds<S> ends;
  S* k;  // per row: what it asks of a - g

  template <class C>
  AnyRows(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : ends(tree, constraints, arena),
        k(arena.take<S>(single_ends(constraints) ? 0 : constraints.n_rows)),
        active_(arena.take<S>(single_ends(constraints) ? 0 : constraints.n_ends)) {}

  // velocity(i): of link i; gravity: in the axes of each link with rows.
  template <class C, class V>
  [[gnu::noinline]] void set(const ConstrainedProblem<S, C>& problem, const S* state, V&& velocity,
                             const Vec3<S>* gravity) {
    const ConstraintRows<C>& constraints = problem.constraints;
    for (int r = 0; r < constraints.n_ends; ++r) active_[r] = problem.active[constraints.ends[r].row];
    ends.set(problem.tree, constraints, problem.q, active_, state);
    for (int r = 0; r < constraints.n_rows; ++r) k[r] = problem.targets[r];
    for (int r = 0; r < constraints.n_ends; ++r) {
      const RowEnd<C>& end = constraints.ends[r];
      if (!end.of_point && !end.grounded) continue;
      const Vec3<S> given = given_acceleration(end, velocity(end.link), end.grounded ? gravity[end.link] : zero3<S>());
      k[end.row] = k[end.row] - dot(ends.K[r].lin, given);
    }
    for_each_bias(constraints, ends.poses, problem.q, problem.v, velocity,
                  [&](int row, const S& bias) FW_LAMBDA_INLINE { k[row] = k[row] - bias; });
    for (int r = 0; r < constraints.n_rows; ++r) k[r] = k[r] * problem.active[r];
  }

  // The ends on link i. One of each row asks for all of k.
  template <class C>
  FW_INLINE void start(const ConstraintRows<C>& constraints, int i, Row<S>* rows) const {
    const RowRange range = constraints.of_link[i];
    for (int r = range.begin; r < range.own_end; ++r)
      rows[r - range.begin] = {ends.K[r], constraints.ends[r].leads ? k[constraints.ends[r].row] : S(0)};
  }

 private:
  S* active_;
};

// Rows of the link at which a sweep has arrived, of any kind.
template <class S, class C>
FW_INLINE void start_rows(const ConstrainedProblem<S, C>& problem, const AnyRows<S>& any, int i, const Motion<S>& v,
                          const Vec3<S>& gravity, Row<S>* rows) {
  if (single_ends(problem.constraints))
    start_rows(problem, i, v, gravity, rows);
  else
    any.start(problem.constraints, i, rows);
}

// What a row yields to its own force is added to the diagonal.
template <class S, class C>
FW_INLINE void add_compliance(const ConstrainedProblem<S, C>& problem, S* L) {
  const ConstraintRows<C>& constraints = problem.constraints;
  const bool single = single_ends(constraints);
  for (int k = 0; k < constraints.n_ends; ++k) {
    const RowEnd<C>& end = constraints.ends[k];
    if (!end.leads) continue;
    const int r = single ? k : end.row;
    L[triangle(r, r)] = L[triangle(r, r)] + own_compliance(end, problem.active[r]);
  }
}

// The forces of the rows, on each of their ends.
template <class S>
class EndForces {
 public:
  template <class C>
  EndForces(const ConstraintRows<C>& constraints, Arena& arena)
      : f_(arena.take<S>(single_ends(constraints) ? 0 : constraints.n_ends)) {}

  template <class C>
  FW_INLINE const S* spread(const ConstraintRows<C>& constraints, const S* of_rows) {
    if (single_ends(constraints)) return of_rows;
    for (int r = 0; r < constraints.n_ends; ++r) f_[r] = of_rows[constraints.ends[r].row];
    return f_;
  }

 private:
  S* f_;
};

}  // namespace featherweight::FW_ISA
