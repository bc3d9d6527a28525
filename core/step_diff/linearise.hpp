// step_diff/linearise.hpp -- one step of one environment, linearised in the modes that it had.
//
// With a = (v+ - v) / dt less the turning of axes, the step says ID(q, v, a; f + W / dt) + (added inertia) a = tau,
// W: wrenches of contacts. All else follows by implicit differentiation; x: any column, ' its derivative.
//   velocities at fixed impulses   H v' = R = dt (tau' - ID') + H (1 + turning)' + J^T dW
//   rows at fixed impulses         s = J v' + T,   T = d(J) v+ + shift' + compliance' lambda
//   impulses                       lambda' = P y + p,   (Q G P + E) y = -Q (s + G p)       (modes)
//   overlaps                       w = H^-1 J^T mu likewise: R2, T2, (G + give) mu' = -(T2 + J (v' + w'))
// No derivative of H or of J is formed as a tensor: one pass of derivatives of inverse dynamics at the acceleration
// that the step had, with impulses among the forces, contains them all (docs/adr/0033).
// Cost: O(n d + m d) to assemble; then n d (columns) + m^2 (columns) + m^3 for a Jacobian, n d + m^2 for a product.
// Oracle: central differences of the step.
#pragma once
#include "step_diff/central_path.hpp"
#include "step_diff/pull_back.hpp"
#include "step_diff/pull_together.hpp"

namespace featherweight::FW_ISA {

class StepLinearisation : public PulledBack {
 public:
  // only_vectors: systems of rows are never solved for columns.
  StepLinearisation(const StepDiffJob& job, int most_rows, int most_found, Arena& arena, bool only_vectors = false)
      : PulledBack(job, most_rows, most_found, arena), together_(job, lanes_, modes_, lift_, arena) {
    if (only_vectors) modes_.lu.expect_vectors(), lift_.expect_vectors();
  }

  // Before those of a pack are linearised.
  void load(const Pack& pack) {
    are_loaded_ = suits_lanes();
    if (are_loaded_) lanes_.load(pack);
    any_swept_ = false;
    first_ = pack.first;
    together_.start();
  }
  // After all of them were read in reverse; out: of the first.
  void finish(const Pack& pack, double* out) {
    if (together_.any()) together_.pull(pack, out, static_cast<std::size_t>(nc_));
    if (any_swept_ || together_.any()) lanes_.add_products(pack, out, static_cast<std::size_t>(nc_));
  }
  void linearise(std::size_t environment) {
    is_together_ = are_loaded_ && together_.is_asked() && joins_others(environment);
    if (is_together_) return;
    tumbles_ = false;
    if (!are_loaded_ || !set_start_from_lanes(environment)) {
      set_start(environment);
      tumbles_ = tumble_.find(world_, smooth_.inertias, v_, job_.dt);
      world_.twists(v_plus_, V_plus_);
    }
    add_rows();
    find_pair_slopes();
    if (on_lanes_)
      add_to_lanes();
    else if (tumbles_)
      add_turned_columns();
    else
      add_free_columns();
    find_corrections();
    add_contact_columns();
    factorise();
    differentiate_coordinates();
  }
  bool is_unique() { return modes_.is_unique(nv_, m_, Y_, for_rows_, for_rows2_); }

