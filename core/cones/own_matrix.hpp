// cones/own_matrix.hpp -- the matrix of one environment's points, with the rows of a column on lanes.
//   in    OwnProblem: G, and the rows of a step
//   out   velocities g + G lambda; the solution of a step
//
// A single environment fills lanes with what it has: several rows of a column are one register. Elimination takes three
// columns at a time, those of a point. Every number is the result of the same operations in the same order as in the
// tiles of a pack (pack_tiles.hpp), so that the bits are the same. Oracle: those.
#pragma once
#include "cones/pack_newton.hpp"
#include "cones/tile.hpp"

namespace featherweight::FW_ISA {

class OwnMatrix {
 public:
  explicit OwnMatrix(OwnProblem& problem)
      : problem_(problem), points_(problem.points), n_(problem.n), m_(problem.registers()) {}

  double diagonal(int i, int r) const { return problem_.coupling(3 * i + r, 3 * i + r); }

  // sigma = g + G lambda
  void set_velocities() {
    Column s;
    for (int i = 0; i < n_; ++i)
      for (int r = 0; r < 3; ++r) s.set(3 * i + r, points_[i].g[r]);
    for (int v = 0; v < m_; ++v) {  // each sum stays in a register: by way of memory it takes twice as long
      L sum = s.x[v];
      const L* G = problem_.G + v;
      for (int j = 0; j < n_; ++j)
        for (int c = 0; c < 3; ++c, G += m_) sum = plus_product(sum, *G, L(points_[j].lambda[c]));
      s.x[v] = sum;
    }
    for (int i = 0; i < n_; ++i)
      for (int r = 0; r < 3; ++r) points_[i].sigma[r] = s[3 * i + r];
  }

  // From the right-hand side in `step` of each point to the solution.
  void solve_step() {
    write();
    factorise();
    substitute();
  }

 private:
  using L = Native<double>;
  using Tile = FW_ISA::Tile<double>;
  static constexpr int W = width_of<L>;
  using Loose = OwnProblem::Loose;
  struct Column {
    L x[most_own_registers];
    FW_INLINE double operator[](int row) const { return reinterpret_cast<const Loose*>(x)[row]; }
    FW_INLINE void set(int row, double value) { reinterpret_cast<Loose*>(x)[row] = value; }
  };

  OwnProblem& problem_;
  PackPoint<double>* points_;
  int n_, m_;                     // points; registers of a column
  Tile tiles_[most_pack_points];  // of the diagonal, factorised

  FW_INLINE Loose& A(int row, int column) { return reinterpret_cast<Loose*>(problem_.A + column * m_)[row]; }

  void write() {
    Column scale;
    for (int i = 0; i < n_; ++i) {
      const PackPoint<double>& p = points_[i];
      scale.set(3 * i, p.L00), scale.set(3 * i + 1, p.L11), scale.set(3 * i + 2, p.Ln);
    }
    for (int c = 0; c < 3 * n_; ++c)
      for (int v = 0; v < m_; ++v) problem_.A[c * m_ + v] = scale.x[v] * problem_.G[c * m_ + v];
    for (int i = 0; i < n_; ++i) {
      const PackPoint<double>& p = points_[i];
      const int a = 3 * i, b = a + 1, z = a + 2;
      for (int c = 0; c < 3 * n_ && p.L01 != 0; ++c) {
        const double x = problem_.coupling(a, c), y = problem_.coupling(b, c);
        A(a, c) = plus_product(p.L00 * x, p.L01, y), A(b, c) = plus_product(p.L01 * x, p.L11, y);
      }
      A(a, a) += p.K00, A(a, b) += p.K01, A(a, z) += p.K02;
      A(b, a) += p.K01, A(b, b) += p.K11, A(b, z) += p.K12;
      A(z, z) += p.Kn;
    }
  }

  // Columns of the lower triangle in place of those of the matrix, and rows of the upper one above them.
  void factorise() {
    for (int k = 0; k < n_; ++k) {
      const int p = 3 * k, first = p / W;
      Tile& own = tiles_[k];
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) own.e[3 * r + c] = A(p + r, p + c);
      FW_ISA::factorise(own);
      L below[3][most_own_registers];
      for (int v = first; v < m_; ++v) take_columns(own, p, v, below);
      for (int j = p + 3; j < 3 * n_; ++j) {
        double u[3] = {A(p, j), A(p + 1, j), A(p + 2, j)};
        divide_by_lower(own, u[0], u[1], u[2]);
        const L x(u[0]), y(u[1]), z(u[2]);
        L* const column = problem_.A + j * m_;
        for (int v = first; v < m_; ++v)
          column[v] =
              minus_product(minus_product(minus_product(column[v], below[0][v], x), below[1][v], y), below[2][v], z);
      }
    }
  }
  // One register of the three columns from p on, divided by the tile on their diagonal below that; above it is zero.
  FW_INLINE void take_columns(const Tile& own, int p, int v, L (*below)[most_own_registers]) {
    L *const a = problem_.A + p * m_ + v, *const b = a + m_, *const c = b + m_;
    const L row = L(v * W) + lane_numbers();
    L x = *a, y = *b, z = *c;
    divide_by_upper(own, x, y, z);
    below[0][v] = select(row > L(p), x, L(0));
    below[1][v] = select(row > L(p + 1), y, L(0));
    below[2][v] = select(row > L(p + 2), z, L(0));
    *a = select(row > L(p), x, *a), *b = select(row > L(p + 1), y, *b), *c = select(row > L(p + 2), z, *c);
  }
  static FW_INLINE L lane_numbers() {
    L x(0);
    for (int lane = 0; lane < W; ++lane) ScalarTraits<L>::set(x, lane, lane);
    return x;
  }

  void substitute() {
    Column x;
    for (int i = 0; i < n_; ++i)
      for (int r = 0; r < 3; ++r) x.set(3 * i + r, points_[i].step[r]);
    for (int i = 0; i < n_; ++i) {
      double* const own = points_[i].step;
      for (int r = 0; r < 3; ++r) own[r] = x[3 * i + r];
      divide_by_lower(tiles_[i], own[0], own[1], own[2]);
      subtract(3 * i, own, 3 * i / W, m_, x);
    }
    for (int i = 0; i < n_; ++i)
      for (int r = 0; r < 3; ++r) x.set(3 * i + r, points_[i].step[r]);
    for (int i = n_ - 1; i >= 0; --i) {
      double* const own = points_[i].step;
      for (int r = 0; r < 3; ++r) own[r] = x[3 * i + r];
      solve_upper(tiles_[i], own);
      subtract(3 * i, own, 0, (3 * i + W - 1) / W, x);
    }
  }
  // Three columns times what was found for them, from the registers [first, end) of what is left. Rows that are done
  // are read no more.
  FW_INLINE void subtract(int p, const double* own, int first, int end, Column& x) const {
    const L *const a = problem_.A + p * m_, *const b = a + m_, *const c = b + m_;
    const L o0(own[0]), o1(own[1]), o2(own[2]);
    for (int v = first; v < end; ++v)
      x.x[v] = minus_product(minus_product(minus_product(x.x[v], a[v], o0), b[v], o1), c[v], o2);
  }
};

}  // namespace featherweight::FW_ISA
