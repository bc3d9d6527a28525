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
#include "scene/contacts.hpp"
#include "step/advance.hpp"
#include "step_diff/advance_diff.hpp"
#include "step_diff/inertia.hpp"
#include "step_diff/modes_diff.hpp"
#include "step_diff/rows_diff.hpp"
#include "step_diff/smooth_diff.hpp"
#include "step_diff/tumble_diff.hpp"

namespace featherweight::FW_ISA {

class StepLinearisation {
 public:
  // For environments with up to so many rows and contacts.
  StepLinearisation(const StepDiffJob& job, int most_rows, int most_found, Arena& arena)
      : job_(job),
        scene_(*job.scene),
        tree_(job.scene->tree),
        nv_(tree_.nv),
        nc_(job.columns.count),
        smooth_(job, arena),
        world_(smooth_.world),
        dynamics_(smooth_.dynamics),
        forces_(smooth_.joints),
        tumble_(*job.scene, nc_, arena),
        plain_(tree_, arena),
        held_(tree_, arena),
        modes_(most_rows, nc_, arena),
        lift_(most_rows, nc_, arena) {
    const int most_contacts = most_found + job.scene->n_joint_rows + job.scene->n_closures;
    modes_.lu.take_scratch(most_rows, nc_, arena);
    lift_.take_scratch(most_rows, nc_, arena);
    H_ = arena.take<double>(tree_.row[nv_]);
    v_plus_ = arena.take<double>(nv_), turn_ = arena.take<double>(nv_), w_ = arena.take<double>(nv_);
    moved_ = arena.take<double>(nv_), zero_ = arena.take<double>(nv_), row_v_ = arena.take<double>(nv_);
    V_ = smooth_.V, V_plus_ = arena.take<Twist>(tree_.n_links);
    V_row_ = arena.take<Twist>(tree_.n_links), W_w_ = arena.take<Twist>(tree_.n_links);
    wrench_ = arena.take<Wrench>(tree_.n_links);
    u_ = arena.take<double>(nv_), kept_a_ = arena.take<double>(nv_);
    hold_ = arena.take<JointHold>(nv_), locked_ = arena.take<bool>(nv_), link_of_ = arena.take<int>(nv_);
    mark_ = arena.take<int>(nv_), path_ = arena.take<int>(static_cast<std::size_t>(most_contacts) * 2 * deepest());
    contacts_ = arena.take<DiffContact>(most_contacts), slopes_ = arena.take<ContactSlopes>(most_contacts);
    rows_ = arena.take<DiffRow>(most_rows), on_ = arena.take<int>(most_rows);
    R_ = take_matrix(arena, nv_, nc_), R2_ = take_matrix(arena, nv_, nc_);
    T_ = take_matrix(arena, most_rows, nc_), T2_ = take_matrix(arena, most_rows, nc_);
    J_ = take_matrix(arena, most_rows, nv_);
    Y_ = take_matrix(arena, nv_, most_rows), Y2_ = take_matrix(arena, nv_, most_rows);
    G_ = take_matrix(arena, most_rows, most_rows);
    X_ = take_matrix(arena, nv_, nc_), X2_ = take_matrix(arena, nv_, nc_);
    S_ = take_matrix(arena, most_rows, nc_);
    balls_ = arena.take<BallAdvance>(tree_.n_links);
    for_rows_ = arena.take<double>(most_rows), for_rows2_ = arena.take<double>(most_rows);
    z_ = arena.take<double>(nv_), nu_ = arena.take<double>(nv_), gm_ = arena.take<double>(nv_);
    gv_ = arena.take<double>(nv_), g_ = arena.take<double>(padded_columns(nc_));
  }

  void linearise(std::size_t environment) {
    set_start(environment);
    add_rows();
    find_pair_slopes();
    world_.twists(v_plus_, V_plus_);
    tumbles_ = tumble_.find(world_, smooth_.inertias, v_, job_.dt);
    if (tumbles_)
      add_turned_columns();
    else
      add_free_columns();
    find_corrections();
    add_contact_columns();
    factorise();
    for (int i = 0; i < tree_.n_links; ++i)
      if (const Link<double>& l = tree_.links[i]; l.nv > 1)
        differentiate_advance(l.nv - 3, world_.center[i], moved_ + l.v, v_plus_ + l.v, job_.dt, balls_[i]);
  }
  bool is_unique() { return modes_.is_unique(nv_, m_, Y_, for_rows_, for_rows2_); }

