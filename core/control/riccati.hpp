// control/riccati.hpp -- the Riccati recursion, with the velocities of the next node eliminated first.
//
// Columns are (u, y, z): controls, the states y whose rows are dense, and states z that follow, z' = E z + D y'.
// Without such states y is all of x. From the value 1/2 x'^T P x' of the next node, backwards:
//   in (y', z)     P' = T^T P T,  T = [1 0; D E]
//   factorise      rows of y' of P' = [U V]^T [U V], and what is left for z: P_z            partial_cholesky.hpp
//   in (u, y, z)   M = H + W^T W + P_z,  W = U F + V,  y' = F (u, y, z)
//   factorise      rows of u of M: they hold the gains, and what is left is P of this node.
// Half the operations of dense rows for all states, since coordinates cost nothing but T, which has a block for each
// joint. Factors instead of matrices keep P symmetric and positive. O(N n^3).
// Oracle: the KKT system, dense.
#pragma once
#include "control/box.hpp"
#include "control/linear_quadratic.hpp"
#include "linalg/partial_cholesky.hpp"
#include "memory/arena.hpp"

namespace featherweight::FW_ISA {

class Riccati {
 public:
  Riccati(const LinearQuadratic& problem, Arena& arena)
      : given_(problem),
        n_(problem.n_states),
        m_(problem.n_controls),
        follow_(problem.E ? n_ / 2 : 0),
        dense_(n_ - follow_),
        stride_(widened(m_ + n_) + wide),
        P_(take(arena, padded(n_))),
        Z_(take(arena, n_)),
        F_(take(arena, dense_)),
        W_(take(arena, dense_)),
        M_(take(arena, m_ + padded(n_))),
        slope_(arena.take<double>(stride_)),
        next_slope_(arena.take<double>(stride_)),
        turned_(arena.take<double>(stride_)),
        diagonal_e_(arena.take<double>(stride_)),
        diagonal_d_(arena.take<double>(stride_)),
        box_(problem.lower ? m_ : 0, arena) {}

  // See ControlKernels.
  int solve(const LinearQuadraticSolution& out) {
    start();
    for (int k = given_.n_nodes - 1; k >= 0; --k) {
      load_dynamics(k);
      carry_slope(k);
      if (follow_) carry_value(k);
      const double* const left = factorise_value();
      add_costs(k, left);
      if (!eliminate_controls(k, out)) return k;
    }
    store_value(out);
    roll_out(out);
    return -1;
  }

 private:
  const LinearQuadratic& given_;
  int n_, m_, follow_, dense_, stride_;
  double *P_, *Z_, *F_, *W_, *M_;
  double *slope_, *next_slope_, *turned_;  // p; p + P c, then in (y', z)
  double *diagonal_e_, *diagonal_d_;       // of E and D
  Box box_;

  double* take(Arena& arena, int rows) const {
    return arena.take<double>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(stride_));
  }
  FW_INLINE double* row(double* matrix, int i) const { return matrix + static_cast<std::ptrdiff_t>(i) * stride_; }
  // Of a state in the order (y, z), its place among the given ones, which are (z, y).
  FW_INLINE int given_place(int i) const { return i < dense_ ? i + follow_ : i - dense_; }
  FW_INLINE std::ptrdiff_t at(int k, int size) const { return static_cast<std::ptrdiff_t>(k) * size; }
  // Given arrays have no room behind their last number.
  static FW_INLINE void copy_exactly(int n, double factor, const double* from, double* to) {
    int i = 0;
    for (; i + 4 <= n; i += 4) four(to + i) = factor * four(from + i);
    for (; i < n; ++i) to[i] = factor * from[i];
  }
  // A row of n given states, in the order (y, z).
  FW_INLINE void copy_states(const double* from, double* to) const {
    copy_exactly(dense_, 1, from + follow_, to);
    copy_exactly(follow_, 1, from, to + dense_);
  }
  FW_INLINE void add_states(const double* from, double* to) const {
    for (int i = 0; i < dense_; ++i) to[i] += from[follow_ + i];
    for (int i = 0; i < follow_; ++i) to[dense_ + i] += from[i];
  }
  FW_INLINE void clear(double* x) const {
    for (int i = 0; i < stride_; i += wide) wide_at(x + i) = Wide{};
  }

  // A row of Q joins x, whose first number is that of state `from`.
  void add_state_costs(int k, int i, int from, double* x) const {
    const int place = given_place(i);
    if (given_.Q_is_diagonal) {
      x[i - from] += given_.Q[at(k, n_) + place];
      return;
    }
    const double* const given = given_.Q + (at(k, n_) + place) * n_;
    for (int j = from; j < n_; ++j) x[j - from] += given[given_place(j)];
  }

