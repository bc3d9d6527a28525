// step/quartets.hpp -- the rows of one environment's cone problem, walked to the roots of their trees.
//
// Up to four rows that act at the same place form a quartet: one register. A quartet has one or two ends, each on a
// link; walking an end to its root leaves one number per row and degree of freedom, y. Two ends share the degrees of
// freedom inboard of their links' common ancestor, which are the first of both, so
//   G(quartet a, quartet b) = sum over ends of both, sum over the degrees of freedom they share, y_a y_b^T.
// What holds the mechanism together takes away from that: the same sum over the rows that are held (held_lane.hpp).
// Cost: 12 multiplications of registers per degree of freedom, whatever the joints. Oracle: fw.delassus.
#pragma once
#include "articulated/dofs.hpp"
#include "lanes/fused.hpp"
#include "scene/scene.hpp"

namespace featherweight::FW_ISA {

// Four rows. (Two registers where registers are shorter.)
typedef double Rows __attribute__((vector_size(32)));
typedef double LooseRows __attribute__((vector_size(32), aligned(8), may_alias));

struct QuartetEnd {
  int link, cluster;  // of the trees that hold together with the link's: the root of the first
  int count;          // degrees of freedom from the root to the link
  Rows* y;            // of each of them
};
// f(place on the path, degree of freedom) from a link to its root, `count` of them.
template <class F>
FW_INLINE void for_path(const Scene& scene, int link, int count, const F& f) {
  int dof = scene.last_dof[link];
  for (int k = count - 1; k >= 0; --k, dof = scene.tree.dof_parent[dof]) f(k, dof);
}
struct Quartet {
  int first, rows;
  int n_ends;
  int ball;  // whose rows these are (ball_points.hpp), or -1
  QuartetEnd ends[2];
  int held_first = 0, held_end = 0;  // rows that are held and react to these,
  Rows* held = nullptr;              // and how (held_lane.hpp)
};

// A row that acts along a degree of freedom of an axis joint: 1 or -1 times its force.
struct JointPush {
  int row, dof;
  double along;
};

// One lane of what the sweeps left, read in place.
template <class S>
struct LaneOf {
  typedef double Loose __attribute__((may_alias));
  int lane;

