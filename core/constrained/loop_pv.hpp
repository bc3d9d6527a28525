// constrained/loop_pv.hpp -- PV for rows of any kind: loops are solved for where their ends have come together.
//   Rows travel inward from all their ends. A loop's do not notice what moves its links as one, so that their rank is
//   complete where the branches meet, and eliminating them there, once and without pivoting, is safe whatever the
//   posture (articulated/loop_end.hpp). Rows that the world holds go on to it. O(n + m) for loops of bounded size:
//   linear in their number and length. What vanishing pivots cost in digits is regained from what the rows miss, as
//   measured on the links; lanes in which rows contradict each other are solved once more, carefully. Source: ours,
//   docs/theory.md "Loops".   Oracle: dense KKT in extended precision, its pseudo-inverse.
//
// Which row goes where is decided once per set of constraints (articulated/loop_plan.cpp): control flow is the same for
// all lanes.
#pragma once
#include "articulated/loop_end.hpp"
#include "constrained/any_rows.hpp"
#include "dynamics/affine.hpp"

namespace featherweight::FW_ISA {

// Careful: the method for lanes whose rows contradict each other.
template <class S, class Careful>
class LoopPv {
 public:
  using T = ElementOf<S>;

  template <class C>
  LoopPv(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : plan_(*constraints.loops),
        aba_(tree, arena),
        any_(tree, constraints, arena),
        gravity_(arena.take<Vec3<S>>(tree.n_links)),
        K_(arena.take<Force<S>>(plan_.n_ends)),
        rows_(arena.take<Row<S>>(plan_.n_slots)),
        L_(arena.take<S>(plan_.n_triangle)),
        G_(arena.take<S>(plan_.n_entries)),
        k_(arena.take<S>(plan_.n_rows)),
        f_(arena.take<S>(plan_.n_rows)),
        missed_(arena.take<S>(plan_.n_rows)),
        df_(arena.take<S>(plan_.n_rows)),
        reduced_(arena.take<S>(plan_.n_slots)),
        passing_(arena.take<S>(plan_.widest)),
        u_(arena.take<S>(tree.nv)),
        p_(arena.take<Force<S>>(tree.n_links)),
        steps_(arena.take<Motion<S>>(tree.n_links)),
        da_(arena.take<S>(tree.nv)),
        careful_(tree, constraints, arena),
        careful_a_(arena.take<S>(tree.nv)),
        careful_forces_(arena.take<S>(constraints.n_rows)) {}

  template <class C>
  void solve(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings& settings,
             ConstrainedAnswer<S>& answer) {
    const Tree<C>& tree = problem.tree;
    dependent_ = S(0);

    // sweep 1, root to leaf: velocities, then what the rows ask for
    move_outward(tree, problem.q, problem.v, aba_,
                 [&](int i, auto joint) { rotate_gravity(joint, tree, problem.constraints, i, aba_.state, gravity_); });
    any_.set(
        problem, aba_.state, [&](int i) FW_LAMBDA_INLINE -> const Motion<S>& { return aba_.motion[i]; }, gravity_,
        false);
    set_rows(problem);

    // sweep 2, leaf to root: loops that have come together become inertia; project out the joint; the others pass it
    project_inward(
        tree, problem.v, problem.tau, problem.f_ext, aba_,
        [&](int i, Outboard<S>& outboard) {
          for (int b = plan_.of_link[i].blocks; b < plan_.of_link[i].last; ++b)
            end_loops(problem, plan_.blocks[b], &outboard);
        },
        [&](int i, auto joint, const Outboard<S>&) { pass_rows(problem, i, joint); });
    const LoopLink& world = plan_.of_link[tree.n_links];
    const Motion<S> a_world = minus_gravity<S>(tree);
    for (int b = world.blocks; b < world.last; ++b) {
      end_loops(problem, plan_.blocks[b], static_cast<Outboard<S>*>(nullptr));
      solve_block(plan_.blocks[b], a_world, f_);
    }

    // sweep 3, root to leaf: forces join the joint forces, accelerations, then the forces of loops that end there
    accelerate_outward(
        tree, problem.v, aba_, answer.a,
        [&](int i, auto joint) {
          auto& factor = factor_of(joint, tree.links[i], aba_.factors);
          push(i, joint, factor, f_, right_hand_side(factor));
        },
        [&](int i) {
          for (int b = plan_.of_link[i].blocks; b < plan_.of_link[i].last; ++b)
            solve_block(plan_.blocks[b], aba_.motion[i], f_);
        });
    refine(problem, settings, answer);
    report(problem, answer);
    if (any(dependent_, larger(contradicts_, dependent_) > S(T(0.5)))) solve_carefully(problem, settings, answer);
  }

 private:
  static constexpr int most_refinements = 6;

  // K of the carried ends and k of the carried rows.
  template <class C>
  void set_rows(const ConstrainedProblem<S, C>& problem) {
    const ConstraintRows<C>& constraints = problem.constraints;
    for (int e = 0; e < plan_.n_ends; ++e) {
      const CarriedEnd& end = plan_.ends[e];
      const RowEnd<C>& of = constraints.ends[end.of];
      const S active = problem.active[of.row];
      if (end.is_fixed)
        K_[e] = {{active * end.K[0], active * end.K[1], active * end.K[2]},
                 {active * end.K[3], active * end.K[4], active * end.K[5]}};
      else if (end.closure < 0)
        K_[e] = any_.ends.K[end.of];
      else
        set_second(constraints.closures[end.closure], end, active, K_[e]);
    }
    for (int r = 0; r < plan_.n_rows; ++r) {
      const CarriedRow& row = plan_.rows[r];
      S sum(0);
      for (int k = 0; k < row.n; ++k)
        if (row.part[k] != 0) sum = sum + any_.k[row.first + k] * T(row.part[k]);
      k_[r] = sum;
    }
  }
  // The second end of a combination of a closure's rows, given in frame a.
  template <class C>
  FW_INLINE void set_second(const Closure<C>& closure, const CarriedEnd& end, const S& active, Force<S>& K) const {
    const Pose<S>& link = any_.ends.poses[end.link];
    const Pose<S> first = frame_in_world(closure.a, any_.ends.poses);
    const Vec3<S> arm = transposed_times(link.R, first.p - link.p);
    K = {zero3<S>(), zero3<S>()};
    for (int axis = 0; axis < 6; ++axis) {
      if (end.K[axis] == 0) continue;
      const Vec3<S> n = transposed_times(link.R, column(first.R, axis % 3)) * (active * T(-end.K[axis]));
      if (axis >= 3) {
        K.ang += n;
      } else {
        K.lin += n;
        add_cross(K.ang, arm, n);
      }
    }
  }

  // A block as it comes together, and its rows that end here. outboard: null for the world.
  template <class C>
  FW_INLINE void end_loops(const ConstrainedProblem<S, C>& problem, const LoopBlock& block, Outboard<S>* outboard) {
    gather(problem, block);
    if (block.n_ending == 0) return;
    Row<S>* const rows = rows_ + block.begin;
    S* const L = L_ + block.L;
    with_loop_rows(block.n_ending, [&](auto n) {
      eliminate_block(n, block.n, S(T(block.smallest)), rows, L);
      for_each_row(n, [&](int r) FW_LAMBDA_INLINE { dependent_ = select(L[triangle(r, r)] > S(0), dependent_, S(1)); });
      if (!outboard) return;
      add_reduced_rows(n, rows, L, outboard->I);
      add_reduced_targets(n, rows, L, outboard->p);
    });
  }

  template <class C>
  void gather(const ConstrainedProblem<S, C>& problem, const LoopBlock& block) {
    Row<S>* const rows = rows_ + block.begin;
    S* const L = L_ + block.L;
    if (!block.in_place) {
      for (int r = 0; r < block.n; ++r) rows[r] = {{zero3<S>(), zero3<S>()}, S(0)};
      for (std::size_t k = 0; k < triangle(block.n, 0); ++k) L[k] = S(0);
    }
    for (int s = block.sources + (block.in_place ? 1 : 0); s < block.last; ++s) add_source(plan_.sources[s], rows, L);
    for (int k = block.own; k < block.own_end; ++k) {
      const StartingEnd& start = plan_.starting[k];
      const CarriedEnd& end = plan_.ends[start.end];
      Row<S>& row = rows[start.place];
      row.K += K_[start.end];
      if (!end.leads) continue;
      row.k = row.k + k_[end.row];
      const CarriedRow& carried = plan_.rows[end.row];
      const S active = problem.active[carried.first];
      S& own = L[triangle(start.place, start.place)];  // what is inactive yields as usual, to no force
      own = own + (active * T(carried.compliance) + (S(1) - active) * T(carried.mobility));
    }
  }
  FW_INLINE void add_source(const BlockSource& source, Row<S>* rows, S* L) const {
    const LoopBlock& from = plan_.blocks[source.block];
    const int* place = plan_.places + source.places;
    const int first = from.n_ending;
    for (int r = 0; r < from.n - first; ++r) {
      const Row<S>& other = rows_[from.begin + first + r];
      Row<S>& row = rows[place[r]];
      row.K += other.K;
      row.k = row.k + other.k;
      for (int s = 0; s <= r; ++s) {
        const int i = place[r], j = place[s];
        S& own = L[i < j ? triangle(j, i) : triangle(i, j)];
        own = own + L_[static_cast<std::size_t>(from.L) + triangle(first + r, first + s)];
      }
    }
  }

  template <class J, class C>
  FW_INLINE void pass_rows(const ConstrainedProblem<S, C>& problem, int i, J joint) {
    const LoopLink& at = plan_.of_link[i];
    if (at.passing < 0) return;
    const Link<C>& l = problem.tree.links[i];
    const LoopBlock& block = plan_.blocks[at.passing];
    with_loop_rows(block.n - block.n_ending, [&](auto n) {
      pass_joint(joint, l, aba_.state + l.state, factor_of(joint, l, aba_.factors),
                 JointMotion<S>{aba_.motion[i], problem.v + l.v},
                 RowBlock<decltype(n), int, S>{n, block.n_ending, rows_ + block.begin + block.n_ending, L_ + block.L,
                                               G_ + at.entries});
    });
  }

  FW_INLINE void solve_block(const LoopBlock& block, const Motion<S>& a, S* f) const {
    const int* const row_of = plan_.row_of + block.begin;
    const Row<S>* const rows = rows_ + block.begin;
    forces_of_block(
        block.n_ending, block.n, rows, L_ + block.L, a, [&](int r) FW_LAMBDA_INLINE { return rows[r].k; },
        [&](int r) FW_LAMBDA_INLINE -> S& { return f[row_of[r]]; });
  }

  // Forces of the rows that pass joint i act on it.
  template <class J, class F>
  FW_INLINE void push(int i, J joint, const F& factor, const S* f, S* u) {
    const LoopLink& at = plan_.of_link[i];
    if (at.passing < 0) return;
    const LoopBlock& block = plan_.blocks[at.passing];
    const int first = block.n_ending, n = block.n - first;
    for (int r = 0; r < n; ++r) passing_[r] = f[plan_.row_of[block.begin + first + r]];
    push_joint(joint, factor, G_ + at.entries, passing_, n, u);
  }

  // What the rows miss, from the accelerations of the links: exact to rounding. Returns the largest; scale_ is of what
  // they see.
  template <class C>
  S measure(const ConstrainedProblem<S, C>& problem) {
    for (int r = 0; r < plan_.n_rows; ++r) missed_[r] = k_[r];
    for (int e = 0; e < plan_.n_ends; ++e) {
      const int r = plan_.ends[e].row;
      const S seen = K_[e] * aba_.motion[plan_.ends[e].link];
      scale_ = larger(scale_, abs(seen));
      missed_[r] = missed_[r] - seen;
    }
    S largest(0);
    for (int r = 0; r < plan_.n_rows; ++r) {
      const CarriedRow& row = plan_.rows[r];
      if (row.compliance != 0) missed_[r] = missed_[r] - problem.active[row.first] * (f_[r] * T(row.compliance));
      largest = larger(largest, abs(missed_[r]));
    }
    return largest;
  }

  // Iterative refinement, lane by lane until it no longer helps: rounding in L leaves something that the rows miss,
  // which calls for a little more force. Lanes that need none keep their bits.
  template <class C>
  void refine(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings& settings,
              ConstrainedAnswer<S>& answer) {
    scale_ = S(1);
    for (int r = 0; r < plan_.n_rows; ++r) scale_ = larger(scale_, abs(k_[r]));
    S missed = measure(problem), before = S(T(1e300)), live(1);
    for (int step = 0; step < most_refinements; ++step) {
      live = live * select(missed > scale_ * S(T(1e-14)), S(1), S(0)) * select(missed < before * S(T(0.3)), S(1), S(0));
      if (!any(live, live > S(T(0.5)))) break;
      before = missed;
      for (int r = 0; r < plan_.n_rows; ++r) missed_[r] = missed_[r] * live;
      increment(problem.tree, answer.a);
      answer.iterations = answer.iterations + live;
      missed = measure(problem);
    }
    contradicts_ = select(missed <= scale_ * S(T(1e-2 * settings.tolerance)), S(0), S(1));
  }

  // The same factors, with what the rows miss for their target and nothing else: two light sweeps.
  template <class C>
  [[gnu::noinline]] void increment(const Tree<C>& tree, S* a) {
    for (int i = 0; i < tree.n_links; ++i) p_[i] = zero_force<S>();
    for (int k = 0; k < tree.nv; ++k) u_[k] = S(0);
    for (int i = tree.n_links - 1; i >= 0; --i) {
      if (!plan_.of_link[i].answers) continue;
      const Link<C>& l = tree.links[i];
      for (int b = plan_.of_link[i].blocks; b < plan_.of_link[i].last; ++b) spread(plan_.blocks[b], &p_[i]);
      visit(l.kind, [&](auto joint) {
        auto& factor = factor_of(joint, l, aba_.factors);
        Force<S> p = p_[i];
        affine_inward(joint, l, aba_.state + l.state, factor, u_ + l.v, p);
        if (l.parent >= 0) p_[l.parent] += p;
        pass_missed(i, joint, factor, u_ + l.v);
      });
    }
    const LoopLink& world = plan_.of_link[tree.n_links];
    const Motion<S> rest = zero_motion<S>();
    for (int b = world.blocks; b < world.last; ++b) {
      spread(plan_.blocks[b], static_cast<Force<S>*>(nullptr));
      solve_increment(plan_.blocks[b], rest);
    }
    for (int i = 0; i < tree.n_links; ++i) {
      const Link<C>& l = tree.links[i];
      visit(l.kind, [&](auto joint) {
        auto& factor = factor_of(joint, l, aba_.factors);
        push(i, joint, factor, df_, u_ + l.v);
        affine_outward(joint, l, aba_.state + l.state, factor, u_ + l.v, l.parent < 0 ? rest : steps_[l.parent],
                       steps_[i], da_ + l.v);
      });
      for (int b = plan_.of_link[i].blocks; b < plan_.of_link[i].last; ++b) solve_increment(plan_.blocks[b], steps_[i]);
      aba_.motion[i] += steps_[i];
    }
    for (int k = 0; k < tree.nv; ++k) a[k] = a[k] + da_[k];
    for (int r = 0; r < plan_.n_rows; ++r) f_[r] = f_[r] + df_[r];
  }
  // What the ending rows of a block miss, reduced as they were; what it does to the others and to the link.
  FW_INLINE void spread(const LoopBlock& block, Force<S>* p) {
    const int* const row_of = plan_.row_of + block.begin;
    const S* const L = L_ + block.L;
    for (int r = 0; r < block.n_ending; ++r) {
      const S x = missed_[row_of[r]];
      reduced_[block.begin + r] = x;
      for (int s = r + 1; s < block.n; ++s) missed_[row_of[s]] = missed_[row_of[s]] - L[triangle(s, r)] * x;
      if (!p) continue;
      const S push = x * L[triangle(r, r)];
      add_scaled(p->lin, rows_[block.begin + r].K.lin, -push);
      add_scaled(p->ang, rows_[block.begin + r].K.ang, -push);
    }
  }
  template <class J, class F>
  FW_INLINE void pass_missed(int i, J joint, const F& factor, const S* u) {
    const LoopLink& at = plan_.of_link[i];
    if (at.passing < 0) return;
    const LoopBlock& block = plan_.blocks[at.passing];
    const int first = block.n_ending, n = block.n - first;
    const int* const row_of = plan_.row_of + block.begin + first;
    for (int r = 0; r < n; ++r) passing_[r] = missed_[row_of[r]];
    pass_increment(joint, factor, u, G_ + at.entries, n, passing_);
    for (int r = 0; r < n; ++r) missed_[row_of[r]] = passing_[r];
  }
  FW_INLINE void solve_increment(const LoopBlock& block, const Motion<S>& a) {
    const int* const row_of = plan_.row_of + block.begin;
    const S* const reduced = reduced_ + block.begin;
    forces_of_block(
        block.n_ending, block.n, rows_ + block.begin, L_ + block.L, a,
        [&](int r) FW_LAMBDA_INLINE { return reduced[r]; },
        [&](int r) FW_LAMBDA_INLINE -> S& { return df_[row_of[r]]; });
  }

  // Forces of the user's rows, and what they miss, also those of which no combination is carried.
  template <class C>
  void report(const ConstrainedProblem<S, C>& problem, ConstrainedAnswer<S>& answer) {
    const ConstraintRows<C>& constraints = problem.constraints;
    for (int r = 0; r < constraints.n_rows; ++r) answer.forces[r] = S(0);
    for (int r = 0; r < plan_.n_rows; ++r) {
      const CarriedRow& row = plan_.rows[r];
      for (int k = 0; k < row.n; ++k)
        if (row.part[k] != 0) answer.forces[row.first + k] = answer.forces[row.first + k] + f_[r] * T(row.part[k]);
    }
    answer.residual = S(0);
    for (int r = 0; r < plan_.n_rows; ++r) answer.residual = larger(answer.residual, abs(missed_[r]));
    for (int c = 0; c < constraints.n_closures; ++c)
      if (plan_.closures_reduced[c]) answer.residual = larger(answer.residual, missed_by_closure(problem, c));
  }
  template <class C>
  S missed_by_closure(const ConstrainedProblem<S, C>& problem, int c) const {
    const Closure<C>& closure = problem.constraints.closures[c];
    const int first = problem.constraints.places[c].row;
    const Pose<S> a = frame_in_world(closure.a, any_.ends.poses), &b = any_.ends.poses[closure.b.link];
    const Mat3<S> b_axes{column(b.R, 0), column(b.R, 1), column(b.R, 2)};
    const Motion<S> x = seen_from(mat3(closure.a.R), vec3(closure.a.p), aba_.motion[closure.a.link]),
                    y = seen_from(b_axes * a.R, transposed_times(b.R, a.p - b.p), aba_.motion[closure.b.link]);
    S largest(0);
    for (int r = 0; r < closure.n_rows; ++r) {
      const int axis = closure.axes[r];
      const S reached = axis < 3 ? x.lin[axis] - y.lin[axis] : x.ang[axis - 3] - y.ang[axis - 3];
      largest = larger(largest, abs(any_.k[first + r] - problem.active[first + r] * reached));
    }
    return largest;
  }

  // Lanes in which rows contradict each other take the answer of a method for such rows; those in which they depend on
  // each other its forces, the least.
  template <class C>
  [[gnu::noinline, gnu::cold]] void solve_carefully(const ConstrainedProblem<S, C>& problem,
                                                    const ConstrainedSettings& settings, ConstrainedAnswer<S>& answer) {
    ConstrainedAnswer<S> careful{careful_a_, careful_forces_, S(0), S(1), S(1)};
    careful_.solve(problem, settings, careful);
    const auto here = contradicts_ > S(T(0.5));
    for (int k = 0; k < problem.tree.nv; ++k) answer.a[k] = select(here, careful.a[k], answer.a[k]);
    const auto dependent = larger(contradicts_, dependent_) > S(T(0.5));
    for (int r = 0; r < problem.constraints.n_rows; ++r)
      answer.forces[r] = select(dependent, careful.forces[r], answer.forces[r]);
    answer.residual = select(here, careful.residual, answer.residual);
    answer.iterations = select(here, careful.iterations, answer.iterations);
    answer.converged = select(here, careful.converged, answer.converged);
  }

  const LoopPlan& plan_;
  AbaWorkspace<S> aba_;
  AnyRows<S> any_;
  Vec3<S>* gravity_;
  Force<S>* K_;  // of the carried ends
  Row<S>* rows_;
  S *L_, *G_;
  S *k_, *f_, *missed_, *df_;  // of the carried rows
  S *reduced_, *passing_;
  S* u_;
  Force<S>* p_;
  Motion<S>* steps_;
  S* da_;
  S scale_;        // largest acceleration that a row asks for or an end sees
  S contradicts_;  // 1 where rows do
  S dependent_;    // 1 where some depend on others
  Careful careful_;
  S *careful_a_, *careful_forces_;
};

}  // namespace featherweight::FW_ISA
