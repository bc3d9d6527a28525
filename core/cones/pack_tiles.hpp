// cones/pack_tiles.hpp -- the matrix of a pack's points by tiles, every number that of all environments.
//   in    PackProblem: G, and the rows of a step
//   out   velocities g + G lambda; the solution of a step
#pragma once
#include "cones/pack_newton.hpp"
#include "cones/tile.hpp"

namespace featherweight::FW_ISA {

template <class S>
class PackTiles {
 public:
  explicit PackTiles(PackProblem<S>& problem) : problem_(problem), points_(problem.points), n_(problem.n) {}

  const S& diagonal(int i, int r) const { return problem_.G[i * n_ + i][4 * r]; }

  // sigma = g + G lambda
  void set_velocities() {
    for (int i = 0; i < n_; ++i) {
      S s[3] = {points_[i].g[0], points_[i].g[1], points_[i].g[2]};
      for (int j = 0; j < n_; ++j) {
        const S* const l = points_[j].lambda;
        with_block(i, j, [&](const auto& G) FW_LAMBDA_INLINE {
#pragma GCC unroll 3
          for (int r = 0; r < 3; ++r)
#pragma GCC unroll 3
            for (int c = 0; c < 3; ++c) s[r] = plus_product(s[r], G(r, c), l[c]);
        });
      }
      for (int r = 0; r < 3; ++r) points_[i].sigma[r] = s[r];
    }
  }

  // From the right-hand side in `step` of each point to the solution.
  void solve_step() {
    factorise();
    substitute();
  }

 private:
  using Tile = FW_ISA::Tile<S>;
  PackProblem<S>& problem_;
  PackPoint<S>* points_;
  int n_;

  FW_INLINE Tile& A(int i, int j) { return problem_.A[i * n_ + j]; }

  // f(G of row r of i and column c of j) by tiles, as they are or transposed.
  template <class F>
  FW_INLINE void with_block(int i, int j, const F& f) const {
    if (j <= i) {
      const S* const e = problem_.G[i * n_ + j];
      f([e](int r, int c) FW_LAMBDA_INLINE -> const S& { return e[3 * c + r]; });
    } else {
      const S* const e = problem_.G[j * n_ + i];
      f([e](int r, int c) FW_LAMBDA_INLINE -> const S& { return e[3 * r + c]; });
    }
  }

  // The matrix of a step, factorised as it is written.
  void factorise() {
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) {
        Tile t = written(i, j);
        for (int k = 0; k < (i < j ? i : j); ++k) subtract_product(A(i, k), A(k, j), t);
        S* const e = t.e;
#pragma GCC unroll 3
        for (int k = 0; k < 3; ++k) {
          if (i < j) divide_by_lower(A(i, i), e[k], e[3 + k], e[6 + k]);
          if (j < i) divide_by_upper(A(j, j), e[3 * k], e[3 * k + 1], e[3 * k + 2]);
        }
        if (i == j) FW_ISA::factorise(t);
        A(i, j) = t;
      }
  }
  FW_INLINE Tile written(int i, int j) const {
    const PackPoint<S>& p = points_[i];
    Tile t;
    with_block(i, j, [&](const auto& G) FW_LAMBDA_INLINE {
#pragma GCC unroll 3
      for (int c = 0; c < 3; ++c) {
        t.e[c] = plus_product(p.L00 * G(0, c), p.L01, G(1, c));
        t.e[3 + c] = plus_product(p.L01 * G(0, c), p.L11, G(1, c));
        t.e[6 + c] = p.Ln * G(2, c);
      }
    });
    if (i != j) return t;
    t.e[0] = t.e[0] + p.K00, t.e[1] = t.e[1] + p.K01, t.e[2] = t.e[2] + p.K02;
    t.e[3] = t.e[3] + p.K01, t.e[4] = t.e[4] + p.K11, t.e[5] = t.e[5] + p.K12;
    t.e[8] = t.e[8] + p.Kn;
    return t;
  }

  void substitute() {
    for (int i = 0; i < n_; ++i) {
      S* const x = points_[i].step;
      for (int k = 0; k < i; ++k) subtract_product(A(i, k), points_[k].step, x);
      divide_by_lower(A(i, i), x[0], x[1], x[2]);
    }
    for (int i = n_ - 1; i >= 0; --i) {
      S* const x = points_[i].step;
      for (int k = n_ - 1; k > i; --k) subtract_product(A(i, k), points_[k].step, x);
      solve_upper(A(i, i), x);
    }
  }
};

}  // namespace featherweight::FW_ISA
