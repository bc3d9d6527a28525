#include "dynamics/rnea_diff.hpp"

#include "runtime/kernels.hpp"
#include "runtime/sample_io.hpp"

namespace featherweight::FW_ISA {

// Result: tau, then d tau / d q, d tau / d v and d tau / d a, nv x nv each.
template <class T>
unsigned KernelOf<T>::rnea_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const std::ptrdiff_t n = tree.nv, n_out = n * (1 + 3 * n);
  S* const tau = arena.take<S>(static_cast<std::size_t>(n_out));
  S *const dq = tau + n, *const dv = dq + n * n, *const da = dv + n * n;
  S* const H = arena.take<S>(static_cast<std::size_t>(tree.row[n]));
  T* const H_of_one = arena.take<T>(static_cast<std::size_t>(tree.row[n]));
  RneaDiffWorkspace<S> w(tree, arena);
  const Motion<S> world = minus_gravity<S>(tree);
  bool are_cleared = false;
  return for_each_pack_or_sample(
      begin, end, arena, in,
      [&](const Pack& pack) {
        for (std::ptrdiff_t k = 0; k < n_out && !are_cleared; ++k) tau[k] = S(0);
        are_cleared = true;
        FW_ISA::rnea_diff(tree, world, in.q, in.v, in.x, in.f_ext, w, tau, RneaMatrices<S>{dq, dv, H, n});
        spread_symmetric(tree, H, da);
        store(tau, static_cast<int>(n_out), pack, job.out, job.out_stride);
      },
      [&](auto sample) {
        T* const out = job.out + job.out_stride * static_cast<std::ptrdiff_t>(sample);
        for (std::ptrdiff_t k = n; k < n_out; ++k) out[k] = T(0);
        const RneaMatrices<T> matrices{out + n, out + n + n * n, H_of_one, n};
        FW_ISA::rnea_diff(tree, world, in.q, in.v, in.x, in.f_ext, w, tau, matrices);
        for (std::ptrdiff_t k = 0; k < n; ++k) out[k] = ScalarTraits<S>::get(tau[k], 0);
        spread_symmetric(tree, H_of_one, out + n + 2 * n * n);
      });
}
FW_INSTANTIATE_KERNEL(rnea_derivatives);

}  // namespace featherweight::FW_ISA
