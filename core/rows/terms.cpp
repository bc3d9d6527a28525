#include "rows/terms.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::constraint_jacobian(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                          Memory& memory) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  const int n_out = constraints.n_rows * tree.nv;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S* out = arena.take<S>(n_out);
  RowEnds<S> ends(tree, constraints, arena);
  return for_each_pack(job, begin, end, arena, in, out, n_out, [&] {
    ends.set(tree, constraints, in.q, nullptr);
    FW_ISA::constraint_jacobian(tree, constraints, in.q, ends.K, out);
  });
}
FW_INSTANTIATE_DOUBLE_KERNEL(constraint_jacobian);

template <class T>
unsigned KernelOf<T>::constraint_velocity(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                          Memory& memory) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(constraints.n_rows), *state = arena.take<S>(tree.n_states);
  Motion<S>* links = arena.take<Motion<S>>(tree.n_links);
  RowEnds<S> ends(tree, constraints, arena);
  return for_each_pack(job, begin, end, arena, in, out, constraints.n_rows, [&] {
    if (RowEnds<S>::depends_on_q(constraints)) ends.set(tree, constraints, in.q, nullptr);
    FW_ISA::constraint_velocity(tree, constraints, ends.K, in.q, in.v, state, links, out);
  });
}
FW_INSTANTIATE_DOUBLE_KERNEL(constraint_velocity);

// Without targets or accelerations those are zero.
template <class T>
unsigned KernelOf<T>::constraint_acceleration(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                              Memory& memory) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  const int m = constraints.n_rows;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(m), *targets = arena.take<S>(m), *state = arena.take<S>(tree.n_states);
  VelocityAndAcceleration<S>* links = arena.take<VelocityAndAcceleration<S>>(tree.n_links);
  RowEnds<S> ends(tree, constraints, arena);
  Watch<S> watch;
  const unsigned faults = for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    for (int r = 0; r < m; ++r) targets[r] = S(0);
    if (job.targets.data) load(job.targets, pack, m, targets, watch);
    if (RowEnds<S>::depends_on_q(constraints)) ends.set(tree, constraints, in.q, nullptr);
    FW_ISA::constraint_acceleration(tree, constraints, ends, in.q, in.v, in.x, targets, state, links, out);
    store(out, m, pack, job.out, job.out_stride);
  });
  return faults | (watch.finite() ? 0 : fault::targets);
}
FW_INSTANTIATE_DOUBLE_KERNEL(constraint_acceleration);

template <class T>
unsigned KernelOf<T>::constraint_position_error(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                                Memory& memory) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(constraints.n_rows), *state = arena.take<S>(tree.n_states);
  S* wanted = arena.take<S>(16 * constraints.n_constraints);
  Pose<S>* links = arena.take<Pose<S>>(tree.n_links);
  Watch<S> watch;
  const unsigned faults = for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    load(job.positions, pack, 16 * constraints.n_constraints, wanted, watch);
    FW_ISA::constraint_position_error(tree, constraints, in.q, wanted, state, links, out);
    store(out, constraints.n_rows, pack, job.out, job.out_stride);
  });
  return faults | (watch.finite() ? 0 : fault::positions);
}
FW_INSTANTIATE_DOUBLE_KERNEL(constraint_position_error);

}  // namespace featherweight::FW_ISA
