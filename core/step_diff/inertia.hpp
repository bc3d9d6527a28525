// step_diff/inertia.hpp -- H x = b for many columns, some degrees of freedom locked.
//
// A joint that friction or a limit holds has a given velocity: its row and column leave H, and what it does to others
// goes to the right-hand side. Nothing fills in, so the factor is that of dynamics/ltl_factor.hpp.
#pragma once
#include "dynamics/ltl_factor.hpp"
#include "step_diff/columns.hpp"

namespace featherweight::FW_ISA {

class FactorisedInertia {
 public:
  FactorisedInertia(const Tree<double>& tree, Arena& arena)
      : tree_(tree), own_(arena.take<double>(tree.row[tree.nv])), L_(own_) {}

  // H: packed; locked: of each degree of freedom, or null: none.
  void factorise(const double* H, const bool* locked) {
    for (int k = 0; k < tree_.row[tree_.nv]; ++k) own_[k] = H[k];
    for (int k = 0; locked && k < tree_.nv; ++k)
      for (int i = k, s = 0; i >= 0; i = tree_.dof_parent[i], ++s)
        if (locked[k] || locked[i]) own_[tree_.row[k] + s] = s == 0 ? 1 : 0;
    factorise_ltl(tree_, own_);
    L_ = own_;
  }
  // Factors that are there already, and stay.
  void use(const double* factors) { L_ = factors; }
  void solve(double* x) const {
    solve_inward(tree_, L_, x);
    solve_outward(tree_, L_, x);
  }
  void solve(const Matrix& x) const { solve(x, 0, x.packs()); }
  // Registers [begin, end) of its rows.
  void solve(const Matrix& x, int begin, int end) const {
    for_packs(end - begin, [&]<int P>(int p) FW_LAMBDA_INLINE { solve_packs<P>(x, begin + p); });
  }

 private:
  const Tree<double>& tree_;
  double* own_;
  const double* L_;

  template <int P>
  FW_INLINE void solve_packs(const Matrix& x, int p) const {
    for (int k = tree_.nv - 1; k >= 0; --k) {
      const double* row = L_ + tree_.row[k];
      Columns y[P];
#pragma GCC unroll 6
      for (int c = 0; c < P; ++c) y[c] = x.pack(k, p + c);
      for (int i = tree_.dof_parent[k]; i >= 0; i = tree_.dof_parent[i]) {
        const double l = *++row;
#pragma GCC unroll 6
        for (int c = 0; c < P; ++c) x.pack(i, p + c) -= y[c] * l;
      }
    }
    for (int k = 0; k < tree_.nv; ++k) {
      const double* row = L_ + tree_.row[k];
      Columns y[P];
#pragma GCC unroll 6
      for (int c = 0; c < P; ++c) y[c] = x.pack(k, p + c) * row[0];
      for (int i = tree_.dof_parent[k]; i >= 0; i = tree_.dof_parent[i]) {
        const double l = *++row;
#pragma GCC unroll 6
        for (int c = 0; c < P; ++c) y[c] -= x.pack(i, p + c) * l;
      }
#pragma GCC unroll 6
      for (int c = 0; c < P; ++c) x.pack(k, p + c) = y[c];
    }
  }
};

// y += s H x, H packed.
inline void add_inertia_product(const Tree<double>& tree, const double* H, double s, const Matrix& x, const Matrix& y) {
  for (int k = 0; k < tree.nv; ++k) {
    const double* row = H + tree.row[k];
    add_row(y, k, s * row[0], x, k);
    for (int i = tree.dof_parent[k]; i >= 0; i = tree.dof_parent[i]) {
      ++row;
      add_row(y, k, s * *row, x, i);
      add_row(y, i, s * *row, x, k);
    }
  }
}
// H as it is, nv x nv.
inline void unpack_inertia(const Tree<double>& tree, const double* H, const Matrix& full) {
  set_zero(full, tree.nv);
  for (int k = 0; k < tree.nv; ++k) {
    const double* row = H + tree.row[k];
    full(k, k) = row[0];
    for (int i = tree.dof_parent[k]; i >= 0; i = tree.dof_parent[i]) full(k, i) = full(i, k) = *++row;
  }
}

}  // namespace featherweight::FW_ISA
