#include "dynamics/crba.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

// Spreads packed rows over full symmetric matrices.
template <class S, class T>
FW_INLINE void store_symmetric(const Tree<T>& tree, const S* packed, const Pack& pack, T* out, std::ptrdiff_t stride) {
  const std::ptrdiff_t n = tree.nv;
  for (int lane = 0; lane < pack.count; ++lane) {
    T* H = out + stride * static_cast<std::ptrdiff_t>(pack.first + lane);
    for (std::ptrdiff_t k = 0; k < n * n; ++k) H[k] = T(0);
    for (int row = 0; row < n; ++row) {
      const S* entry = packed + tree.row[row];
      for (int column = row; column >= 0; column = tree.dof_parent[column], ++entry)
        H[row * n + column] = H[column * n + row] = static_cast<T>(ScalarTraits<S>::get(*entry, lane));
    }
  }
}

template <class T>
unsigned KernelOf<T>::crba(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S* const H = arena.take<S>(tree.row[tree.nv]);
  CrbaWorkspace<S> w(tree, arena);
  return for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    if (job.packed) {
      S* const packs = reinterpret_cast<S*>(job.out);
      FW_ISA::crba(tree, in.q, w, packs + pack.first / width_of<S> * static_cast<std::size_t>(tree.row[tree.nv]));
    } else {
      FW_ISA::crba(tree, in.q, w, H);
      store_symmetric(tree, H, pack, job.out, job.out_stride);
    }
  });
}
FW_INSTANTIATE_KERNEL(crba);

}  // namespace featherweight::FW_ISA
