// step_diff/linearised_columns.hpp -- right-hand sides of the linearised step, column by column.
//   R   of H v': forces, inertia and products of velocities, and how the wrenches of contacts change
//   T   of rows: how J changes along the velocity at the end, and what gaps and bounces ask for
//   R2, T2   the same of what takes overlaps out
#pragma once
#include "step_diff/linearised_rows.hpp"

namespace featherweight::FW_ISA {

class LinearisedColumns : public LinearisedRows {
 public:
  using LinearisedRows::LinearisedRows;

 protected:
  // -- columns without contacts

  // What lanes have not found.
  void add_to_lanes() {
    for (int k = 0; k < tree_.row[nv_]; ++k) H_[k] = from_lanes_.H[k];
    if (by_sweeps_) return;
    for (int f = 0; f < nv_; ++f) {
      R_(f, f) += job_.dt * forces_.by_q[f];
      R_(f, nv_ + f) += job_.dt * forces_.by_v[f];
    }
    smooth_.add_columns(R_, job_.dt, a_);
  }
  // With the acceleration that the step had, and impulses among the forces.
  void add_free_columns() {
    sum_wrenches([](const DiffContact& c, int k) { return c.force[k]; }, 1 / job_.dt);
    dynamics_.differentiate(v_, a_, smooth_.base, smooth_.f, wrench_);
    keep_inertia();
    add_smooth_columns(a_, v_);
  }
  // What tumbles is turned between forces and impulses, so that these come each by itself: R is what H times the
  // turned velocity changes by.
  void add_turned_columns() {
    copy(R_, nv_, X2_);  // of joint rows
    set_zero(R_, nv_);
    double *const u = u_, *const a = kept_a_;
    smooth_.accelerate(tumble_.explicit_v, zero_, plain_, a);
    keep_inertia();
    for (int f = 0; f < nv_; ++f) u[f] = v_[f] + job_.dt * a[f];
    dynamics_.differentiate(tumble_.explicit_v, a, smooth_.base, smooth_.f, nullptr);
    add_smooth_columns(a, tumble_.explicit_v);
    plain_.solve(R_);
    tumble_.turn(world_, smooth_.inertias, v_, u, dynamics_);
    tumble_.apply(R_, column(Wrt::q), [&](const Matrix& to) { add_mass_columns(to); });
    copy(R_, nv_, X_);
    copy(X2_, nv_, R_);
    add_inertia_product(tree_, H_, 1, X_, R_);
    // what impulses did
    for (int f = 0; f < nv_; ++f) w_[f] = v_plus_[f] - tumble_.turned[f], u[f] = 0;
    add_turning_of_axes(tree_, world_.center, tumble_.explicit_v, job_.dt, u);
    for (int f = 0; f < nv_; ++f) w_[f] -= u[f];
    sum_wrenches([](const DiffContact& c, int k) { return c.force[k]; }, 1);
    add_impulse_columns(R_);
  }
  // -(H x + c), as dynamics was differentiated last.
  void add_mass_columns(const Matrix& to) {
    if (has(Wrt::masses)) smooth_.add_mass_columns(to, -1, dynamics_.accelerations(), dynamics_.velocities());
  }
  void keep_inertia() {
    for (int k = 0; k < tree_.row[nv_]; ++k) H_[k] = dynamics_.H[k];
  }
  // Of H^-1 times impulses that are kept in wrench_, where it is w_.
  void add_impulse_columns(const Matrix& R) {
    world_.twists(w_, W_w_);
    dynamics_.differentiate(zero_, w_, zero_motion<double>(), nullptr, wrench_);
    for (int f = 0; has(Wrt::q) && f < nv_; ++f)
      for (int k = 0; k < nv_; ++k) R(f, column(Wrt::q) + k) -= dynamics_.dq(f, k);
    add_impulse_gains(R);
    if (has(Wrt::masses)) smooth_.add_mass_columns(R, -1, W_w_, nullptr);
  }
  void add_impulse_gains(const Matrix& R) const {
    for (int k = 0; has(Wrt::gains) && k < scene_.n_actuators; ++k) {
      const int f = scene_.actuators[k].dof;
      R(f, column(Wrt::gains) + k) -= forces_.inertia[k] * w_[f];
    }
  }
  // a: that of the forces; v: whose products they have.
  void add_smooth_columns(const double* a, const double* v) {
    const double dt = job_.dt;
    if (has(Wrt::q)) {
      const int first = column(Wrt::q);
      for (int f = 0; f < nv_; ++f) {
        for (int k = 0; k < nv_; ++k) R_(f, first + k) -= dt * dynamics_.dq(f, k);
        R_(f, first + f) += dt * forces_.by_q[f];
      }
    }
    if (has(Wrt::v)) add_velocity_columns(v);
    smooth_.add_columns(R_, dt, a);
    smooth_.drag.add_columns(world_, V_, dt, column(Wrt::q), column(Wrt::v), R_);
    smooth_.start_forces.add_columns(dt, column(Wrt::q), column(Wrt::v), false, R_);
  }
  void add_velocity_columns(const double* v) {
    const double dt = job_.dt;
    const int first = column(Wrt::v);
    for (int k = 0; k < nv_; ++k) {
      const double* row = H_ + tree_.row[k];
      R_(k, first + k) += row[0];
      for (int i = tree_.dof_parent[k]; i >= 0; i = tree_.dof_parent[i]) {
        ++row;
        R_(k, first + i) += *row, R_(i, first + k) += *row;
      }
    }
    for (int f = 0; f < nv_; ++f) {
      for (int k = 0; k < nv_; ++k)
        if (!(tumbles_ && tumble_.tumbles(link_of_[k]))) R_(f, first + k) -= dt * dynamics_.dv(f, k);
      R_(f, first + f) += dt * forces_.by_v[f];
    }
    // w x (u + w x c) of free joints
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      if (l.kind != JointKind::free || (tumbles_ && tumble_.tumbles(i))) continue;
      const Vector w{v[l.v + 3], v[l.v + 4], v[l.v + 5]}, c = world_.center[i];
      const Vector p = Vector{v[l.v], v[l.v + 1], v[l.v + 2]} + FW_ISA::cross(w, c);
      const Matrix3 by_u = skew(w), by_w = skew(p) * -1 + skew(w) * skew(c) * -1;
      for (int r = 0; r < 3; ++r)
        for (int k = 0; k < 3; ++k) {
          add_inertia_entry(l.v + r, dt * by_u(r, k), first + l.v + k);
          add_inertia_entry(l.v + r, dt * by_w(r, k), first + l.v + 3 + k);
        }
    }
  }
  // R(:, column) += H(:, f) x
  void add_inertia_entry(int f, double x, int column) {
    const double* row = H_ + tree_.row[f];
    for (int i = f; i >= 0; i = tree_.dof_parent[i]) R_(i, column) += *row++ * x;
    for_outboard(f, [&](int k, double h) { R_(k, column) += h * x; });
  }
  // f(k, H(k, f)) of degrees of freedom outboard of f.
  template <class F>
  void for_outboard(int f, const F& use) const {
    const Link<double>& l = tree_.links[link_of_[f]];
    const int end = l.subtree_end == tree_.n_links ? nv_ : tree_.links[l.subtree_end].v;
    for (int k = f + 1; k < end; ++k) use(k, H_[tree_.row[k] + scene_.depth[k] - scene_.depth[f]]);
  }

