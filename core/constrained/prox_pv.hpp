// constrained/prox_pv.hpp -- PV for any rows: the system at the root is solved by proximal steps.
//   Redundant, singular and contradictory rows give the least-squares acceleration and forces of least norm.
//   O(n + m^2 d + m^3), O(m^2) per further step.   Oracle: the pseudo-inverse of J H^-1 J^T.
#pragma once
#include "constrained/proximal.hpp"
#include "constrained/pv.hpp"

namespace featherweight::FW_ISA {

template <class S>
class ProxPv {
 public:
  template <class C>
  ProxPv(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : sweeps_(tree, constraints, arena), root_(constraints.n_rows, arena) {}

  template <class C>
  void solve(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings& settings,
             ConstrainedAnswer<S>& answer) {
    sweeps_.inward(problem);
    for (int k = 0; k < problem.constraints.n_rows; ++k) root_.r[k] = sweeps_.r[k];
    root_.solve(problem.constraints.n_rows, sweeps_.L, settings, answer.forces, answer);
    sweeps_.outward(problem, answer.forces, answer.a);
  }

 private:
  PvSweeps<S> sweeps_;
  ProximalSystem<S> root_;
};

}  // namespace featherweight::FW_ISA
