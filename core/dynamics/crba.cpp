#include "dynamics/crba.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

// A row of the full matrix from packed rows: inboard of its degree of freedom and outboard of it. Others stay as they
// are.
template <class S, class T>
FW_INLINE void fill_row(const Tree<T>& tree, const S* packed, int row, S* full) {
  const S* entry = packed + tree.row[row];
  for (int k = row; k >= 0; k = tree.dof_parent[k]) full[k] = *entry++;
  const int depth = tree.row[row + 1] - tree.row[row];
  for (int k = row + 1; k < tree.nv && tree.dof_parent[k] >= row; ++k)  // what is outboard follows
    full[k] = packed[tree.row[k + 1] - depth];                          // rows end at the root
}

template <class T>
unsigned KernelOf<T>::crba(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const int n = tree.nv, most_entries = 4096;  // of the full matrix at once: what the cache holds
  const int most = n * n <= most_entries ? n : most_entries / n + 1;
  S* const H = arena.take<S>(tree.row[n]);
  S* const full = arena.take<S>(static_cast<std::size_t>(most) * n);
  CrbaWorkspace<S> w(tree, arena);
  const auto clear = [&] {
    for (int k = 0; k < most * n; ++k) full[k] = S(0);
  };
  if (arena.fits()) clear();
  return for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    if (job.packed) {
      S* const packs = reinterpret_cast<S*>(job.out);
      FW_ISA::crba(tree, in.q, w, packs + pack.first / width_of<S> * static_cast<std::size_t>(tree.row[n]));
      return;
    }
    FW_ISA::crba(tree, in.q, w, H);
    for (int first = 0; first < n; first += most) {
      if (most < n) clear();  // else the same entries are written in every pack
      const int rows = n - first < most ? n - first : most;
      for (int r = 0; r < rows; ++r) fill_row(tree, H, first + r, full + r * n);
      store(full, rows * n, pack, job.out + static_cast<std::ptrdiff_t>(first) * n, job.out_stride);
    }
  });
}
FW_INSTANTIATE_KERNEL(crba);

}  // namespace featherweight::FW_ISA
