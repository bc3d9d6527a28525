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
#include "articulated/loop_start.hpp"
#include "constrained/method.hpp"
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
        gravity_(arena.take<Vec3<S>>(plan_.n_anchors > 0 ? tree.n_links : 0)),
        K_(arena.take<Force<S>>(plan_.n_varying)),
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
    move_outward(tree, problem.q, problem.v, aba_, [&](int i, auto joint) {
      if (plan_.n_anchors > 0) rotate_gravity(joint, tree, problem.constraints, i, aba_.state, gravity_);
    });
    start_rows(problem);

    // sweep 2, leaf to root: loops that have come together become inertia; project out the joint; the others pass it
    project_inward(
        tree, problem.v, problem.tau, problem.f_ext, aba_,
        [&](int i, Outboard<S>& outboard) FW_LAMBDA_INLINE {
          for (int b = plan_.of_link[i].blocks; b < plan_.of_link[i].last; ++b)
            come_together(problem, plan_.blocks[b], &outboard);
        },
        [&](int i, auto joint, const Outboard<S>&) { pass_rows(problem, i, joint); });
    const LoopLink& world = plan_.of_link[tree.n_links];
    const Motion<S> a_world = minus_gravity<S>(tree);
    for (int b = world.blocks; b < world.last; ++b) {
      come_together(problem, plan_.blocks[b], static_cast<Outboard<S>*>(nullptr));
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

  // K of the carried ends that depend on the configuration, and k of the carried rows.
  template <class C>
  [[gnu::noinline]] void start_rows(const ConstrainedProblem<S, C>& problem) {
    left_out_ = S(0);
    for (int p = 0; p < plan_.n_paths; ++p) {
      const LoopPath& path = plan_.paths[p];
      if (problem.constraints.closures[path.closure].length > 0)
        start_rod(problem, path);
      else if (path.axis == 0)
        start_closure(problem, path, plane_between<0>(problem.tree, plan_, path, aba_.state, problem.v));
      else if (path.axis == 1)
        start_closure(problem, path, plane_between<1>(problem.tree, plan_, path, aba_.state, problem.v));
      else if (path.axis == 2)
        start_closure(problem, path, plane_between<2>(problem.tree, plan_, path, aba_.state, problem.v));
      else
        start_closure(problem, path, between_links(problem, path));
    }
    for (int k = 0; k < plan_.n_anchors; ++k) {
      const CarriedEnd& end = plan_.ends[plan_.anchors[k]];
      const RowEnd<C>& of = problem.constraints.ends[end.of];
      const Vec3<S> given = given_acceleration(of, aba_.motion[end.link], gravity_[end.link]);
      k_[end.row] = (problem.targets[of.row] - dot(row_direction(of).lin, given)) * problem.active[of.row];
    }
    if (plan_.n_couplings > 0) start_couplings(problem);
  }

  template <class C, class B>
  FW_INLINE void start_closure(const ConstrainedProblem<S, C>& problem, const LoopPath& path, const B& between) {
    const Closure<C>& closure = problem.constraints.closures[path.closure];
    const bool unmoved = path.left_out == LeftOut::unmoved && closure.of_point;
    const LoopBias<S> bias =
        loop_bias(between, closure, unmoved, aba_.motion[closure.a.link], aba_.motion[closure.b.link]);
    const Vec3<C> p = vec3(closure.a.p);
    for (int r = 0; r < path.n; ++r) {
      const CarriedRow& row = plan_.rows[path.row + r];
      const double* const K = plan_.ends[path.end + 2 * r].K;
      const Force<S> first = in_lanes<S>(K);
      Force<S> second = on_other_link(between, first);
      const Vec3<C> n{C(K[0]), C(K[1]), C(K[2])}, moment = cross(p, n);
      const Vec3<C> about{C(K[3]) - moment[0], C(K[4]) - moment[1], C(K[5]) - moment[2]};
      S k = -dot(first.lin, bias.lin);
      if (about[0] != 0 || about[1] != 0 || about[2] != 0) k = k - dot(about, bias.ang);
      for (int s = 0; s < row.n; ++s)
        if (row.part[s] != 0) k = k + problem.targets[row.first + s] * T(row.part[s]);
      if (problem.masked) {
        const S active = problem.active[row.first];
        k = k * active;
        second = {second.lin * active, second.ang * active};
      }
      K_[plan_.ends[path.end + 2 * r + 1].varying] = second;
      k_[path.row + r] = k;
    }
    if (path.left_out == LeftOut::unmoved) note_unmoved(problem, path, bias.drift);
  }

  // Rows that no joint ever moves are missed by all that they ask for, whatever the forces. Of a point their axes turn,
  // and if the loop opens, at r per second, rows ask for what that makes of r.
  template <class C>
  [[gnu::noinline]] void note_unmoved(const ConstrainedProblem<S, C>& problem, const LoopPath& path,
                                      const Vec3<S>& drift) {
    const Closure<C>& closure = problem.constraints.closures[path.closure];
    const int first = problem.constraints.places[path.closure].row;
    const Mat3<C> axes = mat3(closure.a.R);
    S asked[6];
    for (int r = 0; r < closure.n_rows; ++r) {
      asked[r] = problem.targets[first + r];
      if (closure.of_point && closure.axes[r] < 3) asked[r] = asked[r] - dot(column(axes, closure.axes[r]), drift);
    }
    for (int r = 0; r < closure.n_rows; ++r) {
      S left = asked[r];
      for (int j = 0; j < path.n; ++j) {
        const double* const part = plan_.rows[path.row + j].part;
        if (part[r] == 0) continue;
        for (int s = 0; s < closure.n_rows; ++s)
          if (part[s] != 0) left = left - asked[s] * T(part[r] * part[s]);
      }
      left_out_ = larger(left_out_, abs(left * problem.active[first + r]));
    }
  }

  // Not in line: few loops need it, and poses take many registers.
  template <class C>
  [[gnu::noinline]] Between<S> between_links(const ConstrainedProblem<S, C>& problem, const LoopPath& path) const {
    const Closure<C>& closure = problem.constraints.closures[path.closure];
    return between(problem.tree, plan_, path, aba_.state, aba_.motion[closure.a.link], aba_.motion[closure.b.link]);
  }

  template <class C>
  [[gnu::noinline]] void start_rod(const ConstrainedProblem<S, C>& problem, const LoopPath& path) {
    const Closure<C>& closure = problem.constraints.closures[path.closure];
    const Pose<S> a = pose_along(problem.tree, aba_.state, plan_.way, path.a, path.a_end),
                  b = pose_along(problem.tree, aba_.state, plan_.way, path.b, path.b_end);
    const Vec3<S> direction = line_between(compose(a, closure.a), compose(b, closure.b)).direction;
    const Motion<S> v_b = closure.b.link < 0 ? zero_motion<S>() : aba_.motion[closure.b.link];
    const CarriedRow& row = plan_.rows[path.row];
    const S active = problem.active[row.first];
    S k = problem.targets[row.first] - rod_bias(closure, a, b, aba_.motion[closure.a.link], v_b);
    for (int e = path.end; e < path.end + (closure.b.link < 0 ? 1 : 2); ++e) {
      const CarriedEnd& end = plan_.ends[e];
      const RowEnd<C>& of = problem.constraints.ends[end.of];
      const Vec3<S> n = transposed_times((e == path.end ? a : b).R, direction) * (e == path.end ? active : -active);
      K_[end.varying] = {n, cross(vec3(of.p), n)};
      if (!of.of_point && !of.grounded) continue;
      const Vec3<S> gravity = of.grounded ? gravity_in(problem.tree, a) : zero3<S>();
      k = k - dot(n, given_acceleration(of, aba_.motion[end.link], gravity));
    }
    k_[path.row] = k * active;
  }
  template <class C>
  FW_INLINE Vec3<S> gravity_in(const Tree<C>& tree, const Pose<S>& link) const {
    return transposed_times(link.R, Vec3<S>{S(tree.gravity[0]), S(tree.gravity[1]), S(tree.gravity[2])});
  }

  template <class C>
  [[gnu::noinline]] void start_couplings(const ConstrainedProblem<S, C>& problem) {
    for (int k = 0; k < plan_.n_couplings; ++k) {
      const CarriedEnd& end = plan_.ends[plan_.couplings[k]];
      const RowEnd<C>& of = problem.constraints.ends[end.of];
      const S active = problem.active[of.row];
      K_[end.varying] = active_row(of, coupling_entry(problem.constraints.terms[of.part], problem.q) * active);
    }
    for_each_coupling(problem.constraints, [&](const Coupling& coupling, const ConstraintPlace& place) {
      const S bias = coupling_bias(coupling, problem.constraints.terms, problem.q, problem.v);
      const int row = plan_.first_coupling + static_cast<int>(&coupling - problem.constraints.couplings);
      k_[row] = (problem.targets[place.row] - bias) * problem.active[place.row];
    });
  }

  template <class C>
  FW_INLINE Force<S> direction(const ConstrainedProblem<S, C>& problem, const CarriedEnd& end) const {
    if (end.varying >= 0) return K_[end.varying];
    const Force<S> K = in_lanes<S>(end.K);
    if (!problem.masked) return K;
    const S active = problem.active[plan_.rows[end.row].first];
    return {K.lin * active, K.ang * active};
  }

  // A block as it comes together, and its rows that end here. outboard: null for the world.
  template <class C>
  FW_INLINE void come_together(const ConstrainedProblem<S, C>& problem, const LoopBlock& block, Outboard<S>* outboard) {
    if (starts_at_joint(problem, block)) return;
    if (block.meets) return with_loop_rows(block.n, [&](auto n) { meet(n, block, outboard); });
    if (block.sources == block.last)
      start_block(problem, block);
    else
      gather(problem, block);
    if (block.n_ending > 0) end_loops(block, outboard);
  }
  // What most loops do: two branches bring the same rows, and all of them end.
  template <class N>
  [[gnu::noinline]] void meet(N n, const LoopBlock& block, Outboard<S>* outboard) {
    add_rows(plan_.blocks[plan_.sources[block.last - 1].block], rows_ + block.begin, L_ + block.L);
    end_rows(n, block, outboard);
  }
  [[gnu::noinline]] void end_loops(const LoopBlock& block, Outboard<S>* outboard) {
    with_loop_rows(block.n_ending, [&](auto n) { end_rows(n, block, outboard); });
  }
  template <class N>
  FW_INLINE void end_rows(N n, const LoopBlock& block, Outboard<S>* outboard) {
    Row<S>* const rows = rows_ + block.begin;
    S* const L = L_ + block.L;
    eliminate_block(n, block.n, S(T(block.smallest)), rows, L);
    for_each_row(n, [&](int r) FW_LAMBDA_INLINE { dependent_ = select(L[triangle(r, r)] > S(0), dependent_, S(1)); });
    if (!outboard) return;
    add_reduced_rows(n, rows, L, outboard->I);
    add_reduced_targets(n, rows, L, outboard->p);
  }

  // Whether its rows need not be anywhere before they pass the joint of the link where they start.
  template <class C>
  static FW_INLINE bool starts_at_joint(const ConstrainedProblem<S, C>& problem, const LoopBlock& block) {
    return block.starts && !problem.masked;
  }
  template <class N>
  struct StartingBlock : RowBlock<N, Fixed<0>, S> {
    const LoopPv& of;
    const StartingEnd* starting;

    const CarriedEnd& end(int r) const { return of.plan_.ends[starting[r].end]; }
    FW_INLINE Row<S> before(int r) const {
      const CarriedEnd& e = end(r);
      return {e.varying < 0 ? in_lanes<S>(e.K) : of.K_[e.varying], e.leads ? of.k_[e.row] : S(0)};
    }
    FW_INLINE S before(int r, int s) const {
      return S(r == s && end(r).leads ? T(of.plan_.rows[end(r).row].compliance) : T(0));
    }
  };

  // Of ends on its link alone.
  template <class C>
  [[gnu::noinline]] void start_block(const ConstrainedProblem<S, C>& problem, const LoopBlock& block) {
    clear_triangle(block);
    start_ends(problem, block);
  }
  template <class C>
  [[gnu::noinline]] void gather(const ConstrainedProblem<S, C>& problem, const LoopBlock& block) {
    Row<S>* const rows = rows_ + block.begin;
    S* const L = L_ + block.L;
    int source = block.sources;
    if (block.in_place) {
      ++source;
    } else {
      clear_triangle(block);
      for (int r = 0; r < block.n; ++r) rows[r] = {{zero3<S>(), zero3<S>()}, S(0)};
    }
    for (; source < block.last; ++source) {
      const BlockSource& from = plan_.sources[source];
      if (from.fills && plan_.blocks[from.block].n_ending == 0)
        add_rows(plan_.blocks[from.block], rows, L);
      else
        add_source(from, rows, L);
    }
    if (block.own < block.own_end) start_ends(problem, block);
  }
  FW_INLINE void clear_triangle(const LoopBlock& block) {
    S* const L = L_ + block.L;
    with_loop_rows(block.n, [&](auto n) {  // of known size it is not a call
      for_each_row(n, [&](int r) FW_LAMBDA_INLINE {
        for (int s = 0; s <= r; ++s) L[triangle(r, s)] = S(0);
      });
    });
  }
  template <class C>
  FW_INLINE void start_ends(const ConstrainedProblem<S, C>& problem, const LoopBlock& block) {
    for (int k = block.own; k < block.own_end; ++k) {
      const StartingEnd& start = plan_.starting[k];
      const CarriedEnd& end = plan_.ends[start.end];
      const Force<S> K = direction(problem, end);
      Row<S>& row = rows_[block.begin + start.place];
      const S asked = end.leads ? k_[end.row] : S(0);
      if (start.is_first)
        row = {K, asked};
      else
        add_to(row, {K, asked});
      if (end.leads)
        add_own_compliance(problem, plan_.rows[end.row],
                           L_[static_cast<std::size_t>(block.L) + triangle(start.place, start.place)]);
    }
  }
  // What is inactive yields as usual, to no force.
  template <class C>
  FW_INLINE void add_own_compliance(const ConstrainedProblem<S, C>& problem, const CarriedRow& row, S& own) const {
    if (!problem.masked) {
      if (row.compliance != 0) own = own + T(row.compliance);
      return;
    }
    const S active = problem.active[row.first];
    own = own + (active * T(row.compliance) + (S(1) - active) * T(row.mobility));
  }
  static FW_INLINE void add_to(Row<S>& row, const Row<S>& other) {
    row.K += other.K;
    row.k = row.k + other.k;
  }
  // All rows of a block, to the same rows in the same order.
  FW_INLINE void add_rows(const LoopBlock& from, Row<S>* rows, S* L) const {
    const Row<S>* const other = rows_ + from.begin;
    const S* const other_L = L_ + from.L;
    with_loop_rows(from.n, [&](auto n) {
      for_each_row(n, [&](int r) FW_LAMBDA_INLINE { add_to(rows[r], other[r]); });
      for (std::size_t k = 0; k < triangle(n, 0); ++k) L[k] = L[k] + other_L[k];
    });
  }
  FW_INLINE void add_source(const BlockSource& source, Row<S>* rows, S* L) const {
    const LoopBlock& from = plan_.blocks[source.block];
    const int* place = plan_.places + source.places;
    const int first = from.n_ending;
    for (int r = 0; r < from.n - first; ++r) {
      const Row<S>& other = rows_[from.begin + first + r];
      Row<S>& row = rows[place[r]];
      add_to(row, other);
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
    const auto pass = [&](const auto& rows) {
      pass_joint(joint, l, aba_.state + l.state, factor_of(joint, l, aba_.factors),
                 JointMotion<S>{aba_.motion[i], problem.v + l.v}, rows);
    };
    Row<S>* const passing = rows_ + block.begin + at.first;
    S *const L = L_ + block.L, *const G = G_ + at.entries;
    if (at.first > 0) return pass(RowBlock<int, int, S>{at.n, at.first, passing, L, G});
    with_loop_rows(at.n, [&](auto n) {
      using N = decltype(n);
      if (starts_at_joint(problem, block))
        pass(StartingBlock<N>{{n, {}, passing, L, G}, *this, plan_.starting + block.own});
      else
        pass(RowBlock<N, Fixed<0>, S>{n, {}, passing, L, G});
    });
  }

  FW_INLINE void solve_block(const LoopBlock& block, const Motion<S>& a, S* f) const {
    const int* const row_of = plan_.row_of + block.begin;
    const Row<S>* const rows = rows_ + block.begin;
    with_loop_rows(block.n_ending, [&](auto n) {
      forces_of_block(
          n, block.n, rows, L_ + block.L, a, [&](int r) FW_LAMBDA_INLINE { return rows[r].k; },
          [&](int r) FW_LAMBDA_INLINE -> S& { return f[row_of[r]]; });
    });
  }

  // Forces of the rows that pass joint i act on it.
  template <class J, class F>
  FW_INLINE void push(int i, J joint, const F& factor, const S* f, S* u) {
    const LoopLink& at = plan_.of_link[i];
    if (at.passing < 0) return;
    if (at.forces < 0) {
      const int* const row_of = plan_.row_of + plan_.blocks[at.passing].begin + at.first;
      for (int r = 0; r < at.n; ++r) passing_[r] = f[row_of[r]];
    }
    const S* const passing = at.forces < 0 ? passing_ : f + at.forces;
    with_loop_rows(at.n, [&](auto count) { push_joint(joint, factor, G_ + at.entries, passing, count, u); });
  }

  // What the rows miss, from the accelerations of the links: exact to rounding. Returns the largest; scale_ is of what
  // they see.
  template <class C>
  S measure(const ConstrainedProblem<S, C>& problem) {
    for (int r = 0; r < plan_.n_rows; ++r) missed_[r] = k_[r];
    for (int e = 0; e < plan_.n_ends; ++e) {
      const CarriedEnd& end = plan_.ends[e];
      const int r = end.row;
      const S seen = seen_by(problem, end);
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

  // The acceleration of its link that an end sees.
  template <class C>
  FW_INLINE S seen_by(const ConstrainedProblem<S, C>& problem, const CarriedEnd& end) const {
    const Motion<S>& a = aba_.motion[end.link];
    if (end.varying >= 0) return K_[end.varying] * a;
    S sum(0);
    for (int k = 0; k < 6; ++k)  // most of the constants are zero
      if (end.K[k] != 0) sum = sum + (k < 3 ? a.lin[k] : a.ang[k - 3]) * T(end.K[k]);
    return problem.masked ? sum * problem.active[plan_.rows[end.row].first] : sum;
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
    const int* const row_of = plan_.row_of + plan_.blocks[at.passing].begin + at.first;
    for (int r = 0; r < at.n; ++r) passing_[r] = missed_[row_of[r]];
    pass_increment(joint, factor, u, G_ + at.entries, at.n, passing_);
    for (int r = 0; r < at.n; ++r) missed_[row_of[r]] = passing_[r];
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
    answer.residual = left_out_;
    for (int r = 0; r < plan_.n_rows; ++r) answer.residual = larger(answer.residual, abs(missed_[r]));
    for (int p = 0; p < plan_.n_paths; ++p)
      if (plan_.paths[p].left_out == LeftOut::rounding)
        answer.residual = larger(answer.residual, missed_by_closure(problem, plan_.paths[p]));
  }
  // What the rows of a closure miss that are not carried although joints move them a little. Velocities are those of
  // the problem: the links now know their accelerations.
  template <class C>
  [[gnu::noinline, gnu::cold]] S missed_by_closure(const ConstrainedProblem<S, C>& problem, const LoopPath& path) {
    const Closure<C>& closure = problem.constraints.closures[path.closure];
    const int first = problem.constraints.places[path.closure].row;
    const Motion<S> v_a = velocity_along(problem, closure.a.link), v_b = velocity_along(problem, closure.b.link);
    const Between<S> links = between(problem.tree, plan_, path, aba_.state, v_a, v_b);
    const LoopBias<S> bias = loop_bias(links, closure, false, v_a, v_b);
    const Motion<S>&a = aba_.motion[closure.a.link], &b = aba_.motion[closure.b.link];
    const Mat3<C> axes = mat3(closure.a.R);
    const Vec3<C> p = vec3(closure.a.p);
    S largest(0);
    for (int r = 0; r < closure.n_rows; ++r) {
      const Vec3<C> n = column(axes, closure.axes[r] % 3), none{C(0), C(0), C(0)};
      const Force<C> K = closure.axes[r] < 3 ? Force<C>{n, cross(p, n)} : Force<C>{none, n};
      const Force<S> K_a{{S(K.lin[0]), S(K.lin[1]), S(K.lin[2])}, {S(K.ang[0]), S(K.ang[1]), S(K.ang[2])}};
      const S reached = K_a * a + on_other_link(links, K_a) * b + dot(n, closure.axes[r] < 3 ? bias.lin : bias.ang);
      largest = larger(largest, abs((problem.targets[first + r] - reached) * problem.active[first + r]));
    }
    return largest;
  }
  template <class C>
  Motion<S> velocity_along(const ConstrainedProblem<S, C>& problem, int link) const {
    if (link < 0) return zero_motion<S>();
    const Link<C>& l = problem.tree.links[link];
    Motion<S> v = velocity_along(problem, l.parent);
    visit(l.kind, [&](auto joint) {
      v = joint.to_child(l, aba_.state + l.state, v);
      joint.add_motion(l, problem.v + l.v, v);
    });
    return v;
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
  Vec3<S>* gravity_;
  Force<S>* K_;  // of the carried ends that vary
  Row<S>* rows_;
  S *L_, *G_;
  S *k_, *f_, *missed_, *df_;  // of the carried rows
  S *reduced_, *passing_;
  S* u_;
  Force<S>* p_;
  Motion<S>* steps_;
  S* da_;
  S scale_;        // largest acceleration that a row asks for or an end sees
  S left_out_;     // largest acceleration asked for by what no joint moves
  S contradicts_;  // 1 where rows do
  S dependent_;    // 1 where some depend on others
  Careful careful_;
  S *careful_a_, *careful_forces_;
};

}  // namespace featherweight::FW_ISA
