#include "kinematics/integrate.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::integrate(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S* q = arena.take<S>(tree.nq);
  return for_each_pack(job, begin, end, arena, in, q, tree.nq, [&] { FW_ISA::integrate(tree, in.q, in.v, q); });
}
FW_INSTANTIATE_KERNEL(integrate);

template <class T>
unsigned KernelOf<T>::difference(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena, true);
  S* dv = arena.take<S>(tree.nv);
  return for_each_pack(job, begin, end, arena, in, dv, tree.nv, [&] { FW_ISA::difference(tree, in.q, in.x, dv); });
}
FW_INSTANTIATE_KERNEL(difference);

}  // namespace featherweight::FW_ISA
