#include "constrained/inverse.hpp"

namespace featherweight::FW_ISA {

// A sample's result: joint forces, constraint forces in the user's order of rows, then residual, converged.
template <class T>
unsigned KernelOf<T>::constrained_inverse(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                          Memory& memory) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  const int nv = tree.nv, m = constraints.n_rows, n_out = nv + m + 2;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S* out = arena.take<S>(n_out);
  S *mask = arena.take<S>(constraints.n_constraints), *active = arena.take<S>(constraints.n_ends);
  ConstrainedInverse<S> inverse(tree, constraints, job.unactuated, job.n_unactuated, arena);
  const ConstrainedSettings settings{job.tolerance, job.max_iterations};
  Watch<S> watch;

  return for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    if (job.active.data) load(job.active, pack, constraints.n_constraints, mask, watch);
    for (int r = 0; r < constraints.n_ends; ++r)
      active[r] = job.active.data ? mask[constraints.ends[r].constraint] : S(1);
    InverseAnswer<S> answer{out, out + nv, S(0), S(1)};
    inverse.solve(tree, constraints, in.q, in.v, in.x, in.f_ext, active, settings, answer);
    out[nv + m] = answer.residual;
    out[nv + m + 1] = where_finite(out, nv + m + 1, answer.converged);
    store(out, n_out, pack, job.out, job.out_stride);
  });
}
FW_INSTANTIATE_DOUBLE_KERNEL(constrained_inverse);

}  // namespace featherweight::FW_ISA