  // out: 2 nv rows of all columns; infeasible: (columns), or null.
  void jacobian(double* out, unsigned char* infeasible) {
    copy(R_, nv_, X_);
    hold(X_);
    held_.solve(X_);
    if (m_ > 0) {
      copy(T_, m_, S_);
      add_rows_times(X_, S_);
      modes_.solve(m_, S_, nc_, infeasible, friction_column());  // S: impulses now
      add_product(Y_, S_, m_, X_);
    }
    Matrix moved = X_;
    if (tumbles_ && !corrects_) {
      copy(X_, nv_, X2_);
      moved = X2_;
    }
    if (corrects_) {
      copy(R2_, nv_, X2_);
      plain_.solve(X2_);
      for (int f = 0; f < nv_; ++f) add_row(X2_, f, 1, X_, f);
      copy(T2_, m_, S_);
      add_rows_times(X2_, S_);
      for (int i = 0; i < n_on_; ++i)
        for (int k = 0; k < S_.packs(); ++k) S_.pack(i, k) = -S_.pack(on_[i], k);  // on_ rises
      lift_.solve(S_, nullptr, nc_);
      add_product(Y2_, S_, n_on_, X2_);
      moved = X2_;
    }
    for (int f = 0; tumbles_ && f < nv_; ++f) add_row(moved, f, 1, tumble_.bends, f);
    write(X_, moved, out);
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
    if (corrects_) {
      for (int f = 0; f < nv_; ++f) nu_[f] = gm_[f];
      for (int i = 0; i < n_on_; ++i) {
        double sum = 0;
        for (int f = 0; f < nv_; ++f) sum += Y2_(f, i) * gm_[f];
        for_rows_[i] = -sum;
      }
      lift_.solve<true>(for_rows_);
      for (int i = 0; i < n_on_; ++i) {
        add_to(g_, for_rows_[i], T2_[on_[i]], nc_);
        for (int f = 0; f < nv_; ++f) nu_[f] += for_rows_[i] * J_(on_[i], f);
      }
      for (int f = 0; f < nv_; ++f) gv_[f] += nu_[f];
      plain_.solve(nu_);
      for (int f = 0; f < nv_; ++f) add_to(g_, nu_[f], R2_[f], nc_);
    } else {
      for (int f = 0; f < nv_; ++f) gv_[f] += gm_[f];
    }
    if (m_ > 0) {
      for (int r = 0; r < m_; ++r) {
        double sum = 0;
        for (int f = 0; f < nv_; ++f) sum += Y_(f, r) * gv_[f];
        for_rows_[r] = sum;
      }
      double by_friction = 0;
      modes_.solve_transposed(m_, for_rows_, by_friction);
      if (friction_column() >= 0) g_[friction_column()] += by_friction;
      for (int r = 0; r < m_; ++r) {
        add_to(g_, for_rows_[r], T_[r], nc_);
        for (int f = 0; f < nv_; ++f) gv_[f] += for_rows_[r] * J_(r, f);
      }
    }
    for (int f = 0; f < nv_; ++f) z_[f] = locked_[f] ? 0 : gv_[f];
    held_.solve(z_);
    for (int f = 0; f < nv_; ++f)
      if (!locked_[f]) add_to(g_, z_[f], R_[f], nc_);
    for (int f = 0; f < nv_; ++f)
      if (locked_[f]) add_locked(f, gv_[f] - inertia_column_times(f, z_));
    for (int c = 0; c < nc_; ++c) out[c] = g_[c];
  }

 protected:
  const StepDiffJob& job_;
  const Scene& scene_;
  const Tree<double>& tree_;
  int nv_, nc_;
  SmoothDiff smooth_;
  WorldTree& world_;
  InverseDynamics& dynamics_;
  JointForces& forces_;
  TumbleDiff tumble_;
  FactorisedInertia plain_, held_;  // without, and with what joint rows hold
  ModesDiff modes_;
  ProximalLu lift_;  // G + give of rows whose positions are asked for
  double* H_;
  double *u_, *kept_a_;
  double *v_plus_, *turn_, *w_, *moved_, *zero_, *row_v_;
  Twist *V_, *V_plus_, *V_row_, *W_w_;  // of links: at the start, at the end, that, with what corrects, and that alone
  Wrench* wrench_;
  JointHold* hold_;
  bool* locked_;
  int *link_of_, *mark_, *path_;
  DiffContact* contacts_;
  ContactSlopes* slopes_;
  DiffRow* rows_;
  int* on_;
  Matrix R_, R2_, T_, T2_, J_, Y_, Y2_, G_, X_, X2_, S_;
  BallAdvance* balls_;
  double *for_rows_, *for_rows2_, *z_, *nu_, *gm_, *gv_, *g_;

