// delassus/inverse.hpp -- inverses of damped Delassus matrices, (J H^-1 J^T + R)^-1: batch loop and plain method.
//
// A method is a class with a workspace taken from the arena and one function:
//   Method(tree, constraints, arena)
//   invert(problem, damping, inverse)   damping: of each row, inverse: lower triangle by rows, in compiled order, or
//                                       the user's where rows have several ends: only the plain method knows such rows
//                                       returns the largest inverse pivot times the mobility of its row
#pragma once
#include "delassus/exchange.hpp"
#include "delassus/method.hpp"

namespace featherweight::FW_ISA {

// All rows of M exchanged, one after the other: minus its inverse.
template <class S, class C>
[[gnu::noinline]] S exchange_all(const ConstraintRows<C>& constraints, S* M, S* c) {
  S weakest(0);
  for (int k = 0; k < constraints.n_ends; ++k) {
    if (!constraints.ends[k].leads) continue;
    const int r = row_of_end(constraints, k);
    weakest = larger(weakest, abs(exchange_row(constraints.n_rows, 0, r, S(1), M, static_cast<Row<S>*>(nullptr), c)) *
                                  constraints.ends[k].mobility);
  }
  return weakest;
}

// The matrix by any method, then dense: O(m^3) more. Best if rows are few, or depend on each other.
template <class Matrix, class S>
class DenseInverse {
 public:
  template <class C>
  DenseInverse(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : matrix_(tree, constraints, arena), column_(arena.take<S>(constraints.n_rows)) {}

  template <class C>
  S invert(const DelassusProblem<S, C>& problem, const S* damping, S* inverse) {
    const int m = problem.constraints.n_rows;
    matrix_.compute(problem, inverse);
    for (int r = 0; r < m; ++r) inverse[triangle(r, r)] = inverse[triangle(r, r)] + damping[r];
    const S weakest = exchange_all(problem.constraints, inverse, column_);
    for (std::size_t k = 0; k < triangle(m, 0); ++k) inverse[k] = -inverse[k];
    return weakest;
  }

 private:
  RowMatrix<Matrix, S> matrix_;
  S* column_;
};

template <class S>
FW_INLINE void spread_triangle(int m, const S* L, S* full) {
  for (int r = 0; r < m; ++r)
    for (int s = 0; s <= r; ++s) full[r * m + s] = full[s * m + r] = L[triangle(r, s)];
}

// Full matrices in the user's order of rows, zero for inactive ones, and after each the weakest pivot. packed: only the
// triangles in compiled order, lanes innermost.
template <class Method, class T>
unsigned inverse_batch(const Tree<T>& tree, const Job<T>& job, std::size_t begin, std::size_t end, Memory& memory) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  const int m = constraints.n_rows, n_full = m * m;
  const std::size_t n_packed = triangle(m, 0);
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  DelassusInputs<T> rows(tree, job, arena);
  S *loaded = arena.take<S>(m), *damping = arena.take<S>(m);
  S *inverse = arena.take<S>(n_packed), *full = arena.take<S>(static_cast<std::size_t>(n_full) + 1);
  Method method(tree, constraints, arena);
  Watch<S> watch;
  const unsigned faults = for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    S* const packs = reinterpret_cast<S*>(job.out);
    S* const result = job.packed ? packs + pack.first / width_of<S> * n_packed : inverse;
    const DelassusProblem<S, T> problem = rows.problem(tree, in.q, pack);
    load_damping(job, pack, rows.active, loaded, damping, watch);
    const S weakest = method.invert(problem, damping, result);
    for (int k = 0; k < constraints.n_ends; ++k) {
      S& own = result[triangle(row_of_end(constraints, k), row_of_end(constraints, k))];
      own = select(rows.active[k] > S(0), own, S(0));
    }
    if (job.packed) return;
    if (single_ends(constraints))
      add_up_ends(constraints, inverse, full);
    else
      spread_triangle(m, inverse, full);
    full[n_full] = weakest;
    store(full, n_full + 1, pack, job.out, job.out_stride);
  });
  return faults & fault::memory ? faults : faults | (watch.finite() ? 0 : fault::targets);
}

}  // namespace featherweight::FW_ISA
