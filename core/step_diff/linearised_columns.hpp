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
    for (int k = 0; has(Wrt::gains) && k < scene_.n_actuators; ++k) {
      const int f = scene_.actuators[k].dof;
      R(f, column(Wrt::gains) + k) -= forces_.inertia[k] * w_[f];
    }
    if (has(Wrt::masses)) smooth_.add_mass_columns(R, -1, W_w_, nullptr);
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

  void find_corrections() {
    for (int f = 0; f < nv_; ++f) w_[f] = 0;
    if (corrects_) {
      plain_.factorise(H_, nullptr);
      sum_wrenches([](const DiffContact& c, int k) { return c.correction[k]; }, 1);
      for (int i = 0; i < tree_.n_links; ++i)
        world_.for_path(i, [&](int j) FW_LAMBDA_INLINE { w_[j] += dot(world_.axis[j], wrench_[i]); });
      for (int r = 0; r < m_; ++r) {
        const DiffContact& c = contacts_[rows_[r].contact];
        if (c.between == Between::limit) w_[path_of(r)] += rows_[r].gap_slope * rows_[r].correction;
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

  // -- columns of contacts

  // Twist of a point when k turns.
  Twist at_point(int k, const Vector& point) const {
    const Twist& S = world_.axis[k];
    return {point_velocity(S, point - world_.root(link_of_[k])), S.ang};
  }
  struct Relative {
    Vector u, w;
  };
  Relative relative(const DiffContact& c, const Twist* V) const {
    Relative r{zero3<double>(), zero3<double>()};
    for (int side = 0; side < 2; ++side) {
      if (c.link[side] < 0) continue;
      const Twist& m = V[c.link[side]];
      const double sign = side == 0 ? 1 : -1;
      r.u += point_velocity(m, c.point - world_.root(c.link[side])) * sign;
      r.w += m.ang * sign;
    }
    return r;
  }
  // What turning k does to the relative velocity: S_k x (V - V before k) at each end it moves.
  Relative turned(const DiffContact& c, int k, const Twist* V) const {
    const int link = link_of_[k], inboard = world_.parent(link);
    Relative r{zero3<double>(), zero3<double>()};
    for (int side = 0; side < 2; ++side) {
      if (!(mark_[k] & (1 << side))) continue;
      const Twist from = inboard < 0 ? V[c.link[side]] : V[c.link[side]] - V[inboard];
      const Twist z = cross(world_.axis[k], from);
      const double sign = side == 0 ? 1 : -1;
      r.u += point_velocity(z, c.point - world_.root(link)) * sign;
      r.w += z.ang * sign;
    }
    return r;
  }
  // d(J v) of one row.
  static double row_rate(const DiffContact& c, int component, const ContactRates& rates, const Relative& v,
                         const Relative& z) {
    const int k = component % 3;
    if (component >= 3) return FW_ISA::dot(rates.axis[k], v.w) + FW_ISA::dot(c.axis[k], z.w);
    return FW_ISA::dot(rates.axis[k], v.u) + FW_ISA::dot(c.axis[k], FW_ISA::cross(v.w, rates.point) + z.u);
  }
  // R(:, column) += J^T dW of impulses along the axes
  void add_wrench_rates(const DiffContact& c, const ContactRates& rates, const double* along, const Matrix& to,
                        int column) {
    Vector f = zero3<double>(), df = f, dm = f;
    for (int r = 0; r < 3; ++r) {
      f += c.axis[r] * along[r], df += rates.axis[r] * along[r];
      dm += rates.axis[r] * along[3 + r];
    }
    const Vector turn = FW_ISA::cross(rates.point, f) + dm;
    for (int side = 0; side < 2; ++side) {
      if (c.link[side] < 0) continue;
      const double sign = side == 0 ? 1 : -1;
      const Wrench d = Wrench{df, turn + FW_ISA::cross(c.point - world_.root(c.link[side]), df)} * sign;
      world_.for_path(c.link[side], [&](int j) FW_LAMBDA_INLINE { to(j, column) += dot(world_.axis[j], d); });
    }
  }
  int rows_of(const DiffContact& c) const {
    int n = 0;
    while (c.rows + n < m_ && rows_[c.rows + n].contact == rows_[c.rows].contact) ++n;
    return n;
  }

  // The degree of freedom of a limit.
  int path_of(int row) const { return path_[contacts_[rows_[row].contact].first]; }

  // What takes overlaps out is looked at with velocities at the end; what is held stays where it is without them.
  const Twist* corrected(const DiffContact& c) const { return c.is_held() ? W_w_ : V_row_; }

  void add_contact_columns() {
    set_zero(T_, m_), set_zero(J_, m_);
    if (corrects_) set_zero(T2_, m_);
    for (int k = 0; k < n_contacts_; ++k) {
      DiffContact& c = contacts_[k];
      if (c.between == Between::coupling) continue;
      if (c.between == Between::limit) {
        const int f = path_of(c.rows);
        J_(c.rows, f) = rows_[c.rows].gap_slope;
        if (has(Wrt::q)) T2_(c.rows, column(Wrt::q) + f) = rows_[c.rows].slack_slope * rows_[c.rows].gap_slope;
        continue;
      }
      const int n = rows_of(c);
      set_marks(c);
      set_bounces(c, n);
      const Relative v_plus = relative(c, V_plus_), v_row = corrects_ ? relative(c, corrected(c)) : v_plus;
      const Relative before = relative(c, V_);
      for (int i = c.first; i < c.first + c.count; ++i) add_contact_column(c, n, path_[i], v_plus, v_row, before);
      if (has(Wrt::heights) && c.contact) add_height_columns(c, n, v_plus, v_row);
      forget_marks(c);
    }
  }
  // Restitution as a share of the velocity before.
  void set_bounces(const DiffContact& c, int n) {
    if (!c.contact) return;
    const Relative before = relative(c, V_);
    for (int r = c.rows; r < c.rows + n; ++r) {
      DiffRow& row = rows_[r];
      if (row.bounce == 0 || row.component >= 3) continue;
      const double velocity = FW_ISA::dot(c.axis[row.component], before.u);
      row.bounce = velocity != 0 ? row.bounce / velocity : 0;
      row.gap_slope = 0;
      const double given = scene_.materials[c.contact->material].restitution;
      if (row.component != 2) continue;
      row.share = given > 0 ? row.bounce / given : 1;
      if (has(Wrt::restitution)) T_(r, column(Wrt::restitution)) = row.share * velocity;
    }
  }
  void add_contact_column(const DiffContact& c, int n, int k, const Relative& v_plus, const Relative& v_row,
                          const Relative& before) {
    const Twist s = at_point(k, c.point), none = zero_motion<double>();
    const bool on_a = mark_[k] & 1, on_b = mark_[k] & 2;
    const double side = (on_a ? 1 : 0) - (on_b ? 1 : 0);
    for (int r = c.rows; r < c.rows + n; ++r) {
      const int component = rows_[r].component;
      J_(r, k) = side * FW_ISA::dot(c.axis[component % 3], component < 3 ? s.lin : s.ang);
    }
    if (has(Wrt::v))
      for (int r = c.rows; r < c.rows + n; ++r)
        if (rows_[r].bounce != 0) T_(r, column(Wrt::v) + k) += rows_[r].bounce * J_(r, k);
    if (!has(Wrt::q)) return;
    const int col = column(Wrt::q) + k;
    const ContactRates rates = c.rates(on_a ? s : none, on_b ? s : none);
    const Relative z = turned(c, k, V_plus_);
    for (int r = c.rows; r < c.rows + n; ++r) {
      const DiffRow& row = rows_[r];
      T_(r, col) = row_rate(c, row.component, rates, v_plus, z) + row.gap_slope * rates.gap;
      if (row.bounce != 0) T_(r, col) += row.bounce * row_rate(c, row.component, rates, before, turned(c, k, V_));
      if (row.is_corrected)
        T2_(r, col) =
            row_rate(c, row.component, rates, v_row, turned(c, k, corrected(c))) + row.slack_slope * rates.gap;
    }
    add_wrench_rates(c, rates, c.force, R_, col);
    if (corrects_) add_wrench_rates(c, rates, c.correction, R2_, col);
  }
  // A shape of the world is raised.
  void add_height_columns(const DiffContact& c, int n, const Relative& v_plus, const Relative& v_row) {
    const Twist up{{0, 0, 1}, zero3<double>()}, none = zero_motion<double>();
    const Relative still{zero3<double>(), zero3<double>()};
    for (int side = 0; side < 2; ++side) {
      const int place = job_.ground[side == 0 ? c.contact->a : c.contact->b];
      if (place < 0) continue;
      const int col = column(Wrt::heights) + place;
      const ContactRates rates = c.rates(side == 0 ? up : none, side == 1 ? up : none);
      for (int r = c.rows; r < c.rows + n; ++r) {
        const DiffRow& row = rows_[r];
        T_(r, col) += row_rate(c, row.component, rates, v_plus, still) + row.gap_slope * rates.gap;
        if (row.bounce != 0) T_(r, col) += row.bounce * row_rate(c, row.component, rates, relative(c, V_), still);
        if (row.is_corrected)
          T2_(r, col) += row_rate(c, row.component, rates, v_row, still) + row.slack_slope * rates.gap;
      }
      add_wrench_rates(c, rates, c.force, R_, col);
      if (corrects_) add_wrench_rates(c, rates, c.correction, R2_, col);
    }
  }
};

}  // namespace featherweight::FW_ISA