  // of the environment
  std::size_t environment_ = 0;
  const double *q_ = nullptr, *v_ = nullptr, *a_ = nullptr, *control_ = nullptr, *gains_ = nullptr;
  double closed_ = 0;  // gaps of loaded rows up to this count as closed
  int m_ = 0, n_contacts_ = 0, n_path_ = 0, n_on_ = 0;
  bool corrects_ = false, tumbles_ = false;

  int deepest() const {
    int most = 0;
    for (int f = 0; f < nv_; ++f) most = scene_.depth[f] + 1 > most ? scene_.depth[f] + 1 : most;
    return most;
  }
  int column(Wrt x) const { return job_.columns.of(x); }
  bool has(Wrt x) const { return job_.columns.has(x); }
  int friction_column() const { return column(Wrt::friction); }

  void set_start(std::size_t environment) {
    environment_ = environment;
    const std::size_t e = environment;
    q_ = job_.q + e * tree_.nq, v_ = job_.v + e * nv_, a_ = job_.acceleration + e * nv_;
    smooth_.start(e);
    smooth_.place(q_, v_);
    control_ = smooth_.control, gains_ = smooth_.gains;
    closed_ = LawTuning::closed_share * smooth_.fall * job_.dt * job_.dt;
    for (int f = 0; f < nv_; ++f) turn_[f] = zero_[f] = mark_[f] = 0;
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      for (int k = l.v; k < l.v + l.nv; ++k) link_of_[k] = i;
    }
    add_turning_of_axes(tree_, world_.center, v_, 1.0, turn_);
    for (int f = 0; f < nv_; ++f) v_plus_[f] = v_[f] + job_.dt * (a_[f] + turn_[f]);
  }

  // -- rows

