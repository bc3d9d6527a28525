// simulation/rows.hpp -- the rows of one environment's cone problem, walked to the roots of their trees.
//
// Rows come in groups of up to four that act at the same place: one register. A group has one or two ends, each on a
// link; walking an end to its root leaves one number a row and freedom, y. Two ends share the freedoms inboard of
// their links' common ancestor, which are the first of both, so
//   G(group a, group b) = sum over ends of both, sum over the freedoms they share, y_a y_b^T.
// Cost: 12 multiplications of registers a freedom, whatever the joints. Oracle: fw.delassus.
#pragma once
#include "simulation/freedoms.hpp"
#include "simulation/scene.hpp"

namespace featherweight::FW_ISA {

// Four rows. (Two registers where registers are shorter.)
typedef double Rows __attribute__((vector_size(32)));
typedef double LooseRows __attribute__((vector_size(32), aligned(8), may_alias));

struct RowEnd {
  int link;
  int count;  // freedoms from the root to the link
  Rows* y;    // one of each
};
struct RowGroup {
  int first, rows;
  int n_ends;
  RowEnd ends[2];
};

// One lane of what the sweeps left, read in place.
template <class S>
struct LaneOf {
  typedef double Loose __attribute__((may_alias));
  int lane;

  FW_INLINE double operator()(const S& x) const { return reinterpret_cast<const Loose*>(&x)[lane]; }
  FW_INLINE void add(S& x, double value) const { reinterpret_cast<Loose*>(&x)[lane] += value; }
  FW_INLINE Vec3<double> operator()(const Vec3<S>& x) const { return {(*this)(x[0]), (*this)(x[1]), (*this)(x[2])}; }
  FW_INLINE Mat3<double> operator()(const Mat3<S>& m) const {
    return {(*this)(m.rows[0]), (*this)(m.rows[1]), (*this)(m.rows[2])};
  }
  FW_INLINE Pose<double> operator()(const Pose<S>& X) const { return {(*this)(X.R), (*this)(X.p)}; }
  FW_INLINE Motion<double> operator()(const Motion<S>& m) const { return {(*this)(m.lin), (*this)(m.ang)}; }
};

// Four forces at once, component by component: linear x y z, angular x y z.
struct RowForces {
  Rows e[6];
};

// One row: a force along `direction` at r from the root, and a moment.
FW_INLINE void set_row(RowForces& f, int row, const Vec3<double>& direction, const Vec3<double>& r) {
  const Vec3<double> moment = cross(r, direction);
  for (int k = 0; k < 3; ++k) f.e[k][row] = direction[k], f.e[3 + k][row] = moment[k];
}
FW_INLINE void set_moment_row(RowForces& f, int row, const Vec3<double>& axis) {
  for (int k = 0; k < 3; ++k) f.e[k][row] = 0, f.e[3 + k][row] = axis[k];
}
FW_INLINE RowForces no_forces() {
  RowForces f;
  for (Rows& e : f.e) e = Rows{};
  return f;
}

// Forces go inward from freedom f, leaving y behind.
template <class S>
FW_INLINE void walk_inward(const Scene& scene, LaneOf<S> lane, const Freedom<S>* freedoms, int f, RowForces& force,
                           Rows* y) {
  for (; f >= 0; f = scene.tree.dof_parent[f]) {
    const Freedom<S>& d = freedoms[f];
    Rows t = Rows{}, u = Rows{};
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) {
      t += force.e[k] * lane(d.axis.lin[k]);
      u += force.e[3 + k] * lane(d.axis.ang[k]);
    }
    t += u;
    y[scene.depth[f]] = t * lane(d.weight);
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) {
      force.e[k] -= t * lane(d.carry.lin[k]);
      force.e[3 + k] -= t * lane(d.carry.ang[k]);
    }
  }
}

// Freedoms that are inboard of both links.
FW_INLINE int shared_freedoms(const Scene& scene, int a, int b) {
  const Link<double>* links = scene.tree.links;
  while (a >= 0 && !(a <= b && b < links[a].subtree_end)) a = links[a].parent;
  return a < 0 ? 0 : scene.depth[scene.last_freedom[a]] + 1;
}

// G(a, b) by columns: column c has the rows of a.
FW_INLINE void couple(const Scene& scene, const RowGroup& a, const RowGroup& b, Rows* columns) {
  Rows g0 = Rows{}, g1 = Rows{}, g2 = Rows{}, g3 = Rows{};
  for (int i = 0; i < a.n_ends; ++i)
    for (int j = 0; j < b.n_ends; ++j) {
      const RowEnd &p = a.ends[i], &q = b.ends[j];
      const int n = p.link == q.link ? p.count : shared_freedoms(scene, p.link, q.link);
      for (int k = 0; k < n; ++k) {
        const Rows x = p.y[k], z = q.y[k];
        g0 += x * z[0];
        g1 += x * z[1];
        g2 += x * z[2];
        g3 += x * z[3];
      }
    }
  columns[0] = g0, columns[1] = g1, columns[2] = g2, columns[3] = g3;
}

}  // namespace featherweight::FW_ISA
