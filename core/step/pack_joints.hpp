// step/pack_joints.hpp -- dry friction of joints that may stick or slip, in the problems of a pack.
//   in    joint rows near in each environment; the eliminated tree
//   out   their rows, three to a place as those of a point, their velocities and bounds, and how places couple
//
// A robot has friction in every joint, but few of them are about to stick or to slip, and in every environment others.
// So the places of a pack have no joints of their own: an environment puts those that it has into the first ones. Rows
// are walked to the root for all environments at once, as those of balls; then each place has y' along all degrees of
// freedom, of another joint in every lane. Oracle: joint_rows.hpp, one environment after the other.
#pragma once
#include "cones/pack_newton.hpp"
#include "step/ball_points.hpp"
#include "step/job.hpp"

namespace featherweight::FW_ISA {

template <class S>
class PackJoints {
 public:
  static constexpr int most_places = 2;  // more, and environments are better off by themselves

  PackJoints(const Scene& scene, const FreeMotion<S>& motion, bool is_possible, Arena& arena)
      : scene_(scene), motion_(motion), is_possible_(is_possible && scene.tree.nv <= most_dofs) {
    const int n_dofs = is_possible_ ? scene.tree.nv : 0;
    y_ = arena.take<Triple<S>>(static_cast<std::size_t>(most_places) * n_dofs);
    path_ = arena.take<S>(n_dofs);
    blocks_ = arena.take<Block3<S>>(static_cast<std::size_t>(most_places) * (scene.n_balls + most_places));
  }

  // How many places the rows of an environment take; a negative number: they do not fit.
  int places_of(const int* near, int n_near) const {
    if (n_near == 0) return 0;
    if (!is_possible_ || n_near > 3 * most_places) return -1;
    for (int k = 0; k < n_near; ++k) {
      const JointRow& row = scene_.joint_rows[near[k]];
      if (row.kind != JointRow::dry_friction || !scene_.is_interval(row)) return -1;
      if (scene_.tree.links[row.term.link].nv != 1) return -1;
    }
    return (n_near + 2) / 3;
  }

  // near[lane], n_near[lane]: rows of those environments that are `there`.
  void start(const Pack& pack, const bool* there, const int* near, const int* n_near) {
    n_places_ = 0;
    for (int lane = 0; lane < pack.count; ++lane)
      if (there[lane] && n_near[lane] > 3 * n_places_) n_places_ = (n_near[lane] + 2) / 3;
    if (n_places_ == 0) return;
    const int nv = scene_.tree.nv;
    for (int k = 0; k < n_places_ * nv; ++k)
      for (S& y : y_[k].e) y = S(0);
    int next[width_of<S>] = {};
    const auto row_of = [&](int lane) {
      return there[lane] && next[lane] < n_near[lane] ? near[lane * scene_.n_joint_rows + next[lane]] : no_row;
    };
    for (int row = no_row;; row = no_row) {
      for (int lane = 0; lane < pack.count; ++lane) row = row_of(lane) < row ? row_of(lane) : row;
      if (row == no_row) return;
      const JointTerm<double>& term = scene_.joint_rows[row].term;
      walk(term);
      const int count = scene_.depth[term.dof] + 1;
      for (int lane = 0; lane < pack.count; ++lane) {
        if (row_of(lane) != row) continue;
        const int at = next[lane]++;
        for_path(scene_, term.link, count, [&](int k, int f) FW_LAMBDA_INLINE {
          LaneOf<S>{lane}.set(y_[at / 3 * nv + f].e[at % 3], LaneOf<S>{lane}(path_[k]));
        });
      }
    }
  }
  int n_places() const { return n_places_; }

  // y of one row, the same in all environments that have it, from the root to its joint.
  const S* walked(const JointTerm<double>& term) {
    walk(term);
    return path_;
  }

  // The rows of one environment, with the impulses they had. to: its lane of places.
  template <class T>
  void gather(const int* near, int n_near, const double* impulses, LaneOf<S> lane, LaneOf<T> to,
              PackPoint<T>* places) const {
    for (int k = 0; k < n_near; ++k) {
      const JointRow& row = scene_.joint_rows[near[k]];
      const IntervalRow<S>& own = motion_.intervals[near[k]];
      PackPoint<T>& place = places[k / 3];
      const int r = k % 3;
      to.set(place.is_there, 1);
      to.set(place.g[r], row.term.coefficient * lane(motion_.v_free[row.term.dof]));
      const double known = lane(own.impulse);  // in the prediction; the row is the rest
      to.set(place.lower[r], lane(own.lower) - known);
      to.set(place.upper[r], lane(own.upper) - known);
      to.set(place.lambda[r], impulses[near[k]] - known);
    }
  }

  template <class T>
  void scatter(const int* near, int n_near, const PackPoint<T>* places, LaneOf<S> lane, LaneOf<T> from,
               double* impulses) const {
    for (int k = 0; k < n_near; ++k)
      impulses[near[k]] = from(places[k / 3].lambda[k % 3]) + lane(motion_.intervals[near[k]].impulse);
  }

  // Row r of a place and column c of a ball, or of a place before it or itself, at [3 * c + r].
  const S* block(int place, const BallPoint<S>& ball, int at) {
    Block3<S> products;
    const Triple<S>* const y = y_ + place * scene_.tree.nv;
    for_path(scene_, ball.link, ball.count, [&](int k, int f) FW_LAMBDA_INLINE { products.add(y[f], ball.y[k]); });
    return keep(products, place, at);
  }
  const S* block(int place, int other) {
    Block3<S> products;
    const int nv = scene_.tree.nv;
    for (int f = nv - 1; f >= 0; --f) products.add(y_[place * nv + f], y_[other * nv + f]);
    return keep(products, place, scene_.n_balls + other);
  }

  // What impulses do: Y^T lambda.
  void respond(int place, const S* lambda) const {
    const int nv = scene_.tree.nv;
    for (int f = 0; f < nv; ++f) {
      motion_.response[f] = motion_.response[f] + sum_of_products(y_[place * nv + f].e, lambda);
    }
  }

 private:
  static constexpr int no_row = 1 << 30;
  static constexpr int most_dofs = 64;  // robots; places are over all degrees of freedom

  const Scene& scene_;
  const FreeMotion<S>& motion_;
  bool is_possible_;
  int n_places_ = 0;
  Triple<S>* y_;       // of places, along all degrees of freedom
  S* path_;            // y of one row, from the root to its joint
  Block3<S>* blocks_;  // of each place: with balls, then with places

  // A force along one degree of freedom.
  struct Along {
    int dof;
    double coefficient;
    FW_INLINE void add(int f, S& t) const {
      if (f == dof) t = t + S(coefficient);
    }
  };
  void walk(const JointTerm<double>& term) {
    const RowForces<S> none{{S(0), S(0), S(0), S(0), S(0), S(0)}};
    const double sign = scene_.tree.links[term.link].sign;
    walk_inward(scene_, AllLanes<S>{}, motion_.dofs, term.link, none, path_, Along{term.dof, term.coefficient * sign});
  }

  const S* keep(const Block3<S>& products, int place, int at) {
    Block3<S>& block = blocks_[place * (scene_.n_balls + most_places) + at];
    block = products;
    return block.e;
  }
};

}  // namespace featherweight::FW_ISA
