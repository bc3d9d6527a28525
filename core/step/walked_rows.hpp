// step/walked_rows.hpp -- products with the matrix of a cone problem through the paths of its rows.
//   G = Y Y^T + compliance,   Y^T lambda: of degrees of freedom
// A row adds to Y^T lambda, and finds its velocity in it, on its own path to the root: O(depth) per row, however many
// others act on the same tree. For hundreds of contacts that all couple to each other.
// Oracle: the matrix, of cone_matrix.hpp.
#pragma once
#include "cones/problem.hpp"
#include "linalg/vectors.hpp"
#include "step/cone_rows.hpp"

namespace featherweight::FW_ISA {

class WalkedRows {
 public:
  template <class S>
  WalkedRows(const Scene& scene, const ConeRows<S>& rows)
      : scene_(scene),
        quartets_(rows.quartets),
        n_quartets_(rows.n_quartets),
        blocks_(rows.blocks),
        n_blocks_(rows.n_blocks),
        rows_(rows.rows),
        m_(rows.m) {}

  void make_room(Arena& arena) {
    response_ = arena.take<double>(n_places());
    quartet_of_ = arena.take<int>(n_blocks_);
  }
  // Blocks lie within quartets, in the same order.
  void start() {
    for (int j = 0, i = 0; j < n_blocks_; ++j) {
      while (blocks_[j].first >= quartets_[i].first + quartets_[i].rows) ++i;
      quartet_of_[j] = i;
    }
  }
  double* of_dofs() const { return response_; }
  // Without shifted systems.
  MatrixProducts products() const {
    return {this, multiply, nullptr, nullptr, false, start_impulses, add_velocity, change_impulse};
  }

 private:
  const Scene& scene_;
  const Quartet* quartets_;
  int n_quartets_;
  const Block* blocks_;
  int n_blocks_;
  const ConeRow* rows_;
  int m_;
  double* response_ = nullptr;  // Y^T lambda, and that of the rows that are held
  int* quartet_of_ = nullptr;   // block

  static const WalkedRows& own(const void* context) { return *static_cast<const WalkedRows*>(context); }

  int n_places() const { return scene_.tree.nv + scene_.held.n_rows; }
  FW_INLINE void add_impulse(const Quartet& quartet, const Rows& x) const {
    for_walked(scene_, quartet,
               [&](int, const Rows& y, int place) FW_LAMBDA_INLINE { response_[place] += sum_of(y * x); });
  }
  FW_INLINE Rows velocities(const Quartet& quartet) const {
    Rows four = Rows{};
    for_walked(scene_, quartet,
               [&](int sign, const Rows& y, int place) FW_LAMBDA_INLINE { four += y * (sign * response_[place]); });
    return four;
  }

  static void start_impulses(const void* context, const double* lambda) {
    const WalkedRows& self = own(context);
    for (int f = 0; f < self.n_places(); ++f) self.response_[f] = 0;
    for (int i = 0; i < self.n_quartets_; ++i) {
      const Quartet& quartet = self.quartets_[i];
      Rows four = Rows{};
      for (int r = 0; r < quartet.rows; ++r) four[r] = lambda[quartet.first + r];
      self.add_impulse(quartet, four);
    }
  }
  static void add_velocity(const void* context, int block, const double* lambda, double* velocity) {
    const WalkedRows& self = own(context);
    const Block& b = self.blocks_[block];
    const Quartet& quartet = self.quartets_[self.quartet_of_[block]];
    const Rows four = self.velocities(quartet);
    for (int r = 0; r < b.rows; ++r)
      velocity[r] += four[b.first - quartet.first + r] + self.rows_[b.first + r].compliance * lambda[b.first + r];
  }
  static void change_impulse(const void* context, int block, const double* change) {
    const WalkedRows& self = own(context);
    const Block& b = self.blocks_[block];
    const Quartet& quartet = self.quartets_[self.quartet_of_[block]];
    Rows four = Rows{};
    for (int r = 0; r < b.rows; ++r) four[b.first - quartet.first + r] = change[r];
    self.add_impulse(quartet, four);
  }
  static void multiply(const void* context, const double* x, double* result) {
    const WalkedRows& self = own(context);
    start_impulses(context, x);
    for (int i = 0; i < self.n_quartets_; ++i) {
      const Quartet& quartet = self.quartets_[i];
      const Rows four = self.velocities(quartet);
      for (int r = 0; r < quartet.rows; ++r) result[quartet.first + r] = four[r];
    }
    for (int i = 0; i < self.m_; ++i) result[i] += self.rows_[i].compliance * x[i];
  }
};

}  // namespace featherweight::FW_ISA
