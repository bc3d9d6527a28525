// delassus/method.hpp -- what every Delassus algorithm is given, and its batch loop.
//   Delta = J H^-1 J^T: acceleration of each row per force along each.
//
// A method is a class with a workspace taken from the arena and one function:
//   Method(tree, constraints, arena)
//   compute(problem, delta)      delta: lower triangle by rows, of the ends in compiled order
#pragma once
#include "rows/add_up.hpp"
#include "rows/ends.hpp"
#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

template <class S, class C>
struct DelassusProblem {
  const Tree<C>& tree;
  const ConstraintRows<C>& constraints;
  const S* q;
  const Force<S>* K;  // of each end, rows/ends.hpp
};

// The problem of each pack: ends and, per end, whether it is active.
template <class T>
class DelassusInputs {
 public:
  using S = Native<T>;
  S* active;  // per end

  DelassusInputs(const Tree<T>& tree, const Job<T>& job, Arena& arena)
      : active(arena.take<S>(job.constraints->n_ends)),
        job_(job),
        constraints_(*job.constraints),
        mask_(arena.take<S>(constraints_.n_constraints)),
        ends_(tree, constraints_, arena),
        constant_(job.active.stride == 0 && !RowEnds<S>::depends_on_q(constraints_)) {}

  DelassusProblem<S, T> problem(const Tree<T>& tree, const S* q, const Pack& pack) {
    if (!constant_ || !set_) {
      if (job_.active.data) load(job_.active, pack, constraints_.n_constraints, mask_, watch_);
      for (int r = 0; r < constraints_.n_ends; ++r)
        active[r] = job_.active.data ? mask_[constraints_.ends[r].constraint] : S(1);
      ends_.set(tree, constraints_, q, active);
      set_ = true;
    }
    return {tree, constraints_, q, ends_.K};
  }

 private:
  const Job<T>& job_;
  const ConstraintRows<T>& constraints_;
  S* mask_;
  RowEnds<S> ends_;
  bool constant_, set_ = false;
  Watch<S> watch_;
};

// The matrix of rows of any kind, by a method that knows ends.
template <class Method, class S>
class RowMatrix {
 public:
  template <class C>
  RowMatrix(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : method_(tree, constraints, arena),
        of_ends_(arena.take<S>(single_ends(constraints) ? 0 : triangle(constraints.n_ends, 0))) {}

  template <class C>
  void compute(const DelassusProblem<S, C>& problem, S* delta) {
    const bool single = single_ends(problem.constraints);
    method_.compute(problem, single ? delta : of_ends_);
    if (!single) add_up_triangle(problem.constraints, of_ends_, delta);
  }

 private:
  Method method_;
  S* of_ends_;
};

// The damping of each row, given as targets. An inactive row is all zeros: with one on the diagonal it does not matter.
template <class S, class T>
FW_INLINE void load_damping(const Job<T>& job, const Pack& pack, const S* active, S* loaded, S* damping,
                            Watch<S>& watch) {
  const ConstraintRows<T>& constraints = *job.constraints;
  load(job.targets, pack, constraints.n_rows, loaded, watch);
  for (int k = 0; k < constraints.n_ends; ++k)
    damping[row_of_end(constraints, k)] = select(active[k] > S(0), loaded[constraints.ends[k].row], S(1));
}

// The full matrix of the user's rows from the triangle of the ends.
template <class S, class C>
FW_INLINE void add_up_ends(const ConstraintRows<C>& constraints, const S* delta, S* full) {
  const std::size_t m = static_cast<std::size_t>(constraints.n_rows);
  const auto place = [&](int r, int s) FW_LAMBDA_INLINE -> S& {
    return full[static_cast<std::size_t>(constraints.ends[r].row) * m + constraints.ends[s].row];
  };
  if (constraints.n_rows == constraints.n_ends) {
    for (int r = 0; r < constraints.n_ends; ++r)
      for (int s = 0; s <= r; ++s) place(r, s) = place(s, r) = delta[triangle(r, s)];
  } else {
    for (std::size_t k = 0; k < m * m; ++k) full[k] = S(0);
    for (int r = 0; r < constraints.n_ends; ++r)
      for (int s = 0; s <= r; ++s) {
        place(r, s) = place(r, s) + delta[triangle(r, s)];
        if (s != r) place(s, r) = place(s, r) + delta[triangle(r, s)];
      }
  }
}

// Full matrices in the user's order of rows; packed: triangles in compiled order, lanes innermost.
template <class Method, class T>
unsigned delassus_batch(const Tree<T>& tree, const Job<T>& job, std::size_t begin, std::size_t end, Memory& memory) {
  using S = Native<T>;
  const ConstraintRows<T>& constraints = *job.constraints;
  const std::size_t n_packed = triangle(constraints.n_ends, 0);
  const int n_full = constraints.n_rows * constraints.n_rows;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  DelassusInputs<T> rows(tree, job, arena);
  S *delta = arena.take<S>(n_packed), *full = arena.take<S>(static_cast<std::size_t>(n_full));
  Method method(tree, constraints, arena);
  return for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    S* const packs = reinterpret_cast<S*>(job.out);
    S* const result = job.packed ? packs + pack.first / width_of<S> * n_packed : delta;
    method.compute(rows.problem(tree, in.q, pack), result);
    if (job.packed) return;
    add_up_ends(constraints, delta, full);
    store(full, n_full, pack, job.out, job.out_stride);
  });
}

}  // namespace featherweight::FW_ISA