  // The value after the last node.
  void start() {
    const int N = given_.n_nodes;
    for (int i = 0; i < padded(n_); ++i) clear(row(P_, i)), clear(row(M_, m_ + i));
    for (int i = 0; i < n_; ++i) clear(row(Z_, i));
    for (int i = 0; i < dense_; ++i) clear(row(F_, i)), clear(row(W_, i));
    for (int i = 0; i < m_; ++i) clear(row(M_, i));
    clear(slope_), clear(next_slope_), clear(turned_), clear(diagonal_e_), clear(diagonal_d_);
    for (int i = 0; i < n_; ++i) add_state_costs(N, i, 0, row(P_, i));
    if (given_.q) copy_states(given_.q + at(N, n_), slope_);
  }

  void load_dynamics(int k) {
    for (int i = 0; i < dense_; ++i) {
      const std::ptrdiff_t given = at(k, n_) + follow_ + i;
      double* const to = row(F_, i);
      copy_exactly(m_, 1, given_.B + given * m_, to);
      copy_states(given_.A + given * n_, to + m_);
    }
  }

  // p + P c, in (y', z).
  void carry_slope(int k) {
    copy(stride_, slope_, next_slope_);
    if (given_.c) {
      copy_states(given_.c + at(k, n_), turned_);
      for (int i = 0; i < n_; ++i) {
        const double x = turned_[i];
        const double* const column = row(P_, i);
        for (int j = 0; j < n_; j += wide) wide_at(next_slope_ + j) += x * wide_at(column + j);
      }
    }
    copy(stride_, next_slope_, turned_);
    if (follow_) carry_back(k, next_slope_ + dense_, turned_);
  }
  // (y', z) = T^T (y, z): D^T z joins y, and z becomes E^T z.
  void carry_back(int k, const double* z, double* both) const {
    const double *E = given_.E + at(k, given_.E_stride), *D = given_.D + at(k, given_.E_stride);
    for (int b = 0; b < given_.n_blocks; ++b)
      for (int c = given_.blocks[b]; c < given_.blocks[b + 1]; ++c) {
        double from_d = 0, from_e = 0;
        for (int r = given_.blocks[b]; r < given_.blocks[b + 1]; ++r)
          from_d += z[r] * D[r * follow_ + c], from_e += z[r] * E[r * follow_ + c];
        both[c] += from_d;
        both[dense_ + c] = from_e;
      }
  }

  // Z = P T, then P = T^T Z. Joints with one degree of freedom are a number each, on lanes; the others are blocks.
  void carry_value(int k) {
    const double *E = given_.E + at(k, given_.E_stride), *D = given_.D + at(k, given_.E_stride);
    for (int i = 0; i < follow_; ++i) diagonal_e_[i] = E[i * follow_ + i], diagonal_d_[i] = D[i * follow_ + i];
    for (int i = 0; i < n_; ++i) {
      const double *y = row(P_, i), *z = y + dense_;
      double *to_y = row(Z_, i), *to_z = to_y + dense_;
      // what goes beyond the last y is overwritten, and beyond the last z there is room
      for (int j = (i < dense_ ? i : i - dense_) / wide * wide; j < follow_; j += wide)
        wide_at(to_y + j) = wide_at(y + j) + wide_at(z + j) * wide_at(diagonal_d_ + j);
      for (int j = 0; j < follow_; j += wide) wide_at(to_z + j) = wide_at(z + j) * wide_at(diagonal_e_ + j);
      for_large_blocks([&](int first, int end) {
        for (int c = first; c < end; ++c) {
          double from_d = y[c], from_e = 0;
          for (int r = first; r < end; ++r) from_d += z[r] * D[r * follow_ + c], from_e += z[r] * E[r * follow_ + c];
          to_y[c] = from_d, to_z[c] = from_e;
        }
      });
    }
    for (int i = 0; i < follow_; ++i) {
      const double *y = row(Z_, i), *z = row(Z_, dense_ + i);
      double *to_y = row(P_, i), *to_z = row(P_, dense_ + i);
      const double d = diagonal_d_[i], e = diagonal_e_[i];
      for (int j = i / wide * wide; j < n_; j += wide) wide_at(to_y + j) = wide_at(y + j) + d * wide_at(z + j);
      for (int j = (dense_ + i) / wide * wide; j < n_; j += wide) wide_at(to_z + j) = e * wide_at(z + j);
    }
    for_large_blocks([&](int first, int end) {
      for (int i = first; i < end; ++i) {
        double *to_y = row(P_, i), *to_z = row(P_, dense_ + i);
        for (int j = i / wide * wide; j < n_; j += wide) {
          Wide sum_y = wide_at(row(Z_, i) + j), sum_z{};
          for (int r = first; r < end; ++r) {
            const Wide z = wide_at(row(Z_, dense_ + r) + j);
            sum_y += D[r * follow_ + i] * z, sum_z += E[r * follow_ + i] * z;
          }
          wide_at(to_y + j) = sum_y, wide_at(to_z + j) = sum_z;
        }
      }
    });
  }
  template <class Use>
  FW_INLINE void for_large_blocks(const Use& use) const {
    for (int b = 0; b < given_.n_blocks; ++b)
      if (given_.blocks[b + 1] - given_.blocks[b] > 1) use(given_.blocks[b], given_.blocks[b + 1]);
  }

