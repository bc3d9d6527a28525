// constrained/kkt.hpp -- forward dynamics under equality constraints by dense algebra, for small problems and tests.
//   O(n^3 + m n^2 + m^2 n + m^3), any rows (constrained/proximal.hpp).
//   With Y = H^-1 J^T:   (J Y + R) f = b - J H^-1 u,   a = H^-1 u + Y f.
//   Oracle: the pseudo-inverse of J H^-1 J^T.
#pragma once
#include "constrained/joint_space.hpp"
#include "constrained/proximal.hpp"

namespace featherweight::FW_ISA {

template <class S>
class Kkt {
 public:
  template <class C>
  Kkt(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : equations_(tree, constraints, arena),
        H_(arena.take<S>(triangle(tree.nv, 0))),
        inertia_(tree.nv, arena),
        J_(arena.take<S>(static_cast<std::size_t>(constraints.n_rows) * tree.nv)),
        Y_(arena.take<S>(static_cast<std::size_t>(constraints.n_rows) * tree.nv)),
        b_(arena.take<S>(constraints.n_rows)),
        delassus_(arena.take<S>(triangle(constraints.n_rows, 0))),
        root_(constraints.n_rows, arena) {}

  template <class C>
  void solve(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings& settings,
             ConstrainedAnswer<S>& answer) {
    const int n = problem.tree.nv, m = problem.constraints.n_rows;
    equations_.evaluate(problem);
    spread(problem);

    // without constraints
    inertia_.factorise(problem.tree.nv, H_, S(0));
    for (int k = 0; k < n; ++k) answer.a[k] = equations_.u[k];
    inertia_.solve(answer.a);

    // the constraint forces
    for (int r = 0; r < m; ++r) {
      const S* const J_r = J_ + row(r, n);
      S* const Y_r = Y_ + row(r, n);
      for (int k = 0; k < n; ++k) Y_r[k] = J_r[k];
      inertia_.solve(Y_r);
      for (int s = 0; s <= r; ++s) delassus_[triangle(r, s)] = path_dot(n, J_r, Y_ + row(s, n));
      root_.r[r] = b_[r] - path_dot(n, J_r, answer.a);
    }
    add_compliance(problem, delassus_);
    root_.solve(problem.constraints.n_rows, delassus_, settings, answer.forces, answer);

    // and what they do
    for (int r = 0; r < m; ++r)
      for (int k = 0; k < n; ++k) answer.a[k] = answer.a[k] + Y_[row(r, n) + k] * answer.forces[r];
  }

 private:
  static std::size_t row(int r, int n) { return static_cast<std::size_t>(r) * static_cast<std::size_t>(n); }

  // H and J with all their zeros; the ends of each row add up.
  template <class C>
  void spread(const ConstrainedProblem<S, C>& problem) {
    const Tree<C>& tree = problem.tree;
    const int n = tree.nv, m = problem.constraints.n_rows;
    for (std::size_t k = 0; k < triangle(n, 0); ++k) H_[k] = S(0);
    for (int i = 0; i < n; ++i) {
      const S* entry = equations_.H + tree.row[i];
      for (int k = i; k >= 0; k = tree.dof_parent[k]) H_[triangle(i, k)] = *entry++;
    }
    for (std::size_t k = 0; k < row(m, n); ++k) J_[k] = S(0);
    const bool single = single_ends(problem.constraints);
    for (int r = 0; r < problem.constraints.n_ends; ++r) {
      S* const J_r = J_ + row(single ? r : problem.constraints.ends[r].row, n);
      for_path(tree, problem.constraints.ends[r], equations_.J, [&](int k, const S& x) { J_r[k] = J_r[k] + x; });
    }
    if (single)
      b_ = equations_.b;
    else
      add_up(problem.constraints, equations_.b, b_);
  }

  JointSpace<S> equations_;
  S* H_;
  DenseLdl<S> inertia_;
  S *J_, *Y_;  // by rows
  S* b_;
  S* delassus_;
  ProximalSystem<S> root_;
};

}  // namespace featherweight::FW_ISA
