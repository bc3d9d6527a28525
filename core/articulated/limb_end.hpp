// articulated/limb_end.hpp -- solving for the forces of a block of rows where no further joint moves them.
//
// The forces maximise V(a, f) (articulated/row_steps.hpp): L f = k - K a, which leaves the inertia K^T L^-1 K and the
// bias force -K^T L^-1 k on the link. With L = F D F^T the rows are replaced by F^-1 K and F^-1 k; no pivoting.
#pragma once
#include "articulated/row_steps.hpp"

namespace featherweight::FW_ISA {

template <int N, class S>
FW_INLINE void factorise(Fixed<N>, S* L) {
  reinterpret_cast<Ldl<N, S>*>(L)->factorise();
}
template <class S>
FW_INLINE void factorise(int n, S* L) {
  factorise_packed(n, L, S(0), L);
}

// L is left as F with the inverses of D on its diagonal.
template <class N, class S>
[[gnu::noinline]] void reduce_rows(N n, Row<S>* rows, S* L) {
  factorise(n, L);
  for_each_row(n, [&](int r) FW_LAMBDA_INLINE {
    Row<S> row = rows[r];
#pragma GCC unroll 6
    for (int s = 0; s < r; ++s) {
      const S x = L[triangle(r, s)];
      row.K.lin = row.K.lin - rows[s].K.lin * x;
      row.K.ang = row.K.ang - rows[s].K.ang * x;
      row.k = row.k - rows[s].k * x;
    }
    rows[r] = row;
  });
}

// Reduced rows turn into inertia, and their targets into a bias force. Block by block, as a whole inertia does not fit
// in the registers.
template <class N, class S>
[[gnu::noinline]] void add_reduced_rows(N n, const Row<S>* rows, const S* L, ArticulatedInertia<S>& I) {
  Sym3<S> A = I.A;
  for_each_row(n,
               [&](int r) FW_LAMBDA_INLINE { A = minus_outer(A, rows[r].K.lin, rows[r].K.lin * -L[triangle(r, r)]); });
  I.A = A;
  Mat3<S> B = I.B;
  for_each_row(n,
               [&](int r) FW_LAMBDA_INLINE { B = minus_outer(B, rows[r].K.lin, rows[r].K.ang * -L[triangle(r, r)]); });
  I.B = B;
  Sym3<S> C = I.C;
  for_each_row(n,
               [&](int r) FW_LAMBDA_INLINE { C = minus_outer(C, rows[r].K.ang, rows[r].K.ang * -L[triangle(r, r)]); });
  I.C = C;
}

template <class N, class S>
FW_INLINE void add_reduced_targets(N n, const Row<S>* rows, const S* L, Force<S>& bias) {
  Force<S> p = bias;
  for_each_row(n, [&](int r) FW_LAMBDA_INLINE {
    const S x = rows[r].k * L[triangle(r, r)];
    p.lin = p.lin - rows[r].K.lin * x;
    p.ang = p.ang - rows[r].K.ang * x;
  });
  bias = p;
}

// f = L^-1 (k - K a), from reduced rows.
template <class N, class S>
[[gnu::noinline]] void forces_of_reduced_rows(N n, const Row<S>* rows, const S* L, const Motion<S>& a, S* f) {
  for_each_row(n, [&](int r) FW_LAMBDA_INLINE { f[r] = (rows[r].k - rows[r].K * a) * L[triangle(r, r)]; });
  for_each_row(n, [&](int back) FW_LAMBDA_INLINE {
    const int r = n - 1 - back;
#pragma GCC unroll 6
    for (int s = 0; s < r; ++s) f[s] = f[s] - L[triangle(r, s)] * f[r];
  });
}

// The lower triangle of a group in which others join: theirs, and zero between them.
template <class S>
inline void join_triangles(const LimbPlan& plan, const LinkGroups& at, S* all_L) {
  const RowGroup& group = plan.groups[at.group];
  S* const L = all_L + group.L;
  for (std::size_t k = 0; k < triangle(group.end - group.begin, 0); ++k) L[k] = S(0);
  for (int k = at.joins; k < at.last; ++k) {
    const RowGroup& joining = plan.groups[plan.arrivals[k]];
    const S* from = all_L + joining.L;
    const int first = joining.begin - group.begin;
    for (int r = 0; r < joining.end - joining.begin; ++r)
      for (int s = 0; s <= r; ++s) L[triangle(first + r, first + s)] = from[triangle(r, s)];
  }
}

}  // namespace featherweight::FW_ISA
