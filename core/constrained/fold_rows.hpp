// constrained/fold_rows.hpp -- more than six rows on one link become six.
//
// Six orthogonal reflections, a QR factorisation of K, leave combinations of the rows of which only the first six see
// the link accelerate. The others are equations between forces alone; these forces are eliminated by their pivots in L,
// none of which is smaller than what every row starts with. No row is preferred: nothing here depends on values but the
// sign of a reflection.
#pragma once
#include "constrained/row_stack.hpp"
#include "lanes/square_root.hpp"

namespace featherweight::FW_ISA {

template <class S>
class Fold {
 public:
  int n_before, n;  // rows of the link before others joined them, and then

  // Lanes where all that joined had gone stay as they are; where that is so in every lane, nothing is done.
  // weakest: the smallest pivot, if smaller than it was.
  [[gnu::noinline]] void fold(RowStack<S>& block, int n_before_joining, S& weakest) {
    n_before = n_before_joining;
    n = block.n;
    block.n = most_rows;
    S joined(0);
    for (int r = n_before; r < n; ++r) joined = larger(joined, block.alive[r]);
    is_used_ = any(joined, joined > S(0.5));
    if (!is_used_) return;
    close_ranks(block);
    for (int j = 0; j < most_rows; ++j) reflect(block, j, joined);
    for (int r = n_used_ - 1; r >= most_rows; --r) remove(block, r, weakest);
    for (int r = 0; r < most_rows; ++r) block.alive[r] = larger(block.alive[r], joined);
  }

  // The same for increments of the targets, n of which become six.
  [[gnu::noinline]] void fold_again(S* targets) {
    if (!is_used_) return;
    for (int r = most_rows; r < n_used_; ++r) targets[r] = targets[place_[r - most_rows]];
    for (int j = 0; j < most_rows; ++j) reflect(j, targets);
    for (int r = n_used_ - 1; r >= most_rows; --r) {
      const S k = k_[r - most_rows] = targets[r], *L = L_[r - most_rows];
      for (int s = 0; s < r; ++s) targets[s] = targets[s] - L[s] * k;
    }
  }
  // Six forces become n.
  [[gnu::noinline]] void unfold(S* forces) const {
    for (int r = most_rows; r < n; ++r) forces[r] = S(0);
    if (!is_used_) return;
    for (int r = most_rows; r < n_used_; ++r) {
      const S* L = L_[r - most_rows];
      S f = k_[r - most_rows] * inverse_[r - most_rows];
      for (int s = 0; s < r; ++s) f = f - L[s] * forces[s];
      forces[r] = f;
    }
    for (int j = most_rows - 1; j >= 0; --j) reflect(j, forces);
    for (int r = n_used_ - 1; r >= most_rows; --r) {
      const S f = forces[r];
      forces[r] = S(0);
      forces[place_[r - most_rows]] = f;
    }
  }

 private:
  // Surplus rows that are alive in no lane are left out, which changes nothing for the others.
  FW_INLINE void close_ranks(RowStack<S>& block) {
    n_used_ = most_rows;
    for (int r = most_rows; r < n; ++r) {
      if (!block.is_alive(r)) continue;
      block.rows[n_used_] = block.rows[r];
      for (int s = 0; s <= n_used_; ++s)
        block.L[triangle(n_used_, s)] = block.L[triangle(r, s == n_used_    ? r
                                                            : s < most_rows ? s
                                                                            : place_[s - most_rows])];
      place_[n_used_++ - most_rows] = r;
    }
  }
  // 1 - beta v v^T gathers in row j what column j has below it; beta = 0 where that is nothing.
  FW_INLINE void reflect(RowStack<S>& block, int j, const S& joined) {
    using T = ElementOf<S>;
    S* v = v_[j];
    S below(0);
    for (int r = 0; r < n_used_; ++r) v[r] = r < j ? S(0) : block.numbers(r)[j];
    for (int r = j + 1; r < n_used_; ++r) below = below + v[r] * v[r];
    const S x = v[j], length = square_root(S(x * x + below)), away = select(x < S(0), -length, length);
    const auto is_on = below * joined > S(T(1e-200));
    const S beta = beta_[j] = select(is_on, S(1) / (length * (length + abs(x))), S(0));
    v[j] = x + away;

    block.numbers(j)[j] = select(is_on, -away, x);
    for (int r = j + 1; r < n_used_; ++r) block.numbers(r)[j] = select(is_on, S(0), v[r]);
    for (int c = j + 1; c < 7; ++c) {  // the columns right of it, and k
      S sum(0);
      for (int r = j; r < n_used_; ++r) sum = sum + v[r] * block.numbers(r)[c];
      sum = sum * beta;
      for (int r = j; r < n_used_; ++r) block.numbers(r)[c] = block.numbers(r)[c] - v[r] * sum;
    }
    // L from both sides: L - v z^T - z v^T with z = y - beta/2 (v . y) v, y = beta L v
    S z[most_unfolded], product(0);
    for (int r = 0; r < n_used_; ++r) {
      S sum(0);
      for (int s = j; s < n_used_; ++s) sum = sum + block.coupling(r, s) * v[s];
      z[r] = sum * beta;
      product = product + z[r] * v[r];
    }
    product = product * beta * S(T(0.5));
    for (int r = j; r < n_used_; ++r) z[r] = z[r] - product * v[r];
    for (int r = j; r < n_used_; ++r)
      for (int s = 0; s <= r; ++s) block.L[triangle(r, s)] = block.L[triangle(r, s)] - v[r] * z[s] - z[r] * v[s];
  }
  FW_INLINE void reflect(int j, S* x) const {
    const S* v = v_[j];
    S sum(0);
    for (int r = j; r < n_used_; ++r) sum = sum + v[r] * x[r];
    sum = sum * beta_[j];
    for (int r = j; r < n_used_; ++r) x[r] = x[r] - v[r] * sum;
  }
  // Of row r is left L_rr f_r + sum_s L_rs f_s = k_r.
  FW_INLINE void remove(RowStack<S>& block, int r, S& weakest) {
    const S pivot = block.L[triangle(r, r)], inverse = S(1) / pivot, k = block.rows[r].k;
    weakest = select(pivot < weakest, pivot, weakest);
    S* L = L_[r - most_rows];
    inverse_[r - most_rows] = inverse;
    k_[r - most_rows] = k;
    for (int s = 0; s < r; ++s) {
      const S coupling = block.L[triangle(r, s)];
      L[s] = coupling * inverse;
      block.rows[s].k = block.rows[s].k - L[s] * k;
      for (int t = 0; t <= s; ++t) block.L[triangle(s, t)] = block.L[triangle(s, t)] - coupling * L[t];
    }
  }

  bool is_used_;
  int n_used_, place_[most_unfolded - most_rows];    // rows alive in some lane, and where those beyond six came from
  S v_[most_rows][most_unfolded], beta_[most_rows];  // the reflections
  // the surplus rows when they went, L over the pivot
  S L_[most_unfolded - most_rows][most_unfolded], k_[most_unfolded - most_rows], inverse_[most_unfolded - most_rows];
};

}  // namespace featherweight::FW_ISA
