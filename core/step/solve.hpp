// step/solve.hpp -- the impulses of one environment.
//   in    its cone problem
//   out   impulses, kept as warm starts of the next step; how well it was solved
#pragma once
#include "cones/kernels.hpp"
#include "step/assemble.hpp"
#include "step/impacts.hpp"

namespace featherweight::FW_ISA {

extern const ContactKernels contact_kernels;

inline void add_figures(const StepFigures& last, StepFigures& total) {
  const auto raise = [](double& worst, double x) { worst = x > worst ? x : worst; };
  raise(total.residual, last.residual);
  raise(total.primal, last.primal);
  raise(total.dual, last.dual);
  raise(total.complementarity, last.complementarity);
  raise(total.penetration, last.penetration);
  raise(total.closure_error, last.closure_error);
  total.gauss_seidel += last.gauss_seidel, total.newton += last.newton, total.admm += last.admm;
  total.unconverged += last.unconverged;
}

template <class S>
void solve(const RolloutJob& job, ConeRows<S>& rows, const ConeMatrix<S>& matrix, Memory& memory,
           StepFigures& figures) {
  SolverReport r;
  const auto solve_cones = [&] {
    r = contact_kernels.solve(matrix.problem(), job.options, matrix.lambda, matrix.scratch);
  };
  solve_cones();
  if (rows.something_strikes)
    Impacts(*job.scene, rows, matrix, job.dt, job.options.tolerance, memory, solve_cones).run();
  figures = {r.residual / rows.scale, r.primal, r.dual, r.complementarity,  rows.deepest, 0,
             r.gauss_seidel,          r.newton, r.admm, r.converged ? 0 : 1};
  for (int i = 0; i < rows.m; ++i) *rows.rows[i].kept = matrix.lambda[i];
}

}  // namespace featherweight::FW_ISA
