// step/tree_product.hpp -- products with the matrix of one environment's cone problem, which is never formed.
//
//   G x = J H^-1 J^T x + compliance x
// Impulses of all rows are gathered on the links they act on (J^T x), go inward once, every freedom keeping what it
// feels, and come outward as motions of links, along which the rows look (J). Everything is about the roots of trees,
// in world axes, on the freedoms of freedoms.hpp: two passes over the tree whatever the number of rows.
//
// With R = rho + compliance, (G + rho) x = b is  x = R^-1 (b - J u),  (H + J^T R^-1 J) u = J^T R^-1 b : the same passes
// through the tree with the rows as dampers (soft_tree.hpp), if every row acts on one link. One that acts on two
// couples them; with a damper of twice the strength on each instead, the matrix is larger than it should be and what
// comes out is a preconditioner, positive definite between (G + rho)^-1 and R^-1.
// Cost: O(n + m). Source: the sweeps of articulated bodies, as in aba. Oracle: the matrix, of cone_matrix.hpp.
#pragma once
#include "memory/arena.hpp"
#include "linalg/vectors.hpp"
#include "step/cone_rows.hpp"
#include "articulated/soft_tree.hpp"

namespace featherweight::FW_ISA {

class TreeProduct {
 public:
  double* y;  // of freedoms: scratch of a product

  template <class S>
  TreeProduct(const Scene& scene, const ConeRows<S>& rows)
      : scene_(scene),
        groups_(rows.groups),
        n_groups_(rows.n_groups),
        forces_(rows.forces),
        pushes_(rows.pushes),
        n_pushes_(rows.n_pushes),
        m_(rows.m),
        rows_(rows.rows) {}

  void make_room(Arena& scratch) {
    const Tree<double>& tree = scene_.tree;
    freedoms_ = scratch.take<Freedom<double>>(tree.nv);
    soft_ = scratch.take<Freedom<double>>(tree.nv);
    y = scratch.take<double>(tree.nv);
    force_ = scratch.take<Force<double>>(tree.n_links);
    motion_ = scratch.take<Motion<double>>(tree.n_links);
    damper_ = scratch.take<Damper>(tree.n_links);
    inverse_ = scratch.take<double>(m_);
    of_inverse_ = scratch.take<double>(m_);
  }
  // One lane's freedoms, close together: they are read in every product.
  template <class S>
  void load(const Freedom<S>* freedoms, LaneOf<S> lane) {
    for_links([&](const Link<double>& l, int) {
      for (int k = l.v; k < l.v + l.nv; ++k) freedoms_[k] = lane(freedoms[k]);
    });
  }

  MatrixProducts products() const {
    bool on_one = true;
    for (int i = 0; i < n_groups_; ++i) on_one &= groups_[i].n_ends == 1;
    return {this, multiply, shift, solve_shifted, on_one};
  }

 private:
  const Scene& scene_;
  const Quartet* groups_;
  int n_groups_;
  const RowForces<Rows>* forces_;
  const JointPush* pushes_;
  int n_pushes_, m_;
  const ConeRow* rows_;
  Freedom<double>*freedoms_, *soft_;  // without dampers and with them
  Force<double>* force_;              // on links
  Motion<double>* motion_;            // of links
  Damper* damper_;                    // of links
  double *inverse_, *of_inverse_;     // R^-1, and R^-1 b

  static const TreeProduct& own(const void* context) { return *static_cast<const TreeProduct*>(context); }

  static void multiply(const void* context, const double* x, double* result) {
    const TreeProduct& self = own(context);
    self.respond(self.freedoms_, x, result);
    for (int i = 0; i < self.m_; ++i) result[i] += self.rows_[i].compliance * x[i];
  }
  static void shift(const void* context, const double* rho) {
    const TreeProduct& self = own(context);
    for (int i = 0; i < self.m_; ++i) self.inverse_[i] = 1 / (rho[i] + self.rows_[i].compliance);
    self.soften();
  }
  static void solve_shifted(const void* context, const double* b, double* x) {
    const TreeProduct& self = own(context);
    for (int i = 0; i < self.m_; ++i) self.of_inverse_[i] = self.inverse_[i] * b[i];
    self.respond(self.soft_, self.of_inverse_, x);
    for (int i = 0; i < self.m_; ++i) x[i] = self.inverse_[i] * (b[i] - x[i]);
  }

