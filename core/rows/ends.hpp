// rows/ends.hpp -- the ends of rows at a configuration.
//
// A row on one link has one end, a row between two links has two: J_row is the sum over its ends, so Delta of the rows
// is the sum over the ends' Delta. Both ends of a closure are taken at the same place and in the same axes, those of
// frame a, and a rod's along one line: forces balance, and the rows do not notice what moves both links as one, however
// far the frames have come apart.
#pragma once
#include "kinematics/forward.hpp"
#include "memory/arena.hpp"
#include "rows/closure.hpp"
#include "rows/coupling.hpp"
#include "rows/link_rows.hpp"

namespace featherweight::FW_ISA {

// The second end of a closure's row.
template <class S, class C>
FW_INLINE Force<S> second_end(const Closure<C>& closure, const RowEnd<C>& end, const Pose<S>* poses) {
  const Pose<S> first = frame_in_world(closure.a, poses), &link = poses[end.link];
  const Vec3<S> n = transposed_times(link.R, column(first.R, end.axis % 3)) * S(-1);
  if (end.axis >= 3) return {zero3<S>(), n};
  return {n, cross(transposed_times(link.R, first.p - link.p), n)};
}

// The end of a rod on the link of frame a, and with the opposite sign on that of frame b.
template <class S, class C>
FW_INLINE Force<S> rod_end(const Closure<C>& closure, const RowEnd<C>& end, const Pose<S>* poses) {
  const Line<S> line = line_between(frame_in_world(closure.a, poses), frame_in_world(closure.b, poses));
  Vec3<S> n = transposed_times(poses[end.link].R, line.direction);
  if (end.first_link >= 0) n = n * S(-1);
  return {n, cross(Vec3<S>{S(end.p[0]), S(end.p[1]), S(end.p[2])}, n)};
}

// An end that is not fixed.
template <class S, class C>
FW_INLINE Force<S> varying_end(const ConstraintRows<C>& constraints, const RowEnd<C>& end, const S* q,
                               const Pose<S>* poses, const S& active) {
  if (end.kind == EndKind::joint) return active_row(end, coupling_entry(constraints.terms[end.part], q) * active);
  const Closure<C>& closure = constraints.closures[end.part];
  const Force<S> K = end.kind == EndKind::rod ? rod_end(closure, end, poses) : second_end(closure, end, poses);
  return {K.lin * active, K.ang * active};
}

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
    return constraints.n_varying > 0;
  }

  // active: of each end, 1 or 0; null: all are. state: of the joints, if known.
  template <class C>
  void set(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q, const S* active,
           const S* state = nullptr) {
    const S one(1);
    for (int r = 0; r < constraints.n_ends; ++r) K[r] = active_row(constraints.ends[r], active ? active[r] : one);
    if (depends_on_q(constraints)) set_varying(tree, constraints, q, active, state);
  }

 private:
  template <class C>
  [[gnu::noinline]] void set_varying(const Tree<C>& tree, const ConstraintRows<C>& constraints, const S* q,
                                     const S* active, const S* state) {
    const Pose<S> world = identity_pose<S>();
    const S one(1);
    for (int s = 0; s < constraints.n_supporting; ++s) {
      const int i = constraints.supporting[s].link;
      const Link<C>& l = tree.links[i];
      const Pose<S>& parent = l.parent < 0 ? world : poses[l.parent];
      visit(l.kind, [&](auto joint) {
        if (state)
          place_in(joint, l, state + l.state, parent, poses[i]);
        else
          place(joint, l, q + l.q, state_ + l.state, parent, poses[i]);
      });
    }
    for (int r = 0; r < constraints.n_ends; ++r)
      if (constraints.ends[r].kind != EndKind::fixed)
        K[r] = varying_end(constraints, constraints.ends[r], q, poses, active ? active[r] : one);
  }

  S* state_;
};

}  // namespace featherweight::FW_ISA
