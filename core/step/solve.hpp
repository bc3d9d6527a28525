// step/solve.hpp -- the impulses of one environment.
//   in    its cone problem
//   out   impulses, kept as warm starts of the next step; how well it was solved
#pragma once
#include "cones/kernels.hpp"
#include "step/assemble.hpp"
#include "step/impacts.hpp"

namespace featherweight::FW_ISA {

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

// What a solve took, roughly. In piles Newton's method is for patches.
inline double operations_of(const ConeProblem& problem, const SolverReport& r) {
  const double n = problem.m <= ProblemSizes::most_dense_rows ? problem.m : PatchTuning::most_rows;
  return (1 + r.gauss_seidel + r.admm) * operations_of_product(problem) + n * n * n * r.newton;
}

template <class S>
void solve(const RolloutJob& job, ConeRows<S>& rows, const ConeMatrix<S>& matrix, Memory& memory,
           StepFigures& figures) {
  SolverReport r;
  const auto solve_cones = [&] {
    const ConeProblem problem = matrix.problem();
    r = contact_kernels.solve(problem, job.options, matrix.lambda, matrix.scratch);
    return operations_of(problem, r);
  };
  const double operations = solve_cones();
  if (rows.something_strikes)
    Impacts(*job.scene, rows, matrix, job.dt, job.options.tolerance, operations, memory, solve_cones).run();
  figures = {r.residual / rows.scale, r.primal, r.dual, r.complementarity,  rows.deepest, 0,
             r.gauss_seidel,          r.newton, r.admm, r.converged ? 0 : 1};
  for (int i = 0; i < rows.m; ++i) *rows.rows[i].kept = matrix.lambda[i] + rows.rows[i].known;
}

}  // namespace featherweight::FW_ISA
