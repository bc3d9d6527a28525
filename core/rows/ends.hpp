// rows/ends.hpp -- the ends of rows at a configuration.
//
// A row on one link has one end, a row between two links has two: J_row is the sum over its ends, so Delta of the rows
// is the sum over the ends' Delta. The first end is fixed to its link. The second is written in the axes of the first,
// which is fixed to another link, so it depends on the configuration.
#pragma once
#include "kinematics/forward.hpp"
#include "memory/arena.hpp"
#include "rows/link_rows.hpp"

namespace featherweight::FW_ISA {

template <class S>
class RowEnds {
 public:
  Force<S>* K;     // of each end, in the coordinates of its link; zero where its closure is inactive
  Pose<S>* poses;  // of links that have ends or have them outboard; only where K depends on the configuration

  template <class C>
  RowEnds(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : K(arena.take<Force<S>>(constraints.n_ends)),
        poses(arena.take<Pose<S>>(depends_on_q(constraints) ? tree.n_links : 0)),
        state_(arena.take<S>(depends_on_q(constraints) ? tree.n_states : 0)) {}

  template <class C>
  static FW_INLINE bool depends_on_q(const ConstraintRows<C>& constraints) {
    return constraints.n_rows < constraints.n_ends;
  }

  // active: of each end, 1 or 0; null: all are.
  template <class C>
  void set(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* active) {
    const S one(1);
    for (int r = 0; r < constraints.n_ends; ++r) K[r] = active_row(constraints.ends[r], active ? active[r] : one);
    if (depends_on_q(constraints)) set_second_ends(tree, constraints, q, active);
  }

 private:
  template <class C>
  [[gnu::noinline]] void set_second_ends(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q,
                                         const S* active) {
    const Pose<S> world = identity_pose<S>();
    const S one(1);
    for (int s = 0; s < constraints.n_supporting; ++s) {
      const int i = constraints.supporting[s].link;
      const Link<C>& l = tree.links[i];
      visit(l.kind, [&](auto joint) {
        place(joint, l, q + l.q, state_ + l.state, l.parent < 0 ? world : poses[l.parent], poses[i]);
      });
    }
    for (int r = 0; r < constraints.n_ends; ++r) {
      const RowEnd<C>& end = constraints.ends[r];
      if (end.first_link < 0) continue;
      const Pose<S> first = compose(poses[end.first_link], constraints.closures[end.closure].a),
                    &link = poses[end.link];
      const Vec3<S> n = transposed_times(link.R, column(first.R, end.axis % 3)) * -(active ? active[r] : one);
      Vec3<S> point{S(end.p[0]), S(end.p[1]), S(end.p[2])};
      if (!end.of_point) point = transposed_times(link.R, first.p - link.p);
      K[r] = end.axis < 3 ? Force<S>{n, cross(point, n)} : Force<S>{zero3<S>(), n};
    }
  }

  S* state_;
};

}  // namespace featherweight::FW_ISA
