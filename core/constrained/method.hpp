// constrained/method.hpp -- what every method for constrained dynamics is given, what it returns, and its batch loop.
//   H a + h = tau + J^T f,   J a + gamma + R f = targets
//
// A method is a class with a workspace taken from the arena and one function:
//   Method(tree, constraints, arena)
//   solve(problem, settings, answer)
#pragma once
#include "rows/rows.hpp"
#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

// Rows are in compiled order, sorted by link (rows/rows.hpp); where some have several ends, in the user's order.
template <class S, class C>
struct ConstrainedProblem {
  const Tree<C>& tree;
  const ConstraintRows<C>& constraints;
  const S *q, *v, *tau;
  const Force<S>* f_ext;  // on each compiled link, in its coordinates; or null
  const S* targets;       // acceleration each row is to have
  const S* active;        // 1, or 0 where a row exerts no force in that lane
  bool masked = true;     // some may be 0
};

struct ConstrainedSettings {
  double tolerance;  // on the row residual, relative to the size of the targets
  int max_iterations;
};

template <class S>
struct ConstrainedAnswer {
  S* a;
  S* forces;     // per row, in the order of the problem
  S residual;    // largest |J a + gamma + R f - target| of a row [m/s^2, rad/s^2]
  S iterations;  // solves with one factor
  S converged;   // 1 or 0; of a sample that overflowed it becomes 0
};

// A sample's result: accelerations, forces in the user's order of rows, then residual, iterations, converged.
template <class Method, class T>
unsigned solve_batch(const Tree<T>& tree, const Job<T>& job, std::size_t begin, std::size_t end, Memory& memory) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  const int nv = tree.nv, m = constraints.n_rows, n_out = nv + m + 3;
  const bool sorted = constraints.n_varying == 0;  // rows, by link
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(n_out), *forces = arena.take<S>(m), *loaded = arena.take<S>(m), *targets = arena.take<S>(m);
  S *mask = arena.take<S>(constraints.n_constraints), *active = arena.take<S>(m);
  Method method(tree, constraints, arena);
  const ConstrainedSettings settings{job.tolerance, job.max_iterations};
  Watch<S> watch;

  const auto load_rows = [&](const Pack& pack) {
    load(job.targets, pack, m, loaded, watch);
    if (job.active.data) load(job.active, pack, constraints.n_constraints, mask, watch);
    for (int k = 0; k < constraints.n_ends; ++k) {
      const RowEnd<T>& end = constraints.ends[k];
      const int r = sorted ? k : end.row;
      targets[r] = loaded[end.row];
      active[r] = job.active.data ? mask[end.constraint] : S(1);
    }
  };
  const bool shared = job.targets.stride == 0 && job.active.stride == 0;  // by all samples

  const unsigned faults = for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    if (!shared || pack.first == begin) load_rows(pack);
    ConstrainedAnswer<S> answer{out, forces, S(0), S(1), S(1)};
    method.solve(ConstrainedProblem<S, T>{tree, constraints, in.q, in.v, in.x, in.f_ext, targets, active,
                                          job.active.data != nullptr},
                 settings, answer);
    for (int r = 0; r < m; ++r) out[nv + (sorted ? constraints.ends[r].row : r)] = forces[r];
    out[nv + m] = answer.residual;
    out[nv + m + 1] = answer.iterations;
    out[nv + m + 2] = where_finite(out, nv + m + 2, answer.converged);
    store(out, n_out, pack, job.out, job.out_stride);
  });
  return faults & fault::memory ? faults : faults | (watch.finite() ? 0 : fault::targets);
}

}  // namespace featherweight::FW_ISA
