// dynamics/aba_diff.hpp -- derivatives of forward dynamics: d a / d q, d a / d v, and d a / d tau = H^-1.
//   H a + h = tau says that d a / d q = -H^-1 d tau / d q, with the derivative of inverse dynamics at that a, and so
//   for v. O(n d) for what is solved for, O(n d) for each of 3 n columns; half of the symmetric H^-1 is mirrored.
//   Source: J. Carpentier, N. Mansard, "Analytical derivatives of rigid body dynamics algorithms", 2018.
//   Oracle: finite differences of aba; minverse; Pinocchio.
#pragma once
#include "dynamics/aba.hpp"
#include "dynamics/rnea_diff.hpp"
#include "dynamics/sample_solve.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct AbaDiffWorkspace {
  using T = ElementOf<S>;
  AbaWorkspace<S> aba;
  RneaDiffWorkspace<S> rnea;
  DofPlan plan;
  S *tau, *H, *x;
  T* L;                     // of a single sample
  SampleMatrix<S> columns;  // by q, v and tau

  template <class C>
  AbaDiffWorkspace(const Tree<C>& tree, Arena& arena)
      : aba(tree, arena),
        rnea(tree, arena),
        plan(tree, arena),
        tau(arena.take<S>(tree.nv)),
        H(arena.take<S>(tree.row[tree.nv])),
        x(arena.take<S>(static_cast<std::size_t>(tree.nv) * widest_panel)),
        L(arena.take<T>(tree.row[tree.nv])),
        columns(tree.nv, 3 * tree.nv, arena) {}
};

// From the derivatives of inverse dynamics, dq and dv, to those of forward dynamics, which take their place, and H^-1:
// nv x nv each, all entries written. factor: L.
template <class S, class C>
void solve_columns(const Tree<C>& tree, const DofPlan& plan, const S* factor, S* x, S* dq, S* dv, S* inverse) {
  const std::ptrdiff_t n = tree.nv;
  const auto clear_other_trees = [&](const Panel& panel, S* out) {
    for (std::ptrdiff_t k = 0; k < n; ++k)
      if (k < panel.tree || k >= panel.tree_end)
        for (int c = panel.first; c < panel.end; ++c) out[k * n + c] = S(0);
  };
  plan.for_each_panel(tree, widest_panel / 2, [&](const Panel& panel) {
    const int count = panel.end - panel.first;
    with_width(2 * count, [&]<int W>() FW_LAMBDA_INLINE {
      solve_panel<W>(
          tree, plan, panel, panel.tree_end, factor, x,
          [&](int k, S* row) FW_LAMBDA_INLINE {
            for (int c = 0; c < count; ++c) {
              row[c] = S(0) - dq[k * n + panel.first + c];
              row[count + c] = S(0) - dv[k * n + panel.first + c];
            }
          },
          [&](int k, const S* row) FW_LAMBDA_INLINE {
            for (int c = 0; c < count; ++c) {
              dq[k * n + panel.first + c] = row[c];
              dv[k * n + panel.first + c] = row[count + c];
            }
          });
    });
    clear_other_trees(panel, dq);
    clear_other_trees(panel, dv);
  });
  plan.for_each_panel(tree, widest_panel, [&](Panel panel) {
    panel.last = panel.end - 1;
    with_width(panel.end - panel.first, [&]<int W>() FW_LAMBDA_INLINE {
      solve_panel<W>(
          tree, plan, panel, panel.end, factor, x,
          [&](int k, S* row) FW_LAMBDA_INLINE {
            if (k >= panel.first) row[k - panel.first] = S(1);
          },
          [&](int k, const S* row) FW_LAMBDA_INLINE {
            for (int c = k < panel.first ? panel.first : k; c < panel.end; ++c)
              inverse[k * n + c] = inverse[c * n + k] = row[c - panel.first];
          });
    });
    clear_other_trees(panel, inverse);
  });
}

// Of a pack of samples: a: nv; dq, dv, inverse: nv x nv each, zero where no entry is ever written.
template <class S, class C>
void aba_diff(const Tree<C>& tree, const S* q, const S* v, const S* tau, const Force<S>* f_ext, AbaDiffWorkspace<S>& w,
              S* a, S* dq, S* dv, S* inverse) {
  aba(tree, q, v, tau, f_ext, w.aba, a);
  rnea_diff(tree, minus_gravity<S>(tree), q, v, a, f_ext, w.rnea, w.tau, RneaMatrices<S>{dq, dv, w.H, tree.nv});
  factorise_ltl(tree, w.H);
  solve_columns(tree, w.plan, w.H, w.x, dq, dv, inverse);
}
// Of a single sample, which all lanes have. w.tau: a scratch.
template <class S, class C, class T>
void aba_diff(const Tree<C>& tree, const S* q, const S* v, const S* tau, const Force<S>* f_ext, AbaDiffWorkspace<S>& w,
              S* a, T* a_out, T* dq, T* dv, T* inverse) {
  const std::ptrdiff_t n = tree.nv;
  const SampleMatrix<S>& x = w.columns;
  aba(tree, q, v, tau, f_ext, w.aba, a);
  x.clear(n);
  rnea_diff(tree, minus_gravity<S>(tree), q, v, a, f_ext, w.rnea, w.tau,
            RneaMatrices<T>{x.data, x.data + n, w.L, x.stride});
  factorise_ltl(tree, w.L);
  for (std::ptrdiff_t k = 0; k < n; ++k) x.row(k)[2 * n + k] = T(1);
  solve_inward(tree, w.plan, w.L, x);
  solve_outward(tree, w.L, x);
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    a_out[k] = ScalarTraits<S>::get(a[k], 0);
    write_negative_row<S>(x.row(k), n, dq + k * n);
    write_negative_row<S>(x.row(k) + n, n, dv + k * n);
    write_symmetric_row<S>(x.row(k) + 2 * n, k, n, inverse);
  }
}

}  // namespace featherweight::FW_ISA
