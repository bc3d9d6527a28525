// constrained/loop_aba.hpp -- forward dynamics under constraints of any kind: aba with stiff loops, then corrected.
//   O(n + m) for loops of bounded size, and as much per further iteration; w links that are tied to a joint's link cost
//   it w^2. Any rows: least-squares accelerations and forces of least norm where they contradict each other.
//   Source: A. S. Sathya and J. Carpentier, "Constrained articulated body dynamics algorithms".
//   Frames: everything with index i lives in link i.   Oracle: dense KKT in extended precision.
//
// What constrained/constrained_aba.hpp says of rows on one link holds here as well. A row with ends on two links also
// ties them (articulated/ties.hpp): the six components of the force on the other link are rows Y of this link's
// acceleration. Projecting out a joint they pass it like rows of constraints, G = Y S, Y <- Y - G D^-1 U^T; of L, which
// G D^-1 G^T is added to, and of k the other links get the opposite.
#pragma once
#include "articulated/loops.hpp"
#include "articulated/row_steps.hpp"
#include "articulated/ties.hpp"
#include "constrained/any_rows.hpp"
#include "constrained/conjugate_residuals.hpp"
#include "dynamics/affine.hpp"

namespace featherweight::FW_ISA {

template <class S>
class LoopAba {
 public:
  using T = ElementOf<S>;

  LoopAba(const Tree<T>& tree, const ConstraintRows<T>& constraints, Arena& arena)
      : plan_(*constraints.loops->ties),
        aba_(tree, arena),
        gravity_(arena.take<Vec3<S>>(tree.n_links)),
        any_(tree, constraints, arena),
        felt_(arena.take<Outboard<S>>(tree.n_links)),
        ties_(arena.take<SixRows>(plan_.n_ties)),
        rows_(arena.take<Row<S>>(6 * plan_.most)),
        L_(arena.take<S>(triangle(6 * plan_.most, 0))),
        G_(arena.take<S>(plan_.n_entries)),
        k_(arena.take<S>(6 * plan_.most)),
        per_miss_(arena.take<T>(constraints.n_rows)),
        forces_(arena.take<S>(constraints.n_rows)),
        seen_(arena.take<S>(constraints.n_rows)),
        u_(arena.take<S>(tree.nv)),
        p_(arena.take<Force<S>>(tree.n_links)),
        steps_(arena.take<Motion<S>>(tree.n_links)),
        da_(arena.take<S>(tree.nv)),
        targets_(constraints.n_rows, arena) {}

  void solve(const ConstrainedProblem<S, T>& problem, const ConstrainedSettings& settings,
             ConstrainedAnswer<S>& answer) {
    const Tree<T>& tree = problem.tree;
    const int m = problem.constraints.n_rows;
    if (!prepared_) prepare(problem.constraints);

    // sweep 1, root to leaf: velocities, then stiff rows and what they tie
    move_outward(tree, problem.q, problem.v, aba_,
                 [&](int i, auto joint) { rotate_gravity(joint, tree, problem.constraints, i, aba_.state, gravity_); });
    any_.set(problem, aba_.state, [&](int i) FW_LAMBDA_INLINE { return aba_.motion[i]; }, gravity_);
    stiffen(problem);

    // sweep 2, leaf to root: project out the joint; ties of its link pass it
    project_inward(
        tree, problem.v, problem.tau, problem.f_ext, aba_, [&](int i, Outboard<S>& outboard) { outboard += felt_[i]; },
        [&](int i, auto joint, const Outboard<S>&) { pass_ties(problem, i, joint); });

    // sweep 3, root to leaf: the accelerations of tied links push the joint
    accelerate_outward(tree, problem.v, aba_, answer.a, [&](int i, auto joint) {
      auto& factor = factor_of(joint, tree.links[i], aba_.factors);
      push(i, joint, factor, aba_.motion, right_hand_side(factor));
    });

    // what the rows still miss, and further targets that make up for it
    see(problem, aba_.motion);
    S scale(0);
    for (int r = 0; r < m; ++r) {
      targets_.r[r] = (any_.k[r] - seen_[r]) * given_way(r);
      scale = larger(scale, abs(any_.k[r]));
    }
    targets_.solve(S(T(settings.tolerance)) * (S(1) + scale), settings.max_iterations, answer,
                   [&](const S* x, S* Ax) { gain(problem, x, Ax); });

    // the forces of all further targets at once; all in all eps f = g + r, by A x = x - eps f
    for (int r = 0; r < m; ++r) {
      answer.forces[r] = (targets_.g[r] + targets_.r[r]) * S(T(1) / eps_);
      forces_[r] = (targets_.g[r] - targets_.unreachable[r]) * per_miss_[r];
    }
    respond(problem, forces_);
    for (int k = 0; k < tree.nv; ++k) answer.a[k] = answer.a[k] + da_[k];
    for (int i = 0; i < tree.n_links; ++i) aba_.motion[i] += steps_[i];
    report(problem, answer);
  }

