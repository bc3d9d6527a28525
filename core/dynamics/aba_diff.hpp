// dynamics/aba_diff.hpp -- derivatives of forward dynamics: d a / d q, d a / d v, and d a / d tau = H^-1.
//   H a + h = tau says that d a / d q = -H^-1 d tau / d q, with the derivative of inverse dynamics at that a, and so
//   for v. O(n d) for what is solved for, O(n d) for each of 3 n columns; half of the symmetric H^-1 is mirrored.
//   Source: J. Carpentier, N. Mansard, "Analytical derivatives of rigid body dynamics algorithms", 2018.
//   Oracle: finite differences of aba; minverse; Pinocchio.
#pragma once
#include "dynamics/aba.hpp"
#include "dynamics/column_solve.hpp"
#include "dynamics/rnea_diff.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct AbaDiffWorkspace {
  AbaWorkspace<S> aba;
  RneaDiffWorkspace<S> rnea;
  DofPlan plan;
  S *tau, *H, *x;

  template <class C>
  AbaDiffWorkspace(const Tree<C>& tree, Arena& arena)
      : aba(tree, arena),
        rnea(tree, arena),
        plan(tree, arena),
        tau(arena.take<S>(tree.nv)),
        H(arena.take<S>(tree.row[tree.nv])),
        x(arena.take<S>(static_cast<std::size_t>(tree.nv) * widest_panel)) {}
};

// The accelerations, the derivatives of inverse dynamics there, nv x nv, and in w.H the factor of H.
template <class S, class C>
void linearise(const Tree<C>& tree, const S* q, const S* v, const S* tau, const Force<S>* f_ext, AbaDiffWorkspace<S>& w,
               S* a, S* dq, S* dv) {
  aba(tree, q, v, tau, f_ext, w.aba, a);
  rnea_diff(tree, q, v, a, f_ext, w.rnea, w.tau, dq, dv, w.H);
  factorise_ltl(tree, w.H);
}

// From the derivatives of inverse dynamics, dq and dv, to those of forward dynamics, which may take their place, and
// H^-1: nv x nv each, all entries written. `columns` says how they are computed, factor is L of its numbers.
template <class Columns, class S, class N, class C>
void solve_columns(const Tree<C>& tree, const Columns& columns, const DofPlan& plan, const N* factor, S* x, const S* dq,
                   const S* dv, N* dq_out, N* dv_out, N* inverse) {
  constexpr int per_register = Columns::per_register;
  const std::ptrdiff_t n = tree.nv;
  const auto n_registers = [](int n_columns) { return (n_columns + per_register - 1) / per_register; };
  const auto clear_other_trees = [&](const Panel& panel, N* out) {
    for (std::ptrdiff_t k = 0; k < n; ++k)
      if (k < panel.tree || k >= panel.tree_end)
        for (int c = panel.first; c < panel.end; ++c) out[k * n + c] = N(0);
  };
  plan.for_each_panel(tree, widest_panel * per_register / 2, [&](const Panel& panel) {
    const int count = panel.end - panel.first;
    with_width(n_registers(2 * count), [&]<int W>() FW_LAMBDA_INLINE {
      solve_panel<W>(
          tree, plan, panel, panel.tree_end, factor, x,
          [&](int k, S* row) FW_LAMBDA_INLINE {
            for (int c = 0; c < count; ++c) {
              Columns::set(row, c, -columns.of(dq[k * n + panel.first + c]));
              Columns::set(row, count + c, -columns.of(dv[k * n + panel.first + c]));
            }
          },
          [&](int k, const S* row) FW_LAMBDA_INLINE {
            for (int c = 0; c < count; ++c) {
              dq_out[k * n + panel.first + c] = Columns::get(row, c);
              dv_out[k * n + panel.first + c] = Columns::get(row, count + c);
            }
          });
    });
    clear_other_trees(panel, dq_out);
    clear_other_trees(panel, dv_out);
  });
  plan.for_each_panel(tree, widest_panel * per_register, [&](Panel panel) {
    panel.last = panel.end - 1;
    with_width(n_registers(panel.end - panel.first), [&]<int W>() FW_LAMBDA_INLINE {
      solve_panel<W>(
          tree, plan, panel, panel.end, factor, x,
          [&](int k, S* row) FW_LAMBDA_INLINE {
            if (k >= panel.first) Columns::set(row, k - panel.first, N(1));
          },
          [&](int k, const S* row) FW_LAMBDA_INLINE {
            for (int c = k < panel.first ? panel.first : k; c < panel.end; ++c)
              inverse[k * n + c] = inverse[c * n + k] = Columns::get(row, c - panel.first);
          });
    });
    clear_other_trees(panel, inverse);
  });
}

}  // namespace featherweight::FW_ISA