  void add_rows() {
    m_ = n_contacts_ = n_path_ = 0;
    corrects_ = false;
    for (int f = 0; f < nv_; ++f) hold_[f] = {false, 0, 0, 0, 0}, locked_[f] = false;
    set_zero(R_, nv_);
    const StepSolution& solution = job_.solutions[environment_];
    for (int first = 0, last; first < solution.n_rows; first = last) {
      const SolvedRow& row = solution.rows[first];
      last = first + 1;
      if (row.source == RowSource::joint) {
        hold_joint(scene_.joint_rows[row.index], row);
      } else if (row.source == RowSource::contact) {
        while (last < solution.n_rows && solution.rows[last].source == RowSource::contact &&
               solution.rows[last].index == row.index)
          ++last;
        add_contact(solution.rows + first, last - first);
      }
    }
  }
  void find_pair_slopes() {
    const auto is_pair = [&](int k, int first) {
      return contacts_[k].contact && contacts_[k].contact->a == contacts_[first].contact->a &&
             contacts_[k].contact->b == contacts_[first].contact->b;
    };
    for (int k = 0, last; k < n_contacts_; k = last) {  // pair by pair
      last = k + 1;
      if (!contacts_[k].contact) continue;
      while (last < n_contacts_ && is_pair(last, k)) ++last;
      find_slopes(k, last);
    }
  }
  void hold_joint(const JointRow& row, const SolvedRow& solved) {
    const int f = row.term.dof;
    JointHold& hold = hold_[f];
    const double direction = row.term.coefficient;
    if (row.is_limit()) {
      const double gap = direction * (q_[row.term.q] - row.bound);
      if (solved.mode == Mode::sticking) {
        locked_[f] = hold.is_locked = true;
        hold.lock_by_q = hold.lock_by_v = hold.lock_by_restitution = 0;
        const double before = direction * v_[f];
        if (solved.strikes && before != 0) {
          const double bounce = solved.shift / before;
          hold.lock_by_v = -bounce;
          hold.lock_by_restitution = -v_[f] * (row.restitution > 0 ? bounce / row.restitution : 1);
        } else if (gap > closed_) {
          hold.lock_by_q = -1 / job_.dt;
        }
      }
      const bool rests = solved.mode == Mode::sticking && is_at_rest(gap);
      if (solved.correction > 0 || rests) add_limit(f, direction, gap, solved);
      return;
    }
    if (row.kind == JointRow::dry_friction) {
      if (solved.mode == Mode::sticking) locked_[f] = hold.is_locked = true;
      return;
    }
    const int k = row.actuator;
    const Actuator& m = scene_.actuators[k];
    if (!m.is_row) {  // takes back what is beyond the velocity limit
      const bool at_bound = forces_.side[k] > 0 ? solved.mode == Mode::at_lower : solved.mode == Mode::at_upper;
      if (solved.mode == Mode::sticking)
        locked_[f] = hold.is_locked = true;
      else if (at_bound)
        add_impulse_slope(k, forces_.beyond[k], -job_.dt);
      return;
    }
    const double scale = gains_ ? gains_[k] : 1, rate = m.kd + job_.dt * m.kp;
    const double drive = m.gain * (control_ ? control_[k] : 0) - m.kp * q_[m.q];
    if (solved.mode == Mode::sticking) {
      if (solved.compliance == 0) {
        locked_[f] = hold.is_locked = true;
      } else {
        hold.armature += job_.dt * scale * rate;
        add_impulse_slope(k, {-scale * m.kp, 0, scale * m.gain, solved.impulse / (scale * job_.dt)}, job_.dt);
      }
      return;
    }
    // at a bound that depends on the state: what the servo has at its velocity limit, or at the start of the step
    if (!m.is_limited) return;
    const double side = solved.mode == Mode::at_upper ? 1 : -1;
    const double at_limit = scale * (drive - rate * side * m.velocity), now = scale * (drive - rate * v_[f]);
    const double larger = side * at_limit > side * now ? at_limit : now;
    if (!(side * at_limit > 0) || !(side * larger < side * (side > 0 ? m.upper : m.lower))) return;
    add_impulse_slope(k, {-scale * m.kp, larger == at_limit ? 0 : -scale * rate, scale * m.gain, larger / scale},
                      job_.dt);
  }
  bool is_at_rest(double gap) const { return gap <= closed_ && gap >= -SeparateTuning::negligible_overlap; }
  // A limit that is corrected: a row along one degree of freedom, that moves nothing else. Its impulse is that of a
  // locked joint.
  void add_limit(int f, double direction, double gap, const SolvedRow& solved) {
    DiffContact& limit = contacts_[n_contacts_];
    limit.between = Between::limit;
    limit.contact = nullptr;
    limit.link[0] = limit.link[1] = -1;
    limit.rows = m_, limit.first = n_path_, limit.count = 1;
    limit.correction = solved.correction;
    for (double& x : limit.force) x = 0;
    path_[n_path_++] = f;
    DiffRow& row = rows_[m_++];
    row = {n_contacts_++, -1,  Mode::open, Law::unilateral, 0, solved.correction, 0, 0, 0, 0, 0, 0, 1,
           solved.give,   true};
    row.slack_slope = slack_slope(gap);
    row.gap_slope = direction;  // of its row
    corrects_ = true;
  }
  // Of what a gap asks of the velocity (cone_rows.hpp): at rest, the side on which shapes overlap.
  double slack_slope(double gap) const {
    if (gap > closed_) return 1 / job_.dt;
    return SeparateTuning::share_per_step * gap > -SeparateTuning::fastest * job_.dt
               ? SeparateTuning::share_per_step / job_.dt
               : 0;
  }
  void add_impulse_slope(int actuator, const DriveSlope& slope, double s) {
    const int f = scene_.actuators[actuator].dof;
    if (has(Wrt::q)) R_(f, column(Wrt::q) + f) += s * slope.by_q;
    if (has(Wrt::v)) R_(f, column(Wrt::v) + f) += s * slope.by_v;
    if (has(Wrt::control)) R_(f, column(Wrt::control) + actuator) += s * slope.by_control;
    if (has(Wrt::gains)) R_(f, column(Wrt::gains) + actuator) += s * slope.by_gain;
  }