 private:
  // To the largest mobility of a row: iterations and digits lost are in balance.
  static constexpr double relative_eps = 1e-6;

  struct SixRows {
    Force<S> of[6];
  };

  // One eps for all rows, or least squares would be weighted.
  void prepare(const ConstraintRows<T>& constraints) {
    T largest(0);
    for (int r = 0; r < constraints.n_ends; ++r) largest = larger(largest, constraints.ends[r].mobility);
    eps_ = largest > 0 ? T(relative_eps) * largest : T(relative_eps);
    for (int r = 0; r < constraints.n_ends; ++r)
      per_miss_[constraints.ends[r].row] = T(1) / (constraints.ends[r].compliance + eps_);
    prepared_ = true;
  }

  // Part of what a row misses that is due to eps: all, if it is rigid.
  FW_INLINE T given_way(int r) const { return eps_ * per_miss_[r]; }

  static FW_INLINE S& component(Force<S>& f, int k) { return k < 3 ? f.lin[k] : f.ang[k - 3]; }
  static FW_INLINE const S& component(const Force<S>& f, int k) { return k < 3 ? f.lin[k] : f.ang[k - 3]; }

  // Adds a symmetric matrix by its lower triangle.
  template <class E>
  static FW_INLINE void add_symmetric(ArticulatedInertia<S>& I, const E& entry) {
    for (int r = 0; r < 3; ++r)
      for (int s = 0; s < 3; ++s) {
        if (s <= r) I.A(r, s) = I.A(r, s) + entry(r, s);
        if (s <= r) I.C(r, s) = I.C(r, s) + entry(3 + r, 3 + s);
        I.B.rows[r][s] = I.B.rows[r][s] + entry(3 + s, r);  // B: lin by ang; the entry is below the diagonal
      }
  }

  // Every two ends of a row, on one link or on two that it ties.
  [[gnu::noinline]] void stiffen(const ConstrainedProblem<S, T>& problem) {
    const ConstraintRows<T>& constraints = problem.constraints;
    for (int i = 0; i < problem.tree.n_links; ++i) felt_[i] = {zero_inertia<S>(), zero_force<S>()};
    for (int t = 0; t < plan_.n_ties; ++t)
      for (Force<S>& row : ties_[t].of) row = zero_force<S>();
    for (int e = 0; e < constraints.n_ends; ++e) {
      const RowEnd<T>& end = constraints.ends[e];
      felt_[end.link].p -= times(any_.ends.K[e], any_.k[end.row] * per_miss_[end.row]);
    }
    for (int k = 0; k < plan_.n_pairs; ++k) {
      const EndPair& pair = plan_.pairs[k];
      const RowEnd<T>& end = constraints.ends[pair.end];
      const Force<S> pushed = times(any_.ends.K[pair.end], S(per_miss_[end.row])), &other = any_.ends.K[pair.other];
      for (int r = 0; r < 6 && pair.tie >= 0; ++r) ties_[pair.tie].of[r] += times(pushed, component(other, r));
      if (pair.tie < 0)
        add_symmetric(felt_[end.link].I, [&](int r, int s) FW_LAMBDA_INLINE {
          return (component(pushed, r) * component(other, s) + component(pushed, s) * component(other, r)) * T(0.5);
        });
    }
  }
  static FW_INLINE Force<S> times(const Force<S>& f, const S& x) { return {f.lin * x, f.ang * x}; }