  FW_INLINE double operator()(const S& x) const { return reinterpret_cast<const Loose*>(&x)[lane]; }
  FW_INLINE void add(S& x, double value) const { reinterpret_cast<Loose*>(&x)[lane] += value; }
  FW_INLINE void set(S& x, double value) const { reinterpret_cast<Loose*>(&x)[lane] = value; }
  FW_INLINE Vec3<double> operator()(const Vec3<S>& x) const { return {(*this)(x[0]), (*this)(x[1]), (*this)(x[2])}; }
  FW_INLINE Mat3<double> operator()(const Mat3<S>& m) const {
    return {(*this)(m.rows[0]), (*this)(m.rows[1]), (*this)(m.rows[2])};
  }
  FW_INLINE Pose<double> operator()(const Pose<S>& X) const { return {(*this)(X.R), (*this)(X.p)}; }
  FW_INLINE Motion<double> operator()(const Motion<S>& m) const { return {(*this)(m.lin), (*this)(m.ang)}; }
  FW_INLINE Force<double> operator()(const Force<S>& f) const { return {(*this)(f.lin), (*this)(f.ang)}; }
  FW_INLINE Dof<double> operator()(const Dof<S>& d) const {
    return {(*this)(d.axis), (*this)(d.carry), (*this)(d.weight)};
  }
};

// One lane's frame of a closure, in the world.
template <class S>
FW_INLINE Pose<double> frame_of(const Mount<double>& frame, LaneOf<S> lane, const Pose<S>* poses) {
  return compose(frame.link < 0 ? identity_pose<double>() : lane(poses[frame.link]), frame);
}

// All lanes at once.
template <class S>
struct AllLanes {
  FW_INLINE const S& operator()(const S& x) const { return x; }
};

// Velocity of a point r away from the root, on a link that moves with m about it.
template <class S>
FW_INLINE Vec3<S> velocity_at(const Motion<S>& m, const Vec3<S>& r) {
  Vec3<S> u = m.lin;
  add_cross(u, m.ang, r);
  return u;
}

// Forces component by component: linear x y z, angular x y z. R: of four rows at once, or of one row on lanes.
template <class R>
struct RowForces {
  R e[6];
};

// Four directions, component by component.
struct RowAxes {
  Rows x, y, z;
};
FW_INLINE RowAxes row_axes(const Vec3<double>& a, const Vec3<double>& b, const Vec3<double>& c,
                           const Vec3<double>& d = zero3<double>()) {
  return {Rows{a[0], b[0], c[0], d[0]}, Rows{a[1], b[1], c[1], d[1]}, Rows{a[2], b[2], c[2], d[2]}};
}
// Forces along the axes, at r from the root.
FW_INLINE RowForces<Rows> forces_at(const RowAxes& a, const Vec3<double>& r) {
  return {{a.x, a.y, a.z, a.z * r[1] - a.y * r[2], a.x * r[2] - a.z * r[0], a.y * r[0] - a.x * r[1]}};
}
FW_INLINE RowForces<Rows> moments_about(const RowAxes& a) { return {{Rows{}, Rows{}, Rows{}, a.x, a.y, a.z}}; }
FW_INLINE RowForces<Rows> no_forces() { return {{Rows{}, Rows{}, Rows{}, Rows{}, Rows{}, Rows{}}}; }

struct NoMotors {
  template <class R>
  FW_INLINE void add(int, R&) const {}
};

// Rows that may be packed in one way or another, on lanes of environments or by themselves, have their products fused
// by name. Quartets are quartets in any pack.
FW_INLINE Rows plus_product(const Rows& c, const Rows& a, double b) { return c + a * b; }
FW_INLINE Rows minus_product(const Rows& c, const Rows& a, double b) { return c - a * b; }

// r x axis, of forces along axes at r.
template <class S, class A>
FW_INLINE Vec3<S> moment_of(const Vec3<S>& r, const Vec3<A>& axis) {
  const Vec3<S> a{S(axis[0]), S(axis[1]), S(axis[2])};
  return {minus_product(r[1] * a[2], r[2], a[1]), minus_product(r[2] * a[0], r[0], a[2]),
          minus_product(r[0] * a[1], r[1], a[0])};
}
template <class S>
FW_INLINE S sum_of_products(const S* a, const S* b) {
  return plus_product(plus_product(a[0] * b[0], a[1], b[1]), a[2], b[2]);
}

// What a degree of freedom feels of the forces. `read`: one lane of a number, or all.
template <class R, class S, class Read>
FW_INLINE R felt(const Read& read, const Dof<S>& d, const RowForces<R>& force) {
  R t = force.e[0] * read(d.axis.lin[0]), u = force.e[3] * read(d.axis.ang[0]);
#pragma GCC unroll 2
  for (int k = 1; k < 3; ++k) {
    t = plus_product(t, force.e[k], read(d.axis.lin[k]));
    u = plus_product(u, force.e[3 + k], read(d.axis.ang[k]));
  }
  return t + u;
}

// What a degree of freedom that feels t takes from the forces.
template <class R, class S, class Read>
FW_INLINE void take(const Read& read, const Dof<S>& d, const R& t, RowForces<R>& force) {
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
    force.e[k] = minus_product(force.e[k], t, read(d.carry.lin[k]));
    force.e[3 + k] = minus_product(force.e[3 + k], t, read(d.carry.ang[k]));
  }
}

// Forces go inward from a link as far as the root of its tree, leaving y behind. `motors.add(f, t)` adds the forces of
// the rows along degree of freedom f itself, and `motors.act(link, force)`, where they have it, those on a link on the
// way. The degrees of freedom of one joint feel the same forces.
template <class R, class S, class Read, class Motors = NoMotors>
FW_INLINE void walk_to_root(const Scene& scene, const Read& read, const Dof<S>* dofs, int link, RowForces<R>& force,
                            R* y, const Motors& motors = {}) {
  const Link<double>* l = scene.tree.links + link;
  const auto act = [&] {
    if constexpr (requires { motors.act(0, force); }) motors.act(static_cast<int>(l - scene.tree.links), force);
  };
  for (; l->parent >= 0; l = scene.tree.links + l->parent) {
    act();
    const Dof<S>* const d = dofs + l->v;
    R* const y_l = y + scene.depth[l->v];
    if (l->nv == 1) {
      R t = felt(read, *d, force);
      motors.add(l->v, t);
      *y_l = t * read(d->weight);
      take(read, *d, t, force);
      continue;
    }
    R t[6];
    for (int k = 0; k < l->nv; ++k) {
      t[k] = felt(read, d[k], force);
      y_l[k] = t[k] * read(d[k].weight);
    }
    for (int k = 0; k < l->nv; ++k) take(read, d[k], t[k], force);
  }
  act();
}
// What is left of them acts on the root; behind it there is nothing.
template <class R, class S, class Read, class Motors = NoMotors>
FW_INLINE void walk_root(const Link<double>& l, const Read& read, const Dof<S>* dofs, const RowForces<R>& force, R* y,
                         const Motors& motors = {}) {
  const Dof<S>* const d = dofs + l.v;
  int k = 0;
  for (; l.nv == 6 && k < 3; ++k) {  // these only travel
    const Vec3<S>& axis = d[k].axis.lin;
    R t = force.e[0] * read(axis[0]);
    t = plus_product(t, force.e[1], read(axis[1]));
    t = plus_product(t, force.e[2], read(axis[2]));
    y[k] = t * read(d[k].weight);
  }
  for (; k < l.nv; ++k) {
    R t = felt(read, d[k], force);
    motors.add(l.v + k, t);
    y[k] = t * read(d[k].weight);
  }
}
// All the way.
template <class R, class S, class Read, class Motors = NoMotors>
FW_INLINE void walk_inward(const Scene& scene, const Read& read, const Dof<S>* dofs, int link, RowForces<R> force, R* y,
                           const Motors& motors = {}) {
  walk_to_root(scene, read, dofs, link, force, y, motors);
  walk_root(scene.tree.links[scene.root[link]], read, dofs, force, y, motors);
}

