#include "dynamics/aba_diff.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

// Result: a, then d a / d q, d a / d v and d a / d tau, nv x nv each. A pack that is not half full is solved sample by
// sample, with columns on lanes.
template <class T>
unsigned KernelOf<T>::aba_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const std::ptrdiff_t n = tree.nv, n_out = n * (1 + 3 * n);
  S* const a = arena.take<S>(static_cast<std::size_t>(n_out));
  S *const dq = a + n, *const dv = dq + n * n, *const dtau = dv + n * n;
  AbaDiffWorkspace<S> w(tree, arena);
  T* const factor = arena.take<T>(static_cast<std::size_t>(tree.row[n]));
  if (arena.fits()) {
    for (std::ptrdiff_t k = 0; k < n_out; ++k) a[k] = S(0);
    w.plan.fill(tree);
  }
  return for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    linearise(tree, in.q, in.v, in.x, in.f_ext, w, a, dq, dv);
    if (2 * pack.count > width_of<S>) {
      solve_columns(tree, ColumnsOfPack<S>{}, w.plan, w.H, w.x, dq, dv, dq, dv, dtau);
      store(a, static_cast<int>(n_out), pack, job.out, job.out_stride);
    } else if constexpr (width_of<S> > 1) {
      for (int lane = 0; lane < pack.count; ++lane) {
        const ColumnsOnLanes<S> columns{lane};
        columns.copy(w.H, static_cast<std::size_t>(tree.row[n]), factor);
        T* const out = job.out + job.out_stride * static_cast<std::ptrdiff_t>(pack.first + lane);
        columns.copy(a, static_cast<std::size_t>(n), out);
        solve_columns(tree, columns, w.plan, factor, w.x, dq, dv, out + n, out + n + n * n, out + n + 2 * n * n);
      }
    }
  });
}
FW_INSTANTIATE_KERNEL(aba_derivatives);

}  // namespace featherweight::FW_ISA
