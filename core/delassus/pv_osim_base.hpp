// delassus/pv_osim_base.hpp -- the inverse of the Delassus matrix, limb by limb.
//   pv_osim, but the rows of a limb are inverted where the limb ends: at a floating base, or where limbs join. There
//   they turn into inertia of the link (the matrix inversion lemma), and what passes further joints are their forces
//   per acceleration of that link. Blocks of a limb's rows are inverted instead of one matrix of all.
//   O(n + m^2 d) for m rows under d joints, of which only those between base and world see all rows.
//   Source: A. S. Sathya, W. Decre and J. Swevers, "PV-OSIMr"; any number of branchings and damping are ours.
//   Frames: rows live in link i until they pass its joint.   Oracle: dense (J H^-1 J^T + R)^-1.
//
// Where limbs end is planned once for a set of constraints (articulated/limb_plan.cpp). Lanes whose posture leaves a
// limb singular are inverted once more, all rows at the world.
#pragma once
#include "delassus/inverse.hpp"
#include "delassus/pv_osim.hpp"

namespace featherweight::FW_ISA {

template <class S>
class PvOsimBase {
 public:
  template <class C>
  PvOsimBase(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : carried_(tree, constraints, arena),
        column_(arena.take<S>(constraints.n_ends)),
        careful_(arena.take<S>(triangle(constraints.n_ends, 0))) {}

  template <class C>
  S invert(const DelassusProblem<S, C>& problem, const S* damping, S* inverse) {
    using T = ElementOf<S>;
    const std::size_t n = triangle(problem.constraints.n_ends, 0);
    S rigidity(0), weakest(0);
    const auto end_limbs = [&](int i, ArticulatedInertia<S>& I) {
      for_each_ending(*problem.constraints.limbs, i, [&](auto, const RowGroup& group) {
        rigidity = larger(rigidity, end_limb(problem, group, inverse, I));
      });
    };
    carry_inward(problem, damping, inverse, SparingLeaves{end_limbs});
    for_each_ending(*problem.constraints.limbs, problem.tree.n_links, [&](auto, const RowGroup& group) {
      ArticulatedInertia<S> of_world = zero_inertia<S>();
      weakest = larger(weakest, end_limb(problem, group, inverse, of_world));
    });
    const auto singular = rigidity > S(T(most_rigid));  // also where it is NaN
    if (any(rigidity, singular)) {
      carry_inward(problem, damping, careful_, Unobserved{});
      const S all = exchange_all(problem.constraints, careful_, column_);
      weakest = select(singular, all, weakest);
      for (std::size_t k = 0; k < n; ++k) inverse[k] = select(singular, careful_[k], inverse[k]);
    }
    for (std::size_t k = 0; k < n; ++k) inverse[k] = -inverse[k];
    return weakest;
  }

 private:
  // Rigidity, the mobility of a row over its pivot: the digits that cancel where limbs join.
  static constexpr double most_rigid = 1e5;

  // As pv_osim, from the damping on.
  template <class C, class Before>
  void carry_inward(const DelassusProblem<S, C>& problem, const S* damping, S* M, const Before& before) {
    for (std::size_t k = 0; k < triangle(problem.constraints.n_ends, 0); ++k) M[k] = S(0);
    for (int r = 0; r < problem.constraints.n_ends; ++r) M[triangle(r, r)] = damping[r];
    carried_.carry_inward(problem, M, before);
  }

  // The rows of a group are exchanged, and what they resist becomes inertia. They couple to all rows outboard of the
  // joint they came through. Returns the rigidity.
  template <class C>
  FW_INLINE S end_limb(const DelassusProblem<S, C>& problem, const RowGroup& group, S* M, ArticulatedInertia<S>& I) {
    const RowRange range = problem.constraints.of_link[group.from];
    const int* order = problem.constraints.limbs->order;
    S rigidity(0);
    with_row_count(range.end - range.begin, [&](auto n) {
      for (int slot = group.begin; slot < group.end; ++slot)
        rigidity = larger(rigidity, exchange_and_add(n, range.begin, order[slot] - range.begin,
                                                     S(problem.constraints.ends[order[slot]].mobility), M, I));
    });
    return rigidity;
  }
  template <class N>
  [[gnu::noinline]] S exchange_and_add(N n, int first, int r, const S& mobility, S* M, ArticulatedInertia<S>& I) {
    const Force<S> K = carried_.rows[first + r].K;
    const S w = exchange_row(n, first, r, S(1), M, carried_.rows + first, column_);
    add_row_inertia(K, w, I);
    const S rigidity = w * mobility;
    return select(rigidity > S(0), rigidity, S(ElementOf<S>(1e30)));  // also where it is NaN
  }

  PvOsim<S> carried_;
  S *column_, *careful_;
};

}  // namespace featherweight::FW_ISA