  // out: 2 nv rows of all columns; infeasible: (columns), or null. Some columns at a time go through all of it, so that
  // they stay near.
  void jacobian(double* out, unsigned char* infeasible) {
    for (int p = 0; p < packs_of(nc_); p += panel_packs) {
      const int left = packs_of(nc_) - p;
      solve_panel({p, left < panel_packs ? left : panel_packs}, out, infeasible);
    }
  }
  // in: (columns), out: (2 nv).
  void forward(const double* in, double* out) {
    for (int f = 0; f < nv_; ++f) z_[f] = row_times(R_, f, in);
    for (int f = 0; f < nv_; ++f)
      if (locked_[f]) nu_[f] = locked_rate(f, in), add_inertia_column(f, -nu_[f], z_);
    for (int f = 0; f < nv_; ++f)
      if (locked_[f]) z_[f] = nu_[f];
    held_.solve(z_);
    for (int r = 0; r < m_; ++r) for_rows_[r] = row_times(T_, r, in) + along(J_, r, z_);
    if (m_ > 0) {
      modes_.solve(m_, for_rows_, friction_column() < 0 ? 0 : in[friction_column()]);
      for (int r = 0; r < m_; ++r)
        for (int f = 0; f < nv_; ++f) z_[f] += Y_(f, r) * for_rows_[r];
    }
    for (int f = 0; f < nv_; ++f) nu_[f] = corrects_ ? row_times(R2_, f, in) : 0;
    if (corrects_) plain_.solve(nu_);
    for (int f = 0; f < nv_; ++f) nu_[f] += z_[f];
    if (corrects_) {
      for (int i = 0; i < n_on_; ++i) for_rows_[i] = -row_times(T2_, on_[i], in) - along(J_, on_[i], nu_);
      lift_.solve<false>(for_rows_);
      for (int i = 0; i < n_on_; ++i)
        for (int f = 0; f < nv_; ++f) nu_[f] += Y2_(f, i) * for_rows_[i];
    }
    for (int f = 0; tumbles_ && f < nv_; ++f) nu_[f] += row_times(tumble_.bends, f, in);
    const double* const moved = nu_;
    const int q = job_.columns.of(Wrt::q);
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      for (int r = 0; r < l.nv; ++r) {
        double& to_q = out[l.v + r];
        double& to_v = out[nv_ + l.v + r];
        to_q = to_v = 0;
        if (l.nv == 1) {
          to_q = (q < 0 ? 0 : in[q + l.v]) + job_.dt * moved[l.v], to_v = z_[l.v];
          continue;
        }
        const BallAdvance& b = balls_[i];
        for (int c = 0; c < l.nv; ++c) {
          if (q >= 0) to_q += b.q_q.e[r][c] * in[q + l.v + c];
          to_q += b.q_m.e[r][c] * moved[l.v + c];
          to_v += b.v_v.e[r][c] * z_[l.v + c] + b.v_m.e[r][c] * moved[l.v + c];
        }
      }
    }
  }
  // in: (2 nv), out: (columns).
  void reverse(const double* in, double* out) {
    if (is_together_) return;
    for (int c = 0; c < nc_; ++c) g_[c] = 0;
    const int q = job_.columns.of(Wrt::q);
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      for (int c = 0; c < l.nv; ++c) {
        const int f = l.v + c;
        gm_[f] = gv_[f] = 0;
        if (l.nv == 1) {
          if (q >= 0) g_[q + f] += in[f];
          gm_[f] = job_.dt * in[f], gv_[f] = in[nv_ + f];
          continue;
        }
        const BallAdvance& b = balls_[i];
        for (int r = 0; r < l.nv; ++r) {
          const double wq = in[l.v + r], wv = in[nv_ + l.v + r];
          if (q >= 0) g_[q + f] += b.q_q.e[r][c] * wq;
          gm_[f] += b.q_m.e[r][c] * wq + b.v_m.e[r][c] * wv;
          gv_[f] += b.v_v.e[r][c] * wv;
        }
      }
    }
    for (int f = 0; tumbles_ && f < nv_; ++f) add_to(g_, gm_[f], tumble_.bends[f], nc_);
    for (int f = 0; f < nv_; ++f) nu_[f] = gm_[f];
    if (corrects_) {
      for (int i = 0; i < n_on_; ++i) for_rows2_[i] = 0;
      for (int f = 0; f < nv_; ++f) add_to(for_rows2_, -gm_[f], Y2_[f], n_on_);
      lift_.solve<true>(for_rows2_);
      for (int i = 0; i < n_on_; ++i) add_to(nu_, for_rows2_[i], J_[on_[i]], nv_);
    }
    for (int f = 0; f < nv_; ++f) gv_[f] += nu_[f];
    if (corrects_) plain_.solve(nu_);
    if (m_ > 0) {
      for (int r = 0; r < m_; ++r) for_rows_[r] = 0;
      for (int f = 0; f < nv_; ++f) add_to(for_rows_, gv_[f], Y_[f], m_);
      double by_friction = 0;
      modes_.solve_transposed(m_, for_rows_, by_friction);
      if (friction_column() >= 0) g_[friction_column()] += by_friction;
      for (int r = 0; r < m_; ++r) add_to(gv_, for_rows_[r], J_[r], nv_);
    }
    for (int f = 0; f < nv_; ++f) z_[f] = locked_[f] ? 0 : gv_[f];
    held_.solve(z_);
    any_swept_ = any_swept_ || by_sweeps_;
    if (by_sweeps_)
      pull_back(z_, for_rows_, nu_, for_rows2_, g_);
    else
      pull_back_by_columns();
    for (int f = 0; f < nv_; ++f)
      if (locked_[f]) add_locked(f, gv_[f] - inertia_column_times(f, z_));
    for (int c = 0; c < nc_; ++c) out[c] = g_[c];
  }

 protected:
  static constexpr int panel_packs = 6;
  // Registers [first, first + count) of columns.
  struct ColumnPanel {
    int first, count;

    int column() const { return columns_at_a_time * first; }
    int width() const { return columns_at_a_time * count; }
  };
  bool are_loaded_ = false, any_swept_ = false, is_together_ = false;
  std::size_t first_ = 0;  // of the pack
  PulledTogether together_;

  // Whether an environment is pulled back with others of its pack.
  bool joins_others(std::size_t environment) {
    if (lanes_.lifts(environment)) return false;
    set_state(environment);
    if (!tumble_.is_calm(v_, job_.dt)) return false;
    on_lanes_ = by_sweeps_ = true;
    find_joint_forces();
    add_rows();
    return together_.take(static_cast<int>(environment - first_),
                          {contacts_, n_contacts_, rows_, m_, hold_, locked_, forces_, row_force_});
  }

  void solve_panel(const ColumnPanel& panel, double* out, unsigned char* infeasible) {
    const int n = nc_ - panel.column() < panel.width() ? nc_ - panel.column() : panel.width();
    const auto compact = [&](const Matrix& m) { return Matrix{m.data, panel.width()}; };
    const Matrix X = compact(X_), S = compact(S_), X2 = compact(X2_);
    take(R_, nv_, panel, X);
    hold(panel, X);
    held_.solve(X);
    if (m_ > 0) {
      take(T_, m_, panel, S);
      add_rows_times(X, S);
      const int friction = friction_column() - panel.column();
      modes_.solve(m_, S, n, infeasible ? infeasible + panel.column() : nullptr,
                   0 <= friction && friction < n ? friction : -1);  // S: impulses now
      multiply<true>(Y_, nv_, m_, S, panel.count, X);
    }
    if (corrects_) lift_panel(panel, n, X, S, X2);
    if (tumbles_ && !corrects_) copy(X, nv_, X2);
    const Matrix moved = corrects_ || tumbles_ ? X2 : X;
    for (int f = 0; tumbles_ && f < nv_; ++f)
      for (int k = 0; k < panel.count; ++k) moved.pack(f, k) += tumble_.bends.pack(f, panel.first + k);
    write(panel, X, moved, out);
  }
  // X2: how coordinates move, where overlaps are taken out.
  void lift_panel(const ColumnPanel& panel, int n, const Matrix& X, const Matrix& S, const Matrix& X2) {
    const int begin = first_lifted() > panel.first ? first_lifted() - panel.first : 0;
    const int end = last_lifted() - panel.first < panel.count ? last_lifted() - panel.first : panel.count;
    copy(X, nv_, X2);
    if (begin < end) {
      const Matrix lifted{lifted_.data, panel.width()};
      take(R2_, nv_, panel, lifted);
      plain_.solve(lifted, begin, end);
      for (int f = 0; f < nv_; ++f)
        for (int k = begin; k < end; ++k) X2.pack(f, k) += lifted.pack(f, k);
    }
    for_packs(panel.count, [&]<int P>(int p) FW_LAMBDA_INLINE {
      for (int i = 0; i < n_on_; ++i) {
        Columns sum[P];
#pragma GCC unroll 6
        for (int k = 0; k < P; ++k) sum[k] = -T2_.pack(on_[i], panel.first + p + k);
        add_row_times<P>(on_[i], -1, X2, p, sum);
#pragma GCC unroll 6
        for (int k = 0; k < P; ++k) S.pack(i, p + k) = sum[k];
      }
    });
    lift_.solve(S, nullptr, n);
    multiply<true>(Y2_, nv_, n_on_, S, panel.count, X2);
  }
  static void take(const Matrix& from, int rows, const ColumnPanel& panel, const Matrix& to) {
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < panel.count; ++k) to.pack(r, k) = from.pack(r, panel.first + k);
  }

  void pull_back_by_columns() {
    for (int i = 0; corrects_ && i < n_on_; ++i) add_to(g_, for_rows2_[i], T2_[on_[i]], nc_);
    for (int f = 0; corrects_ && f < nv_; ++f) add_to(g_, nu_[f], R2_[f], nc_);
    for (int r = 0; r < m_; ++r) add_to(g_, for_rows_[r], T_[r], nc_);
    for (int f = 0; f < nv_; ++f)
      if (!locked_[f]) add_to(g_, z_[f], R_[f], nc_);
  }

  const double* impulses_ = nullptr;  // of rows, where laws are relaxed
  PathContact path_contact(const DiffContact& c) const {
    return {c.rows, rows_of(c), rows_[c.rows + rows_of(c) - 1].mu};
  }

  // Registers of columns by which impulses that lift change: of coordinates, gains, masses and heights.
  int first_lifted() const { return only_coordinates_lift() ? column(Wrt::q) / columns_at_a_time : 0; }
  int last_lifted() const { return only_coordinates_lift() ? packs_of(column(Wrt::q) + nv_) : R2_.packs(); }
  bool only_coordinates_lift() const {
    return has(Wrt::q) && !has(Wrt::gains) && !has(Wrt::masses) && !has(Wrt::heights);
  }

  // How coordinates of ball joints end, by what moves them.
  void differentiate_coordinates() {
    for (int i = 0; i < tree_.n_links; ++i)
      if (const Link<double>& l = tree_.links[i]; l.nv > 1)
        differentiate_advance(l.nv - 3, world_.center[i], moved_ + l.v, v_plus_ + l.v, job_.dt, balls_[i]);
  }

  // -- systems

  void factorise() {
    // what is locked acts on the others with the inertia as it is
    bool is_held = false;
    for (int f = 0; f < nv_; ++f) {
      H_[tree_.row[f]] += hold_[f].armature;
      is_held = is_held || locked_[f] || hold_[f].armature != 0;
    }
    if (on_lanes_ && !is_held)
      held_.use(from_lanes_.factor);
    else
      held_.factorise(H_, locked_);
    if (m_ == 0) return;
    set_responses(held_, locked_, m_, [](int r) { return r; }, Y_);
    for (int r = 0; r < m_; ++r)
      for (int c = 0; c < m_; ++c) G_(r, c) = r == c ? rows_[r].compliance : 0;
    add_rows_times(Y_, G_);
    for (int k = 0; is_relaxed() && k < n_contacts_; ++k)
      CentralPath::add_yielding(path_contact(contacts_[k]), impulses_, job_.kappa, G_);
    modes_.set(m_, rows_, G_, job_.friction ? job_.friction[environment_] : 1, !is_relaxed());
    if (!corrects_) return;
    n_on_ = 0;
    for (int r = 0; r < m_; ++r)
      if (rows_[r].is_corrected) on_[n_on_++] = r;
    is_held ? set_lift_matrix() : select_lift_matrix();
    lift_.factorise(n_on_, true);
  }
  void set_lift_matrix() {
    set_responses(plain_, nullptr, n_on_, [this](int i) { return on_[i]; }, Y2_);
    for (int i = 0; i < n_on_; ++i)
      for (int j = 0; j < n_on_; ++j) {
        double sum = i == j ? rows_[on_[i]].give : 0;
        const DiffContact& c = contacts_[rows_[on_[i]].contact];
        for (int k = c.first; k < c.first + c.count; ++k) sum += J_(on_[i], path_[k]) * Y2_(path_[k], j);
        lift_.M(i, j) = sum;
      }
  }
  // The same where joint rows hold nothing: it is part of what all rows have.
  void select_lift_matrix() {
    for (int f = 0; f < nv_; ++f)
      for (int i = 0; i < n_on_; ++i) Y2_(f, i) = Y_(f, on_[i]);
    for (int i = 0; i < n_on_; ++i) {
      for (int j = 0; j < n_on_; ++j) lift_.M(i, j) = G_(on_[i], on_[j]);
      lift_.M(i, i) += rows_[on_[i]].give - rows_[on_[i]].compliance;
    }
  }
  // Columns H^-1 J^T of some rows.
  template <class Row>
  void set_responses(const FactorisedInertia& H, const bool* locked, int n, const Row& row, const Matrix& Y) {
    set_zero(Y, nv_);
    for (int i = 0; i < n; ++i) {
      const DiffContact& c = contacts_[rows_[row(i)].contact];
      for (int k = c.first; k < c.first + c.count; ++k)
        if (const int f = path_[k]; !(locked && locked[f])) Y(f, i) = J_(row(i), f);
    }
    H.solve({Y.data, Y.stride});
  }

  // -- products

  // Packs [p, p + P) of sum += sign J x, one row
  template <int P>
  FW_INLINE void add_row_times(int r, double sign, const Matrix& x, int p, Columns (&sum)[P]) const {
    const DiffContact& c = contacts_[rows_[r].contact];
    for (int k = c.first; k < c.first + c.count; ++k) {
      const double j = sign * J_(r, path_[k]);
#pragma GCC unroll 6
      for (int i = 0; i < P; ++i) sum[i] += x.pack(path_[k], p + i) * j;
    }
  }
  // to += J x
  void add_rows_times(const Matrix& x, const Matrix& to) const {
    for_packs(to.packs(), [&]<int P>(int p) FW_LAMBDA_INLINE {
      for (int r = 0; r < m_; ++r) {
        Columns sum[P];
#pragma GCC unroll 6
        for (int i = 0; i < P; ++i) sum[i] = to.pack(r, p + i);
        add_row_times<P>(r, 1, x, p, sum);
#pragma GCC unroll 6
        for (int i = 0; i < P; ++i) to.pack(r, p + i) = sum[i];
      }
    });
  }
  void hold(const ColumnPanel& panel, const Matrix& x) const {
    const auto for_rates = [&](int f, const auto& use) {
      const int q = column(Wrt::q), v = column(Wrt::v), e = column(Wrt::restitution);
      const int at[3] = {q < 0 ? -1 : q + f, v < 0 ? -1 : v + f, e};
      const double rate[3] = {hold_[f].lock_by_q, hold_[f].lock_by_v, hold_[f].lock_by_restitution};
      for (int k = 0; k < 3; ++k)
        if (const int c = at[k] - panel.column(); at[k] >= 0 && 0 <= c && c < panel.width()) use(c, rate[k]);
    };
    for (int f = 0; f < nv_; ++f) {
      if (!locked_[f]) continue;
      for_rates(f, [&](int c, double rate) {
        if (rate == 0) return;
        const double* row = H_ + tree_.row[f];
        for (int i = f; i >= 0; i = tree_.dof_parent[i]) x(i, c) -= *row++ * rate;
        for_outboard(f, [&](int k, double h) { x(k, c) -= h * rate; });
      });
    }
    for (int f = 0; f < nv_; ++f) {
      if (!locked_[f]) continue;
      for (int p = 0; p < x.packs(); ++p) x.pack(f, p) = Columns{};
      for_rates(f, [&](int c, double rate) { x(f, c) = rate; });
    }
  }
  double locked_rate(int f, const double* in) const {
    double rate = 0;
    if (has(Wrt::q)) rate += hold_[f].lock_by_q * in[column(Wrt::q) + f];
    if (has(Wrt::v)) rate += hold_[f].lock_by_v * in[column(Wrt::v) + f];
    if (has(Wrt::restitution)) rate += hold_[f].lock_by_restitution * in[column(Wrt::restitution)];
    return rate;
  }
  void add_locked(int f, double x) {
    if (has(Wrt::q)) g_[column(Wrt::q) + f] += hold_[f].lock_by_q * x;
    if (has(Wrt::v)) g_[column(Wrt::v) + f] += hold_[f].lock_by_v * x;
    if (has(Wrt::restitution)) g_[column(Wrt::restitution)] += hold_[f].lock_by_restitution * x;
  }
  void add_inertia_column(int f, double s, double* x) const {
    const double* row = H_ + tree_.row[f];
    for (int i = f; i >= 0; i = tree_.dof_parent[i]) x[i] += *row++ * s;
    for_outboard(f, [&](int k, double h) { x[k] += h * s; });
  }
  double inertia_column_times(int f, const double* x) const {
    const double* row = H_ + tree_.row[f];
    double sum = 0;
    for (int i = f; i >= 0; i = tree_.dof_parent[i]) sum += *row++ * x[i];
    for_outboard(f, [&](int k, double h) { sum += h * x[k]; });
    return sum;
  }
  double row_times(const Matrix& m, int r, const double* x) const {
    double sum = 0;
    for (int c = 0; c < nc_; ++c) sum += m(r, c) * x[c];
    return sum;
  }
  double along(const Matrix& J, int r, const double* x) const {
    double sum = 0;
    for (int f = 0; f < nv_; ++f) sum += J(r, f) * x[f];
    return sum;
  }
  static void add_to(double* __restrict y, double s, const double* __restrict x, int n) {
    for (int c = 0; c < n; ++c) y[c] += s * x[c];
  }

  // Rows of v and m to the end of the step.
  void write(const ColumnPanel& panel, const Matrix& v, const Matrix& moved, double* out) const {
    const int q = column(Wrt::q);
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      for (int p = 0; p < panel.count; ++p)
        l.nv == 1 ? write_axis(panel, l.v, v, moved, p, out) : write_ball(panel, i, v, moved, p, out);
      for (int r = 0; q >= 0 && r < l.nv; ++r)
        for (int k = 0; k < l.nv; ++k)
          if (const int c = q + l.v + k; panel.column() <= c && c < panel.column() + panel.width())
            out[static_cast<std::size_t>(l.v + r) * nc_ + c] += l.nv == 1 ? 1 : balls_[i].q_q.e[r][k];
    }
  }
  FW_INLINE void put(const ColumnPanel& panel, const Columns& x, int row, int p, double* out) const {
    const int first = panel.column() + columns_at_a_time * p;
    store_columns(x, nc_ - first, out + static_cast<std::size_t>(row) * nc_ + first);
  }
  FW_INLINE void write_axis(const ColumnPanel& panel, int f, const Matrix& v, const Matrix& moved, int p,
                            double* out) const {
    put(panel, moved.pack(f, p) * job_.dt, f, p, out);
    put(panel, v.pack(f, p), nv_ + f, p, out);
  }
  FW_INLINE void write_ball(const ColumnPanel& panel, int i, const Matrix& v, const Matrix& moved, int p,
                            double* out) const {
    const Link<double>& l = tree_.links[i];
    const BallAdvance& b = balls_[i];
    for (int r = 0; r < l.nv; ++r) {
      Columns to_q{}, to_v{}, turned{};
      for (int k = 0; k < l.nv; ++k) {
        to_q += moved.pack(l.v + k, p) * b.q_m.e[r][k];
        to_v += v.pack(l.v + k, p) * b.v_v.e[r][k];
        turned += moved.pack(l.v + k, p) * b.v_m.e[r][k];
      }
      put(panel, to_q, l.v + r, p, out), put(panel, to_v + turned, nv_ + l.v + r, p, out);
    }
  }
};

}  // namespace featherweight::FW_ISA
