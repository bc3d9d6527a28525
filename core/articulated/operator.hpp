// articulated/operator.hpp -- J H^-1 J^T of any rows as an operator: products, and solutions with resistance.
//
//   apply         J H^-1 J^T x
//   solve_damped  (J H^-1 J^T + R)^-1 b,   R > 0 on the diagonal
// Forces of all rows are gathered on the links they act on (J^T x), go inward once, every degree of freedom keeping
// what it feels, and come outward as motions of links, along which the rows look (J). Everything is about the roots of
// trees, in world axes, on the degrees of freedom of articulated/dofs.hpp: two sweeps over the tree whatever the
// rows.
//
// (J H^-1 J^T + R) x = b  is  x = R^-1 (b - J u),  (H + J^T R^-1 J) u = J^T R^-1 b : the same sweeps through the tree
// with the rows as dampers (damped_tree.hpp), if every row acts on one link. One that acts on two couples them; with a
// damper of twice the strength on each instead, the matrix is larger than it should be and what comes out is a
// preconditioner, positive definite between the inverse and R^-1. Cost: O(n + m). Source: A. S. Sathya and J.
// Carpentier, "Constrained articulated body dynamics algorithms"; that dampers join a tree already eliminated is ours.
// Oracle: the matrix, formed.
//
// Rows are a class that knows the tree and how its rows act on it:
//   dofs()                              of the eliminated tree
//   for_links(f), for_links_inward(f)   f(link, index) of those that have rows outboard, or more
//   gather(x, force, along)             adds J^T x to forces on links and along degrees of freedom
//   look(motion, rates, seen)           J of motions of links and rates of degrees of freedom
//   add_dampers(inverse, damper, along) J^T R^-1 J likewise
#pragma once
#include "articulated/damped_tree.hpp"
#include "memory/arena.hpp"

namespace featherweight::FW_ISA {

template <class S, class Rows>
class ArticulatedOperator {
 public:
  using C = ElementOf<S>;

  // m: number of rows.
  void make_room(const Tree<C>& tree, int m, Arena& arena) {
    m_ = m;
    along_ = arena.take<S>(tree.nv);
    force_ = arena.take<Force<S>>(tree.n_links);
    motion_ = arena.take<Motion<S>>(tree.n_links);
    damped_ = arena.take<Dof<S>>(tree.nv);
    damper_ = arena.take<Damper<S>>(tree.n_links);
    inverse_ = arena.take<S>(m);
    scaled_ = arena.take<S>(m);
  }
  // Of degrees of freedom: scratch between products.
  S* scratch() const { return along_; }

  void apply(const Rows& rows, const S* x, S* result) const { respond(rows, rows.dofs(), x, result); }

  // Before solutions: R.
  void damp(const Rows& rows, const S* R) const {
    for (int i = 0; i < m_; ++i) inverse_[i] = S(1) / R[i];
    rows.for_links([&](const Link<C>& l, int i) {
      damper_[i].clear();
      for (int k = l.v; k < l.v + l.nv; ++k) along_[k] = S(0);
    });
    rows.add_dampers(inverse_, damper_, along_);
    rows.for_links_inward([&](const Link<C>& l, int i) {
      damp_joint(l.nv, rows.dofs() + l.v, along_ + l.v, damper_[i], damped_ + l.v);
      if (l.parent >= 0) damper_[l.parent] += damper_[i];
    });
  }
  void solve_damped(const Rows& rows, const S* b, S* x) const {
    for (int i = 0; i < m_; ++i) scaled_[i] = inverse_[i] * b[i];
    respond(rows, damped_, scaled_, x);
    for (int i = 0; i < m_; ++i) x[i] = inverse_[i] * (b[i] - x[i]);
  }

 private:
  int m_ = 0;
  S* along_;              // forces along degrees of freedom, what they feel, their rates
  Force<S>* force_;       // on links
  Motion<S>* motion_;     // of links
  Dof<S>* damped_;        // degrees of freedom with the rows as dampers
  Damper<S>* damper_;     // of links
  S *inverse_, *scaled_;  // R^-1, and R^-1 b

  // What rows see of the motions that their forces x cause.
  void respond(const Rows& rows, const Dof<S>* dofs, const S* x, S* seen) const {
    rows.for_links([&](const Link<C>& l, int i) {
      force_[i] = zero_force<S>();
      for (int k = l.v; k < l.v + l.nv; ++k) along_[k] = S(0);
    });
    rows.gather(x, force_, along_);
    go_inward(rows, dofs);
    go_outward(rows, dofs);
    rows.look(motion_, along_, seen);
  }
  // Forces on links become what degrees of freedom feel of them, weighted.
  void go_inward(const Rows& rows, const Dof<S>* dofs) const {
    rows.for_links_inward([&](const Link<C>& l, int i) {
      const Force<S> f = force_[i];
      Force<S> left = f;
      for (int k = l.v; k < l.v + l.nv; ++k) {
        const Dof<S>& d = dofs[k];
        const S t = along_[k] + power(d.axis, f);
        add_scaled(left.lin, d.carry.lin, -t);
        add_scaled(left.ang, d.carry.ang, -t);
        along_[k] = t * d.weight;
      }
      if (l.parent >= 0) force_[l.parent] += left;
    });
  }
  // These become motions of links, and rates.
  void go_outward(const Rows& rows, const Dof<S>* dofs) const {
    rows.for_links([&](const Link<C>& l, int i) {
      const Motion<S> parent = l.parent < 0 ? zero_motion<S>() : motion_[l.parent];
      motion_[i] = carry_outward(l, dofs, along_, parent, [&](int k, const S& x) FW_LAMBDA_INLINE { along_[k] = x; });
    });
  }
};

}  // namespace featherweight::FW_ISA
