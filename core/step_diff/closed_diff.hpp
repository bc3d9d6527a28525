// step_diff/closed_diff.hpp -- the step of a closed mechanism, linearised (step/shake.hpp).
//
// Products of velocities are those of the mean of v and of v+ in its new axes, and closures hold where coordinates end:
//   x = -H^-1 c(q, (v + v_end) / 2),  v+ = turned(v, x) + dt a + H^-1 J^T lambda,  g(q (+) dt (v+ + bend)) = g(q)
// With x' = A0 + A1 v+' the velocity obeys H (1 - turned_x A1) v+' = ..., which is no longer symmetric: it is solved
// densely. Rows of closures see g at the end, and their impulses act along J at the start. Then coordinates alone move
// along H^-1 J^T until g = 0. Rows that are guided (step/guide.hpp) have instead
//   (g(q+) - g(q)) / dt + softness lambda = keep (g(q) - g(q (+) -dt v)) / dt + push - pull g(q)
// where g may be far from zero, so that its gradient is not that of small turns. Products with vectors are taken from
// the matrix. Oracle: finite differences.
#pragma once
#include "rows/closure.hpp"
#include "step_diff/dual.hpp"
#include "step_diff/linearise.hpp"

namespace featherweight::FW_ISA {

class ClosedLinearisation : public StepLinearisation {
 public:
  ClosedLinearisation(const StepDiffJob& job, int most_rows, int most_found, Arena& arena)
      : StepLinearisation(job, most_rows, most_found, arena),
        end_(*job.scene, arena),
        dense_(nv_, larger(nc_, larger(nv_, most_rows)), arena),
        project_(scene_.held.n_rows, nc_, arena) {
    x_ = arena.take<double>(nv_), middle_ = arena.take<double>(nv_);
    A0_ = take_matrix(arena, nv_, nc_), A1_ = take_matrix(arena, nv_, nv_), full_ = take_matrix(arena, nv_, nv_);
    K_ = take_matrix(arena, most_rows, nv_), J_end_ = take_matrix(arena, scene_.held.n_rows, nv_);
    N_ = take_matrix(arena, nv_, scene_.held.n_rows), C_ = take_matrix(arena, nv_, nv_);
    D_ = take_matrix(arena, scene_.held.n_rows, nc_);
    const int n_guided = scene_.held.guides ? scene_.held.n_rows : 0;
    J_start_ = take_matrix(arena, n_guided, nv_), J_before_ = take_matrix(arena, n_guided, nv_);
    q_before_ = arena.take<double>(tree_.nq), v_before_ = arena.take<double>(nv_);
    before_ = arena.take<BallAdvance>(tree_.n_links);
    out_ = arena.take<double>(static_cast<std::size_t>(2) * nv_ * nc_);
    closure_row_ = arena.take<int>(most_rows);
  }

  void load(const Pack&) {}
  void linearise(std::size_t environment) {
    set_start(environment);
    add_rows();
    add_closures();
    find_pair_slopes();
    world_.twists(v_plus_, V_plus_);
    tumbles_ = tumble_.find(world_, smooth_.inertias, v_, job_.dt);
    add_closed_columns();
    find_corrections();
    set_zero(T_, m_), set_zero(J_, m_);
    add_contact_columns();
    add_coupling_columns();
    differentiate_coordinates();
    set_end_rows();
    solve_closed();
  }
  void jacobian(double* out, unsigned char*) const {
    for (int k = 0; k < 2 * nv_ * nc_; ++k) out[k] = out_[k];
  }
  void forward(const double* in, double* out) const {
    for (int r = 0; r < 2 * nv_; ++r) {
      out[r] = 0;
      for (int c = 0; c < nc_; ++c) out[r] += out_[static_cast<std::size_t>(r) * nc_ + c] * in[c];
    }
  }
  void reverse(const double* in, double* out) const {
    for (int c = 0; c < nc_; ++c) out[c] = 0;
    for (int r = 0; r < 2 * nv_; ++r) add_to(out, in[r], out_ + static_cast<std::size_t>(r) * nc_, nc_);
  }
  bool is_unique() const { return true; }