  // -- overlaps

  void take_corrections_from_lanes() {
    const bool lifts = from_lanes_.lifts;
    for (int f = 0; f < nv_; ++f) {
      w_[f] = lifts ? from_lanes_.w[f] : 0;
      moved_[f] = row_v_[f] = v_plus_[f] + w_[f];
    }
    if (!corrects_) return;
    plain_.use(from_lanes_.factor);
    for (int i = 0; i < tree_.n_links; ++i) V_row_[i] = lifts ? V_plus_[i] + W_w_[i] : V_plus_[i];
    if (by_sweeps_) return;
    for (int f = 0; f < nv_; ++f)
      for (int c = lifts ? nv_ : 0; c < R2_.stride; ++c) R2_(f, c) = 0;
    if (lifts) add_impulse_gains(R2_);
  }
  void find_corrections() {
    if (on_lanes_) return take_corrections_from_lanes();
    for (int f = 0; f < nv_; ++f) w_[f] = 0;
    if (corrects_) {
      plain_.factorise(H_, nullptr);
      sum_wrenches([](const DiffContact& c, int k) { return c.correction[k]; }, 1);
      for (int i = 0; i < tree_.n_links; ++i)
        world_.for_path(i, [&](int j) FW_LAMBDA_INLINE { w_[j] += dot(world_.axis[j], wrench_[i]); });
      for (int r = 0; r < m_; ++r) {
        const DiffContact& c = contacts_[rows_[r].contact];
        if (c.between == Between::joints)
          for_joint_terms(c, [&](int f, double along) { w_[f] += along * rows_[r].correction; });
        if (c.between == Between::coupling)
          for_terms(c.held, q_, [&](int f, const Expansion<double>& p) { w_[f] += p.slope * rows_[r].correction; });
      }
      plain_.solve(w_);
    }
    for (int f = 0; f < nv_; ++f) {
      row_v_[f] = v_plus_[f] + w_[f];
      moved_[f] = row_v_[f] + (tumbles_ ? tumble_.bend[f] : 0);
    }
    if (!corrects_) return;
    world_.twists(row_v_, V_row_);
    set_zero(R2_, nv_);
    add_impulse_columns(R2_);
  }
};

}  // namespace featherweight::FW_ISA
