// constrained/proximal_sweeps.hpp -- the proximal iteration of methods that sweep the tree, lane by lane.
//
// Sweeps solve J a + (R + eps) f = k; what the rows then miss, measured on the links, is the target of an increment,
// and so on. Per eigenvalue s of J H^-1 J^T + R the error shrinks by eps / (s + eps) a step. What no longer changes is
// out of reach: it is taken off the targets and the lane starts again, as its forces have grown by 1 / eps times that.
// Lanes that are done keep their bits whatever their neighbours do.
//
// What it asks of Sweeps:
//   prepare(problem, k)        places, velocities, and what each row asks of a - g
//   drive(problem, k)          a solution under all forces; its factors serve
//   increment(problem, rho)    ... the change by rho
//   a, f, motion               what the last of them found: joint accelerations, forces, accelerations of the links
//   finish(problem, motion)    joints without rows outboard, from the acceleration of the others
//   eps(), dependent()         ... and 1 in lanes where some row can say nothing new
#pragma once
#include "constrained/start_rows.hpp"
#include "linalg/packed_ldl.hpp"

namespace featherweight::FW_ISA {

template <class S>
class ProximalSweeps {
 public:
  template <class C>
  ProximalSweeps(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : k_(arena.take<S>(constraints.n_ends)),
        rho_(arena.take<S>(constraints.n_ends)),
        unreachable_(arena.take<S>(constraints.n_ends)),
        motion_(arena.take<Motion<S>>(tree.n_links)) {}

  template <class Sweeps, class C>
  void solve(const ConstrainedProblem<S, C>& problem, const ConstrainedSettings& settings, Sweeps& sweeps,
             ConstrainedAnswer<S>& answer) {
    using T = ElementOf<S>;
    const int m = problem.constraints.n_ends;
    const S eps = S(T(sweeps.eps()));
    sweeps.prepare(problem, k_);
    S largest(0);
    for (int r = 0; r < m; ++r) unreachable_[r] = S(0), largest = larger(largest, abs(k_[r]));
    // accelerations amplify what a row misses by the root of how much less it moves than others
    const S tolerance = S(T(settings.tolerance)) * (S(1) + largest), fine = tolerance * S(T(1e-3));

    answer.residual = answer.iterations = answer.converged = S(0);
    S restarted(0), starts(1);  // rounding leaves a little to the second time, and nothing to the third
    for (int attempt = 0; attempt < 3 && any(starts, starts > S(T(0.5))); ++attempt) {
      S live = starts, before(T(1e30));
      starts = S(0);
      forget(problem, live, answer);
      sweeps.drive(problem, k_);
      add(problem, sweeps, live, answer);
      for (int r = 0; r < m; ++r) rho_[r] = missed(problem, answer, r);
      while (any(live, live > S(T(0.5)))) {
        sweeps.increment(problem, rho_);
        add(problem, sweeps, live, answer);
        S residual(0), change(0);
        for (int r = 0; r < m; ++r) {
          const S left = missed(problem, answer, r);
          residual = larger(residual, abs(left));
          change = larger(change, abs(left - rho_[r]));
          rho_[r] = left;
        }
        // no change up to rounding, of targets or of forces 1 / eps as large; or something gives in too slowly
        const S still =
            select(change <= fine + residual * S(T(1e-8)), S(1), select(change > before * S(T(0.9)), S(1), S(0)));
        const S hopeless = select(residual <= S(T(1e30)), S(0), S(1));  // NaN must not hold up the other lanes
        const S over = larger(hopeless, select(answer.iterations < S(T(settings.max_iterations - 1)), S(0), S(1)));
        const S ends = larger(still, over);
        const S small = live * select(residual <= fine, S(1), select(residual <= tolerance, ends, S(0)));
        const S restart = (live - small) * still * (S(1) - over);
        answer.residual = select(live > S(T(0.5)), residual, answer.residual);
        answer.converged = answer.converged + small;
        live = (live - small) * (S(1) - ends);
        starts = starts + restart;
        restarted = larger(restarted, restart);
        before = change;
        const auto restarts = restart > S(T(0.5));
        for (int r = 0; r < m; ++r) {  // not as measured: of that, rounding in the forces may be within reach
          const S out_of_reach = select(restarts, eps * sweeps.f[r], S(0));
          unreachable_[r] = unreachable_[r] + out_of_reach;
          k_[r] = k_[r] - out_of_reach;
        }
      }
    }
    drop_idle_forces(problem, sweeps, larger(restarted, sweeps.dependent()), answer);
    for (int r = 0; r < m; ++r) answer.residual = larger(answer.residual, abs(unreachable_[r]));
    sweeps.finish(problem, motion_, answer.a);
  }

 private:
  // Calls f with each link that has rows outboard.
  template <class C, class F>
  static FW_INLINE void for_each_supporting(const ConstrainedProblem<S, C>& problem, F&& f) {
    for (int i = 0; i < problem.tree.n_links; ++i)
      if (problem.constraints.of_link[i].begin < problem.constraints.of_link[i].end) f(i, problem.tree.links[i]);
  }
  template <class C>
  void forget(const ConstrainedProblem<S, C>& problem, const S& live, ConstrainedAnswer<S>& answer) {
    const auto is_live = live > S(0.5);
    const auto clear = [&](S& x) FW_LAMBDA_INLINE { x = select(is_live, S(0), x); };
    for_each_supporting(problem, [&](int i, const Link<C>& l) {
      for (int j = 0; j < 3; ++j) clear(motion_[i].lin[j]), clear(motion_[i].ang[j]);
      for (int j = 0; j < l.nv; ++j) clear(answer.a[l.v + j]);
    });
    for (int r = 0; r < problem.constraints.n_ends; ++r) clear(answer.forces[r]);
  }
  template <class Sweeps, class C>
  void add(const ConstrainedProblem<S, C>& problem, const Sweeps& sweeps, const S& live, ConstrainedAnswer<S>& answer) {
    for_each_supporting(problem, [&](int i, const Link<C>& l) {
      add_scaled(motion_[i].lin, sweeps.motion[i].lin, live);
      add_scaled(motion_[i].ang, sweeps.motion[i].ang, live);
      for (int j = 0; j < l.nv; ++j) answer.a[l.v + j] = answer.a[l.v + j] + live * sweeps.a[l.v + j];
    });
    for (int r = 0; r < problem.constraints.n_ends; ++r) answer.forces[r] = answer.forces[r] + live * sweeps.f[r];
    answer.iterations = answer.iterations + live;
  }
  // k - K a - R f
  template <class C>
  FW_INLINE S missed(const ConstrainedProblem<S, C>& problem, const ConstrainedAnswer<S>& answer, int r) const {
    const RowEnd<C>& row = problem.constraints.ends[r];
    const Force<C> K = row_direction(row);
    const Motion<S>& a = motion_[row.link];
    return k_[r] - problem.active[r] * (dot(K.lin, a.lin) + dot(K.ang, a.ang) + answer.forces[r] * row.compliance);
  }
  // Where rows depend on each other rounding leaves forces, 1 / eps of its size, that move nothing. The same iteration
  // finds them: they are what it does not take from the forces.
  template <class Sweeps, class C>
  void drop_idle_forces(const ConstrainedProblem<S, C>& problem, Sweeps& sweeps, const S& dependent,
                        ConstrainedAnswer<S>& answer) {
    using T = ElementOf<S>;
    const int m = problem.constraints.n_ends;
    const S eps = S(T(sweeps.eps()));
    S largest(0), settled(0);
    for (int r = 0; r < m; ++r) rho_[r] = answer.forces[r], largest = larger(largest, abs(rho_[r]));
    for (int step = 0; step < 4 && any(settled, settled < dependent); ++step) {
      sweeps.increment(problem, rho_);
      S change(0);
      for (int r = 0; r < m; ++r) change = larger(change, abs(rho_[r] - eps * sweeps.f[r]));
      // what is idle only settles up to rounding over eps
      const S is_now = select(change <= largest * S(T(1e-6)), dependent - settled, S(0));
      for (int r = 0; r < m; ++r) {
        rho_[r] = eps * sweeps.f[r];
        answer.forces[r] = answer.forces[r] - is_now * rho_[r];
      }
      settled = settled + is_now;
    }
  }

  S *k_, *rho_, *unreachable_;
  Motion<S>* motion_;
};

}  // namespace featherweight::FW_ISA
