#include "constrained/constrained_diff.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

// Runs linearise(inputs of the job, rows, active, d) on every pack and solves for the columns. Result: matrices of nv x
// nv, then as many of n_rows x nv. `job.targets` are row_inputs numbers per row. add_identity: to the second of them.
template <class T, class Linearise>
unsigned for_each_linearisation(const Tree<T>& tree, const Job<T>& job, std::size_t begin, std::size_t end,
                                Memory& memory, int n_matrices, bool add_identity, const Linearise& linearise) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  const std::ptrdiff_t n = tree.nv, m = constraints.n_ends, size = n * n, rows = m * n;
  const std::size_t n_out = static_cast<std::size_t>(n_matrices * (size + rows));
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S* const out = arena.take<S>(n_out);
  S* const loaded = arena.take<S>(static_cast<std::size_t>(row_inputs * m));
  RowInputs<S>* const inputs = arena.take<RowInputs<S>>(static_cast<std::size_t>(m));
  S* const mask = arena.take<S>(static_cast<std::size_t>(constraints.n_constraints));
  S* const active = arena.take<S>(static_cast<std::size_t>(m));
  ConstrainedDiff<S> d(tree, constraints, arena);
  S* const x = arena.take<S>(static_cast<std::size_t>(n * widest_panel));
  S* const y = arena.take<S>(static_cast<std::size_t>(2 * m * widest_panel));
  const std::size_t n_factor = static_cast<std::size_t>(tree.row[n]),
                    n_path = static_cast<std::size_t>(constraints.n_entries), n_P = static_cast<std::size_t>(m * m);
  T* const numbers = arena.take<T>(n_factor + 2 * n_path + n_P);
  if (arena.fits()) d.start(tree, constraints);
  Watch<S> watch;

  const auto jacobians = [&]<class N>(N* first) {
    N* const forces = first + n_matrices * size;
    ConstrainedJacobians<N> places{first, first + size, nullptr, forces, forces + rows, nullptr};
    if (n_matrices > 2) places.a_dtau = first + 2 * size, places.f_dtau = forces + 2 * rows;
    return places;
  };
  const auto add_to_diagonal = [&]<class N>(N* matrix) {
    for (std::ptrdiff_t k = 0; k < n && add_identity; ++k) matrix[k * (n + 1)] = matrix[k * (n + 1)] + N(1);
  };
  const unsigned faults = for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    load(job.targets, pack, static_cast<int>(row_inputs * m), loaded, watch);
    if (job.active.data) load(job.active, pack, constraints.n_constraints, mask, watch);
    for (int r = 0; r < m; ++r) {
      const S* const given = loaded + row_inputs * constraints.ends[r].row;
      inputs[r] = {given[0], given[1], {{given[2], given[3], given[4]}, {given[5], given[6], given[7]}}};
      active[r] = job.active.data ? mask[constraints.ends[r].constraint] : S(1);
    }
    linearise(in, inputs, active, d);
    if (2 * pack.count > width_of<S>) {
      const auto places = jacobians(out);
      solve_constrained_columns(tree, constraints, ColumnsOfPack<S>{}, d.plan, d.factor(), d, x, y,
                                y + m * widest_panel, places);
      add_to_diagonal(places.a_dv);
      store(out, static_cast<int>(n_out), pack, job.out, job.out_stride);
    } else if constexpr (width_of<S> > 1) {
      for (int lane = 0; lane < pack.count; ++lane) {
        const ColumnsOnLanes<S> columns{lane};
        T* next = numbers;
        const auto copied = [&](const S* from, std::size_t count) {
          next += count;
          return columns.copy(from, count, next - count);
        };
        const T *const L = copied(d.H, n_factor), *const Z = copied(d.Z, n_path), *const ZD = copied(d.ZD, n_path);
        const ConstrainedFactor<T> factor{L, Z, ZD, copied(d.P, n_P)};
        const auto places = jacobians(job.out + job.out_stride * static_cast<std::ptrdiff_t>(pack.first + lane));
        solve_constrained_columns(tree, constraints, columns, d.plan, factor, d, x, y, y + m * widest_panel, places);
        add_to_diagonal(places.a_dv);
      }
    }
  });
  return faults & fault::memory ? faults : faults | (watch.finite() ? 0 : fault::targets);
}

// d a / d q, d v, d tau; d f / d q, d v, d tau. x: the accelerations.
template <class T>
unsigned KernelOf<T>::constrained_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                              Memory& memory) {
  return for_each_linearisation(tree, job, begin, end, memory, 3, false,
                                [&](const auto& in, const auto* inputs, const auto* active, auto& d) {
                                  d.linearise(tree, *job.constraints, in.q, in.v, in.x, in.f_ext, inputs, active);
                                });
}
FW_INSTANTIATE_DOUBLE_KERNEL(constrained_derivatives);

// d v+ / d q, d v; d impulses / d q, d v. v: before, x: after the impact.
template <class T>
unsigned KernelOf<T>::impulse_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                          Memory& memory) {
  return for_each_linearisation(tree, job, begin, end, memory, 2, true,
                                [&](const auto& in, const auto* inputs, const auto* active, auto& d) {
                                  d.linearise_impact(tree, *job.constraints, in.q, in.v, in.x, inputs, active);
                                });
}
FW_INSTANTIATE_DOUBLE_KERNEL(impulse_derivatives);

}  // namespace featherweight::FW_ISA
