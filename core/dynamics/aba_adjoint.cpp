#include "dynamics/aba_adjoint.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

// Result: the products by q, by v and by tau, nv each.
template <class T>
unsigned KernelOf<T>::aba_vjp(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const int n = tree.nv;
  S* const products = arena.take<S>(3 * n);
  AbaAdjointWorkspace<S> w(tree, arena);
  return for_each_pack(job, begin, end, arena, in, products, 3 * n, [&] {
    FW_ISA::aba_adjoint(tree, in.q, in.v, in.x, in.f_ext, in.w, w, products, products + n, products + 2 * n);
  });
}
FW_INSTANTIATE_KERNEL(aba_vjp);

}  // namespace featherweight::FW_ISA
