#include "dynamics/momentum_diff.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

// Result: d c / d q, 3 x nv.
template <class T>
unsigned KernelOf<T>::center_of_mass_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                                 Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const int n = tree.nv;
  S* const out = arena.take<S>(3 * n);
  MomentumDiffWorkspace<S> w(tree, arena);
  return for_each_pack(job, begin, end, arena, in, out, 3 * n, [&] {
    momentum_diff(tree, in.q, in.v, w);
    for (int k = 0; k < n; ++k)
      for (int r = 0; r < 3; ++r) out[r * n + k] = w.by_v[k].lin[r] * (T(1) / tree.mass);
  });
}
FW_INSTANTIATE_KERNEL(center_of_mass_derivatives);

// Result: d h / d q and d h / d v, 6 x nv each.
template <class T>
unsigned KernelOf<T>::centroidal_momentum_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                                      Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const int n = tree.nv;
  S* const out = arena.take<S>(12 * n);
  MomentumDiffWorkspace<S> w(tree, arena);
  return for_each_pack(job, begin, end, arena, in, out, 12 * n, [&] {
    momentum_diff(tree, in.q, in.v, w);
    for (int k = 0; k < n; ++k)
      for (int r = 0; r < 3; ++r) {
        out[r * n + k] = w.by_q[k].lin[r];
        out[(3 + r) * n + k] = w.by_q[k].ang[r];
        out[(6 + r) * n + k] = w.by_v[k].lin[r];
        out[(9 + r) * n + k] = w.by_v[k].ang[r];
      }
  });
}
FW_INSTANTIATE_KERNEL(centroidal_momentum_derivatives);

}  // namespace featherweight::FW_ISA
