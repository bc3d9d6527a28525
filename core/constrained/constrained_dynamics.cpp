// The kernel behind fw.constrained_dynamics. A sample's result: accelerations, forces in the user's order of rows, then
// residual, iterations, converged.
#include "batch/kernels.hpp"
#include "batch/lane_io.hpp"
#include "constrained/pv.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::constrained_dynamics(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                           Memory& memory) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  const int nv = tree.nv, m = constraints.n_rows, n_out = nv + m + 3;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(n_out), *lambda = arena.take<S>(m), *loaded = arena.take<S>(m), *targets = arena.take<S>(m);
  S *mask = arena.take<S>(constraints.n_constraints), *active = arena.take<S>(m);
  PvWorkspace<S> w(tree, constraints, arena);
  const RootSettings settings{job.method == ConstrainedMethod::prox_pv, job.tolerance,
                              job.method == ConstrainedMethod::prox_pv ? job.max_iterations : 1};
  Watch<S> watch;

  const unsigned faults = for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    load(job.targets, pack, m, loaded, watch);
    if (job.active.data) load(job.active, pack, constraints.n_constraints, mask, watch);
    for (int r = 0; r < m; ++r) {
      targets[r] = loaded[constraints.rows[r].row];
      active[r] = job.active.data ? mask[constraints.rows[r].constraint] : S(1);
    }
    RootReport<S> report;
    pv(tree, constraints, in.q, in.v, in.x, in.f_ext, targets, active, settings, w, out, lambda, report);
    for (int r = 0; r < m; ++r) out[nv + constraints.rows[r].row] = lambda[r];
    out[nv + m] = report.residual;
    out[nv + m + 1] = report.iterations;
    out[nv + m + 2] = report.converged;
    store(out, n_out, pack, job.out, job.out_stride);
  });
  return faults & fault::memory ? faults : faults | (watch.finite() ? 0 : fault::targets);
}
template unsigned KernelOf<double>::constrained_dynamics(const Tree<double>&, const Job<double>&, Range, Range,
                                                         Memory&);

}  // namespace featherweight::FW_ISA
