// constrained/direct.hpp -- L f = r for independent rows.
//   A vanishing pivot means redundant or singular rows: `converged` is then 0.
#pragma once
#include "constrained/method.hpp"
#include "linalg/packed_ldl.hpp"

namespace featherweight::FW_ISA {

template <class S>
class DirectSystem {
 public:
  // For systems of at most m rows.
  DirectSystem(int m, Arena& arena) : factor_(m, arena), missed_(arena.take<S>(m)) {}

  // L: lower triangle by rows, m x m. The report goes into the answer.
  void solve(int m, const S* L, const S* r, S* f, ConstrainedAnswer<S>& answer) {
    using T = ElementOf<S>;
    factor_.factorise(m, L, S(0));
    for (int k = 0; k < m; ++k) f[k] = r[k];
    factor_.solve(f);

    symmetric_times(m, L, f, missed_);
    S largest(0);
    for (int k = 0; k < m; ++k) largest = larger(largest, L[triangle(k, k)]);
    for (int k = 0; k < m; ++k) {
      const S pivot = S(1) / factor_.inverse_pivot(k);
      answer.converged = select(pivot > largest * S(T(1e-13)), answer.converged, S(0));
      answer.residual = larger(answer.residual, abs(r[k] - missed_[k]));
    }
  }

 private:
  DenseLdl<S> factor_;
  S* missed_;
};

}  // namespace featherweight::FW_ISA