 private:
  WorldTree end_;  // where the step ends, or a step before it begins
  LeastNormLu dense_, project_;
  double *x_, *middle_, *out_, *q_before_, *v_before_;
  Matrix J_start_, J_before_;  // of guided rows
  BallAdvance* before_;
  Matrix A0_, A1_, full_, K_, J_end_, N_, C_, D_;
  int* closure_row_;  // rows of closures that are independent
  int n_closed_ = 0;

  const double* grip(int closure) const {
    const std::size_t first = environment_ * static_cast<std::size_t>(grip_numbers * scene_.n_grips);
    return grip_of(scene_, closure, job_.grips ? job_.grips + first : nullptr);
  }
  static int larger(int a, int b) { return a > b ? a : b; }

  void add_closures() {
    n_closed_ = 0;
    const StepSolution& solution = job_.solutions[environment_];
    for (int first = 0, last; first < solution.n_rows; first = last) {
      const SolvedRow& row = solution.rows[first];
      last = first + 1;
      if (row.source != RowSource::closure) continue;
      while (last < solution.n_rows && solution.rows[last].source == RowSource::closure &&
             solution.rows[last].index == row.index)
        ++last;
      if (row.index < scene_.n_closures)
        add_closure(row.index, solution.rows + first, last - first, first);
      else
        add_coupling(row.index - scene_.n_closures, row, first);
    }
  }
  // held: which row of all that are held is the first.
  void add_closure(int k, const SolvedRow* solved, int n, int held) {
    const Closure<double>& closure = scene_.closures[k];
    DiffContact& c = contacts_[n_contacts_];
    c.start(closure.length > 0 ? Between::rod : Between::closure, k, m_);
    c.link[0] = closure.a.link, c.link[1] = closure.b.link;
    const Pose<double> a = frame_in_world(closure.a, world_.pose);
    const Pose<double> b = second_frame_in_world(closure, grip(k), world_.pose);
    c.point = b.p;
    c.rod = a.p - b.p;
    for (int i = 0; i < 3; ++i) c.axis[i] = FW_ISA::column(a.R, i);
    if (c.between == Between::rod) c.axis[0] = line_between(a, b).direction;
    for (int r = 0; r < n; ++r) {
      if (depends_on_others(solved[r], held + r)) continue;
      const int component = c.between == Between::rod ? 0 : closure.axes[solved[r].component];
      c.force[component] = solved[r].impulse, c.correction[component] = solved[r].correction;
      add_row_that_holds(component, solved[r], is_integrable(closure, solved[r].component), held + r);
    }
    if (c.rows == m_) return;
    add_path(c);
    ++n_contacts_;
  }
  bool depends_on_others(const SolvedRow& solved, int held) const {
    return solved.compliance > 0 && !(scene_.held.guides && scene_.held.guides[held].compliance > 0);
  }
  void add_coupling(int k, const SolvedRow& solved, int held) {
    if (depends_on_others(solved, held)) return;
    DiffContact& c = contacts_[n_contacts_];
    c.start(Between::coupling, k, m_);
    c.first = n_path_, c.count = 0;
    add_row_that_holds(-1, solved, true, held);
    ++n_contacts_;
  }
  void add_row_that_holds(int component, const SolvedRow& solved, bool is_integrable, int held) {
    closure_row_[n_closed_++] = m_;
    DiffRow& row = rows_[m_++];
    row = {};
    row.contact = n_contacts_, row.component = component;
    row.mode = Mode::sticking, row.law = Law::equality;
    row.impulse = solved.impulse, row.correction = solved.correction;
    row.gap_slope = is_integrable ? 1 : 0;
    row.share = 1;
    row.is_corrected = corrects_;
    if (!scene_.held.is_guided(held)) return;
    const GuideLaw& law = scene_.held.guides[held];
    const double h = job_.dt;
    row.is_guided = true;
    row.compliance = row.give = solved.compliance;
    row.keep = 1 / (1 + h * law.damping + h * h * law.stiffness), row.pull = row.keep * h * law.stiffness;
    if (!is_integrable) row.bounce = -row.keep;
  }
  // Where the step begins: how couplings act, and how that changes with coordinates.
  void add_coupling_columns() {
    for (int i = 0; i < n_closed_; ++i) {
      const int r = closure_row_[i];
      const DiffContact& c = contacts_[rows_[r].contact];
      if (c.between != Between::coupling) continue;
      for_terms(c.held, q_, [&](int f, const Expansion<double>& p) {
        J_(r, f) += p.slope;
        if (!has(Wrt::q)) return;
        const int col = column(Wrt::q) + f;
        R_(f, col) += p.curvature * rows_[r].impulse;
        if (corrects_) R2_(f, col) += p.curvature * rows_[r].correction, T2_(r, col) += p.curvature * w_[f];
      });
    }
  }