  template <class J>
  FW_INLINE void pass_ties(const ConstrainedProblem<S, T>& problem, int i, J joint) {
    const TiedLink& link = plan_.of_link[i];
    if (link.n == 0) return;
    const Link<T>& l = problem.tree.links[i];
    const int n = 6 * link.n;
    for (std::size_t e = 0; e < triangle(n, 0); ++e) L_[e] = S(0);
    for (int r = 0; r < n; ++r) rows_[r] = {ties_[link.first + r / 6].of[r % 6], S(0)};
    pass_joint(joint, l, aba_.state + l.state, factor_of(joint, l, aba_.factors),
               JointMotion<S>{aba_.motion[i], problem.v + l.v},
               RowBlock<int, Fixed<0>, S>{n, {}, rows_, L_, G_ + link.entries});
    for (int t = 0; t < link.n; ++t) leave_tie(problem.tree, link, t, l.parent);
  }
  // What tie t has become: of the other link's inertia and bias, and of the ties that stay.
  [[gnu::noinline]] void leave_tie(const Tree<T>& tree, const TiedLink& link, int t, int parent) {
    const Tie& tie = plan_.ties[link.first + t];
    const Row<S>* const rows = rows_ + 6 * t;
    Outboard<S>& other = felt_[tie.other];
    add_symmetric(other.I, [&](int r, int s) FW_LAMBDA_INLINE { return -L_[triangle(6 * t + r, 6 * t + s)]; });
    for (int r = 0; r < 6; ++r) component(other.p, r) = component(other.p, r) - rows[r].k;
    for (int s = 0; s < t; ++s) {  // the other of tie t comes later in the tree, and keeps the tie
      SixRows& between = ties_[plan_.between[link.between + t * (t - 1) / 2 + s]];
      for (int r = 0; r < 6; ++r)
        for (int k = 0; k < 6; ++k)
          component(between.of[k], r) = component(between.of[k], r) - L_[triangle(6 * t + r, 6 * s + k)];
    }
    if (tie.on == Tie::to_world) {
      const Motion<S> world = minus_gravity<S>(tree);
      for (int r = 0; r < 6; ++r) component(other.p, r) = component(other.p, r) + rows[r].K * world;
    } else if (tie.on == Tie::to_itself) {
      add_symmetric(other.I,
                    [&](int r, int s) FW_LAMBDA_INLINE { return component(rows[r].K, s) + component(rows[s].K, r); });
    } else if (tie.other < parent) {
      for (int r = 0; r < 6; ++r) ties_[tie.on].of[r] += rows[r].K;
    } else {
      for (int r = 0; r < 6; ++r)
        for (int s = 0; s < 6; ++s)
          component(ties_[tie.on].of[s], r) = component(ties_[tie.on].of[s], r) + component(rows[r].K, s);
    }
  }

  // Tied links whose acceleration is known act on joint i.
  template <class J, class F>
  FW_INLINE void push(int i, J joint, const F& factor, const Motion<S>* motion, S* u) {
    const TiedLink& link = plan_.of_link[i];
    if (link.n == 0) return;
    for (int t = 0; t < link.n; ++t) {
      const Motion<S>& a = motion[plan_.ties[link.first + t].other];
      for (int r = 0; r < 3; ++r) k_[6 * t + r] = -a.lin[r], k_[6 * t + 3 + r] = -a.ang[r];
    }
    push_joint(joint, factor, G_ + link.entries, k_, 6 * link.n, u);
  }

  // Accelerations of links as the rows see them.
  void see(const ConstrainedProblem<S, T>& problem, const Motion<S>* motion) {
    const ConstraintRows<T>& constraints = problem.constraints;
    for (int r = 0; r < constraints.n_rows; ++r) seen_[r] = S(0);
    for (int e = 0; e < constraints.n_ends; ++e) {
      const int r = constraints.ends[e].row;
      seen_[r] = seen_[r] + any_.ends.K[e] * motion[constraints.ends[e].link];
    }
  }

