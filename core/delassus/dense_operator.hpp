// delassus/dense_operator.hpp -- the operator of rows that have several ends: the matrix, and its damped factor.
//   O(n + m^2 d + m^3) to factorise, O(m^2) for a product or a solution. Oracle: dense algebra.
#pragma once
#include "delassus/method.hpp"
#include "delassus/pv_osim.hpp"

namespace featherweight::FW_ISA {

template <class S>
class DenseDelassusOperator {
 public:
  template <class C>
  DenseDelassusOperator(const Tree<C>&, const ConstraintRows<C>& constraints, Arena& arena)
      : m_(constraints.n_rows),
        matrix_(arena.take<S>(triangle(m_, 0))),
        factor_(arena.take<S>(triangle(m_, 0))),
        active_(arena.take<S>(m_)),
        left_(arena.take<S>(m_)),
        damping_(arena.take<S>(m_)) {}

  // active: of each end; damping: of each row.
  template <class C>
  void factorise(const DelassusProblem<S, C>& problem, RowMatrix<PvOsim<S>, S>& matrix, const S* active,
                 const S* damping) {
    matrix.compute(problem, matrix_);
    for (int k = 0; k < problem.constraints.n_ends; ++k) active_[problem.constraints.ends[k].row] = active[k];
    for (std::size_t k = 0; k < triangle(m_, 0); ++k) factor_[k] = matrix_[k];
    for (int r = 0; r < m_; ++r) {
      damping_[r] = damping[r];
      factor_[triangle(r, r)] = factor_[triangle(r, r)] + damping[r];
    }
    factorise_packed(m_, factor_, S(0), factor_);
  }

  void apply(const S* x, S* Ax) const { symmetric_times(m_, matrix_, x, Ax); }

  // With one step of refinement: damping may be small.
  void solve(const S* b, S* x) {
    for (int r = 0; r < m_; ++r) x[r] = b[r] * active_[r];
    solve_packed(m_, factor_, x);
    symmetric_times(m_, matrix_, x, left_);
    for (int r = 0; r < m_; ++r) left_[r] = (b[r] - left_[r] - damping_[r] * x[r]) * active_[r];
    solve_packed(m_, factor_, left_);
    for (int r = 0; r < m_; ++r) x[r] = (x[r] + left_[r]) * active_[r];
  }

 private:
  int m_;
  S *matrix_, *factor_, *active_, *left_, *damping_;
};

}  // namespace featherweight::FW_ISA