  // y += s C E, E: block(link, r, k) of every joint; C: nv x nv
  template <class Block>
  void add_times_blocks(const Matrix& C, double s, const Block& block, const Matrix& y, int first) const {
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      for (int r = 0; r < nv_; ++r)
        for (int k = 0; k < l.nv; ++k) {
          double sum = 0;
          for (int j = 0; j < l.nv; ++j) sum += C(r, l.v + j) * block(i, j, k);
          y(r, first + l.v + k) += s * sum;
        }
    }
  }
  // Blocks of step_diff/advance_diff.hpp; axes: velocities stay.
  double v_by_v(int i, int r, int k) const { return tree_.links[i].nv == 1 ? 1 : balls_[i].v_v.e[r][k]; }
  double v_by_m(int i, int r, int k) const { return tree_.links[i].nv == 1 ? 0 : balls_[i].v_m.e[r][k]; }
  double q_by_q(int i, int r, int k) const { return tree_.links[i].nv == 1 ? 1 : balls_[i].q_q.e[r][k]; }
  double q_by_m(int i, int r, int k) const { return tree_.links[i].nv == 1 ? job_.dt : balls_[i].q_m.e[r][k]; }
  // v_by_m times the bend by v (from = 0) or by x (from = 6)
  double v_by_bend(int i, int r, int k, int from) const {
    double sum = 0;
    for (int j = 0; j < tree_.links[i].nv; ++j) sum += v_by_m(i, r, j) * tumble_.bend_slope(i, j, from + k);
    return sum;
  }

