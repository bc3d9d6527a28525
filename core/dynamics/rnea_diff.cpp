#include "dynamics/rnea_diff.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

// Result: tau, then d tau / d q, d tau / d v and d tau / d a, nv x nv each.
template <class T>
unsigned KernelOf<T>::rnea_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const int n = tree.nv, n_out = n * (1 + 3 * n);
  S* const tau = arena.take<S>(n_out);
  S *const dq = tau + n, *const dv = dq + n * n, *const da = dv + n * n;
  S* const H = arena.take<S>(tree.row[n]);
  RneaDiffWorkspace<S> w(tree, arena);
  if (arena.fits())
    for (int k = 0; k < n_out; ++k) tau[k] = S(0);
  return for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    FW_ISA::rnea_diff(tree, in.q, in.v, in.x, in.f_ext, w, tau, dq, dv, H);
    spread_symmetric(tree, H, da);
    if (pack.count > 1) return store(tau, n_out, pack, job.out, job.out_stride);
    T* const out = job.out + job.out_stride * static_cast<std::ptrdiff_t>(pack.first);
    for (int k = 0; k < n_out; ++k) out[k] = static_cast<T>(ScalarTraits<S>::get(tau[k], 0));
  });
}
FW_INSTANTIATE_KERNEL(rnea_derivatives);

}  // namespace featherweight::FW_ISA
