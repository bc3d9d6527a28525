// constrained/row_inverse.hpp -- the inverse of G = J H^-1 J^T + R as a matrix, on lanes; where rows depend on each
// other the pseudo-inverse, so that derivatives stay finite: of the forces of least norm, of accelerations by least
// squares.
//
// Dependent rows leave pivots of rounding in G = F D F^T. Then, with e a small part of the largest diagonal entry and
// E = e (G + e)^-1, which is one along what no force moves and next to zero elsewhere, the pseudo-inverse is
//   (1 - E^3) (G + e)^-1 (1 + E + E^2) (1 - E^3):
// proximal steps, cut off on both sides. Oracle: numpy.linalg.pinv.
#pragma once
#include "linalg/packed_ldl.hpp"

namespace featherweight::FW_ISA {

template <class S>
class RowInverse {
 public:
  explicit RowInverse(int m, Arena& arena)
      : factor_(m, arena),
        matrix_(take(m, arena)),
        E_(take(m, arena)),
        product_(take(m, arena)),
        cut_(take(m, arena)),
        rows_(arena.take<S>(m)) {}

  // G: lower triangle by rows. P: m x m. of_one: all lanes have the same G.
  void invert(int m, const S* G, S* P, bool of_one) {
    of_one_ = of_one;
    using T = ElementOf<S>;
    S largest(0);
    for (int k = 0; k < m; ++k) largest = select(G[triangle(k, k)] > largest, G[triangle(k, k)], largest);
    factor_.factorise(m, G, S(0));
    invert_factor(m, P);
    S independent(1);  // pivots that are not rounding; those after a zero are not even numbers
    for (int k = 0; k < m; ++k) {
      const S part = factor_.inverse_pivot(k) * largest;
      const S small = select(part < S(T(dependent)), S(1), S(0));
      independent = independent * select(part > S(0), small, S(0));
    }
    if (any(independent, independent < S(T(0.5)))) invert_dependent(m, G, largest, independent, P);
  }

 private:
  static S* take(int m, Arena& arena) {
    return arena.take<S>(static_cast<std::size_t>(m) * static_cast<std::size_t>(m));
  }
  void invert_factor(int m, S* P) {
    if (of_one_) return invert_factor_of_one(m, P);
    for (int r = 0; r < m; ++r) {
      S* const row = P + static_cast<std::ptrdiff_t>(r) * m;
      for (int k = 0; k < m; ++k) row[k] = S(k == r ? 1 : 0);
      factor_.solve(row);
    }
  }
  // All lanes have the same factor: each solves for another row.
  void invert_factor_of_one(int m, S* P) {
    constexpr int width = width_of<S>;
    for (int first = 0; first < m; first += width) {
      for (int k = 0; k < m; ++k) {
        rows_[k] = S(0);
        if (first <= k && k < first + width) ScalarTraits<S>::set(rows_[k], k - first, 1);
      }
      factor_.solve(rows_);
      for (int r = first; r < first + width && r < m; ++r)
        for (int k = 0; k < m; ++k)
          P[static_cast<std::ptrdiff_t>(r) * m + k] = S(ScalarTraits<S>::get(rows_[k], r - first));
    }
  }
  // C = A B
  static void multiply(int m, const S* A, const S* B, S* C) {
    for (std::ptrdiff_t r = 0; r < m; ++r)
      for (std::ptrdiff_t c = 0; c < m; ++c) {
        S sum(0);
        for (std::ptrdiff_t k = 0; k < m; ++k) sum = sum + A[r * m + k] * B[k * m + c];
        C[r * m + c] = sum;
      }
  }
  [[gnu::noinline]] void invert_dependent(int m, const S* G, const S& largest, const S& independent, S* P) {
    using T = ElementOf<S>;
    const std::ptrdiff_t n = m, size = n * n;
    const S e = largest * S(T(relative_e)) + S(T(smallest));
    factor_.factorise(m, G, e);
    invert_factor(m, matrix_);
    for (std::ptrdiff_t k = 0; k < size; ++k) E_[k] = matrix_[k] * e;
    // product = 1 + E + E^2, then matrix = (G + e)^-1 of it, and E^3 in the place of E
    multiply(m, E_, E_, product_);
    multiply(m, product_, E_, cut_);
    for (std::ptrdiff_t k = 0; k < size; ++k) product_[k] = product_[k] + E_[k] + S(k % (n + 1) == 0 ? 1 : 0);
    multiply(m, matrix_, product_, E_);  // the proximal inverse
    for (std::ptrdiff_t k = 0; k < size; ++k) cut_[k] = S(k % (n + 1) == 0 ? 1 : 0) - cut_[k];
    multiply(m, cut_, E_, product_);
    multiply(m, product_, cut_, matrix_);
    const auto keeps = independent > S(T(0.5));
    for (std::ptrdiff_t k = 0; k < size; ++k) P[k] = select(keeps, P[k], matrix_[k]);
  }

  static constexpr double dependent = 1e10;  // largest diagonal entry over a pivot: more is rounding
  static constexpr double relative_e = 1e-8, smallest = 1e-30;

  DenseLdl<S> factor_;
  S *matrix_, *E_, *product_, *cut_, *rows_;
  bool of_one_ = false;
};

}  // namespace featherweight::FW_ISA