  void add_closed_columns() {
    copy(R_, nv_, X2_);  // of joint rows
    set_zero(R_, nv_);
    double *const a = kept_a_, *const v_end = middle_;
    smooth_.accelerate(tumble_.explicit_v, zero_, plain_, a);
    keep_inertia();
    dynamics_.differentiate(tumble_.explicit_v, a, smooth_.base, smooth_.f, nullptr);
    add_smooth_columns(a, tumble_.explicit_v);
    plain_.solve(R_);
    for (int f = 0; f < nv_; ++f) v_end[f] = 0.5 * (v_[f] + job_.v_end[environment_ * nv_ + f]);
    dynamics_.differentiate(middle_, zero_, zero_motion<double>(), nullptr, nullptr);
    for (int f = 0; f < nv_; ++f) x_[f] = -dynamics_.tau[f];
    plain_.solve(x_);
    dynamics_.differentiate(middle_, x_, zero_motion<double>(), nullptr, nullptr);
    tumble_.turn_by(world_, smooth_.inertias, v_, x_);
    for (int f = 0; f < nv_; ++f) moved_[f] = v_plus_[f] + tumble_.bend[f];
    differentiate_coordinates();
    find_product_rates();
    // from v' + dt a' to what it is turned to
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      for (int r = 0; r < l.nv; ++r)
        for (int k = 0; k < l.nv; ++k) {
          if (has(Wrt::v)) R_(l.v + r, column(Wrt::v) + l.v + k) += tumble_.turned_slope(i, r, k) - (r == k ? 1 : 0);
          if (tumble_.tumbles(i) && !is_single_body(tree_, i))
            add_row(R_, l.v + r, tumble_.turned_slope(i, r, 6 + k), A0_, l.v + k);
        }
    }
    copy(R_, nv_, X_);
    copy(X2_, nv_, R_);
    add_inertia_product(tree_, H_, 1, X_, R_);
    double* const aside = u_;
    for (int f = 0; f < nv_; ++f) aside[f] = 0;
    add_turning_of_axes(tree_, world_.center, tumble_.explicit_v, job_.dt, aside);
    for (int f = 0; f < nv_; ++f) w_[f] = v_plus_[f] - tumble_.turned[f] - job_.dt * a[f] - aside[f];
    sum_wrenches([](const DiffContact& c, int k) { return c.force[k]; }, 1);
    add_impulse_columns(R_);
  }
  // x' = A0 + A1 v+'
  void find_product_rates() {
    unpack_inertia(tree_, H_, dense_.M);
    for (int r = 0; r < nv_; ++r)
      for (int k = 0; k < nv_; ++k) C_(r, k) = dynamics_.dv(r, k);
    set_zero(A0_, nv_), set_zero(A1_, nv_);
    const auto half_by_x = [&](int i, int r, int k) { return 0.5 * v_by_bend(i, r, k, 6); };
    const auto half_by_v = [&](int i, int r, int k) { return 0.5 * ((r == k ? 1 : 0) + v_by_bend(i, r, k, 0)); };
    const auto half_by_end = [&](int i, int r, int k) { return 0.5 * (v_by_v(i, r, k) + v_by_m(i, r, k)); };
    add_times_blocks(C_, 1, half_by_x, dense_.M, 0);
    if (has(Wrt::v)) add_times_blocks(C_, -1, half_by_v, A0_, column(Wrt::v));
    add_times_blocks(C_, -1, half_by_end, A1_, 0);
    for (int r = 0; has(Wrt::q) && r < nv_; ++r)
      for (int k = 0; k < nv_; ++k) A0_(r, column(Wrt::q) + k) -= dynamics_.dq(r, k);
    add_mass_columns(A0_);
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      for (int r = l.v; is_single_body(tree_, i) && r < l.v + l.nv; ++r) {
        for (int k = 0; k < nv_; ++k) dense_.M(r, k) = r == k ? 1 : 0, A1_(r, k) = 0;
        for (int p = 0; p < A0_.packs(); ++p) A0_.pack(r, p) = Columns{};
      }
    }
    dense_.factorise(nv_);
    dense_.solve(A0_, nullptr, A0_.stride);
    dense_.solve(A1_, nullptr, A1_.stride);
  }

  // Rows of closures as their errors change where the step ends.
  void set_end_rows() {
    for (int r = 0; r < m_; ++r)
      for (int f = 0; f < nv_; ++f) K_(r, f) = J_(r, f);
    const double* const q_end = job_.q_end + environment_ * tree_.nq;
    end_.place(q_end, smooth_.link_inertias());
    set_zero(J_end_, n_closed_);
    for (int i = 0; i < n_closed_; ++i) set_error_row(end_, q_end, rows_[closure_row_[i]], J_end_, i);
    if (scene_.held.guides) set_guided_rows();
    for (int i = 0; i < n_closed_; ++i) {
      const int r = closure_row_[i];
      const DiffRow& row = rows_[r];
      const bool is_rate = row.gap_slope != 0;
      for (int p = 0; is_rate && p < T_.packs(); ++p) T_.pack(r, p) = Columns{};
      if (row.is_guided) guide(row, r, i);
      if (!is_rate) continue;  // its velocity is held, not where it is
      const Matrix& start = row.is_guided ? J_start_ : J_;
      const int at_start = row.is_guided ? i : r;
      for (int f = 0; f < nv_; ++f) K_(r, f) = 0;
      const double per_dt = 1 / job_.dt;
      for (int link = 0; link < tree_.n_links; ++link) {
        const Link<double>& l = tree_.links[link];
        for (int k = 0; k < l.nv; ++k) {
          double by_m = 0, by_q = 0;
          for (int j = 0; j < l.nv; ++j)
            by_m += J_end_(i, l.v + j) * q_by_m(link, j, k), by_q += J_end_(i, l.v + j) * q_by_q(link, j, k);
          by_m *= per_dt, by_q *= per_dt;
          K_(r, l.v + k) += by_m;
          if (has(Wrt::q)) T_(r, column(Wrt::q) + l.v + k) += by_q - per_dt * start(at_start, l.v + k);
          if (!tumble_.tumbles(link)) continue;
          for (int j = 0; j < l.nv; ++j) {  // of bend
            if (has(Wrt::v)) T_(r, column(Wrt::v) + l.v + j) += by_m * tumble_.bend_slope(link, k, j);
            const double by_x = by_m * tumble_.bend_slope(link, k, 6 + j);
            if (by_x == 0 || is_single_body(tree_, link)) continue;
            add_row(T_, r, by_x, A0_, l.v + j);
            for (int f = 0; f < nv_; ++f) K_(r, f) += by_x * A1_(l.v + j, f);
          }
        }
      }
    }
  }
  // Gradients of guided errors where the step begins, and a step before along the velocity there.
  void set_guided_rows() {
    set_zero(J_start_, n_closed_), set_zero(J_before_, n_closed_);
    for (int k = 0; k < tree_.nq; ++k) q_before_[k] = q_[k];
    for (int f = 0; f < nv_; ++f) v_before_[f] = v_[f];
    advance(tree_, world_.center, v_, -job_.dt, q_before_, v_before_);
    end_.place(q_before_, smooth_.link_inertias());
    for (int i = 0; i < tree_.n_links; ++i)
      if (const Link<double>& l = tree_.links[i]; l.nv > 1)
        differentiate_advance(l.nv - 3, world_.center[i], v_ + l.v, v_ + l.v, -job_.dt, before_[i]);
    for (int i = 0; i < n_closed_; ++i) {
      const DiffRow& row = rows_[closure_row_[i]];
      if (!row.is_guided) continue;
      set_error_row(world_, q_, row, J_start_, i);
      set_error_row(end_, q_before_, row, J_before_, i);
    }
  }
  // What its speed is to be: of rows whose velocity is no rate of an error, add_contact_columns has what they keep.
  void guide(const DiffRow& row, int r, int i) {
    const double keeps = row.gap_slope != 0 ? row.keep / job_.dt : 0;
    for (int link = 0; link < tree_.n_links; ++link) {
      const Link<double>& l = tree_.links[link];
      for (int k = 0; k < l.nv; ++k) {
        double by_q = 0, by_m = 0;
        for (int j = 0; j < l.nv; ++j) {
          const double e = J_before_(i, l.v + j);
          by_q += e * (l.nv == 1 ? 1 : before_[link].q_q.e[j][k]);
          by_m += e * (l.nv == 1 ? -job_.dt : before_[link].q_m.e[j][k]);
        }
        if (has(Wrt::q)) T_(r, column(Wrt::q) + l.v + k) += (row.pull - keeps) * J_start_(i, l.v + k) + keeps * by_q;
        if (has(Wrt::v)) T_(r, column(Wrt::v) + l.v + k) += keeps * by_m;
      }
    }
  }
  // How the error of a row changes where links are at `at`, coordinates q.
  void set_error_row(const WorldTree& at, const double* q, const DiffRow& row, const Matrix& to, int i) const {
    const DiffContact& c = contacts_[row.contact];
    if (c.between == Between::coupling) {
      for_terms(c.held, q, [&](int f, const Expansion<double>& p) { to(i, f) += p.slope; });
      return;
    }
    const Closure<double>& closure = scene_.closures[c.held];
    const Pose<double> a = frame_in_world(closure.a, at.pose);
    const Pose<double> b = second_frame_in_world(closure, grip(c.held), at.pose);
    const Vector point = b.p;
    Vector axis = c.between == Between::rod ? line_between(a, b).direction : FW_ISA::column(a.R, row.component % 3);
    if (row.is_guided && row.component >= 3) axis = a.R * turn_slope(closure, a.R, b.R, row.component - 3);
    for (int side = 0; side < 2; ++side) {
      const double sign = side == 0 ? 1 : -1;
      at.for_path(c.link[side], [&](int k) FW_LAMBDA_INLINE {
        const Twist& S = at.axis[k];
        const Vector r = point - at.root(link_of_[k]);
        to(i, k) += sign * FW_ISA::dot(axis, row.component < 3 ? point_velocity(S, r) : S.ang);
      });
    }
  }
  // Of the turn of a about its axis k, as it turns further about its own axes.
  static Vector turn_slope(const Closure<double>& closure, const Matrix3& a, const Matrix3& b, int k) {
    using D = Dual<3>;
    int locked = 0;
    for (int r = 0; r < closure.n_rows; ++r) locked |= closure.axes[r] < 3 ? 0 : 1 << (closure.axes[r] - 3);
    Mat3<D> R_a, R_b;
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) {
        R_b.rows[r][c] = b(r, c);
        D& x = R_a.rows[r][c] = a(r, c);  // times 1 + [turn]
        const int next = (c + 1) % 3, last = (c + 2) % 3;
        x.d[last] += a(r, next), x.d[next] -= a(r, last);
      }
    const D e = turn_error(R_a, R_b, locked)[k];
    return {e.d[0], e.d[1], e.d[2]};
  }

  void solve_closed() {
    // H (1 - turned_x A1)
    unpack_inertia(tree_, H_, full_);
    for (int r = 0; r < nv_; ++r)
      for (int k = 0; k < nv_; ++k) dense_.M(r, k) = full_(r, k) + (r == k ? hold_[r].armature : 0);
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      if (!tumble_.tumbles(i) || is_single_body(tree_, i)) continue;
      for (int j = 0; j < l.nv; ++j)
        for (int k = 0; k < l.nv; ++k) {
          const double t = tumble_.turned_slope(i, j, 6 + k);
          if (t == 0) continue;
          for (int r = 0; r < nv_; ++r)
            for (int f = 0; f < nv_; ++f) dense_.M(r, f) -= full_(r, l.v + j) * t * A1_(l.v + k, f);
        }
    }
    copy(R_, nv_, X_);
    for (int f = 0; f < nv_; ++f) lock(f);
    dense_.factorise(nv_);
    dense_.solve(X_, nullptr, nc_);
    set_zero(Y_, nv_);
    for (int r = 0; r < m_; ++r)
      for (int f = 0; f < nv_; ++f) Y_(f, r) = locked_[f] ? 0 : J_(r, f);
    dense_.solve(Y_, nullptr, m_);
    if (m_ > 0) {
      copy(T_, m_, S_);
      for (int r = 0; r < m_; ++r) {
        for (int f = 0; f < nv_; ++f)
          if (K_(r, f) != 0) add_row(S_, r, K_(r, f), X_, f);
        for (int c = 0; c < m_; ++c) {
          double sum = r == c ? rows_[r].compliance : 0;
          for (int f = 0; f < nv_; ++f) sum += K_(r, f) * Y_(f, c);
          G_(r, c) = sum;
        }
      }
      modes_.set(m_, rows_, G_, job_.friction ? job_.friction[environment_] : 1, false);
      modes_.solve(m_, S_, nc_, nullptr, friction_column());
      multiply<true>(Y_, nv_, m_, S_, S_.packs(), X_);
    }
    // what coordinates move with
    if (corrects_)
      add_corrections();
    else
      copy(X_, nv_, X2_);
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      for (int r = 0; tumble_.tumbles(i) && r < l.nv; ++r)
        for (int k = 0; k < l.nv; ++k) {
          if (has(Wrt::v)) X2_(l.v + r, column(Wrt::v) + l.v + k) += tumble_.bend_slope(i, r, k);
          const double by_x = tumble_.bend_slope(i, r, 6 + k);
          if (by_x == 0 || is_single_body(tree_, i)) continue;
          add_row(X2_, l.v + r, by_x, A0_, l.v + k);
          for (int f = 0; f < nv_; ++f) add_row(X2_, l.v + r, by_x * A1_(l.v + k, f), X_, f);
        }
    }
    write({0, packs_of(nc_)}, X_, X2_, out_);
    project();
  }
  // Overlaps are taken out while what is held holds: X2 = v' + w'.
  void add_corrections() {
    n_on_ = 0;
    for (int r = 0; r < m_; ++r)
      if (rows_[r].is_corrected) on_[n_on_++] = r;
    set_zero(Y2_, nv_);
    for (int i = 0; i < n_on_; ++i)
      for (int f = 0; f < nv_; ++f) Y2_(f, i) = J_(on_[i], f);
    plain_.solve({Y2_.data, Y2_.stride});
    copy(R2_, nv_, X2_);
    plain_.solve(X2_);
    set_zero(S_, n_on_);
    for (int i = 0; i < n_on_; ++i) {
      const int r = on_[i];
      const bool is_held = contacts_[rows_[r].contact].is_held();
      add_row(S_, i, -1, T2_, r);
      for (int f = 0; f < nv_; ++f) {
        if (J_(r, f) == 0) continue;
        add_row(S_, i, -J_(r, f), X2_, f);
        if (!is_held)
          add_row(S_, i, -J_(r, f), X_, f);
        else if (has(Wrt::q) && !rows_[r].is_guided)  // what is apart comes together in the step
          S_(i, column(Wrt::q) + f) -= J_(r, f) / job_.dt;
      }
      for (int j = 0; j < n_on_; ++j) {
        double sum = i == j ? rows_[r].give : 0;
        for (int f = 0; f < nv_; ++f) sum += J_(r, f) * Y2_(f, j);
        lift_.M(i, j) = sum;
      }
    }
    lift_.factorise(n_on_);
    lift_.solve(S_, nullptr, nc_);
    multiply<true>(Y2_, nv_, n_on_, S_, S_.packs(), X2_);
    for (int f = 0; f < nv_; ++f) add_row(X2_, f, 1, X_, f);
  }
  void lock(int f) {
    if (!locked_[f]) return;
    const auto apply = [&](int col, double rate) {
      if (col >= 0 && rate != 0)
        for (int r = 0; r < nv_; ++r) X_(r, col) -= dense_.M(r, f) * rate;
    };
    apply(has(Wrt::q) ? column(Wrt::q) + f : -1, hold_[f].lock_by_q);
    apply(has(Wrt::v) ? column(Wrt::v) + f : -1, hold_[f].lock_by_v);
    for (int k = 0; k < nv_; ++k) dense_.M(f, k) = dense_.M(k, f) = k == f ? 1 : 0;
    for (int p = 0; p < X_.packs(); ++p) X_.pack(f, p) = Columns{};
    if (has(Wrt::q)) X_(f, column(Wrt::q) + f) = hold_[f].lock_by_q;
    if (has(Wrt::v)) X_(f, column(Wrt::v) + f) = hold_[f].lock_by_v;
  }

  // Coordinates move along H^-1 J^T until closures are closed, and ball joints see velocities from there. Rows that are
  // guided have nothing to come together, but resist.
  void project() {
    const auto row_of = [&](int i) -> const DiffRow& { return rows_[closure_row_[i]]; };
    bool some_hold = false;
    for (int i = 0; i < n_closed_; ++i) some_hold = some_hold || !row_of(i).is_guided;
    if (!some_hold) return;
    set_zero(N_, nv_), set_zero(D_, n_closed_);
    for (int i = 0; i < n_closed_; ++i)
      for (int f = 0; f < nv_; ++f) N_(f, i) = J_(closure_row_[i], f);
    plain_.factorise(H_, nullptr);
    plain_.solve(N_);
    for (int i = 0; i < n_closed_; ++i) {
      for (int j = 0; j < n_closed_; ++j) {
        double sum = i == j && row_of(i).is_guided ? row_of(i).compliance : 0;
        for (int f = 0; f < nv_; ++f) sum += J_end_(i, f) * N_(f, j);
        project_.M(i, j) = sum;
      }
      for (int f = 0; !row_of(i).is_guided && f < nv_; ++f)
        add_to(D_[i], J_end_(i, f), out_ + static_cast<std::size_t>(f) * nc_, nc_);
    }
    project_.factorise(n_closed_);
    project_.solve(D_, nullptr, nc_);
    set_zero(X2_, nv_);
    for (int f = 0; f < nv_; ++f)
      for (int i = 0; i < n_closed_; ++i) add_row(X2_, f, -N_(f, i), D_, i);
    for (int f = 0; f < nv_; ++f) add_to(out_ + static_cast<std::size_t>(f) * nc_, 1, X2_[f], nc_);
    const double* const v_end = job_.v_end + environment_ * nv_;
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      if (l.nv == 1) continue;
      const int t = l.nv - 3;
      const Vector w{v_end[l.v + t], v_end[l.v + t + 1], v_end[l.v + t + 2]}, c = world_.center[i];
      const Matrix3 spin = skew(w);
      const auto add = [&](int to, const Matrix3& m) {
        for (int r = 0; r < 3; ++r)
          for (int k = 0; k < 3; ++k)
            add_to(out_ + static_cast<std::size_t>(nv_ + to + r) * nc_, m(r, k), X2_[l.v + t + k], nc_);
      };
      add(l.v + t, spin);
      if (t == 0) continue;
      const Vector u{v_end[l.v], v_end[l.v + 1], v_end[l.v + 2]};
      add(l.v, skew(u + FW_ISA::cross(w, c)) + skew(c) * spin);
    }
  }
};

}  // namespace featherweight::FW_ISA
