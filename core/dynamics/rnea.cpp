#include "dynamics/rnea.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::rnea(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S* tau = arena.take<S>(tree.nv);
  RneaWorkspace<S> w(tree, arena);
  return for_each_pack(job, begin, end, arena, in, tau, tree.nv,
                       [&] { FW_ISA::rnea(tree, in.q, in.v, in.x, in.f_ext, w, tau); });
}
FW_INSTANTIATE_KERNEL(rnea);

}  // namespace featherweight::FW_ISA
