#include "dynamics/aba.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::aba(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S* a = arena.take<S>(tree.nv);
  AbaWorkspace<S> w(tree, arena);
  return for_each_pack(job, begin, end, arena, in, a, tree.nv,
                       [&] { FW_ISA::aba(tree, in.q, in.v, in.x, in.f_ext, w, a); });
}
FW_INSTANTIATE_KERNEL(aba);

}  // namespace featherweight::FW_ISA