  // Ax, see constrained/constrained_aba.hpp.
  void gain(const ConstrainedProblem<S, T>& problem, const S* x, S* Ax) {
    const int m = problem.constraints.n_rows;
    for (int r = 0; r < m; ++r) forces_[r] = x[r] * per_miss_[r];
    respond(problem, forces_);
    see(problem, steps_);
    for (int r = 0; r < m; ++r) Ax[r] = (x[r] + (seen_[r] - x[r]) * given_way(r)) * problem.active[r];
  }

  // Accelerations by forces of the rows alone, with the factors at hand: two light sweeps.
  void respond(const ConstrainedProblem<S, T>& problem, const S* forces) {
    const Tree<T>& tree = problem.tree;
    const ConstraintRows<T>& constraints = problem.constraints;
    for (int i = 0; i < tree.n_links; ++i) p_[i] = zero_force<S>();
    for (int k = 0; k < tree.nv; ++k) u_[k] = S(0);
    for (int e = 0; e < constraints.n_ends; ++e)
      p_[constraints.ends[e].link] -= times(any_.ends.K[e], forces[constraints.ends[e].row]);
    for (int i = tree.n_links - 1; i >= 0; --i) {
      const Link<T>& l = tree.links[i];
      const TiedLink& link = plan_.of_link[i];
      visit(l.kind, [&](auto joint) {
        const auto& factor = factor_of(joint, l, aba_.factors);
        Force<S> p = p_[i];
        affine_inward(joint, l, aba_.state + l.state, factor, u_ + l.v, p);
        if (l.parent >= 0) p_[l.parent] += p;
        if (link.n == 0) return;
        for (int r = 0; r < 6 * link.n; ++r) k_[r] = S(0);
        pass_increment(joint, factor, u_ + l.v, G_ + link.entries, 6 * link.n, k_);
        for (int r = 0; r < 6 * link.n; ++r) {
          Force<S>& of_other = p_[plan_.ties[link.first + r / 6].other];
          component(of_other, r % 6) = component(of_other, r % 6) - k_[r];
        }
      });
    }
    const Motion<S> rest = zero_motion<S>();
    for (int i = 0; i < tree.n_links; ++i) {
      const Link<T>& l = tree.links[i];
      visit(l.kind, [&](auto joint) {
        const auto& factor = factor_of(joint, l, aba_.factors);
        push(i, joint, factor, steps_, u_ + l.v);
        affine_outward(joint, l, aba_.state + l.state, factor, u_ + l.v, l.parent < 0 ? rest : steps_[l.parent],
                       steps_[i], da_ + l.v);
      });
    }
  }

  void report(const ConstrainedProblem<S, T>& problem, ConstrainedAnswer<S>& answer) {
    const ConstraintRows<T>& constraints = problem.constraints;
    see(problem, aba_.motion);
    for (int e = 0; e < constraints.n_ends; ++e) {
      const RowEnd<T>& end = constraints.ends[e];
      if (!end.leads) continue;
      const S missed = any_.k[end.row] - seen_[end.row] - answer.forces[end.row] * end.compliance;
      answer.residual = larger(answer.residual, abs(missed * problem.active[end.row]));
    }
  }

  const TiePlan& plan_;
  AbaWorkspace<S> aba_;
  Vec3<S>* gravity_;
  AnyRows<S> any_;
  Outboard<S>* felt_;  // by each link, of its rows and of the links that were tied to it
  SixRows* ties_;      // the force on the other link, by component, per acceleration of the link
  Row<S>* rows_;       // ties of one link as they pass its joint
  S* L_;
  S *G_, *k_;
  T* per_miss_;        // of each row: force per acceleration that it misses, 1 / (R + eps)
  S *forces_, *seen_;  // of the rows
  S* u_;
  Force<S>* p_;
  Motion<S>* steps_;
  S* da_;
  ConjugateResiduals<S> targets_;
  T eps_ = 0;  // further compliance of every row
  bool prepared_ = false;
};

}  // namespace featherweight::FW_ISA
