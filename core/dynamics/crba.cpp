#include "dynamics/crba.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::crba(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const int n = tree.nv;
  S* const H = arena.take<S>(tree.row[n]);
  S* const full = job.packed ? nullptr : arena.take<S>(n * n);
  CrbaWorkspace<S> w(tree, arena);
  if (full && arena.fits())  // entries between branches are never written
    for (int k = 0; k < n * n; ++k) full[k] = S(0);
  return for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    if (job.packed) {
      S* const packs = reinterpret_cast<S*>(job.out);
      FW_ISA::crba(tree, in.q, w, packs + pack.first / width_of<S> * static_cast<std::size_t>(tree.row[n]));
    } else {
      FW_ISA::crba(tree, in.q, w, H);
      spread_symmetric(tree, H, full);
      store(full, n * n, pack, job.out, job.out_stride);
    }
  });
}
FW_INSTANTIATE_KERNEL(crba);

}  // namespace featherweight::FW_ISA
