// step/held_system.hpp -- the rows that hold mechanisms together, walked and factorised on lanes, once a step.
//
//   Y      rows walked to the roots: what is held sees the velocities of Y^T lambda by Y Y^T, as in quartets.hpp
//   L D L^T = Y Y^T
// Whatever else acts on a mechanism, y of it, makes what is held react by lambda = -(Y Y^T)^-1 Y y. So contacts see the
// mechanism's own matrix: with c = D^-1/2 L^-1 Y y of each of their rows, y_a . y_b - c_a . c_b (held_lane.hpp).
//
// Rows that depend on earlier ones get no impulse. What counts as dependent is decided by the scale of the mechanism,
// since frames in files are rounded, and rows that repeat each other then differ by that; and by how easily its links
// move apart from each other, since none of the turns that hinges in a plane hold may be one that it can make.
// Cost: m rows that all meet take m^3/6 + m^2 (their degrees of freedom)/2 operations on lanes; m rows of which each
// meets b before it, m b^2 / 2. Oracle: the twin, dense.
#pragma once
#include "linalg/semidefinite_ldl.hpp"
#include "memory/arena.hpp"
#include "rows/closure.hpp"
#include "rows/coupling.hpp"
#include "step/free_motion.hpp"
#include "step/quartets.hpp"
#include "step/tuning.hpp"

namespace featherweight::FW_ISA {

// How fast a guided row goes: keep * its speed before + push - pull * its error - softness * its impulse (guide.hpp).
template <class S>
struct Guide {
  S keep, push, pull;
  S softness;
};

template <class S>
class HeldSystem {
 public:
  HeldSystem(const Scene& scene, Arena& arena) : scene_(scene), plan_(scene.held) {
    y_ = arena.take<S>(plan_.n_numbers);
    F_ = arena.take<S>(plan_.n_factors);
    floors_ = arena.take<S>(plan_.n_scales);
    apart_ = arena.take<S>(plan_.n_scales);
    weights_ = arena.take<S>(plan_.n_rows);
    guides_ = arena.take<Guide<S>>(plan_.guides ? plan_.n_rows : 0);
    dense_ = arena.take<S>(plan_.n_rows ? scene.tree.nv : 0);
    path_ = arena.take<S>(plan_.n_rows ? scene.tree.nv : 0);
  }

  const HeldPlan& plan() const { return plan_; }
  const S* numbers() const { return y_; }
  const S* factors() const { return F_; }
  // Zero where the row depends on earlier ones.
  const S& inverse_pivot(int row) const { return F_[plan_.rows[row].factor + row - plan_.rows[row].start]; }
  // What the mobility of a row is small against, where all of its kind depend on others.
  const S& floor(int row) const { return floors_[plan_.rows[row].scale]; }

  // How far coordinates are off for an error of the row, against one that moves as easily as any; zero where it depends
  // on others.
  const S& weight(int row) const { return weights_[row]; }

  const Guide<S>& guide(int row) const { return guides_[row]; }

  void factorise(const FreeMotion<S>& motion) {
    for (std::size_t k = 0; k < plan_.n_numbers; ++k) y_[k] = S(0);
    for (int s = 0; s < plan_.n_scales; ++s) apart_[s] = S(0);
    for (int c = 0; c < scene_.n_closures; ++c)
      walk(scene_.closures[c], plan_.parts[c], grip_of(scene_, c, motion.grips), motion);
    for (int c = 0; c < scene_.n_couplings; ++c) walk(scene_.couplings[c], plan_.parts[scene_.n_closures + c], motion);
    couple();
    if (plan_.guides) soften(motion.holds);
    eliminate();
  }

  // x += Y z
  void look(const S* z, S* x) const {
    for_rows([&](const HeldPart& part, int row, const S* y) FW_LAMBDA_INLINE {
      S sum = x[row];
      for (int k = 0; k < part.n_dofs; ++k) sum = sum + y[k] * z[part.dofs[k]];
      x[row] = sum;
    });
  }
  // z += Y^T x
  void gather(const S* x, S* z) const {
    for_rows([&](const HeldPart& part, int row, const S* y) FW_LAMBDA_INLINE {
      for (int k = 0; k < part.n_dofs; ++k) z[part.dofs[k]] = z[part.dofs[k]] + y[k] * x[row];
    });
  }
  // The impulses that take velocities x away: x <- -(Y Y^T)^-1 x.
  void solve(S* x) const {
    for (int i = 0; i < plan_.n_rows; ++i) {
      const HeldRow& own = plan_.rows[i];
      const S* const row = F_ + own.factor;
      S sum = -x[i];
      for (int j = own.start; j < i; ++j) sum = sum - row[j - own.start] * x[j];
      x[i] = sum;
    }
    for (int i = 0; i < plan_.n_rows; ++i) x[i] = x[i] * inverse_pivot(i);
    for (int i = plan_.n_rows - 1; i >= 0; --i) {
      const HeldRow& own = plan_.rows[i];
      const S* const row = F_ + own.factor;
      for (int j = own.start; j < i; ++j) x[j] = x[j] - row[j - own.start] * x[i];
    }
  }

