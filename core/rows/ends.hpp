// rows/ends.hpp -- where rows take hold of links.
//
// A row on one link has one end, a row between two links has two, each compiled like a row of its own: J_row is the sum
// over its ends, so Delta of the rows is the sum over the ends' Delta. The first end is fixed to its link. The second
// is written in the axes of the first, which is fixed to another link, so it depends on the configuration.
#pragma once
#include "kinematics/forward.hpp"
#include "rows/link_rows.hpp"

namespace featherweight::FW_ISA {

template <class S>
class RowEnds {
 public:
  Force<S>* K;  // of each end, in the coordinates of its link; zero where its constraint is inactive

  template <class C>
  RowEnds(const Tree<C>& tree, const ConstraintRows<C>& constraints, Arena& arena)
      : K(arena.take<Force<S>>(constraints.n_rows)),
        state_(arena.take<S>(depends_on_q(constraints) ? tree.n_states : 0)),
        poses_(arena.take<Pose<S>>(depends_on_q(constraints) ? tree.n_links : 0)) {}

  template <class C>
  static FW_INLINE bool depends_on_q(const ConstraintRows<C>& constraints) {
    return constraints.n_user_rows < constraints.n_rows;
  }

  // active: of each end, 1 or 0.
  template <class C>
  void set(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* active) {
    for (int r = 0; r < constraints.n_rows; ++r) K[r] = active_row(constraints.rows[r], active[r]);
    if (depends_on_q(constraints)) set_second_ends(tree, constraints, q, active);
  }

 private:
  template <class C>
  [[gnu::noinline]] void set_second_ends(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q,
                                         const S* active) {
    const Pose<S> world = identity_pose<S>();
    for (int s = 0; s < constraints.n_supporting; ++s) {
      const int i = constraints.supporting[s].link;
      const Link<C>& l = tree.links[i];
      visit(l.kind, [&](auto joint) {
        place(joint, l, q + l.q, state_ + l.state, l.parent < 0 ? world : poses_[l.parent], poses_[i]);
      });
    }
    for (int r = 0; r < constraints.n_rows; ++r) {
      const ConstraintRow<C>& row = constraints.rows[r];
      if (row.first_link < 0) continue;
      const Pose<S> first = compose(poses_[row.first_link], constraints.frames[row.constraint]),
                    &link = poses_[row.link];
      const Vec3<S> n = transposed_times(link.R, column(first.R, row.axis % 3)) * -active[r];
      Vec3<S> point{S(row.p[0]), S(row.p[1]), S(row.p[2])};
      if (!row.of_point) point = transposed_times(link.R, first.p - link.p);
      K[r] = row.axis < 3 ? Force<S>{n, cross(point, n)} : Force<S>{zero3<S>(), n};
    }
  }

  S* state_;
  Pose<S>* poses_;
};

}  // namespace featherweight::FW_ISA
