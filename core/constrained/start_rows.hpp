// constrained/start_rows.hpp -- the rows of a link as an inward sweep finds them: with the targets of the problem.
#pragma once
#include "articulated/row_count.hpp"
#include "constrained/method.hpp"
#include "dynamics/aba.hpp"
#include "rows/link_rows.hpp"

namespace featherweight::FW_ISA {

// The n rows of link i, which moves at v.
template <class N, class S, class C>
FW_INLINE void start_rows(const ConstrainedProblem<S, C>& problem, int i, N n, const Motion<S>& v,
                          const Vec3<S>& gravity, Row<S>* rows) {
  const int first = problem.constraints.of_link[i].begin;
  const RowEnd<C>* constraints = problem.constraints.ends + first;
  Vec3<S> given = gravity;
  for_each_row(n, [&](int r) FW_LAMBDA_INLINE {
    if (r == 0 || constraints[r].constraint != constraints[r - 1].constraint)
      given = given_acceleration(constraints[r], v, gravity);
    const S active = problem.active[first + r];
    rows[r] = {active_row(constraints[r], active),
               (problem.targets[first + r] - dot(row_direction(constraints[r]).lin, given)) * active};
  });
}
template <class S, class C>
FW_INLINE void start_rows(const ConstrainedProblem<S, C>& problem, int i, const Motion<S>& v, const Vec3<S>& gravity,
                          Row<S>* rows) {
  const RowRange range = problem.constraints.of_link[i];
  start_rows(problem, i, range.own_end - range.begin, v, gravity, rows);
}

}  // namespace featherweight::FW_ISA