 private:
  const Scene& scene_;
  const HeldPlan& plan_;
  S *y_, *F_;  // rows of L, with inverses of D on its diagonal
  S* floors_;  // of each scale: smaller pivots are none
  S* apart_;   // and how easily links move that its rows hold together, each by itself
  S* weights_;
  Guide<S>* guides_;
  S *dense_, *path_;

  template <class F>
  FW_INLINE void for_rows(const F& f) const {
    for (int p = 0; p < plan_.n_parts; ++p) {
      const HeldPart& part = plan_.parts[p];
      for (int r = 0; r < part.n_rows; ++r)
        f(part, part.first + r, y_ + part.y + static_cast<std::size_t>(r) * part.n_dofs);
    }
  }

  // A force at an end goes inward, and joins the row.
  template <class Motors = NoMotors>
  void walk_end(const HeldEnd& end, const RowForces<S>& force, const FreeMotion<S>& motion, S* y,
                const Motors& motors = {}) {
    walk_inward(scene_, AllLanes<S>{}, motion.dofs, end.link, force, path_, motors);
    const int count = scene_.depth[scene_.last_dof[end.link]] + 1;
    for (int k = 0; k < count; ++k) y[end.at[k]] = y[end.at[k]] + path_[k];
  }

  // How easily a link travels at p, and turns, in any direction: within the number of its joints.
  void see_end(int link, const Vec3<S>& p, const FreeMotion<S>& motion, S& travels, S& turns) const {
    for (int f = scene_.last_dof[link]; f >= 0; f = scene_.tree.dof_parent[f]) {
      const Dof<S>& d = motion.dofs[f];
      const Vec3<S> u = velocity_at(d.axis, p);
      travels = travels + dot(u, u) * (d.weight * d.weight);
      turns = turns + dot(d.axis.ang, d.axis.ang) * (d.weight * d.weight);
    }
  }

  // Two frames stay together, along and about the axes of the first. Both sides are pushed at the origin of the second
  // frame, where the first may be elsewhere: so their forces balance, and the velocity of a row is the rate of its
  // error however far they are apart.
  void walk(const Closure<double>& closure, const HeldPart& part, const S* grip, const FreeMotion<S>& motion) {
    const Pose<S> a = frame_in_world(closure.a, motion.pose);
    const Pose<S> b = second_frame_in_world(closure, grip, motion.pose);
    const int links[2] = {closure.a.link, closure.b.link};
    for (int side = 0, e = 0; side < 2; ++side) {
      if (links[side] < 0) continue;
      const Vec3<S> p = b.p - motion.pose[scene_.root[links[side]]].p;
      S travels(0), turns(0);
      see_end(links[side], p, motion, travels, turns);
      for (int r = 0; r < closure.n_rows; ++r) {
        S& apart = apart_[plan_.rows[part.first + r].scale];
        apart = larger(closure.axes[r] < 3 ? travels : turns, apart);
      }
      for (int r = 0; r < closure.n_rows; ++r) {
        const bool turns = closure.axes[r] >= 3;
        const Vec3<S> along = closure.length > 0 ? line_between(a, b).direction : column(a.R, closure.axes[r] % 3);
        const Vec3<S> axis = along * S(side == 0 ? 1 : -1);
        const Vec3<S> lin = turns ? zero3<S>() : axis, ang = turns ? axis : cross(p, axis);
        walk_end(part.ends[e], {{lin[0], lin[1], lin[2], ang[0], ang[1], ang[2]}}, motion,
                 y_ + part.y + static_cast<std::size_t>(r) * part.n_dofs);
      }
      ++e;
    }
  }

  // The forces of a coupling along one of its joints.
  struct Motor {
    int dof;
    S along;
    FW_INLINE void add(int f, S& t) const {
      if (f == dof) t = t + along;
    }
  };
  void walk(const Coupling& coupling, const HeldPart& part, const FreeMotion<S>& motion) {
    const RowForces<S> none{{S(0), S(0), S(0), S(0), S(0), S(0)}};
    for (int t = coupling.begin; t < coupling.end; ++t) {
      const CouplingTerm<double>& term = scene_.coupling_terms[t];
      const S along = coupling_entry(term, motion.q) * S(scene_.tree.links[term.link].sign);
      walk_end(part.ends[t - coupling.begin], none, motion, y_ + part.y, Motor{term.dof, along});
    }
  }