  // [U V] in the rows of y', and W = U F + V. Returns what is left for z.
  const double* factorise_value() {
    double largest = 0;
    for (int i = 0; i < n_; ++i) largest = max_of(largest, row(P_, i)[i]);
    constexpr double rounding = 1e-15;
    partial_cholesky(dense_, n_, rounding * largest, P_, stride_);
    for (int i = 0; i < dense_; i += tile_rows) {
      const int rows = dense_ - i < tile_rows ? dense_ - i : tile_rows;
      multiply<Product::set>(rows, dense_ - i, m_ + n_, {row(P_, i) + i, stride_, 1}, row(F_, i), stride_, row(W_, i),
                             stride_);
    }
    for (int i = 0; i < dense_; ++i)
      for (int j = 0; j < follow_; ++j) row(W_, i)[m_ + dense_ + j] += row(P_, i)[dense_ + j];
    return row(P_, dense_) + dense_;
  }

  // M and its slope.
  void add_costs(int k, const double* left) {
    multiply<Product::set>(m_ + n_, dense_, m_ + n_, {W_, 1, stride_}, W_, stride_, M_, stride_, true);
    for (int i = 0; i < m_; ++i) {
      double* const to = row(M_, i);
      to[i] += given_.regularisation;
      if (given_.R_is_diagonal)
        to[i] += given_.R[at(k, m_) + i];
      else
        for (int j = i; j < m_; ++j) to[j] += given_.R[(at(k, m_) + i) * m_ + j];
      if (given_.S) add_states(given_.S + (at(k, m_) + i) * n_, to + m_);
    }
    for (int i = 0; i < n_; ++i) add_state_costs(k, i, i, row(M_, m_ + i) + m_ + i);
    for (int i = 0; i < follow_; ++i) {
      double* const to = row(M_, m_ + dense_ + i) + m_ + dense_;
      for (int j = i; j < follow_; ++j) to[j] += left[at(i, stride_) + j];
    }
    for (int i = 0; i < m_; ++i) slope_[i] = given_.r ? given_.r[at(k, m_) + i] : 0;
    for (int i = 0; i < n_; ++i) slope_[m_ + i] = given_.q ? given_.q[at(k, n_) + given_place(i)] : 0;
    for (int i = 0; i < dense_; ++i) {
      const double x = turned_[i];
      for (int j = 0; j < m_ + n_; j += wide) wide_at(slope_ + j) += x * wide_at(row(F_, i) + j);
    }
    for (int i = 0; i < follow_; ++i) slope_[m_ + dense_ + i] += turned_[dense_ + i];
  }

  // Gains of this node, and its value. False if some control is free, or its cost negative.
  bool eliminate_controls(int k, const LinearQuadraticSolution& out) {
    if (given_.lower && !hold_controls(k)) return false;
    if (partial_cholesky(m_, m_ + n_, 0, M_, stride_) > 0) return false;
    for (int i = 0; i < m_; ++i) {
      const double* const u = row(M_, i);
      const double x = slope_[i] / u[i];
      for (int j = i + 1; j < m_ + n_; j += wide) wide_at(slope_ + j) -= x * wide_at(u + j);
      slope_[i] = x;
    }
    divide_gains();
    for (int i = m_ - 1; i >= 0; --i) {
      double x = slope_[i];
      for (int l = i + 1; l < m_; ++l) x -= row(M_, i)[l] * slope_[l];
      slope_[i] = x / row(M_, i)[i];
    }
    for (int i = 0; i < m_; ++i) {
      double* const gain = out.gain + at(k, m_ * n_) + at(i, n_);
      const double* const own = row(M_, i) + m_;
      copy_exactly(dense_, -1, own, gain + follow_);
      copy_exactly(follow_, -1, own + dense_, gain);
      out.feedforward[at(k, m_) + i] = given_.lower && box_.is_held(i) ? box_.x(i) : -slope_[i];
    }
    keep_value();
    for (int i = 0; i < n_; ++i) slope_[i] = slope_[m_ + i];
    for (int i = n_; i < stride_; ++i) slope_[i] = 0;
    return true;
  }

