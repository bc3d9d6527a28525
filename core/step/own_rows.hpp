// step/own_rows.hpp -- the rows of one environment's points, several to a register.
//   in    balls and joint rows in the order of their places, three rows to a place; the eliminated tree, the same in
//         all lanes
//   out   the matrix of their problem; what their impulses do
//
// A pack that holds a single environment has the same numbers in all lanes of the tree, so that its lanes are free for
// rows: those of all points of a link are walked together, from the root on those of all links, and coupled with all
// others, one register at a time. Every number is the result of the same operations in the same order as in
// ball_points.hpp and pack_joints.hpp, which walk and couple the points of a pack one by one. Oracle: those.
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
    dofs_ = arena.take<int>(is_possible ? static_cast<std::size_t>(scene.tree.nv) * most_pack_points : 0);
  }

  void start(int n_places) {
    n_places_ = n_places;
    n_registers_ = (3 * n_places + width - 1) / width;
    n_balls_ = 0;
    for (int k = 0; k < scene_.tree.nv * n_registers_; ++k) y_[k] = S(0);
  }

  // In the order of their places.
  void add(const BallPoint<S>& ball) { balls_[n_balls_++] = &ball; }
  void walk_balls() {
    for (int v = 0; v * width < 3 * n_balls_; ++v) {
      const int first = v * width / 3, end = end_of(v);
      for (int i = first; i < end; ++i)
        if (is_first_of_tree(first, i)) walk_tree(v, first, i, end);
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
    list_dofs();
    for (int i = 0; i < n_places_; ++i, G += 3 * n_registers_) {
      const Path path = paths_[i];
      for (int v = 0; v < n_registers_; ++v) {
        S sum[3] = {S(0), S(0), S(0)};
        for (int k = 0; k < path.n; ++k) {
          const S* const y = row_of(path.dofs[k]);
          const Loose* const own = reinterpret_cast<const Loose*>(y) + 3 * i;
#pragma GCC unroll 3
          for (int c = 0; c < 3; ++c) sum[c] = plus_product(sum[c], y[v], S(own[c]));
        }
        for (int c = 0; c < 3; ++c) G[c * n_registers_ + v] = sum[c];
      }
    }
  }

  // Y^T lambda of a place, once all are coupled.
  void respond(int place, const double* lambda) {
    const Path path = paths_[place];
    for (int k = 0; k < path.n; ++k) {
      const Loose* const own = reinterpret_cast<const Loose*>(row_of(path.dofs[k])) + 3 * place;
      const double y[3] = {own[0], own[1], own[2]};
      LaneOf<S>{0}.add(motion_.response[path.dofs[k]], sum_of_products(y, lambda));
    }
  }

 private:
  static constexpr int width = width_of<S>;
  typedef double Loose __attribute__((may_alias));
  const Scene& scene_;
  const FreeMotion<S>& motion_;
  int n_places_ = 0, n_registers_ = 0, n_balls_ = 0;  // balls have the first places
  const BallPoint<S>* balls_[most_pack_points];
  S* y_;       // of each degree of freedom, all rows
  S* path_;    // of some rows of a link
  int* dofs_;  // room for paths
  struct Path {
    const int* dofs;
    int n;
  };
  Path paths_[most_pack_points];  // what places act on, outermost first; joints: all

  FW_INLINE S* row_of(int dof) const { return y_ + dof * n_registers_; }

  // Neighbours are often on the same link.
  void list_dofs() {
    int* next = dofs_;
    for (int i = 0; i < n_places_; ++i) {
      const int link = link_of(i);
      if (i > 0 && link == link_of(i - 1)) {
        paths_[i] = paths_[i - 1];
        continue;
      }
      const int n = link < 0 ? scene_.tree.nv : balls_[i]->count;
      paths_[i] = {next, n};
      for (int k = 0, f = link < 0 ? n - 1 : scene_.last_dof[link]; k < n; ++k) {
        *next++ = f;
        f = link < 0 ? f - 1 : scene_.tree.dof_parent[f];
      }
    }
  }
  FW_INLINE int link_of(int place) const { return place < n_balls_ ? balls_[place]->link : -1; }

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

  FW_INLINE int tree_of(int i) const { return scene_.root[balls_[i]->link]; }
  FW_INLINE bool is_first_of_tree(int first, int i) const {
    for (int j = first; j < i; ++j)
      if (tree_of(j) == tree_of(i)) return false;
    return true;
  }

  // The rows in a register of places from i on that act on the tree of place i: link by link as far as the root, and
  // there all at once, since each has lanes of its own.
  void walk_tree(int v, int first, int i, int end) {
    const Link<double>& root = scene_.tree.links[tree_of(i)];
    RowForces<S> force{{S(0), S(0), S(0), S(0), S(0), S(0)}};
    for (int j = i; j < end; ++j) {
      if (tree_of(j) != tree_of(i) || !is_first_of_link(first, j)) continue;
      const RowForces<S> own = walk_link(v, j, end);
      for (int k = 0; k < 6; ++k) force.e[k] = force.e[k] + own.e[k];
    }
    walk_root(root, AllLanes<S>{}, motion_.dofs, force, path_);
    for (int k = 0; k < root.nv; ++k) row_of(root.v + k)[v] = row_of(root.v + k)[v] + path_[k];
  }

  // The rows in a register of places from i on that act on the link of place i. Returns their forces at the root.
  RowForces<S> walk_link(int v, int i, int end) {
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
    walk_to_root(scene_, AllLanes<S>{}, motion_.dofs, one.link, force, path_);
    const Link<double>* l = scene_.tree.links + one.link;
    for (; l->parent >= 0; l = scene_.tree.links + l->parent)
      for (int k = 0; k < l->nv; ++k) row_of(l->v + k)[v] = row_of(l->v + k)[v] + path_[scene_.depth[l->v] + k];
    return force;
  }
};

}  // namespace featherweight::FW_ISA