  // Y Y^T, in the place of its factors: row by row against the rows before.
  void couple() {
    for (int f = 0; f < scene_.tree.nv && plan_.n_rows; ++f) dense_[f] = S(0);
    for (int s = 0; s < plan_.n_scales; ++s) floors_[s] = S(0);
    for_rows([&](const HeldPart& part, int row, const S* y) {
      for (int k = 0; k < part.n_dofs; ++k) dense_[part.dofs[k]] = y[k];
      const HeldRow& own = plan_.rows[row];
      for (int p = static_cast<int>(&part - plan_.parts); p >= 0 && plan_.parts[p].first >= own.start; --p) {
        const HeldPart& other = plan_.parts[p];
        for (int r = 0; r < other.n_rows && other.first + r <= row; ++r) {
          const S* const x = y_ + other.y + static_cast<std::size_t>(r) * other.n_dofs;
          S even(0), odd(0);
          int k = 0;
          for (; k + 1 < other.n_dofs; k += 2) {
            even = even + x[k] * dense_[other.dofs[k]];
            odd = odd + x[k + 1] * dense_[other.dofs[k + 1]];
          }
          if (k < other.n_dofs) even = even + x[k] * dense_[other.dofs[k]];
          F_[own.factor + other.first + r - own.start] = even + odd;
        }
      }
      for (int k = 0; k < part.n_dofs; ++k) dense_[part.dofs[k]] = S(0);
      S& floor = floors_[own.scale];
      floor = larger(inverse_pivot(row), floor);  // its mobility, so far
    });
    for (int s = 0; s < plan_.n_scales; ++s)
      floors_[s] = larger(floors_[s] * S(ClosureTuning::dependent), apart_[s] * S(ClosureTuning::rounded));
  }

  // Rows that are guided yield. What acts at the end of the step or kick, h long, is on the other side of the equation.
  // Strong dampers act there as a whole, weak ones in the mean of both ends where steps are in halves (damped_share).
  // is_second: coordinates are at their end already, and errors of the middle are those less h times the speed.
  void soften(bool is_second) {
    const S h(scene_.kick);
    for (int r = 0; r < plan_.n_rows; ++r) {
      if (!plan_.is_guided(r)) continue;
      const GuideLaw& law = plan_.guides[r];
      const HeldRow& own = plan_.rows[r];
      S& mobility = F_[own.factor + r - own.start];
      const S damping = h * S(law.damping), stiffness = h * h * S(law.stiffness);
      const S yields = mobility + S(law.compliance);
      const auto moves = yields > S(0);
      const S x = select(moves, damping * mobility / select(moves, yields, S(1)), S(0));
      const S at_end = scene_.is_verlet() ? damping * (S(0.5) + S(0.5) * x / (x + S(6))) : damping;
      const S scale = S(1) / (S(1) + at_end + (is_second ? S(0) : stiffness));
      guides_[r] = {(S(1) + at_end - damping + (is_second ? stiffness : S(0))) * scale, h * S(law.acceleration) * scale,
                    h * S(law.stiffness) * scale, S(law.compliance) * scale};
      mobility = mobility + guides_[r].softness;
    }
  }

  void eliminate() {
    for (int i = 0; i < plan_.n_rows; ++i) {
      const HeldRow& own = plan_.rows[i];
      const int first = own.start, n = i - first;
      S* const row = F_ + own.factor;  // from its first column on
      const S mobility = row[n];
      for (int j = 0; j < n; ++j) {
        const HeldRow& other = plan_.rows[first + j];
        const S* const above = F_ + other.factor;
        S sum = row[j];
        for (int k = other.start > first ? other.start - first : 0; k < j; ++k)
          sum = sum - row[k] * above[k + first - other.start];
        row[j] = sum;
      }
      S pivot = mobility;
      for (int j = 0; j < n; ++j) {
        const S x = row[j];
        row[j] = x * inverse_pivot(first + j);
        pivot = pivot - x * row[j];
      }
      const auto is_free = pivot > larger(floors_[own.scale], mobility * S(dependent_pivot));
      row[n] = select(is_free, S(1) / select(is_free, pivot, S(1)), S(0));
      weights_[i] = square_root(row[n] * floors_[own.scale] * S(1 / ClosureTuning::dependent));
    }
  }
};

}  // namespace featherweight::FW_ISA
