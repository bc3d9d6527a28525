#include "dynamics/minverse.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::minverse(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const int n_out = tree.nv * tree.nv;
  S* result = arena.take<S>(n_out);
  MinverseWorkspace<S> w(tree, arena);
  return for_each_pack(job, begin, end, arena, in, result, n_out, [&] { FW_ISA::minverse(tree, in.q, w, result); });
}
FW_INSTANTIATE_KERNEL(minverse);

}  // namespace featherweight::FW_ISA
