// delassus/pv_osimr.hpp -- the Delassus matrix in the lowest order, O(n + m^2) for m rows.
//   Between stops (delassus/stops.hpp) only six rows travel, whatever the number of those that wait: what lies
//   between is composed to a single joint. The rows then leap from stop to stop, and couple where their paths join.
//   Source: A. S. Sathya, W. Decre and J. Swevers, "PV-OSIMr".
//   Frames: rows live in the link they have come to.   Oracle: dense J H^-1 J^T.
#pragma once
#include "articulated/row_steps.hpp"
#include "delassus/method.hpp"
#include "delassus/stops.hpp"
#include "dynamics/articulate.hpp"

namespace featherweight::FW_ISA {

// The joints from a stop to the next one inward, as one: a = E a_inward + omega f.
template <class S>
struct Leap {
  Row<S> E[6];
  S omega[21];  // lower triangle by rows; in the end with the motion of a_inward under f, so that a = omega f
};

template <class S>
FW_INLINE Motion<S> acceleration(const S* omega, const Force<S>& f) {
  const auto row = [&](int k) FW_LAMBDA_INLINE {
    const auto at = [&](int j) FW_LAMBDA_INLINE { return omega[k < j ? triangle(j, k) : triangle(k, j)]; };
    return at(0) * f.lin[0] + at(1) * f.lin[1] + at(2) * f.lin[2] + at(3) * f.ang[0] + at(4) * f.ang[1] +
           at(5) * f.ang[2];
  };
  return {{row(0), row(1), row(2)}, {row(3), row(4), row(5)}};
}
template <class S>
[[gnu::noinline]] void accelerate_rows(const S* omega, const Row<S>* rows, int n, Motion<S>* a) {
  for (int r = 0; r < n; ++r) a[r] = acceleration(omega, rows[r].K);
}

// Products of a row with accelerations.
template <class S>
FW_INLINE void add_products(const Force<S>& K, const Motion<S>* a, int n, S* products) {
  for (int s = 0; s < n; ++s) products[s] = products[s] + K * a[s];
}

// omega <- omega + E omega_inward E^T
template <class S>
[[gnu::noinline]] void add_inward_motion(const S* omega_inward, Leap<S>& leap) {
  Motion<S> a[6];
  for (int r = 0; r < 6; ++r) {
    a[r] = acceleration(omega_inward, leap.E[r].K);
    add_products(leap.E[r].K, a, r + 1, leap.omega + triangle(r, 0));
  }
}

// Couples rows that arrive at a stop to those from `first` to themselves, unless they are coupled already. Two rows at
// a time, so that accelerations are loaded half as often.
template <class S>
[[gnu::noinline]] void couple(const Row<S>* rows, const StopArrival& arrival, int first, const Motion<S>* a, S* delta) {
  const auto n_coupled = [&](int r) FW_LAMBDA_INLINE { return (arrival.coupled ? arrival.begin : r + 1) - first; };
  int r = arrival.begin;
  for (; r + 1 < arrival.end; r += 2) {
    const Force<S> K = rows[r].K, K_next = rows[r + 1].K;
    S *products = delta + triangle(r, first), *next = delta + triangle(r + 1, first);
    const int n = n_coupled(r);
    for (int s = 0; s < n; ++s) {
      const Motion<S> a_s = a[first + s];
      products[s] = products[s] + K * a_s;
      next[s] = next[s] + K_next * a_s;
    }
    add_products(K_next, a + first + n, n_coupled(r + 1) - n, next + n);
  }
  if (r < arrival.end) add_products(rows[r].K, a + first, n_coupled(r), delta + triangle(r, first));
}

// K <- K E
template <class S>
[[gnu::noinline]] void leap_inward(const Row<S>* E, Row<S>* rows, int n) {
  for (int r = 0; r < n; ++r) {
    const Vec3<S> lin = rows[r].K.lin, ang = rows[r].K.ang;
    const auto sum = [&](auto part) FW_LAMBDA_INLINE {
      return part(E[0].K) * lin[0] + part(E[1].K) * lin[1] + part(E[2].K) * lin[2] + part(E[3].K) * ang[0] +
             part(E[4].K) * ang[1] + part(E[5].K) * ang[2];
    };
    rows[r].K = {sum([](const Force<S>& f) FW_LAMBDA_INLINE { return f.lin; }),
                 sum([](const Force<S>& f) FW_LAMBDA_INLINE { return f.ang; })};
  }
}

template <class S>
class PvOsimr {
 public:
  template <class C>
  PvOsimr(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : articulated_(tree, arena),
        rows_(arena.take<Row<S>>(constraints.n_ends)),
        accelerations_(arena.take<Motion<S>>(constraints.n_ends)),
        leaps_(arena.take<Leap<S>>(constraints.stops->n_stops)),
        G_(arena.take<S>(6 * (constraints.n_ends < 6 ? 6 : constraints.n_ends))) {}

  // `before(i, I)` may add to the articulated inertias (dynamics/articulate.hpp).
  template <class C, class Before = Unobserved>
  void compute(const DelassusProblem<S, C>& problem, S* delta, const Before& before = {}) {
    const StopPlan& plan = *problem.constraints.stops;
    for (std::size_t k = 0; k < triangle(problem.constraints.n_ends, 0); ++k) delta[k] = S(0);

    // sweep 1, leaf to root: project out each joint; rows pass it by themselves, or the six of a stop do
    articulate(problem.tree, problem.q, articulated_, before, [&](int i, auto joint) {
      const Link<C>& l = problem.tree.links[i];
      const RowRange range = problem.constraints.of_link[i];
      for (int r = range.begin; r < range.own_end; ++r) rows_[r].K = problem.K[r];
      const int x = plan.of_link[i];
      if (x < 0) {
        if (range.begin < range.end) pass_rows(joint, l, range, delta);
      } else if (plan.stops[x].link == i) {
        set_out(joint, l, leaps_[x]);
      } else {
        pass_six(joint, l, leaps_[x]);
      }
    });

    // sweep 2, stops from root to leaf: the acceleration of each by a force on it
    for (int x = 0; x < plan.n_stops; ++x)
      if (plan.stops[x].inward >= 0) add_inward_motion(leaps_[plan.stops[x].inward].omega, leaps_[x]);

    // sweep 3, stops from leaf to root: rows couple there, then leap to the next
    for (int x = plan.n_stops - 1; x >= 0; --x) {
      const Stop& stop = plan.stops[x];
      const RowRange range = problem.constraints.of_link[stop.link];
      const StopArrival& last = plan.arrivals[stop.last - 1];  // no later one couples to it
      const int n_accelerated = (last.coupled ? last.begin : last.end) - range.begin;
      accelerate_rows(leaps_[x].omega, rows_ + range.begin, n_accelerated, accelerations_ + range.begin);
      for (int k = stop.arrivals; k < stop.last; ++k)
        couple(rows_, plan.arrivals[k], range.begin, accelerations_, delta);
      if (stop.inward >= 0) leap_inward(leaps_[x].E, rows_ + range.begin, range.end - range.begin);
    }
  }

 private:
  template <class J, class C, class N, class First>
  FW_INLINE void pass(J joint, const Link<C>& l, const RowBlock<N, First, S>& block) {
    pass_joint(joint, l, articulated_.state + l.state, factor_of(joint, l, articulated_.factors), AtRest{}, block);
  }
  template <class J, class C>
  FW_INLINE void pass_rows(J joint, const Link<C>& l, const RowRange& range, S* delta) {
    with_row_count(range.end - range.begin, [&](auto n) {
      pass(joint, l, RowBlock<decltype(n), int, S>{n, range.begin, rows_ + range.begin, delta, G_});
    });
  }
  template <class J, class C>
  FW_INLINE void pass_six(J joint, const Link<C>& l, Leap<S>& leap) {
    pass(joint, l, RowBlock<Fixed<6>, Fixed<0>, S>{{}, {}, leap.E, leap.omega, G_});
  }

  // The rows of a stop at link l, which are the components of its acceleration, pass their first joint.
  template <class J, class C>
  FW_INLINE void set_out(J joint, const Link<C>& l, Leap<S>& leap) {
    set_units(leap);
    pass_six(joint, l, leap);
  }
  template <class C>
  FW_INLINE void set_out(Free joint, const Link<C>& l, Leap<S>& leap) {
    if (l.parent < 0) return invert(factor_of(joint, l, articulated_.factors), leap);
    set_units(leap);
    pass_six(joint, l, leap);
  }
  [[gnu::noinline]] static void set_units(Leap<S>& leap) {
    for (Row<S>& row : leap.E) row.K = zero_force<S>();
    for (int k = 0; k < 3; ++k) leap.E[k].K.lin[k] = leap.E[3 + k].K.ang[k] = S(1);
    for (S& x : leap.omega) x = S(0);
  }
  // A floating base: nothing else of it is asked for.
  [[gnu::noinline]] static void invert(const FreeFactor<S>& factor, Leap<S>& leap) { factor.D.invert(leap.omega); }

  ArticulatedTree<S> articulated_;
  Row<S>* rows_;
  Motion<S>* accelerations_;
  Leap<S>* leaps_;
  S* G_;  // entries of the joint that is passed
};

}  // namespace featherweight::FW_ISA