  void add_contact(const SolvedRow* solved, int n) {
    const Contact& c = job_.contacts[environment_].data[solved[0].index];
    const SolvedRow* normal = nullptr;
    for (int k = 0; k < n; ++k)
      if (solved[k].component == 2) normal = solved + k;
    const PairMaterial& material = scene_.materials[c.material];
    const bool is_closed = normal->mode != Mode::open, is_rigid = !(material.compliance > 0);
    const bool rests = is_rigid && is_closed && normal->impulse > 0 && is_at_rest(c.gap);
    const bool is_corrected = is_rigid && (normal->correction > 0 || rests);
    if (!is_closed && !is_corrected) return;
    DiffContact& contact = contacts_[n_contacts_];
    contact.between = Between::contact;
    contact.contact = &c;
    contact.link[0] = scene_.shapes[c.a].link, contact.link[1] = scene_.shapes[c.b].link;
    contact.point = {c.position[0], c.position[1], c.position[2]};
    for (int k = 0; k < 3; ++k) contact.axis[k] = {c.frame[3 * k], c.frame[3 * k + 1], c.frame[3 * k + 2]};
    for (double& x : contact.force) x = 0;
    contact.correction = is_corrected ? normal->correction : 0;
    contact.rows = m_;
    for (int k = 0; k < n; ++k) {
      const SolvedRow& row = solved[k];
      const bool is_normal = row.component == 2;
      contact.force[row.component] = row.impulse;
      if (!is_normal && row.mode == Mode::open) continue;
      if (!is_normal && !is_closed) continue;
      DiffRow& out = rows_[m_++];
      out = {n_contacts_,
             row.component,
             row.mode,
             row.law,
             row.impulse,
             is_normal ? contact.correction : 0,
             row.velocity + row.shift,
             row.compliance,
             row.bound,
             0,
             0,
             0,
             1,
             row.give,
             is_normal && is_corrected};
      if (is_normal) set_normal_law(c, material, out);
      if (row.strikes) out.bounce = row.shift;  // over the velocity before: see add_contact_columns
    }
    add_path(contact);
    corrects_ = corrects_ || is_corrected;
    ++n_contacts_;
  }
  void set_normal_law(const Contact& c, const PairMaterial& material, DiffRow& row) const {
    const double per_dt = 1 / job_.dt;
    if (material.compliance > 0) {
      const double stiffness = 1 / material.compliance, rate = stiffness * job_.dt + material.damping;
      row.gap_slope = c.gap > 0 ? per_dt : stiffness / rate;
    } else if (c.gap > closed_) {
      row.gap_slope = per_dt;
    }
    row.slack_slope = slack_slope(c.gap);
  }
  // Degrees of freedom that move it; mark: 1 of a, 2 of b.
  void add_path(DiffContact& contact) {
    contact.first = n_path_;
    for (int side = 0; side < 2; ++side)
      world_.for_path(contact.link[side], [&](int k) FW_LAMBDA_INLINE {
        if (mark_[k] == 0) path_[n_path_++] = k;
        mark_[k] |= 1 << side;
      });
    contact.count = n_path_ - contact.first;
    forget_marks(contact);
  }
  void forget_marks(const DiffContact& contact) {
    for (int i = contact.first; i < contact.first + contact.count; ++i) mark_[path_[i]] = 0;
  }
  void set_marks(const DiffContact& contact) {
    for (int side = 0; side < 2; ++side)
      world_.for_path(contact.link[side], [&](int k) FW_LAMBDA_INLINE { mark_[k] |= 1 << side; });
  }
  Placement<double> placement(int shape) const {
    const PlacedShape& s = scene_.shapes[shape];
    Pose<double> X{mat3(s.R), vec3(s.p)};
    if (s.link >= 0) X = compose(world_.pose[s.link], X.R, X.p);
    Placement<double> out;
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) out.R[3 * r + c] = X.R(r, c);
      out.p[r] = X.p[r];
    }
    return out;
  }
  // Points of one pair: all of them, since they are levelled together.
  void find_slopes(int first, int last) {
    const Contact& one = *contacts_[first].contact;
    const ContactList& list = job_.contacts[environment_];
    int begin = static_cast<int>(&one - list.data), end = begin;
    while (begin > 0 && list.data[begin - 1].a == one.a && list.data[begin - 1].b == one.b) --begin;
    while (end < list.count && list.data[end].a == one.a && list.data[end].b == one.b) ++end;
    contact_slopes(scene_, environment_, placement(one.a), placement(one.b), end - begin, list.data + begin, slopes_);
    for (int k = first; k < last; ++k) contacts_[k].slopes = slopes_[contacts_[k].contact - list.data - begin];
  }

  // Wrenches of contacts on links, about their roots. impulse(contact, k): along axis k, from 3 on about it.
  template <class Impulse>
  void sum_wrenches(const Impulse& impulse, double s) {
    for (int i = 0; i < tree_.n_links; ++i) wrench_[i] = zero_force<double>();
    for (int k = 0; k < n_contacts_; ++k) {
      const DiffContact& c = contacts_[k];
      Vector force = zero3<double>(), moment = zero3<double>();
      for (int r = 0; r < 3; ++r) force += c.axis[r] * impulse(c, r), moment += c.axis[r] * impulse(c, 3 + r);
      for (int side = 0; side < 2; ++side) {
        if (c.link[side] < 0) continue;
        const double sign = side == 0 ? s : -s;
        const Vector r = c.point - world_.root(c.link[side]);
        wrench_[c.link[side]] += Wrench{force, moment + FW_ISA::cross(r, force)} * sign;
      }
    }
  }

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
      sum_wrenches([](const DiffContact& c, int k) { return k == 2 ? c.correction : 0; }, 1);
      for (int i = 0; i < tree_.n_links; ++i)
        world_.for_path(i, [&](int j) FW_LAMBDA_INLINE { w_[j] += dot(world_.axis[j], wrench_[i]); });
      for (int r = 0; r < m_; ++r)
        if (rows_[r].component < 0) w_[path_of(r)] += rows_[r].gap_slope * rows_[r].correction;
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
  void add_wrench_rates(const DiffContact& c, const ContactRates& rates, const double* along, int n, const Matrix& to,
                        int column) {
    Vector f = zero3<double>(), df = f, dm = f;
    for (int r = 0; r < 3; ++r) {
      f += c.axis[r] * along[r], df += rates.axis[r] * along[r];
      if (n == 6) dm += rates.axis[r] * along[3 + r];
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

  void add_contact_columns() {
    set_zero(T_, m_), set_zero(J_, m_);
    if (corrects_) set_zero(T2_, m_);
    for (int k = 0; k < n_contacts_; ++k) {
      DiffContact& c = contacts_[k];
      if (c.between == Between::limit) {
        const int f = path_of(c.rows);
        J_(c.rows, f) = rows_[c.rows].gap_slope;
        if (has(Wrt::q)) T2_(c.rows, column(Wrt::q) + f) = rows_[c.rows].slack_slope * rows_[c.rows].gap_slope;
        continue;
      }
      const int n = rows_of(c);
      set_marks(c);
      set_bounces(c, n);
      const Relative v_plus = relative(c, V_plus_), v_row = corrects_ ? relative(c, V_row_) : v_plus;
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
        T2_(r, col) = row_rate(c, row.component, rates, v_row, turned(c, k, V_row_)) + row.slack_slope * rates.gap;
    }
    add_wrench_rates(c, rates, c.force, 6, R_, col);
    const double lift[3] = {0, 0, c.correction};
    if (c.correction != 0) add_wrench_rates(c, rates, lift, 3, R2_, col);
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
      add_wrench_rates(c, rates, c.force, 6, R_, col);
      const double lift[3] = {0, 0, c.correction};
      if (c.correction != 0) add_wrench_rates(c, rates, lift, 3, R2_, col);
    }
  }

  // -- systems

  void factorise() {
    double* const H = dynamics_.H;  // theirs is no longer needed
    for (int k = 0; k < tree_.row[nv_]; ++k) H[k] = H_[k];
    for (int f = 0; f < nv_; ++f) H[tree_.row[f]] += hold_[f].armature;
    held_.factorise(H, locked_);
    // what is locked acts on the others with the inertia as it is
    for (int f = 0; f < nv_; ++f) H_[tree_.row[f]] += hold_[f].armature;
    if (m_ == 0) return;
    set_responses(held_, locked_, m_, [](int r) { return r; }, Y_);
    for (int r = 0; r < m_; ++r)
      for (int c = 0; c < m_; ++c) G_(r, c) = r == c ? rows_[r].compliance : 0;
    add_rows_times(Y_, G_);
    modes_.set(m_, rows_, G_, job_.friction ? job_.friction[environment_] : 1);
    if (!corrects_) return;
    n_on_ = 0;
    for (int r = 0; r < m_; ++r)
      if (rows_[r].is_corrected) on_[n_on_++] = r;
    set_responses(plain_, nullptr, n_on_, [this](int i) { return on_[i]; }, Y2_);
    for (int i = 0; i < n_on_; ++i)
      for (int j = 0; j < n_on_; ++j) {
        double sum = i == j ? rows_[on_[i]].give : 0;
        const DiffContact& c = contacts_[rows_[on_[i]].contact];
        for (int k = c.first; k < c.first + c.count; ++k) sum += J_(on_[i], path_[k]) * Y2_(path_[k], j);
        lift_.M(i, j) = sum;
      }
    lift_.factorise(n_on_);
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

  static void copy(const Matrix& from, int rows, const Matrix& to) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(rows) * from.stride; ++k) to.data[k] = from.data[k];
  }
  // to += J x
  void add_rows_times(const Matrix& x, const Matrix& to) const {
    for (int r = 0; r < m_; ++r) {
      const DiffContact& c = contacts_[rows_[r].contact];
      for (int p = 0; p < to.packs(); ++p) {
        Columns sum = to.pack(r, p);
        for (int k = c.first; k < c.first + c.count; ++k) sum += x.pack(path_[k], p) * J_(r, path_[k]);
        to.pack(r, p) = sum;
      }
    }
  }
  // to += Y x, of n rows
  void add_product(const Matrix& Y, const Matrix& x, int n, const Matrix& to) const {
    for (int f = 0; f < nv_; ++f)
      for (int p = 0; p < to.packs(); ++p) {
        Columns sum = to.pack(f, p);
        for (int r = 0; r < n; ++r) sum += x.pack(r, p) * Y(f, r);
        to.pack(f, p) = sum;
      }
  }
  void hold(const Matrix& x) const {
    for (int f = 0; f < nv_; ++f) {
      if (!locked_[f]) continue;
      const int q = column(Wrt::q), v = column(Wrt::v), e = column(Wrt::restitution);
      const auto apply = [&](int col, double rate) {
        if (col < 0 || rate == 0) return;
        const double* row = H_ + tree_.row[f];
        for (int i = f; i >= 0; i = tree_.dof_parent[i]) x(i, col) -= *row++ * rate;
        for_outboard(f, [&](int k, double h) { x(k, col) -= h * rate; });
      };
      apply(q < 0 ? -1 : q + f, hold_[f].lock_by_q), apply(v < 0 ? -1 : v + f, hold_[f].lock_by_v);
      apply(e, hold_[f].lock_by_restitution);
    }
    for (int f = 0; f < nv_; ++f) {
      if (!locked_[f]) continue;
      for (int p = 0; p < x.packs(); ++p) x.pack(f, p) = Columns{};
      if (has(Wrt::q)) x(f, column(Wrt::q) + f) = hold_[f].lock_by_q;
      if (has(Wrt::v)) x(f, column(Wrt::v) + f) = hold_[f].lock_by_v;
      if (has(Wrt::restitution)) x(f, column(Wrt::restitution)) = hold_[f].lock_by_restitution;
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
  static void add_to(double* y, double s, const double* x, int n) {
    for (int c = 0; c < n; ++c) y[c] += s * x[c];
  }

  // Rows of v and m to the end of the step.
  void write(const Matrix& v, const Matrix& moved, double* out) const {
    const int q = column(Wrt::q);
    const auto row = [&](int r) { return out + static_cast<std::size_t>(r) * nc_; };
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      for (int r = 0; r < l.nv; ++r) {
        double *const to_q = row(l.v + r), *const to_v = row(nv_ + l.v + r);
        for (int c = 0; c < nc_; ++c) to_q[c] = to_v[c] = 0;
        if (l.nv == 1) {
          add_to(to_q, job_.dt, moved[l.v], nc_), add_to(to_v, 1, v[l.v], nc_);
          if (q >= 0) to_q[q + l.v] += 1;
          continue;
        }
        const BallAdvance& b = balls_[i];
        for (int k = 0; k < l.nv; ++k) {
          add_to(to_q, b.q_m.e[r][k], moved[l.v + k], nc_);
          add_to(to_v, b.v_v.e[r][k], v[l.v + k], nc_);
          add_to(to_v, b.v_m.e[r][k], moved[l.v + k], nc_);
          if (q >= 0) to_q[q + l.v + k] += b.q_q.e[r][k];
        }
      }
    }
  }
};

}  // namespace featherweight::FW_ISA