// Degrees of freedom that are inboard of both links.
FW_INLINE int shared_dofs(const Scene& scene, int a, int b) {
  if (scene.shared) return scene.shared[static_cast<std::size_t>(a) * scene.tree.n_links + b];
  const Link<double>* links = scene.tree.links;
  while (a >= 0 && !(a <= b && b < links[a].subtree_end)) a = links[a].parent;
  return a < 0 ? 0 : scene.depth[scene.last_dof[a]] + 1;
}

// Four columns of four rows.
struct Block4 {
  Rows columns[4];
};
FW_INLINE Block4 transposed(const Block4& m) {
  const Rows a = __builtin_shufflevector(m.columns[0], m.columns[1], 0, 4, 2, 6);
  const Rows b = __builtin_shufflevector(m.columns[0], m.columns[1], 1, 5, 3, 7);
  const Rows c = __builtin_shufflevector(m.columns[2], m.columns[3], 0, 4, 2, 6);
  const Rows d = __builtin_shufflevector(m.columns[2], m.columns[3], 1, 5, 3, 7);
  return {{__builtin_shufflevector(a, c, 0, 1, 4, 5), __builtin_shufflevector(b, d, 0, 1, 4, 5),
           __builtin_shufflevector(a, c, 2, 3, 6, 7), __builtin_shufflevector(b, d, 2, 3, 6, 7)}};
}

// f(end of a, end of b, number of degrees of freedom inboard of both) for all ends.
template <class F>
FW_INLINE void for_shared_paths(const Scene& scene, const Quartet& a, const Quartet& b, const F& f) {
  for (int i = 0; i < a.n_ends; ++i)
    for (int j = 0; j < b.n_ends; ++j) {
      const int p = a.ends[i].link, q = b.ends[j].link;
      f(i, j, p == q ? a.ends[i].count : shared_dofs(scene, p, q));
    }
}

// f(how a reacts, how b reacts) for the rows that are held and react to both.
template <class F>
FW_INLINE void for_shared_reactions(const Quartet& a, const Quartet& b, const F& f) {
  const int first = a.held_first > b.held_first ? a.held_first : b.held_first;
  const int end = a.held_end < b.held_end ? a.held_end : b.held_end;
  for (int r = first; r < end; ++r) f(a.held[r - a.held_first], b.held[r - b.held_first]);
}

// G(a, b) by columns: column c has the rows of a. Most quartets have three rows.
template <bool fourth>
FW_INLINE Block4 couple_columns(const Scene& scene, const Quartet& a, const Quartet& b) {
  Rows g[2][4] = {};  // of even and odd degrees of freedom: half as long a chain of additions
  for_shared_paths(scene, a, b, [&](int i, int j, int n) FW_LAMBDA_INLINE {
    const Rows *const x = a.ends[i].y, *const y = b.ends[j].y;
    const auto add = [&](int k, Rows* sum) FW_LAMBDA_INLINE {
      const double* z = reinterpret_cast<const double*>(y + k);
      sum[0] += x[k] * z[0];
      sum[1] += x[k] * z[1];
      sum[2] += x[k] * z[2];
      if constexpr (fourth) sum[3] += x[k] * z[3];
    };
    int k = 0;
    for (; k + 1 < n; k += 2) add(k, g[0]), add(k + 1, g[1]);
    if (k < n) add(k, g[0]);
  });
  for_shared_reactions(a, b, [&](const Rows& x, const Rows& y) FW_LAMBDA_INLINE {
    for (int c = 0; c < (fourth ? 4 : 3); ++c) g[0][c] -= x * y[c];
  });
  return {{g[0][0] + g[1][0], g[0][1] + g[1][1], g[0][2] + g[1][2], g[0][3] + g[1][3]}};
}
FW_INLINE Block4 couple(const Scene& scene, const Quartet& a, const Quartet& b) {
  return b.rows == 4 ? couple_columns<true>(scene, a, b) : couple_columns<false>(scene, a, b);
}

