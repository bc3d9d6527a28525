// dynamics/sample_solve.hpp -- H^-1 times the columns of a matrix of a single sample, which fill the lanes.
//   As dynamics/column_solve.hpp without its zeros: rows are read as they lie in memory, a few registers at a time, so
//   that nothing has to be gathered. O(n d) for each register.   Oracle: the bits of a batch.
//
// Rows of a column are combined in the order of panels, and adding nothing changes nothing, so that the bits are
// theirs.
#pragma once
#include "dynamics/column_solve.hpp"
#include "dynamics/columns_on_lanes.hpp"

namespace featherweight::FW_ISA {

// Rows of columns, in registers.
template <class S>
struct SampleMatrix {
  using Number = ElementOf<S>;
  Number* data;
  std::ptrdiff_t stride;  // a multiple of what a register holds

  SampleMatrix(std::ptrdiff_t n_rows, std::ptrdiff_t n_columns, Arena& arena)
      : stride((n_columns + width_of<S> - 1) / width_of<S> * width_of<S>) {
    data = arena.take<Number>(width_of<S> > 1 ? static_cast<std::size_t>(n_rows * stride) : 0);
  }
  FW_INLINE Number* row(std::ptrdiff_t k) const { return data + k * stride; }
  FW_INLINE int registers() const { return static_cast<int>(stride) / width_of<S>; }
  void clear(std::ptrdiff_t n_rows) const {
    for (std::ptrdiff_t k = 0; k < n_rows * stride; k += width_of<S>) store_lanes(S(0), data + k);
  }
  // Registers [p, p + W) of a row.
  template <int W>
  FW_INLINE void load(std::ptrdiff_t k, int p, S* x) const {
#pragma GCC unroll 8
    for (int c = 0; c < W; ++c) x[c] = load_lanes<S>(row(k) + (p + c) * width_of<S>);
  }
  template <int W>
  FW_INLINE void store(std::ptrdiff_t k, int p, const S* x) const {
#pragma GCC unroll 8
    for (int c = 0; c < W; ++c) store_lanes(x[c], row(k) + (p + c) * width_of<S>);
  }
  // x -= l times row k
  template <int W>
  FW_INLINE void subtract_from(S* x, const Number& l, std::ptrdiff_t k, int p) const {
#pragma GCC unroll 8
    for (int c = 0; c < W; ++c) x[c] = x[c] - S(l) * load_lanes<S>(row(k) + (p + c) * width_of<S>);
  }
};

// f.template operator()<W>(p): all of n registers, up to eight at a time and about as many each time, so that sums do
// not wait for each other.
template <class F>
FW_INLINE void for_registers(int n, const F& f) {
  for (int p = 0; p < n;) {
    const int left = n - p, times = (left + 7) / 8, W = (left + times - 1) / times;
    switch (W) {
      case 1: f.template operator()<1>(p); break;
      case 2: f.template operator()<2>(p); break;
      case 3: f.template operator()<3>(p); break;
      case 4: f.template operator()<4>(p); break;
      case 5: f.template operator()<5>(p); break;
      case 6: f.template operator()<6>(p); break;
      case 7: f.template operator()<7>(p); break;
      default: f.template operator()<8>(p);
    }
    p += W;
  }
}

// x <- L^-T x
template <class S, class C>
[[gnu::noinline]] void solve_inward(const Tree<C>& tree, const DofPlan& plan, const ElementOf<S>* L,
                                    const SampleMatrix<S>& x) {
  for_registers(x.registers(), [&]<int W>(int p) FW_LAMBDA_INLINE {
    for (int j = tree.nv - 1; j >= 0; --j) {
      if (plan.last[j] == j) continue;
      const ElementOf<S>* const entries = L - 1 - plan.depth[j];
      S sum[W];
      x.template load<W>(j, p, sum);
      for (int k = plan.last[j]; k > j; --k) x.template subtract_from<W>(sum, entries[tree.row[k + 1]], k, p);
      x.template store<W>(j, p, sum);
    }
  });
}
// x <- (D L)^-1 x
template <class S, class C>
[[gnu::noinline]] void solve_outward(const Tree<C>& tree, const ElementOf<S>* L, const SampleMatrix<S>& x) {
  for_registers(x.registers(), [&]<int W>(int p) FW_LAMBDA_INLINE {
    for (int k = 0; k < tree.nv; ++k) {
      const ElementOf<S>* row = L + tree.row[k];
      S sum[W];
      x.template load<W>(k, p, sum);
#pragma GCC unroll 8
      for (int c = 0; c < W; ++c) sum[c] = sum[c] * S(row[0]);
      for (int i = tree.dof_parent[k]; i >= 0; i = tree.dof_parent[i]) x.template subtract_from<W>(sum, *++row, i, p);
      x.template store<W>(k, p, sum);
    }
  });
}

// Rows of n numbers each, or of their negatives, without the sign of zeros.
template <class S>
FW_INLINE void write_row(const ElementOf<S>* from, std::ptrdiff_t n, ElementOf<S>* to) {
  for (std::ptrdiff_t k = 0; k < n; ++k) to[k] = from[k];
}
template <class S>
FW_INLINE void write_negative_row(const ElementOf<S>* from, std::ptrdiff_t n, ElementOf<S>* to) {
  std::ptrdiff_t k = 0;
  for (; k + width_of<S> <= n; k += width_of<S>) store_lanes(S(0) - load_lanes<S>(from + k), to + k);
  for (; k < n; ++k) to[k] = ElementOf<S>(0) - from[k];
}
// Of a symmetric matrix from its upper triangle.
template <class S>
FW_INLINE void write_symmetric_row(const ElementOf<S>* from, std::ptrdiff_t k, std::ptrdiff_t n, ElementOf<S>* to) {
  for (std::ptrdiff_t c = k; c < n; ++c) to[k * n + c] = to[c * n + k] = from[c];
}

}  // namespace featherweight::FW_ISA
