// delassus/kjr.hpp -- the Delassus matrix from the compliances of links.
//   Outward, each link learns Omega, how a force on it accelerates it. Links with rows share that of the link where
//   their paths join, carried out to both, pair by pair: O(n + m^2 d) for m rows d joints beyond it.
//   Source: K. Kreutz-Delgado, A. Jain and G. Rodriguez, "Recursive formulation of operational-space control".
//   Frames: everything with index i lives in link i.   Oracle: dense J H^-1 J^T.
#pragma once
#include "delassus/across.hpp"
#include "delassus/method.hpp"

namespace featherweight::FW_ISA {

// Acceleration of a link per force on it, symmetric.
template <class S>
struct Compliance {
  Motion<S> column[6];  // per unit force along, then about each axis

  FW_INLINE Motion<S> operator*(const Force<S>& f) const {
    Motion<S> a{column[0].lin * f.lin[0], column[0].ang * f.lin[0]};
    for (int k = 1; k < 6; ++k) {
      const S x = k < 3 ? f.lin[k] : f.ang[k - 3];
      add_scaled(a.lin, column[k].lin, x);
      add_scaled(a.ang, column[k].ang, x);
    }
    return a;
  }
};

template <class S>
class Kjr {
 public:
  template <class C>
  Kjr(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : articulated_(tree, arena),
        omega_(arena.take<Compliance<S>>(tree.n_links)),
        first_(arena.take<Force<S>>(constraints.n_ends)),
        second_(arena.take<Force<S>>(constraints.n_ends)),
        a_(arena.take<Motion<S>>(constraints.n_ends)),
        unused_(arena.take<S>(6 * static_cast<std::size_t>(constraints.n_ends))) {}

  template <class C>
  void compute(const DelassusProblem<S, C>& problem, S* delta) {
    const ConstraintRows<C>& constraints = problem.constraints;
    articulate(problem.tree, problem.q, articulated_);
    for (int s = 0; s < constraints.n_supporting; ++s) set_compliance(problem.tree, constraints.supporting[s].link);
    for (int r = 0; r < constraints.n_ends; r = constraints.of_link[constraints.ends[r].link].own_end)
      couple_to_all_before(problem, constraints.ends[r].link, delta);
  }

 private:
  // Omega_i = S D^-1 S^T + Phi Omega_parent Phi^T, Phi = (1 - S D^-1 U^T) X: what six unit forces do.
  template <class C>
  void set_compliance(const Tree<C>& tree, int i) {
    const Link<C>& l = tree.links[i];
    Force<S> E[6];
    S u[36];
    for (int k = 0; k < 3; ++k) {
      E[k] = E[3 + k] = zero_force<S>();
      E[k].lin[k] = E[3 + k].ang[k] = S(1);
    }
    visit(l.kind, [&](auto joint) {
      const S* const state = articulated_.state + l.state;
      const auto& factor = factor_of(joint, l, articulated_.factors);
      see_from_parent(joint, l, state, factor, 6, E, u, E);
      if (l.parent >= 0)
        for (int k = 0; k < 6; ++k) omega_[i].column[k] = omega_[l.parent] * E[k];
      follow_parent(joint, l, state, factor, 6, u, omega_[i].column);
    });
  }

  // The rows of one link with each other, and with all rows before.
  template <class C>
  void couple_to_all_before(const DelassusProblem<S, C>& problem, int link, S* delta) {
    const Tree<C>& tree = problem.tree;
    const ConstraintRows<C>& constraints = problem.constraints;
    const int begin = constraints.of_link[link].begin, n = constraints.of_link[link].own_end - begin;
    for (int r = 0; r < n; ++r) first_[r] = problem.K[begin + r];
    // walking inward, other rows join in at the link where the paths do
    int end = begin + n;
    for (int i = link; i >= 0 && end > 0; i = tree.links[i].parent) {
      const int joining = constraints.of_link[i].begin;
      if (joining < end)
        for (int r = 0; r < n; ++r) a_[r] = omega_[i] * first_[r];
      while (joining < end) end = couple(problem, i, link, end, delta);
      cross_joint(tree, i, n, first_);
    }
    for (int r = begin; r < begin + n; ++r)
      for (int s = 0; s < end; ++s) delta[triangle(r, s)] = S(0);  // on another tree
  }

  // The rows of one link, whose forces accelerate link i by a_, with those of another, which end before row `end`.
  // Returns the first of them.
  template <class C>
  FW_INLINE int couple(const DelassusProblem<S, C>& problem, int i, int link, int end, S* delta) {
    const ConstraintRows<C>& constraints = problem.constraints;
    const RowRange rows = constraints.of_link[link];
    const int other = constraints.ends[end - 1].link, begin = constraints.of_link[other].begin;
    for (int s = begin; s < end; ++s) second_[s - begin] = problem.K[s];
    for (int j = other; j != i; j = problem.tree.links[j].parent) cross_joint(problem.tree, j, end - begin, second_);
    for (int r = rows.begin; r < rows.own_end; ++r)
      for (int s = begin; s < end && s <= r; ++s) delta[triangle(r, s)] = second_[s - begin] * a_[r - rows.begin];
    return begin;
  }

  template <class C>
  void cross_joint(const Tree<C>& tree, int i, int n, Force<S>* E) {
    const Link<C>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      see_from_parent(joint, l, articulated_.state + l.state, factor_of(joint, l, articulated_.factors), n, E, unused_,
                      E);
    });
  }

  ArticulatedTree<S> articulated_;
  Compliance<S>* omega_;
  Force<S>*first_, *second_;  // the rows of two links, going inward
  Motion<S>* a_;              // of the link where they join, by forces along the first
  S* unused_;
};

}  // namespace featherweight::FW_ISA
