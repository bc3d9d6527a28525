// step/own_rows.hpp -- the rows of one environment's points, several to a register.
//   in    balls and joint rows in the order of their places, three rows to a place; the eliminated tree, the same in
//   all
//         lanes
//   out   the matrix of their problem; what their impulses do
//
// A pack that holds a single environment has the same numbers in all lanes of the tree, so that its lanes are free for
// rows: those of all points of a link are walked to the root together, and coupled with all others, one register at a
// time. Every number is the result of the same operations in the same order as in ball_points.hpp and pack_joints.hpp,
// which walk and couple the points of a pack one by one. Oracle: those.
#pragma once
#include "cones/pack_newton.hpp"
#include "step/ball_points.hpp"

namespace featherweight::FW_ISA {

template <class S>
class OwnRows {
 public:
  OwnRows(const Scene& scene, const FreeMotion<S>& motion, bool is_possible, Arena& arena)
      : scene_(scene), motion_(motion) {
    y_ = arena.take<S>(is_possible ? static_cast<std::size_t>(scene.tree.nv) * most_own_registers : 0);
    path_ = arena.take<S>(is_possible ? scene.tree.nv : 0);
    dofs_ = arena.take<int>(is_possible ? scene.tree.nv : 0);
  }

  void start(int n_places) {
    n_places_ = n_places;
    n_registers_ = (3 * n_places + width - 1) / width;
    n_balls_ = 0, listed_ = nothing;
    for (int k = 0; k < scene_.tree.nv * n_registers_; ++k) y_[k] = S(0);
  }

  // In the order of their places.
  void add(const BallPoint<S>& ball) { balls_[n_balls_++] = &ball; }
  void walk_balls() {
    for (int v = 0; v * width < 3 * n_balls_; ++v) {
      const int first = v * width / 3, end = end_of(v);
      for (int i = first; i < end; ++i)
        if (is_first_of_link(first, i)) walk_link(v, i, end);
    }
  }
  // A row of a joint, that was walked by itself.
  void add_row(int row, int link, int count, const S* path) {
    LaneOf<S> lane{row % width};
    for_path(scene_, link, count,
             [&](int k, int f) FW_LAMBDA_INLINE { lane.set(row_of(f)[row / width], lane(path[k])); });
  }

  // The matrix, by columns of whole registers: sums over what each place acts on, for joints all degrees of freedom.
  void couple(S* G) {
    for (int i = 0; i < n_places_; ++i, G += 3 * n_registers_) {
      list_dofs(i);
      for (int v = 0; v < n_registers_; ++v) {
        S sum[3] = {S(0), S(0), S(0)};
        for (int k = 0; k < n_dofs_; ++k) {
          const S* const y = row_of(dofs_[k]);
          const Loose* const own = reinterpret_cast<const Loose*>(y) + 3 * i;
#pragma GCC unroll 3
          for (int c = 0; c < 3; ++c) sum[c] = plus_product(sum[c], y[v], S(own[c]));
        }
        for (int c = 0; c < 3; ++c) G[c * n_registers_ + v] = sum[c];
      }
    }
  }

  // Y^T lambda of a place.
  void respond(int place, const double* lambda) {
    list_dofs(place);
    for (int k = 0; k < n_dofs_; ++k) {
      const Loose* const own = reinterpret_cast<const Loose*>(row_of(dofs_[k])) + 3 * place;
      const double y[3] = {own[0], own[1], own[2]};
      LaneOf<S>{0}.add(motion_.response[dofs_[k]], sum_of_products(y, lambda));
    }
  }

 private:
  static constexpr int width = width_of<S>, nothing = -2;
  typedef double Loose __attribute__((may_alias));
  const Scene& scene_;
  const FreeMotion<S>& motion_;
  int n_places_ = 0, n_registers_ = 0, n_balls_ = 0;  // balls have the first places
  int listed_ = nothing, n_dofs_ = 0;
  const BallPoint<S>* balls_[most_pack_points];
  S* y_;       // of each degree of freedom, all rows
  S* path_;    // of some rows of a link
  int* dofs_;  // what places on link `listed_` act on; -1: joints, all

  FW_INLINE S* row_of(int dof) const { return y_ + dof * n_registers_; }

  // What a place acts on, outermost first. Neighbours are often on the same link.
  void list_dofs(int place) {
    const int link = place < n_balls_ ? balls_[place]->link : -1;
    if (link == listed_) return;
    listed_ = link, n_dofs_ = 0;
    if (link < 0) {
      for (int f = scene_.tree.nv - 1; f >= 0; --f) dofs_[n_dofs_++] = f;
    } else {
      for_path(scene_, link, balls_[place]->count, [&](int, int f) FW_LAMBDA_INLINE { dofs_[n_dofs_++] = f; });
    }
  }

  // The places of balls that have rows in a register end there.
  FW_INLINE int end_of(int v) const {
    const int end = ((v + 1) * width + 2) / 3;
    return end < n_balls_ ? end : n_balls_;
  }
  FW_INLINE bool is_first_of_link(int first, int i) const {
    for (int j = first; j < i; ++j)
      if (balls_[j]->link == balls_[i]->link) return false;
    return true;
  }

  // The rows in a register of places from i on that act on the link of place i.
  void walk_link(int v, int i, int end) {
    const BallPoint<S>& one = *balls_[i];
    RowForces<S> force{{S(0), S(0), S(0), S(0), S(0), S(0)}};
    Vec3<S> r = zero3<S>(), axis = r;
    for (int j = i; j < end; ++j) {
      const BallPoint<S>& ball = *balls_[j];
      for (int k = 0; k < 3 && ball.link == one.link; ++k) {
        const LaneOf<S> lane{3 * j + k - v * width};
        if (lane.lane < 0 || lane.lane >= width) continue;
        for (int x = 0; x < 3; ++x) {
          lane.set(axis[x], ball.axes[3 * k + x]);
          lane.set(r[x], LaneOf<S>{0}(ball.r[x]));
        }
      }
    }
    const Vec3<S> moment = moment_of(r, axis);
    for (int x = 0; x < 3; ++x) force.e[x] = axis[x], force.e[3 + x] = moment[x];
    walk_inward(scene_, AllLanes<S>{}, motion_.dofs, one.link, force, path_);
    for_path(scene_, one.link, one.count,
             [&](int k, int f) FW_LAMBDA_INLINE { row_of(f)[v] = row_of(f)[v] + path_[k]; });
  }
};

}  // namespace featherweight::FW_ISA
