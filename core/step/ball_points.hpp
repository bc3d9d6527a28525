// step/ball_points.hpp -- balls on planes of the world: their rows and the matrix of those, on lanes.
//
// A foot that is a ball touches the ground at one point, with the same link, path to the root and axes in every
// environment. So velocities, rows and blocks of the matrix are found for all environments of a pack at once, as soon
// as one of them asks; what an environment gets does not depend on who asked. Impulses are handed back to lanes as
// well. Cost: as for quartets.hpp, divided by the environments of a pack that touch. Oracle: fw.delassus.
#pragma once
#include "memory/arena.hpp"
#include "step/free_motion.hpp"
#include "step/quartets.hpp"

namespace featherweight::FW_ISA {

// The rows along t1, t2 and the normal.
template <class S>
struct Triple {
  S e[3];

  FW_INLINE Triple operator*(const S& x) const { return {{e[0] * x, e[1] * x, e[2] * x}}; }
  FW_INLINE Triple operator+(const Triple& b) const { return {{e[0] + b.e[0], e[1] + b.e[1], e[2] + b.e[2]}}; }
  FW_INLINE void operator-=(const Triple& b) { e[0] -= b.e[0], e[1] -= b.e[1], e[2] -= b.e[2]; }
};
template <class S>
FW_INLINE Triple<S> plus_product(const Triple<S>& c, const Triple<S>& a, const S& b) {
  return {{plus_product(c.e[0], a.e[0], b), plus_product(c.e[1], a.e[1], b), plus_product(c.e[2], a.e[2], b)}};
}
template <class S>
FW_INLINE Triple<S> minus_product(const Triple<S>& c, const Triple<S>& a, const S& b) {
  return {{minus_product(c.e[0], a.e[0], b), minus_product(c.e[1], a.e[1], b), minus_product(c.e[2], a.e[2], b)}};
}

// What two of them couple by: row r of the one and column c of the other at [3 * c + r], a sum over what both act on.
template <class S>
struct Block3 {
  S e[9];

  FW_INLINE Block3() {
    for (S& x : e) x = S(0);
  }
  FW_INLINE void add(const Triple<S>& a, const Triple<S>& b) {
#pragma GCC unroll 3
    for (int c = 0; c < 3; ++c)
#pragma GCC unroll 3
      for (int r = 0; r < 3; ++r) e[3 * c + r] = plus_product(e[3 * c + r], a.e[r], b.e[c]);
  }
};

template <class S>
struct BallPoint {
  const double* axes;  // t1, t2 and the normal
  int link, count;     // degrees of freedom from the root to the link
  Vec3<S> r;           // from the root
  S velocity[3];       // without impulses, along the axes
  S before;            // along the normal at the start of the step
  S impulse[3];        // along the axes
  S correction[3];     // and those that separate
  Triple<S>* y;        // of each degree of freedom of the path, once walked
  bool walked;

  FW_INLINE Vec3<double> axis(int k) const { return {axes[3 * k], axes[3 * k + 1], axes[3 * k + 2]}; }
};

template <class S>
class BallPoints {
 public:
  BallPoints(const Scene& scene, const FreeMotion<S>& motion, Arena& arena)
      : scene_(scene), motion_(motion), points_(arena.take<BallPoint<S>>(scene.n_balls)) {
    const std::size_t n = scene.n_balls, n_blocks = n * (n + 1) / 2;
    y_ = arena.take<Triple<S>>(n * (scene.most_contact_dofs / 2));
    blocks_ = arena.take<Block3<S>>(n_blocks);
    known_ = arena.take<bool>(n_blocks);
  }

  // Before contacts are looked for.
  void clear() {
    for (int k = 0; k < scene_.n_balls; ++k) points_[k].walked = false;
    for (int k = 0; k < scene_.n_balls * (scene_.n_balls + 1) / 2; ++k) known_[k] = false;
  }

  // How the ball of a pair that is near moves.
  void approach(const ScenePair& pair, const Vec3<S>& center) {
    BallPoint<S>& point = points_[pair.ball];
    const PlacedShape& plane = scene_.shapes[pair.b];
    point.axes = plane.frame;
    point.link = scene_.shapes[pair.a].link;
    point.count = scene_.depth[scene_.last_dof[point.link]] + 1;
    const Vec3<double> normal = point.axis(2);
    const double radius = scene_.shapes[pair.a].shape.size[0] + scene_.materials[pair.material].margin;
    const S height = dot(center - vec3(plane.p), normal);
    S down = height;
    if (scene_.shapes[pair.a].is_alone) down = select(height > S(radius), S(radius), height);  // level_of, contacts.cpp
    point.r = center - normal * down - motion_.pose[scene_.root[point.link]].p;
    const Vec3<S> u = velocity_at(motion_.velocity[point.link], point.r);
    for (int k = 0; k < 3; ++k) point.velocity[k] = dot(u, point.axis(k));
    point.before = motion_.before ? dot(velocity_at(motion_.before[point.link], point.r), normal) : S(0);
  }

  const BallPoint<S>& operator[](int ball) const { return points_[ball]; }

  // Its rows are walked to the root, unless they are already.
  FW_INLINE BallPoint<S>& walked(int ball) {
    if (!points_[ball].walked) walk(ball);
    return points_[ball];
  }

  // Row r and column c at [3 * c + r], of a ball and one of those before it or itself.
  FW_INLINE const S* block(int ball, int other) {
    const int k = ball * (ball + 1) / 2 + other;
    if (!known_[k]) couple(ball, other, k);
    return blocks_[k].e;
  }

  // Y^T lambda of all impulses.
  void respond() {
    for (int k = 0; k < scene_.n_balls; ++k)
      if (points_[k].walked) add_to(points_[k], points_[k].impulse, motion_.response);
  }
  void correct() {
    for (int k = 0; k < scene_.n_balls; ++k)
      if (points_[k].walked) add_to(points_[k], points_[k].correction, motion_.correct);
  }

 private:
  const Scene& scene_;
  const FreeMotion<S>& motion_;
  BallPoint<S>* points_;
  Triple<S>* y_;
  Block3<S>* blocks_;
  bool* known_;

  [[gnu::noinline]] void walk(int ball) {
    BallPoint<S>& point = points_[ball];
    RowForces<Triple<S>> force;
    for (int k = 0; k < 3; ++k) {
      point.impulse[k] = point.correction[k] = S(0);
      const Vec3<double> axis = point.axis(k);
      const Vec3<S> moment = moment_of(point.r, axis);
      for (int i = 0; i < 3; ++i) force.e[i].e[k] = S(axis[i]), force.e[3 + i].e[k] = moment[i];
    }
    point.y = y_ + ball * (scene_.most_contact_dofs / 2);
    walk_inward(scene_, AllLanes<S>{}, motion_.dofs, point.link, force, point.y);
    point.walked = true;
  }

  [[gnu::noinline]] void couple(int ball, int other, int k) {
    const BallPoint<S>&a = walked(ball), &b = walked(other);
    const int n = ball == other ? a.count : shared_dofs(scene_, a.link, b.link);
    Block3<S> sum;
    for (int f = n - 1; f >= 0; --f) sum.add(a.y[f], b.y[f]);
    blocks_[k] = sum;
    known_[k] = true;
  }

  void add_to(const BallPoint<S>& point, const S* impulse, S* response) const {
    for_path(scene_, point.link, point.count, [&](int k, int f) FW_LAMBDA_INLINE {
      response[f] = response[f] + sum_of_products(point.y[k].e, impulse);
    });
  }
};

}  // namespace featherweight::FW_ISA
