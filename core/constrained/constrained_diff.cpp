#include "constrained/constrained_diff.hpp"

#include "runtime/kernels.hpp"
#include "runtime/sample_io.hpp"

namespace featherweight::FW_ISA {

// Runs linearise(inputs of the job, rows, active, d, out) and solves for the columns. Result: matrices of nv x nv, then
// as many of n_rows x nv. `job.targets` are row_inputs numbers per row. add_identity: to the second of them.
template <class T, class Linearise>
unsigned for_each_linearisation(const Tree<T>& tree, const Job<T>& job, std::size_t begin, std::size_t end,
                                Memory& memory, int n_matrices, bool add_identity, const Linearise& linearise) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  const std::ptrdiff_t n = tree.nv, m = constraints.n_ends, size = n * n, rows = m * n;
  const std::size_t n_out = static_cast<std::size_t>(n_matrices * (size + rows));
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S* const loaded = arena.take<S>(static_cast<std::size_t>(row_inputs * m));
  RowInputs<S>* const inputs = arena.take<RowInputs<S>>(static_cast<std::size_t>(m));
  S* const mask = arena.take<S>(static_cast<std::size_t>(constraints.n_constraints));
  S* const active = arena.take<S>(static_cast<std::size_t>(m));
  ConstrainedDiff<S> d(tree, constraints, arena);
  // of packs
  S* const out = arena.take<S>(n_out);
  S* const by_state = arena.take<S>(static_cast<std::size_t>(2 * (size + rows)));
  S* const H = arena.take<S>(static_cast<std::size_t>(tree.row[n]));
  const ConstrainedLinearisation<S> of_pack{
      {by_state, by_state + size, H, n},
      {tree, constraints, by_state + 2 * size, by_state + 2 * size + rows, n, arena}};
  S* const x = arena.take<S>(static_cast<std::size_t>(n * widest_panel));
  S* const y = arena.take<S>(static_cast<std::size_t>(2 * m * widest_panel));
  // of single samples
  const SampleMatrix<S> columns(n, n_matrices * n, arena), missed(m, n_matrices * n, arena),
      forces(m, n_matrices * n, arena);
  T* const L = arena.take<T>(static_cast<std::size_t>(tree.row[n]));
  const ConstrainedLinearisation<T> of_sample{{columns.data, columns.data + n, L, columns.stride},
                                              {tree, constraints, missed.data, missed.data + n, missed.stride, arena}};
  if (arena.fits()) d.plan.fill(tree);
  Watch<S> watch;

  const auto jacobians = [&]<class N>(N* first) {
    N* const forces_first = first + n_matrices * size;
    ConstrainedJacobians<N> places{first, first + size, nullptr, forces_first, forces_first + rows, nullptr};
    if (n_matrices > 2) places.a_dtau = first + 2 * size, places.f_dtau = forces_first + 2 * rows;
    return places;
  };
  const auto add_to_diagonal = [&]<class N>(N* matrix) {
    for (std::ptrdiff_t k = 0; k < n && add_identity; ++k) matrix[k * (n + 1)] = matrix[k * (n + 1)] + N(1);
  };
  const auto load_rows = [&](const Pack& pack) {
    load(job.targets, pack, static_cast<int>(row_inputs * m), loaded, watch);
    if (job.active.data) load(job.active, pack, constraints.n_constraints, mask, watch);
    for (int r = 0; r < m; ++r) {
      const S* const given = loaded + row_inputs * constraints.ends[r].row;
      inputs[r] = {given[0], given[1], {{given[2], given[3], given[4]}, {given[5], given[6], given[7]}}};
      active[r] = job.active.data ? mask[constraints.ends[r].constraint] : S(1);
    }
  };
  bool are_cleared = false;
  const unsigned faults = for_each_pack_or_sample(
      begin, end, arena, in,
      [&](const Pack& pack) {
        for (std::ptrdiff_t k = 0; k < 2 * (size + rows) && !are_cleared; ++k) by_state[k] = S(0);
        are_cleared = true;
        load_rows(pack);
        linearise(in, inputs, active, d, of_pack);
        const auto places = jacobians(out);
        solve_constrained_columns(tree, constraints, d.plan, of_pack, x, y, y + m * widest_panel, places);
        add_to_diagonal(places.a_dv);
        store(out, static_cast<int>(n_out), pack, job.out, job.out_stride);
      },
      [&](auto sample) {
        load_rows({sample, 1});
        columns.clear(n), missed.clear(m);
        linearise(in, inputs, active, d, of_sample);
        for (std::ptrdiff_t k = 0; k < n && n_matrices > 2; ++k) columns.row(k)[2 * n + k] = T(1);
        const auto places = jacobians(job.out + job.out_stride * static_cast<std::ptrdiff_t>(sample));
        solve_constrained_columns(tree, constraints, d.plan, of_sample, columns, missed, forces, places);
        add_to_diagonal(places.a_dv);
      });
  return faults & fault::memory ? faults : faults | (watch.finite() ? 0 : fault::targets);
}

// d a / d q, d v, d tau; d f / d q, d v, d tau. x: the accelerations.
template <class T>
unsigned KernelOf<T>::constrained_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                              Memory& memory) {
  return for_each_linearisation(tree, job, begin, end, memory, 3, false,
                                [&](const auto& in, const auto* inputs, const auto* active, auto& d, const auto& out) {
                                  d.linearise(tree, *job.constraints, in.q, in.v, in.x, in.f_ext, inputs, active, out);
                                });
}
FW_INSTANTIATE_DOUBLE_KERNEL(constrained_derivatives);

// d v+ / d q, d v; d impulses / d q, d v. v: before, x: after the impact.
template <class T>
unsigned KernelOf<T>::impulse_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                          Memory& memory) {
  return for_each_linearisation(tree, job, begin, end, memory, 2, true,
                                [&](const auto& in, const auto* inputs, const auto* active, auto& d, const auto& out) {
                                  d.linearise_impact(tree, *job.constraints, in.q, in.v, in.x, inputs, active, out);
                                });
}
FW_INSTANTIATE_DOUBLE_KERNEL(impulse_derivatives);

}  // namespace featherweight::FW_ISA