// f(sign, y, place) along the paths of a quartet and the reactions of what is held, places being those of Y^T lambda:
// degrees of freedom, then rows that are held.
template <class F>
FW_INLINE void for_walked(const Scene& scene, const Quartet& quartet, const F& f) {
  for (int e = 0; e < quartet.n_ends; ++e) {
    const QuartetEnd& end = quartet.ends[e];
    for_path(scene, end.link, end.count, [&](int k, int dof) FW_LAMBDA_INLINE { f(1, end.y[k], dof); });
  }
  for (int r = quartet.held_first; r < quartet.held_end; ++r)
    f(-1, quartet.held[r - quartet.held_first], scene.tree.nv + r);
}

// Whether they act on a tree in common, or on trees that hold together.
FW_INLINE bool share_a_tree(const Quartet& a, const Quartet& b) {
  bool shared = false;
  for (int i = 0; i < a.n_ends; ++i)
    for (int j = 0; j < b.n_ends; ++j) shared |= a.ends[i].cluster == b.ends[j].cluster;
  return shared;
}

// Whether the quartets act on several trees or clusters of trees that nothing joins.
template <int most_quartets>
bool fall_apart(const Quartet* quartets, int n_quartets) {
  int root[2 * most_quartets], joined[2 * most_quartets],
      n = 0;  // of trees; joined: to an earlier one, or to none (itself)
  const auto tree = [&](int r) {
    int k = 0;
    while (k < n && root[k] != r) ++k;
    if (k == n) root[n] = r, joined[n] = n, ++n;
    while (joined[k] != k) k = joined[k];
    return k;
  };
  for (int i = 0; i < n_quartets; ++i) {
    const int a = tree(quartets[i].ends[0].cluster), b = quartets[i].n_ends > 1 ? tree(quartets[i].ends[1].cluster) : a;
    if (a < b) joined[b] = a;
    if (b < a) joined[a] = b;
  }
  for (int k = 1; k < n; ++k)
    if (joined[k] == k) return true;
  return false;
}

// Whether all they act on is the same.
FW_INLINE bool act_together(const Quartet& a, const Quartet& b) {
  return a.n_ends == b.n_ends && a.ends[0].link == b.ends[0].link &&
         (a.n_ends == 1 || a.ends[1].link == b.ends[1].link);
}

struct TwoBlocks {
  Block4 first, second;
};
// G(a, c) and G(b, c) of quartets that act together, with no more than three rows in c.
FW_INLINE TwoBlocks couple_two(const Scene& scene, const Quartet& a, const Quartet& b, const Quartet& c) {
  Rows g0 = Rows{}, g1 = g0, g2 = g0, h0 = g0, h1 = g0, h2 = g0;
  for_shared_paths(scene, a, c, [&](int i, int j, int n) FW_LAMBDA_INLINE {
    const Rows *const x = a.ends[i].y, *const y = b.ends[i].y;
    for (int k = 0; k < n; ++k) {
      const double* z = reinterpret_cast<const double*>(c.ends[j].y + k);
      const double z0 = z[0], z1 = z[1], z2 = z[2];
      g0 += x[k] * z0, g1 += x[k] * z1, g2 += x[k] * z2;
      h0 += y[k] * z0, h1 += y[k] * z1, h2 += y[k] * z2;
    }
  });
  for_shared_reactions(
      a, c, [&](const Rows& x, const Rows& z) FW_LAMBDA_INLINE { g0 -= x * z[0], g1 -= x * z[1], g2 -= x * z[2]; });
  for_shared_reactions(
      b, c, [&](const Rows& y, const Rows& z) FW_LAMBDA_INLINE { h0 -= y * z[0], h1 -= y * z[1], h2 -= y * z[2]; });
  return {{{g0, g1, g2, Rows{}}}, {{h0, h1, h2, Rows{}}}};
}

}  // namespace featherweight::FW_ISA