  // f(link, index), outward, of trees that something acts on.
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

  // The freedoms of the tree with the rows as dampers.
  void soften() const {
    for_links([&](const Link<double>& l, int i) {
      damper_[i].clear();
      for (int k = l.v; k < l.v + l.nv; ++k) y[k] = 0;
    });
    for (int i = 0; i < n_groups_; ++i)
      for (int e = 0; e < groups_[i].n_ends; ++e)
        for (int r = 0; r < groups_[i].rows; ++r) {
          const Rows* const a = forces_[2 * i + e].e;
          const Force<double> along{{a[0][r], a[1][r], a[2][r]}, {a[3][r], a[4][r], a[5][r]}};
          damper_[groups_[i].ends[e].link].add_square(along, groups_[i].n_ends * inverse_[groups_[i].first + r]);
        }
    for (int k = 0; k < n_pushes_; ++k)
      y[pushes_[k].freedom] += pushes_[k].along * pushes_[k].along * inverse_[pushes_[k].row];
    for_links_inward([&](const Link<double>& l, int i) {
      soften_joint(l.nv, freedoms_ + l.v, y + l.v, damper_[i], soft_ + l.v);
      if (l.parent >= 0) damper_[l.parent] += damper_[i];
    });
  }

  // What rows see of the motions that their impulses x cause.
  void respond(const Freedom<double>* freedoms, const double* x, double* seen) const {
    gather(x);
    go_inward(freedoms);
    go_outward(freedoms);
    look(seen);
  }

  // Forces on links; y: those along freedoms.
  void gather(const double* x) const {
    for_links([&](const Link<double>& l, int i) {
      force_[i] = zero_force<double>();
      for (int k = l.v; k < l.v + l.nv; ++k) y[k] = 0;
    });
    for (int i = 0; i < n_groups_; ++i) {
      const Quartet& group = groups_[i];
      Rows four = Rows{};
      for (int r = 0; r < group.rows; ++r) four[r] = x[group.first + r];
      for (int e = 0; e < group.n_ends; ++e) {
        const RowForces<Rows>& along = forces_[2 * i + e];
        Force<double>& f = force_[group.ends[e].link];
        for (int k = 0; k < 3; ++k) {
          f.lin[k] += sum_of(along.e[k] * four);
          f.ang[k] += sum_of(along.e[3 + k] * four);
        }
      }
    }
    for (int k = 0; k < n_pushes_; ++k) y[pushes_[k].freedom] += pushes_[k].along * x[pushes_[k].row];
  }

  // Forces go inward; y: what freedoms feel of them, weighted.
  void go_inward(const Freedom<double>* freedoms) const {
    for_links_inward([&](const Link<double>& l, int i) {
      Force<double> left = force_[i];
      for (int k = l.v; k < l.v + l.nv; ++k) {
        const Freedom<double>& d = freedoms[k];
        const double t = y[k] + power(d.axis, force_[i]);
        add_scaled(left.lin, d.carry.lin, -t);
        add_scaled(left.ang, d.carry.ang, -t);
        y[k] = t * d.weight;
      }
      if (l.parent >= 0) force_[l.parent] += left;
    });
  }

  // Motions of links; y: the rates of freedoms.
  void go_outward(const Freedom<double>* freedoms) const {
    for_links([&](const Link<double>& l, int i) {
      const Motion<double> parent = l.parent < 0 ? zero_motion<double>() : motion_[l.parent];
      motion_[i] = carry_outward(l, freedoms, y, parent, [&](int k, double x) FW_LAMBDA_INLINE { y[k] = x; });
    });
  }

  void look(double* seen) const {
    for (int i = 0; i < n_groups_; ++i) {
      const Quartet& group = groups_[i];
      Rows four = Rows{};
      for (int e = 0; e < group.n_ends; ++e) {
        const RowForces<Rows>& along = forces_[2 * i + e];
        const Motion<double>& m = motion_[group.ends[e].link];
        for (int k = 0; k < 3; ++k) four += along.e[k] * m.lin[k] + along.e[3 + k] * m.ang[k];
      }
      for (int r = 0; r < group.rows; ++r) seen[group.first + r] = four[r];
    }
    for (int k = 0; k < n_pushes_; ++k) seen[pushes_[k].row] += pushes_[k].along * y[pushes_[k].freedom];
  }
};

}  // namespace featherweight::FW_ISA