  // Controls that are best at a bound stay there, whatever the state: what they do joins the slope, and the rest of the
  // matrix knows nothing of them.
  bool hold_controls(int k) {
    if (!box_.solve(M_, stride_, slope_, given_.lower + at(k, m_), given_.upper + at(k, m_))) return false;
    for (int i = 0; i < m_; ++i) {
      if (!box_.is_held(i)) continue;
      double* const own = row(M_, i);
      const double x = box_.x(i);
      for (int j = 0; j < i; ++j) slope_[j] += x * row(M_, j)[i], row(M_, j)[i] = 0;
      for (int j = i + 1; j < m_ + n_; ++j) slope_[j] += x * own[j], own[j] = 0;
      own[i] = 1, slope_[i] = 0;
    }
    return true;
  }

  // U^-1 in front of the columns of states, from the last rows to the first.
  void divide_gains() {
    const int n_panels = (m_ + tile_rows - 1) / tile_rows;
    for (int panel = n_panels - 1; panel >= 0; --panel) {
      const int first = panel * tile_rows, end = first + tile_rows < m_ ? first + tile_rows : m_;
      multiply<Product::subtract>(end - first, m_ - end, n_, {row(M_, first) + end, stride_, 1}, row(M_, end) + m_,
                                  stride_, row(M_, first) + m_, stride_);
      for (int i = end - 1; i >= first; --i) {
        double* const own = row(M_, i);
        const double inverse = 1 / own[i];
        for (int j = m_; j < m_ + n_; j += wide) {
          Wide x = wide_at(own + j);
          for (int l = i + 1; l < end; ++l) x -= own[l] * wide_at(row(M_, l) + j);
          wide_at(own + j) = x * inverse;
        }
      }
    }
  }
  // P, all of it, in squares of four.
  void keep_value() {
    for (int top = 0; top < n_; top += 4) {
      for (int left = top; left < n_; left += 4) {
        const double* const from = row(M_, m_ + top) + m_ + left;
        const Four a = four(from), b = four(from + stride_), c = four(from + 2 * stride_), d = four(from + 3 * stride_);
        double* const to = row(P_, top) + left;
        four(to) = a, four(to + stride_) = b, four(to + 2 * stride_) = c, four(to + 3 * stride_) = d;
        if (left == top) continue;
        const Four ab = __builtin_shufflevector(a, b, 0, 4, 2, 6), cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
        const Four ba = __builtin_shufflevector(a, b, 1, 5, 3, 7), dc = __builtin_shufflevector(c, d, 1, 5, 3, 7);
        double* const across = row(P_, left) + top;
        four(across) = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
        four(across + stride_) = __builtin_shufflevector(ba, dc, 0, 1, 4, 5);
        four(across + 2 * stride_) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
        four(across + 3 * stride_) = __builtin_shufflevector(ba, dc, 2, 3, 6, 7);
      }
      for (int i = top + 1; i < top + 4; ++i)
        for (int j = top; j < i; ++j) row(P_, i)[j] = row(P_, j)[i];
    }
  }

  void store_value(const LinearQuadraticSolution& out) const {
    for (int i = 0; i < n_; ++i) {
      out.p[given_place(i)] = slope_[i];
      for (int j = 0; j < n_; ++j) out.P[at(given_place(i), n_) + given_place(j)] = row(P_, i)[j];
    }
  }

  void roll_out(const LinearQuadraticSolution& out) const {
    for (int i = 0; i < n_; ++i) out.x[i] = given_.start ? given_.start[i] : 0;
    for (int k = 0; k < given_.n_nodes; ++k) {
      const double* const x = out.x + at(k, n_);
      double *const u = out.u + at(k, m_), *const next = out.x + at(k + 1, n_);
      for (int i = 0; i < m_; ++i)
        u[i] = out.feedforward[at(k, m_) + i] + along(n_, out.gain + (at(k, m_) + i) * n_, x);
      for (int i = follow_; i < n_; ++i)
        next[i] = along(n_, given_.A + (at(k, n_) + i) * n_, x) + along(m_, given_.B + (at(k, n_) + i) * m_, u);
      for (int i = 0; i < follow_; ++i) {
        const std::ptrdiff_t at_row = at(k, given_.E_stride) + at(i, follow_);
        next[i] = along(follow_, given_.E + at_row, x) + along(follow_, given_.D + at_row, next + follow_);
      }
      for (int i = 0; i < n_ && given_.c; ++i) next[i] += given_.c[at(k, n_) + i];
    }
  }
  static FW_INLINE double along(int n, const double* a, const double* b) {
    Four sum = {0, 0, 0, 0};
    int i = 0;
    for (; i + 4 <= n; i += 4) sum += four(a + i) * four(b + i);
    double rest = sum_of(sum);
    for (; i < n; ++i) rest += a[i] * b[i];
    return rest;
  }
};

}  // namespace featherweight::FW_ISA
