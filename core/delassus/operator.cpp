#include "articulated/limb_operator.hpp"

#include "delassus/dense_operator.hpp"

namespace featherweight::FW_ISA {
namespace {

// The part of the factors that belongs to a pack.
template <class T>
Memory factors_of(const Job<T>& job, const Pack& pack) {
  const std::size_t index = pack.first / width_of<Native<T>>;
  return {static_cast<char*>(job.factors) + index * job.factor_bytes, job.factor_bytes, 0};
}

// Right-hand sides come and go as n_rows x n_sides numbers per sample; f(operator, one side, its result).
template <class Operator, class T, class F>
unsigned for_each_side(const Tree<T>& tree, const Job<T>& job, std::size_t begin, std::size_t end, Memory& memory,
                       F&& f) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  const int m = constraints.n_rows, n = m * job.n_sides;
  const bool single = single_ends(constraints);
  Arena arena(memory);
  S *sides = arena.take<S>(n), *side = arena.take<S>(m), *result = arena.take<S>(m);
  if (!arena.fits()) return fault::memory;
  Watch<S> watch;
  for (std::size_t first = begin; first < end; first += width_of<S>) {
    const std::size_t left = end - first;
    const Pack pack{first, left < width_of<S> ? static_cast<int>(left) : width_of<S>};
    Memory factors = factors_of(job, pack);
    Arena of_pack(factors);
    Operator delassus(tree, constraints, of_pack);
    load(job.targets, pack, n, sides, watch);
    for (int k = 0; k < job.n_sides; ++k) {
      const auto place = [&](int r) { return (single ? constraints.ends[r].row : r) * job.n_sides + k; };
      for (int r = 0; r < m; ++r) side[r] = sides[place(r)];
      f(delassus, side, result);
      for (int r = 0; r < m; ++r) sides[place(r)] = result[r];
    }
    store(sides, n, pack, job.out, job.out_stride);
  }
  return watch.finite() ? 0 : fault::targets;
}

// By the operator that suits the rows.
template <class T, class F>
unsigned for_each_side(const Tree<T>& tree, const Job<T>& job, std::size_t begin, std::size_t end, Memory& memory,
                       F&& f) {
  using S = Native<T>;
  return single_ends(*job.constraints) ? for_each_side<DelassusOperator<S>>(tree, job, begin, end, memory, f)
                                       : for_each_side<DenseDelassusOperator<S>>(tree, job, begin, end, memory, f);
}

}  // namespace

template <class T>
std::size_t KernelOf<T>::operator_bytes(const Tree<T>& tree, const ConstraintRows<T>& constraints) {
  using S = Native<T>;
  Arena measure;
  if (single_ends(constraints))
    DelassusOperator<S>(tree, constraints, measure);
  else
    DenseDelassusOperator<S>(tree, constraints, measure);
  return measure.used();
}

template <class T>
unsigned KernelOf<T>::operator_factorise(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                         Memory& memory) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  DelassusInputs<T> rows(tree, job, arena);
  S *loaded = arena.take<S>(constraints.n_rows), *damping = arena.take<S>(constraints.n_rows);
  RowMatrix<PvOsim<S>, S> matrix(tree, constraints, arena);
  Watch<S> watch;
  const unsigned faults = for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    const DelassusProblem<S, T> problem = rows.problem(tree, in.q, pack);
    load_damping(job, pack, rows.active, loaded, damping, watch);
    Memory factors = factors_of(job, pack);
    Arena of_pack(factors);
    if (single_ends(constraints))
      DelassusOperator<S>(tree, constraints, of_pack).factorise(problem.q, problem.K, rows.active, damping);
    else
      DenseDelassusOperator<S>(tree, constraints, of_pack).factorise(problem, matrix, rows.active, damping);
  });
  return faults & fault::memory ? faults : faults | (watch.finite() ? 0 : fault::targets);
}

template <class T>
unsigned KernelOf<T>::operator_apply(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return for_each_side(tree, job, begin, end, memory,
                       [](auto& delassus, const auto* x, auto* Ax) { delassus.apply(x, Ax); });
}

template <class T>
unsigned KernelOf<T>::operator_solve(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return for_each_side(tree, job, begin, end, memory,
                       [](auto& delassus, const auto* b, auto* x) { delassus.solve(b, x); });
}

template std::size_t KernelOf<double>::operator_bytes(const Tree<double>&, const ConstraintRows<double>&);
FW_INSTANTIATE_DOUBLE_KERNEL(operator_factorise);
FW_INSTANTIATE_DOUBLE_KERNEL(operator_apply);
FW_INSTANTIATE_DOUBLE_KERNEL(operator_solve);

}  // namespace featherweight::FW_ISA
