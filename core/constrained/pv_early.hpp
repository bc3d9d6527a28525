// constrained/pv_early.hpp -- PV that solves for a force as soon as a joint can answer it: any rows, O(n + m).
//
// After each joint the rows that it moves well are eliminated and turn into inertia of the body; the others travel on,
// at most six at a time, and what comes to the world is solved there. Each row starts with L = eps, which the proximal
// iteration takes out again: no pivot is ever smaller, and none that is small is taken on a moving body, where its
// inverse would drown the inertia.
//   Source: algorithms of Popov and Vereshchagin in the form of V(a, f), with multipliers eliminated early.
//   Frames: rows of link i live in link i until they pass its joint, then in its parent.   Oracle: dense KKT.
//
// Rows are scaled to a mobility of about one (rows of force and of moment then compare), and wait on a stack: links are
// swept depth first, so the block on top is always that of the last link that was left.
#pragma once
#include "constrained/eliminate_rows.hpp"
#include "constrained/fold_rows.hpp"
#include "constrained/proximal_sweeps.hpp"
#include "dynamics/affine.hpp"

namespace featherweight::FW_ISA {

template <class S>
class EarlySweeps {
 public:
  S *a, *f;
  Motion<S>* motion;

  template <class C>
  EarlySweeps(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : a(arena.take<S>(tree.nv)),
        f(arena.take<S>(constraints.n_ends)),
        motion(arena.take<Motion<S>>(tree.n_links)),
        aba_(tree, arena),
        gravity_(arena.take<Vec3<S>>(tree.n_links)),
        rows_(arena.take<Row<S>>(constraints.n_ends)),
        scale_(arena.take<S>(constraints.n_ends)),
        blocks_(arena.take<RowStack<S>>(tree.n_accumulators + 1)),
        scalars_(arena.take<S>(most_unfolded * (tree.n_accumulators + 1))),
        G_(arena.take<S>(most_rows * tree.nv)),
        u_(arena.take<S>(tree.nv)),
        p_(arena.take<Force<S>>(tree.n_links)),
        passages_(arena.take<Passage>(tree.n_links)),
        removed_(arena.take<RemovedRow<S>>(most_rows * tree.n_links)),
        folds_(arena.take<Fold<S>>(RowPlan<C>{tree, constraints}.n_folds())) {
    for (int r = 0; r < constraints.n_ends; ++r)
      if (constraints.ends[r].mobility > mobility_) mobility_ = constraints.ends[r].mobility;
  }

  double eps() const { return relative_eps * mobility_; }
  // 1 in lanes where a pivot is hardly more than what the rows started with.
  S dependent() const { return select(weakest_ < S(ElementOf<S>(100 * largest_start_)), S(1), S(0)); }

  template <class C>
  void prepare(const ConstrainedProblem<S, C>& problem, S* k) {
    const ConstraintRows<C>& constraints = problem.constraints;
    move_outward(problem.tree, problem.q, problem.v, aba_,
                 [&](int i, auto joint) { rotate_gravity(joint, problem.tree, constraints, i, aba_.state, gravity_); });
    for (int i = 0; i < problem.tree.n_links; ++i)
      start_rows(problem, i, aba_.motion[i], gravity_[i], rows_ + constraints.of_link[i].begin);
    largest_start_ = 0;
    for (int r = 0; r < constraints.n_ends; ++r) {
      const double least = least_mobility * mobility_, own = constraints.ends[r].mobility;
      const double mobility = own > least ? own : least;
      if (eps() / mobility > largest_start_) largest_start_ = eps() / mobility;
      scale_[r] = S(C(1 / library_sqrt(mobility)));
      k[r] = rows_[r].k;
    }
  }

  template <class C>
  void drive(const ConstrainedProblem<S, C>& problem, const S* k) {
    const RowPlan<C> plan{problem.tree, problem.constraints};
    depth_ = 0;
    next_fold_ = folds_;
    weakest_ = S(1);
    // leaf to root: project out joint i; its rows pass it too, and go if it moves them
    project_inward(
        problem.tree, problem.v, problem.tau, problem.f_ext, aba_,
        [&](int i, const Outboard<S>&) {
          if (plan.outboard(i)) gather(problem, plan, i, k);
        },
        [&](int i, auto joint, Outboard<S>& outboard) {
          if (!plan.outboard(i)) return;
          const Link<C>& l = problem.tree.links[i];
          RowStack<S>& block = blocks_[depth_ - 1];
          const int first = passages_[i].begin, n = passages_[i].end - first;
          pass_joint(joint, l, aba_.state + l.state, factor_of(joint, l, aba_.factors),
                     JointMotion<S>{aba_.motion[i], problem.v + l.v},
                     RowBlock<int, int, S>{n, first, block.rows + first, block.L, G_ + most_rows * l.v});
          hand_on(plan, i, outboard);
        });
    outward<true>(problem);
  }

  template <class C>
  void increment(const ConstrainedProblem<S, C>& problem, const S* rho) {
    const RowPlan<C> plan{problem.tree, problem.constraints};
    for (int i = 0; i < problem.tree.n_links; ++i) p_[i] = zero_force<S>();
    depth_ = 0;
    // leaf to root: only targets and bias forces change
    for (int i = problem.tree.n_links - 1; i >= 0; --i) {
      if (!plan.outboard(i)) continue;
      const Link<C>& l = problem.tree.links[i];
      const Passage& passage = passages_[i];
      int n = plan.of_children(i), r = problem.constraints.of_link[i].begin;
      if (!n) ++depth_;
      S* k = scalars_ + most_unfolded * (depth_ - 1);
      Fold<S>* fold = passage.folds;
      for (const int end = r + plan.own(i); r < end;) {
        for (; r < end && n < most_unfolded; ++r) k[n++] = rho[r] * scale_[r];
        if (n > most_rows) (fold++)->fold_again(k), n = most_rows;
      }
      S* u = u_ + l.v;
      for (int j = 0; j < l.nv; ++j) u[j] = S(0);
      visit(l.kind, [&](auto joint) {
        const auto& factor = factor_of(joint, l, aba_.factors);
        affine_inward(joint, l, aba_.state + l.state, factor, u, p_[i]);
        pass_increment(joint, factor, u, G_ + most_rows * l.v, passage.end - passage.begin, k + passage.begin);
      });
      for (r = passage.begin; r < passage.end; ++r)
        removed_[most_rows * i + r].remove_again(r, n, k, l.parent < 0 ? nullptr : &p_[i]);
      if (l.parent < 0) {
        --depth_;
        continue;
      }
      p_[l.parent] += p_[i];
      if (const int waiting = plan.waiting(i)) {
        for (r = 0; r < n; ++r) k[r - most_unfolded + waiting] = k[r];
        if (plan.folds_at_parent(i)) fold->fold_again(k - most_unfolded);
        --depth_;
      }
    }
    outward<false>(problem);
  }

  template <class C>
  void finish(const ConstrainedProblem<S, C>& problem, const Motion<S>* total, S* acceleration) {
    const Motion<S> world = minus_gravity<S>(problem.tree);
    for (int i = 0; i < problem.tree.n_links; ++i) {
      const Link<C>& l = problem.tree.links[i];
      if (RowPlan<C>{problem.tree, problem.constraints}.outboard(i)) {
        aba_.motion[i] = total[i];
        continue;
      }
      visit(l.kind, [&](auto joint) {
        accelerate(joint, l, aba_.state + l.state, problem.v + l.v, factor_of(joint, l, aba_.factors),
                   l.parent < 0 ? world : aba_.motion[l.parent], aba_.motion[i], acceleration + l.v);
      });
    }
  }

 private:
  static constexpr double relative_eps = 1e-10;   // of the largest mobility of a row
  static constexpr double least_mobility = 1e-6;  // of the largest, for the scale of rows that hardly move
  static constexpr double healthy_pivot = 3e-2;   // of a row scaled to a mobility of one

  // The rows of a block that were alive in some lane when they passed a joint, and the folds of its link: of its own
  // rows, then where they joined those at the parent.
  struct Passage {
    int begin, end;
    Fold<S>* folds;
  };

  // The block of link i: what its children left on the stack, and its own rows.
  template <class C>
  void gather(const ConstrainedProblem<S, C>& problem, const RowPlan<C>& plan, int i, const S* k) {
    using T = ElementOf<S>;
    if (!plan.of_children(i)) blocks_[depth_++].n = 0;
    RowStack<S>& block = blocks_[depth_ - 1];
    passages_[i].folds = next_fold_;
    int r = problem.constraints.of_link[i].begin;
    for (const int end = r + plan.own(i); r < end;) {
      const int n_before = block.n;
      for (; r < end && block.n < most_unfolded; ++r) {
        const S scale = scale_[r], own = own_compliance(problem.constraints.ends[r], problem.active[r]);
        block.append({{rows_[r].K.lin * scale, rows_[r].K.ang * scale}, k[r] * scale},
                     (own + S(T(eps()))) * scale * scale, problem.active[r]);
      }
      if (block.n > most_rows) (next_fold_++)->fold(block, n_before, weakest_);
    }
    int begin = 0, end = block.n;
    while (begin < end && !block.is_alive(begin)) ++begin;
    while (begin < end && !block.is_alive(end - 1)) --end;
    passages_[i].begin = begin;
    passages_[i].end = end;
  }

  // Rows that have passed joint i: some go, the others join those at the parent.
  template <class C>
  void hand_on(const RowPlan<C>& plan, int i, Outboard<S>& outboard) {
    using T = ElementOf<S>;
    RowStack<S>& block = blocks_[depth_ - 1];
    const bool to_world = plan.tree.links[i].parent < 0;
    for (int r = passages_[i].begin; r < passages_[i].end; ++r) {
      if (to_world) {
        const S pivot = block.L[triangle(r, r)];
        weakest_ = select(pivot < weakest_, pivot, weakest_);
      }
      eliminate_row(block, r, S(T(to_world ? 0 : healthy_pivot)), to_world ? nullptr : &outboard,
                    removed_[most_rows * i + r]);
    }
    if (to_world) {
      --depth_;
    } else if (plan.waiting(i)) {
      RowStack<S>& parent = blocks_[depth_ - 2];
      const int n_before = parent.n;
      parent.append(block);
      if (plan.folds_at_parent(i)) (next_fold_++)->fold(parent, n_before, weakest_);
      --depth_;
    }
  }

  // Root to leaf: forces and accelerations.
  template <bool driven, class C>
  void outward(const ConstrainedProblem<S, C>& problem) {
    const RowPlan<C> plan{problem.tree, problem.constraints};
    const Motion<S> world = driven ? minus_gravity<S>(problem.tree) : zero_motion<S>();
    for (int i = 0; i < problem.tree.n_links; ++i) {
      if (!plan.outboard(i)) continue;
      const Link<C>& l = problem.tree.links[i];
      const Passage& passage = passages_[i];
      const Motion<S>& a_parent = l.parent < 0 ? world : motion[l.parent];
      int n = plan.leaving(i);
      S* x = scalars_ + most_unfolded * depth_;  // the forces of its block
      if (l.parent < 0) {
        ++depth_;
        for (int r = 0; r < n; ++r) x[r] = S(0);
      } else if (const int waiting = plan.waiting(i)) {
        if (plan.folds_at_parent(i)) passage.folds[plan.n_own_folds(i)].unfold(x - most_unfolded);
        ++depth_;
        for (int r = 0; r < n; ++r) x[r] = x[r - most_unfolded + waiting];
      } else {
        x -= most_unfolded;
      }
      for (int r = passage.end - 1; r >= passage.begin; --r) removed_[most_rows * i + r].recover(r, n, a_parent, x);

      visit(l.kind, [&](auto joint) {
        auto& factor = factor_of(joint, l, aba_.factors);
        S* u = driven ? right_hand_side(factor) : u_ + l.v;
        push_joint(joint, factor, G_ + most_rows * l.v, x + passage.begin, passage.end - passage.begin, u);
        if constexpr (driven) {
          motion[i] = aba_.motion[i];
          accelerate(joint, l, aba_.state + l.state, problem.v + l.v, factor, a_parent, motion[i], a + l.v);
        } else {
          affine_outward(joint, l, aba_.state + l.state, factor, u, a_parent, motion[i], a + l.v);
        }
      });

      int r = problem.constraints.of_link[i].begin + plan.own(i);
      const auto release = [&](int n_left) {
        for (; n > n_left; --n) --r, f[r] = x[n - 1] * scale_[r] * problem.active[r];
      };
      for (int fold = plan.n_own_folds(i) - 1; fold >= 0; --fold) {
        passage.folds[fold].unfold(x);
        n = passage.folds[fold].n;
        release(passage.folds[fold].n_before);
      }
      release(plan.of_children(i));
      if (!n) --depth_;
    }
  }

  AbaWorkspace<S> aba_;
  Vec3<S>* gravity_;
  Row<S>* rows_;              // as they start, not scaled
  S* scale_;                  // of each row
  double mobility_ = 0;       // the largest of a row
  double largest_start_ = 0;  // L that a row starts with, scaled
  S weakest_;                 // smallest pivot at the world or in a fold, scaled
  // the stack of blocks; in increments and outward only their k, or f
  int depth_;
  RowStack<S>* blocks_;
  S* scalars_;
  // what the factorisation leaves for increments and for going outward
  S *G_, *u_;
  Force<S>* p_;
  Passage* passages_;
  RemovedRow<S>* removed_;
  Fold<S>*folds_, *next_fold_;
};

template <class S>
class PvEarly {
 public:
  template <class C>
  PvEarly(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : sweeps_(tree, constraints, arena), proximal_(tree, constraints, arena) {}

  template <class C>
  void solve(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings& settings,
             ConstrainedAnswer<S>& answer) {
    proximal_.solve(problem, settings, sweeps_, answer);
  }

 private:
  EarlySweeps<S> sweeps_;
  ProximalSweeps<S> proximal_;
};

}  // namespace featherweight::FW_ISA
