// step_diff/drag_diff.hpp -- derivatives of the forces of the medium (step/drag.hpp).
//
// A wrench W on a link that depends on how it moves through the medium, W = X* f(X^-1 (V - wind)), turns with the link,
// and changes by D = X* f' X^-1 times what the velocity changes by beyond that:
//   W_q_k = S_k x* W + D (V_p x S_k + S_k x wind),   W_v_k = D S_k
// f' by dual numbers. Oracle: finite differences.
#pragma once
#include "step/drag.hpp"
#include "step_diff/columns.hpp"
#include "step_diff/dual.hpp"
#include "step_diff/motion.hpp"

namespace featherweight::FW_ISA {

class DragDiff {
 public:
  DragDiff(const Scene& scene, Arena& arena)
      : scene_(scene),
        is_dragged_(arena.take<bool>(scene.tree.n_links)),
        wrench_(arena.take<Wrench>(scene.tree.n_links)),
        slope_(arena.take<Slope>(scene.tree.n_links)) {}

  bool is_there() const { return scene_.n_boxes + scene_.n_ellipsoids > 0; }
  // Of links that move with V, about their roots.
  void find(const WorldTree& world, const Twist* V) {
    if (!is_there()) return;
    for (int i = 0; i < scene_.tree.n_links; ++i) is_dragged_[i] = false;
    for (int k = 0; k < scene_.n_boxes; ++k) add(world, V, scene_.boxes[k]);
    for (int k = 0; k < scene_.n_ellipsoids; ++k) add(world, V, scene_.ellipsoids[k]);
  }
  // The wrenches join those on links.
  void add_to(Wrench* f) const {
    for (int i = 0; is_there() && i < scene_.tree.n_links; ++i)
      if (is_dragged_[i]) f[i] += wrench_[i];
  }
  // R += s J^T W', by q and v from columns `q` and `v` on; -1: not wanted.
  template <class M>
  void add_columns(const WorldTree& world, const Twist* V, double s, int q, int v, const M& R) const {
    for (int i = 0; is_there() && i < scene_.tree.n_links; ++i) {
      if (!is_dragged_[i]) continue;
      for (int link = i; link >= 0; link = world.parent(link)) {
        const Link<double>& l = scene_.tree.links[link];
        const Twist inboard = l.parent < 0 ? zero_motion<double>() : V[l.parent];
        for (int k = l.v; k < l.v + l.nv; ++k) {
          const Twist& S = world.axis[k];
          Twist moved = cross(inboard, S);
          moved.lin += FW_ISA::cross(S.ang, vec3(scene_.medium.wind));
          const Wrench by_q = slope_[i] * moved, by_v = slope_[i] * S, turned = cross(S, wrench_[i]);
          world.for_path(i, [&](int j) FW_LAMBDA_INLINE {
            const Twist& Sj = world.axis[j];
            if (v >= 0) R(j, v + k) += s * dot(Sj, by_v);
            if (q < 0) return;
            R(j, q + k) += s * dot(Sj, by_q);
            if (j < l.v) R(j, q + k) += s * dot(Sj, turned);  // else S_j turns as well
          });
        }
      }
    }
  }

 private:
  struct Slope {
    double e[6][6];

    Wrench operator*(const Twist& x) const {
      const double in[6] = {x.lin[0], x.lin[1], x.lin[2], x.ang[0], x.ang[1], x.ang[2]};
      double y[6] = {};
      for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c) y[r] += e[r][c] * in[c];
      return {{y[0], y[1], y[2]}, {y[3], y[4], y[5]}};
    }
  };
  const Scene& scene_;
  bool* is_dragged_;
  Wrench* wrench_;
  Slope* slope_;

  template <class D>
  void add(const WorldTree& world, const Twist* V, const D& d) {
    using S = Dual<6>;
    const int i = d.link;
    const Pose<double>& X = world.pose[i];
    const Vector r = world.from_root(i);
    // twists and wrenches about the root in world axes, and those of the link
    const auto to_link = [&](const Twist& m) {
      return Twist{transposed_times(X.R, point_velocity(m, r)), transposed_times(X.R, m.ang)};
    };
    const auto to_root = [&](const Wrench& f) {
      const Vector lin = X.R * f.lin;
      return Wrench{lin, X.R * f.ang + FW_ISA::cross(r, lin)};
    };
    const Twist own = to_link({V[i].lin - vec3(scene_.medium.wind), V[i].ang});
    Motion<S> m;
    for (int k = 0; k < 3; ++k) m.lin[k] = S::variable(own.lin[k], k), m.ang[k] = S::variable(own.ang[k], 3 + k);
    const Rotation<double> R{mat3(d.R)};
    const Force<S> f = shift_to_parent(to_parent(R, drag_of(d, to_child(R, shift_to_child(m, vec3(d.p))))), vec3(d.p));
    if (!is_dragged_[i]) {
      is_dragged_[i] = true;
      wrench_[i] = zero_force<double>();
      for (auto& row : slope_[i].e)
        for (double& x : row) x = 0;
    }
    wrench_[i] += to_root({{f.lin[0].x, f.lin[1].x, f.lin[2].x}, {f.ang[0].x, f.ang[1].x, f.ang[2].x}});
    for (int c = 0; c < 6; ++c) {
      Twist e = zero_motion<double>();
      (c < 3 ? e.lin[c] : e.ang[c - 3]) = 1;
      const Twist at = to_link(e);
      Wrench y = zero_force<double>();
      for (int k = 0; k < 3; ++k)
        for (int j = 0; j < 3; ++j) {
          y.lin[k] += f.lin[k].d[j] * at.lin[j] + f.lin[k].d[3 + j] * at.ang[j];
          y.ang[k] += f.ang[k].d[j] * at.lin[j] + f.ang[k].d[3 + j] * at.ang[j];
        }
      const Wrench w = to_root(y);
      for (int k = 0; k < 3; ++k) slope_[i].e[k][c] += w.lin[k], slope_[i].e[3 + k][c] += w.ang[k];
    }
  }
};

}  // namespace featherweight::FW_ISA
