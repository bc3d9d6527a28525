#include "dynamics/aba_diff.hpp"

#include "runtime/kernels.hpp"
#include "runtime/sample_io.hpp"

namespace featherweight::FW_ISA {

// Result: a, then d a / d q, d a / d v and d a / d tau, nv x nv each.
template <class T>
unsigned KernelOf<T>::aba_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const std::ptrdiff_t n = tree.nv, n_out = n * (1 + 3 * n);
  S* const a = arena.take<S>(static_cast<std::size_t>(n_out));
  S *const dq = a + n, *const dv = dq + n * n, *const dtau = dv + n * n;
  AbaDiffWorkspace<S> w(tree, arena);
  if (arena.fits()) w.plan.fill(tree);
  bool are_cleared = false;
  return for_each_pack_or_sample(
      begin, end, arena, in,
      [&](const Pack& pack) {
        for (std::ptrdiff_t k = 0; k < n_out && !are_cleared; ++k) a[k] = S(0);
        are_cleared = true;
        aba_diff(tree, in.q, in.v, in.x, in.f_ext, w, a, dq, dv, dtau);
        store(a, static_cast<int>(n_out), pack, job.out, job.out_stride);
      },
      [&](auto sample) {
        T* const out = job.out + job.out_stride * static_cast<std::ptrdiff_t>(sample);
        aba_diff(tree, in.q, in.v, in.x, in.f_ext, w, a, out, out + n, out + n + n * n, out + n + 2 * n * n);
      });
}
FW_INSTANTIATE_KERNEL(aba_derivatives);

}  // namespace featherweight::FW_ISA
