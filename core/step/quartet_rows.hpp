// step/quartet_rows.hpp -- the rows of one environment's cone problem as the articulated operator takes them: products
// with its matrix, which is never formed.
//   G x = J H^-1 J^T x + compliance x,   (G + rho)^-1 b
// Oracle: the matrix, of cone_matrix.hpp.
#pragma once
#include "articulated/operator.hpp"
#include "linalg/vectors.hpp"
#include "step/cone_rows.hpp"

namespace featherweight::FW_ISA {

class QuartetRows {
 public:
  template <class S>
  QuartetRows(const Scene& scene, const ConeRows<S>& rows)
      : scene_(scene),
        quartets_(rows.quartets),
        n_quartets_(rows.n_quartets),
        forces_(rows.forces),
        pushes_(rows.pushes),
        n_pushes_(rows.n_pushes) {}

  void make_room(Arena& arena) { dofs_ = arena.take<Dof<double>>(scene_.tree.nv); }
  // One lane's degrees of freedom, close together: they are read in every product.
  template <class S>
  void load(const Dof<S>* dofs, LaneOf<S> lane) {
    for_links([&](const Link<double>& l, int) {
      for (int k = l.v; k < l.v + l.nv; ++k) dofs_[k] = lane(dofs[k]);
    });
  }
  // Whether each of them acts on one link.
  bool are_on_one_link() const {
    for (int i = 0; i < n_quartets_; ++i)
      if (quartets_[i].n_ends != 1) return false;
    return true;
  }

  const Dof<double>* dofs() const { return dofs_; }
  // Of trees that something acts on.
  template <class F>
  FW_INLINE void for_links(const F& f) const {
    for (int i = 0; i < scene_.tree.n_links; ++i)
      if (scene_.touchable[i]) f(scene_.tree.links[i], i);
  }
  template <class F>
  FW_INLINE void for_links_inward(const F& f) const {
    for (int i = scene_.tree.n_links - 1; i >= 0; --i)
      if (scene_.touchable[i]) f(scene_.tree.links[i], i);
  }

  void gather(const double* x, Force<double>* force, double* along) const {
    for (int i = 0; i < n_quartets_; ++i) {
      const Quartet& quartet = quartets_[i];
      Rows four = Rows{};
      for (int r = 0; r < quartet.rows; ++r) four[r] = x[quartet.first + r];
      for (int e = 0; e < quartet.n_ends; ++e) {
        const RowForces<Rows>& of_end = forces_[2 * i + e];
        Force<double>& f = force[quartet.ends[e].link];
        for (int k = 0; k < 3; ++k) {
          f.lin[k] += sum_of(of_end.e[k] * four);
          f.ang[k] += sum_of(of_end.e[3 + k] * four);
        }
      }
    }
    for (int k = 0; k < n_pushes_; ++k) along[pushes_[k].dof] += pushes_[k].along * x[pushes_[k].row];
  }

  void look(const Motion<double>* motion, const double* rates, double* seen) const {
    for (int i = 0; i < n_quartets_; ++i) {
      const Quartet& quartet = quartets_[i];
      Rows four = Rows{};
      for (int e = 0; e < quartet.n_ends; ++e) {
        const RowForces<Rows>& of_end = forces_[2 * i + e];
        const Motion<double>& m = motion[quartet.ends[e].link];
        for (int k = 0; k < 3; ++k) four += of_end.e[k] * m.lin[k] + of_end.e[3 + k] * m.ang[k];
      }
      for (int r = 0; r < quartet.rows; ++r) seen[quartet.first + r] = four[r];
    }
    for (int k = 0; k < n_pushes_; ++k) seen[pushes_[k].row] += pushes_[k].along * rates[pushes_[k].dof];
  }

  void add_dampers(const double* inverse, Damper<double>* damper, double* along) const {
    for (int i = 0; i < n_quartets_; ++i)
      for (int e = 0; e < quartets_[i].n_ends; ++e)
        for (int r = 0; r < quartets_[i].rows; ++r) {
          const Rows* const a = forces_[2 * i + e].e;
          const Force<double> force{{a[0][r], a[1][r], a[2][r]}, {a[3][r], a[4][r], a[5][r]}};
          damper[quartets_[i].ends[e].link].add_square(force, quartets_[i].n_ends * inverse[quartets_[i].first + r]);
        }
    for (int k = 0; k < n_pushes_; ++k)
      along[pushes_[k].dof] += pushes_[k].along * pushes_[k].along * inverse[pushes_[k].row];
  }

 private:
  const Scene& scene_;
  const Quartet* quartets_;
  int n_quartets_;
  const RowForces<Rows>* forces_;
  const JointPush* pushes_;
  int n_pushes_;
  Dof<double>* dofs_ = nullptr;
};

// Products as the solvers of cones/ ask for them.
class ConeOperator {
 public:
  template <class S>
  ConeOperator(const Scene& scene, const ConeRows<S>& rows)
      : tree_(scene.tree), rows_(scene, rows), of_rows_(rows.rows), m_(rows.m) {}

  void make_room(Arena& arena) {
    rows_.make_room(arena);
    operator_.make_room(tree_, m_, arena);
    resistance_ = arena.take<double>(m_);
  }
  template <class S>
  void load(const Dof<S>* dofs, LaneOf<S> lane) {
    rows_.load(dofs, lane);
  }
  double* of_dofs() const { return operator_.scratch(); }
  // For ADMM: none of single blocks.
  MatrixProducts products() const {
    return {this, multiply, shift, solve_shifted, rows_.are_on_one_link(), nullptr, nullptr, nullptr};
  }

 private:
  const Tree<double>& tree_;
  QuartetRows rows_;
  const ConeRow* of_rows_;
  int m_;
  ArticulatedOperator<double, QuartetRows> operator_;
  double* resistance_ = nullptr;  // rho and compliance

  static const ConeOperator& own(const void* context) { return *static_cast<const ConeOperator*>(context); }

  static void multiply(const void* context, const double* x, double* result) {
    const ConeOperator& self = own(context);
    self.operator_.apply(self.rows_, x, result);
    for (int i = 0; i < self.m_; ++i) result[i] += self.of_rows_[i].compliance * x[i];
  }
  static void shift(const void* context, const double* rho) {
    const ConeOperator& self = own(context);
    for (int i = 0; i < self.m_; ++i) self.resistance_[i] = rho[i] + self.of_rows_[i].compliance;
    self.operator_.damp(self.rows_, self.resistance_);
  }
  static void solve_shifted(const void* context, const double* b, double* x) {
    const ConeOperator& self = own(context);
    self.operator_.solve_damped(self.rows_, b, x);
  }
};

}  // namespace featherweight::FW_ISA
