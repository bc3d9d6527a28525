#include "kinematics/jacobian.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::jacobian(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const int n_out = 6 * tree.nv;
  S *out = arena.take<S>(n_out), *state = arena.take<S>(tree.n_states);
  Motion<S>* columns = arena.take<Motion<S>>(tree.nv);
  const Mount<T>& mount = tree.mounts[job.mount];
  return for_each_pack(job, begin, end, arena, in, out, n_out,
                       [&] { FW_ISA::jacobian(tree, mount, job.reference, in.q, state, columns, out); });
}
FW_INSTANTIATE_KERNEL(jacobian);

}  // namespace featherweight::FW_ISA
