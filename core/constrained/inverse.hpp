// constrained/inverse.hpp -- the joint forces that give a constrained robot a wanted acceleration.
//   tau + J^T f = H a + h with tau = 0 on the unactuated degrees of freedom u: of all f that miss (H a + h)_u least,
//   the smallest. That is f = J_u y with (J_u^T J_u) y = (H a + h)_u. O(n + m d + n_u^2 m + n_u^3). Oracle: rnea and
//   the pseudo-inverse of J_u^T; constrained dynamics give the acceleration back.
#pragma once
#include "constrained/proximal.hpp"
#include "dynamics/rnea.hpp"
#include "rows/terms.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct InverseAnswer {
  S *tau, *forces;  // forces in the user's order of rows
  S residual;       // largest generalised force on an unactuated degree of freedom that no constraint force explains
  S converged;      // 1 or 0
};

template <class S>
class ConstrainedInverse {
 public:
  template <class C>
  ConstrainedInverse(const Tree<C>& tree, const ConstraintRows<C>& constraints, const int* unactuated, int n_unactuated,
                     Arena& arena)
      : u_(unactuated),
        n_u_(n_unactuated),
        rnea_(tree, arena),
        ends_(tree, constraints, arena),
        J_(arena.take<S>(static_cast<std::size_t>(constraints.n_rows) * static_cast<std::size_t>(tree.nv))),
        A_(arena.take<S>(triangle(n_unactuated, 0))),
        y_(arena.take<S>(n_unactuated)),
        system_(n_unactuated, arena) {}

  // active: 1 or 0 per end.
  template <class C>
  void solve(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* v, const S* a,
             const Force<S>* f_ext, const S* active, const ConstrainedSettings& settings, InverseAnswer<S>& answer) {
    rnea(tree, q, v, a, f_ext, rnea_, answer.tau);
    ends_.set(tree, constraints, q, active);
    constraint_jacobian(tree, constraints, q, ends_.K, J_);
    explain(constraints.n_rows, tree.nv, settings, answer);
    apply(constraints.n_rows, tree.nv, answer);
  }

 private:
  // Forces for the degrees of freedom that no motor serves.
  void explain(int m, int nv, const ConstrainedSettings& settings, InverseAnswer<S>& answer) {
    for (int i = 0; i < n_u_; ++i) {
      system_.r[i] = answer.tau[u_[i]];
      for (int j = 0; j <= i; ++j) {
        S sum(0);
        for (int r = 0; r < m; ++r) sum = sum + row(r, nv)[u_[i]] * row(r, nv)[u_[j]];
        A_[triangle(i, j)] = sum;
      }
    }
    ConstrainedAnswer<S> report{nullptr, nullptr, S(0), S(1), S(1)};
    system_.solve(n_u_, A_, settings, y_, report);
    answer.converged = report.converged;
    for (int r = 0; r < m; ++r) {
      S sum(0);
      for (int i = 0; i < n_u_; ++i) sum = sum + row(r, nv)[u_[i]] * y_[i];
      answer.forces[r] = sum;
    }
  }

  // What the forces leave for the motors; on the other degrees of freedom it is the residual.
  void apply(int m, int nv, InverseAnswer<S>& answer) {
    for (int r = 0; r < m; ++r)
      for (int k = 0; k < nv; ++k) answer.tau[k] = answer.tau[k] - row(r, nv)[k] * answer.forces[r];
    answer.residual = S(0);
    for (int i = 0; i < n_u_; ++i) {
      answer.residual = larger(answer.residual, abs(answer.tau[u_[i]]));
      answer.tau[u_[i]] = S(0);
    }
  }

  FW_INLINE const S* row(int r, int nv) const {
    return J_ + static_cast<std::size_t>(r) * static_cast<std::size_t>(nv);
  }

  const int* u_;
  int n_u_;
  RneaWorkspace<S> rnea_;
  RowEnds<S> ends_;
  S *J_, *A_, *y_;
  ProximalSystem<S> system_;
};

}  // namespace featherweight::FW_ISA
