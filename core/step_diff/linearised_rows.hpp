// step_diff/linearised_rows.hpp -- what the linearisation of a step starts from: the state, and the rows that acted.
//
// Rows of joints do not become rows here: a servo within its effort is inertia along its degree of freedom, a joint
// that sticks or is at its limit is locked, and a drive at its bound is a force. Contacts keep those of their rows that
// are closed, with how their frames move (scene/contact_slopes.hpp) and on which degrees of freedom they depend.
#pragma once
#include "rows/coupling.hpp"
#include "scene/contacts.hpp"
#include "step/advance.hpp"
#include "step/along_row.hpp"
#include "step_diff/advance_diff.hpp"
#include "step_diff/inertia.hpp"
#include "step_diff/modes_diff.hpp"
#include "step_diff/rows_diff.hpp"
#include "step_diff/smooth_diff.hpp"
#include "step_diff/smooth_lanes.hpp"
#include "step_diff/tumble_diff.hpp"

namespace featherweight::FW_ISA {

class LinearisedRows {
 public:
  // For environments with up to so many rows and contacts.
  LinearisedRows(const StepDiffJob& job, int most_rows, int most_found, Arena& arena)
      : job_(job),
        scene_(*job.scene),
        tree_(job.scene->tree),
        nv_(tree_.nv),
        nc_(job.columns.count),
        smooth_(job, arena),
        lanes_(job, padded_columns(nc_), arena),
        own_world_(smooth_.world),
        world_(smooth_.world),
        dynamics_(smooth_.dynamics),
        forces_(smooth_.joints),
        tumble_(*job.scene, nc_, arena),
        plain_(tree_, arena),
        held_(tree_, arena),
        modes_(most_rows, nc_, arena),
        lift_(most_rows, nc_, arena) {
    const int most_contacts = most_found + job.scene->n_joint_rows + job.scene->n_closures + job.scene->n_couplings;
    H_ = arena.take<double>(tree_.row[nv_]);
    v_plus_ = arena.take<double>(nv_), turn_ = arena.take<double>(nv_), w_ = arena.take<double>(nv_);
    moved_ = arena.take<double>(nv_), zero_ = arena.take<double>(nv_), row_v_ = arena.take<double>(nv_);
    V_ = smooth_.V, own_V_plus_ = V_plus_ = arena.take<Twist>(tree_.n_links);
    V_row_ = arena.take<Twist>(tree_.n_links), own_W_w_ = W_w_ = arena.take<Twist>(tree_.n_links);
    wrench_ = arena.take<Wrench>(tree_.n_links);
    u_ = arena.take<double>(nv_), kept_a_ = arena.take<double>(nv_);
    row_force_ = arena.take<DriveSlope>(scene_.n_actuators);
    hold_ = arena.take<JointHold>(nv_), locked_ = arena.take<bool>(nv_), link_of_ = arena.take<int>(nv_);
    mark_ = arena.take<int>(nv_), path_ = arena.take<int>(static_cast<std::size_t>(most_contacts) * 2 * deepest());
    contacts_ = arena.take<DiffContact>(most_contacts), slopes_ = arena.take<ContactSlopes>(most_contacts);
    rows_ = arena.take<DiffRow>(most_rows), on_ = arena.take<int>(most_rows);
    own_R_ = R_ = take_matrix(arena, nv_, nc_), own_R2_ = R2_ = take_matrix(arena, nv_, nc_);
    T_ = take_matrix(arena, most_rows, nc_), T2_ = take_matrix(arena, most_rows, nc_);
    J_ = take_matrix(arena, most_rows, nv_);
    Y_ = take_matrix(arena, nv_, most_rows), Y2_ = take_matrix(arena, nv_, most_rows);
    G_ = take_matrix(arena, most_rows, most_rows);
    X_ = take_matrix(arena, nv_, nc_), X2_ = take_matrix(arena, nv_, nc_);
    S_ = take_matrix(arena, most_rows, nc_), lifted_ = take_matrix(arena, nv_, nc_);
    balls_ = arena.take<BallAdvance>(tree_.n_links);
    for_rows_ = arena.take<double>(most_rows), for_rows2_ = arena.take<double>(most_rows);
    z_ = arena.take<double>(nv_), nu_ = arena.take<double>(nv_), gm_ = arena.take<double>(nv_);
    gv_ = arena.take<double>(nv_), g_ = arena.take<double>(padded_columns(nc_));
  }

 protected:
  const StepDiffJob& job_;
  const Scene& scene_;
  const Tree<double>& tree_;
  int nv_, nc_;
  SmoothDiff smooth_;
  SmoothLanes lanes_;
  SmoothLanes::Numbers from_lanes_ = {};
  bool on_lanes_ = false;   // of this environment they are there
  bool by_sweeps_ = false;  // products with them are found without columns
  WorldTree own_world_;
  WorldTree& world_;
  InverseDynamics& dynamics_;
  JointForces& forces_;
  TumbleDiff tumble_;
  FactorisedInertia plain_, held_;  // without, and with what joint rows hold
  ModesDiff modes_;
  LeastNormLu lift_;  // G + give of rows whose positions are asked for
  double* H_;
  double *u_, *kept_a_;
  double *v_plus_, *turn_, *w_, *moved_, *zero_, *row_v_;
  Twist *own_V_plus_, *own_W_w_;
  Twist *V_, *V_plus_, *V_row_, *W_w_;  // of links: at the start, at the end, that, with what corrects, and that alone
  Wrench* wrench_;
  DriveSlope* row_force_;  // of actuators: of impulses of their rows
  JointHold* hold_;
  bool* locked_;
  int *link_of_, *mark_, *path_;
  DiffContact* contacts_;
  ContactSlopes* slopes_;
  DiffRow* rows_;
  int* on_;
  Matrix own_R_, own_R2_;
  Matrix R_, R2_, T_, T2_, J_, Y_, Y2_, G_, X_, X2_, S_, lifted_;
  BallAdvance* balls_;
  double *for_rows_, *for_rows2_, *z_, *nu_, *gm_, *gv_, *g_;

  // of the environment
  std::size_t environment_ = 0;
  const ContactList* list_ = nullptr;
  const double *q_ = nullptr, *v_ = nullptr, *a_ = nullptr, *control_ = nullptr, *gains_ = nullptr;
  double closed_ = 0;  // gaps of loaded rows up to this count as closed
  int m_ = 0, n_contacts_ = 0, n_path_ = 0, n_on_ = 0;
  bool corrects_ = false, tumbles_ = false;
  bool is_started_ = false;  // what all environments have in common is there

  // Laws of contacts are relaxed (relaxed.hpp): impulses of the step itself have no part.
  bool is_relaxed() const { return job_.kappa > 0; }
  int deepest() const {
    int most = 0;
    for (int f = 0; f < nv_; ++f) most = scene_.depth[f] + 1 > most ? scene_.depth[f] + 1 : most;
    return most;
  }
  int column(Wrt x) const { return job_.columns.of(x); }
  bool has(Wrt x) const { return job_.columns.has(x); }
  int friction_column() const { return column(Wrt::friction); }
  static void copy(const Matrix& from, int rows, const Matrix& to) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(rows) * from.stride; ++k) to.data[k] = from.data[k];
  }

  // Whether all that is asked for has what lanes find.
  bool suits_lanes() const {
    return column(Wrt::q) == 0 && column(Wrt::v) == nv_ && !has(Wrt::gravity) && !has(Wrt::masses) &&
           !smooth_.drag.is_there() && !smooth_.start_forces.are_there();
  }
  // By what was found on lanes. False if something tumbles: it takes steps of its own.
  bool set_start_from_lanes(std::size_t environment) {
    from_lanes_ = lanes_.of(environment);
    const std::size_t e = environment;
    world_.pose = from_lanes_.pose, world_.axis = from_lanes_.axis, world_.center = from_lanes_.center;
    set_state(e);
    if (tumble_.find(world_, smooth_.inertias, v_, job_.dt)) return false;
    on_lanes_ = true;
    by_sweeps_ = job_.reading == Reading::reverse;
    V_ = from_lanes_.V, V_plus_ = from_lanes_.V_plus, W_w_ = from_lanes_.W_w;
    R_ = from_lanes_.R, R2_ = from_lanes_.R2;
    find_joint_forces();
    for (int f = 0; f < nv_; ++f) {
      v_plus_[f] = from_lanes_.v_plus[f];
      for (int c = 2 * nv_; !by_sweeps_ && c < R_.stride; ++c) R_(f, c) = 0;
    }
    return true;
  }
  void find_joint_forces() { smooth_.joints.differentiate(scene_, job_.dt, q_, v_, control_, gains_); }
  void set_start(std::size_t environment) {
    on_lanes_ = by_sweeps_ = false;
    world_ = own_world_;
    V_ = smooth_.V, V_plus_ = own_V_plus_, W_w_ = own_W_w_, R_ = own_R_, R2_ = own_R2_;
    set_zero(R_, nv_);
    set_state(environment);
    smooth_.place(q_, v_);
    for (int f = 0; f < nv_; ++f) turn_[f] = 0;
    add_turning_of_axes(tree_, world_.center, v_, 1.0, turn_);
    for (int f = 0; f < nv_; ++f) v_plus_[f] = v_[f] + job_.dt * (a_[f] + turn_[f]);
  }
  void set_state(std::size_t e) {
    environment_ = e;
    list_ = job_.contacts + e;
    q_ = job_.q + e * tree_.nq, v_ = job_.v + e * nv_, a_ = job_.acceleration + e * nv_;
    smooth_.start(e);
    control_ = smooth_.control, gains_ = smooth_.gains;
    closed_ = LawTuning::closed_share * smooth_.fall * job_.dt * job_.dt;
    if (is_started_) return;
    is_started_ = true;
    for (int f = 0; f < nv_; ++f) zero_[f] = mark_[f] = 0;
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      for (int k = l.v; k < l.v + l.nv; ++k) link_of_[k] = i;
    }
  }

  // -- rows

  void add_rows() {
    m_ = n_contacts_ = n_path_ = 0;
    corrects_ = false;
    for (int f = 0; f < nv_; ++f) hold_[f] = {false, 0, 0, 0, 0}, locked_[f] = false;
    for (int k = 0; by_sweeps_ && k < scene_.n_actuators; ++k) row_force_[k] = {0, 0, 0, 0};
    const StepSolution& solution = job_.solutions[environment_];
    for (int first = 0, last; first < solution.n_rows; first = last) {
      const SolvedRow& row = solution.rows[first];
      last = first + 1;
      if (row.source == RowSource::joint && scene_.joint_rows[row.index].is_tendon()) {
        add_tendon(row.index, row);
      } else if (row.source == RowSource::joint) {
        hold_joint(scene_.joint_rows[row.index], row);
      } else if (row.source == RowSource::contact && !is_relaxed()) {
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
      if (is_relaxed()) return;
      if (solved.correction > 0 || rests) add_limit(solved.index, gap, solved);
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
  // A limit that is corrected: its row moves nothing else, since its impulse is that of a locked joint.
  void add_limit(int joint_row, double gap, const SolvedRow& solved) {
    DiffRow& row = add_joint_row(joint_row, solved);
    row.mode = Mode::open, row.law = Law::unilateral;
    ask_position(gap, row);
  }
  // Limits and dry friction of tendons are rows of the system: no joint is locked by them.
  void add_tendon(int joint_row, const SolvedRow& solved) {
    const JointRow& tendon = scene_.joint_rows[joint_row];
    const auto read = [](double x) { return x; };
    const StrutState<double> no_struts{};  // scenes with rows along struts are refused
    const double gap = tendon.is_limit() ? gap_of_row(scene_, no_struts, tendon, q_, read) : 0;
    const bool is_closed = solved.mode == Mode::sticking;
    const bool is_corrected = tendon.is_limit() && (solved.correction > 0 || (is_closed && is_at_rest(gap)));
    if (!is_closed && !is_corrected) return;
    DiffRow& row = add_joint_row(joint_row, solved);
    row.mode = is_closed ? Mode::sticking : Mode::open, row.law = is_closed ? Law::equality : Law::unilateral;
    if (is_corrected) ask_position(gap, row);
    if (!tendon.is_limit()) return;
    const double before = along_row(scene_, no_struts, tendon, v_, read);
    if (solved.strikes && before != 0) {
      row.bounce = solved.shift / before;
      row.by_restitution = before * (tendon.restitution > 0 ? row.bounce / tendon.restitution : 1);
    } else if (gap > closed_) {
      row.gap_slope = 1 / job_.dt;
    }
  }
  // A row along degrees of freedom, which nothing turns.
  DiffRow& add_joint_row(int joint_row, const SolvedRow& solved) {
    DiffContact& joints = contacts_[n_contacts_];
    joints.start(Between::joints, joint_row, m_);
    joints.first = n_path_, joints.count = 0;
    for_joint_terms(joints, [&](int f, double) { path_[n_path_++] = f, ++joints.count; });
    DiffRow& row = rows_[m_++];
    row = {};
    row.contact = n_contacts_++, row.component = -1;
    row.impulse = solved.impulse, row.correction = solved.correction, row.give = solved.give;
    row.share = 1;
    return row;
  }
  void ask_position(double gap, DiffRow& row) {
    row.slack_slope = slack_slope(gap);
    row.is_corrected = corrects_ = true;
  }
  // use(degree of freedom, coefficient) of a row along joints.
  template <class Use>
  FW_INLINE void for_joint_terms(const DiffContact& c, const Use& use) const {
    const JointRow& row = scene_.joint_rows[c.held];
    use(row.term.dof, row.term.coefficient);
    for (int k = row.first_more; k < row.first_more + row.n_more; ++k)
      use(scene_.tendon_terms[k].dof, scene_.tendon_terms[k].coefficient);
  }
  // Of what a gap asks of the velocity (cone_rows.hpp): at rest, the side on which shapes overlap.
  double slack_slope(double gap) const {
    if (gap > closed_) return 1 / job_.dt;
    return SeparateTuning::share_per_step * gap > -SeparateTuning::fastest * job_.dt
               ? SeparateTuning::share_per_step / job_.dt
               : 0;
  }
  void add_impulse_slope(int actuator, const DriveSlope& slope, double s) {
    if (by_sweeps_) {
      DriveSlope& to = row_force_[actuator];
      to.by_q += s * slope.by_q, to.by_v += s * slope.by_v;
      to.by_control += s * slope.by_control, to.by_gain += s * slope.by_gain;
      return;
    }
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
    for (int k = 0; k < 6; ++k) contact.force[k] = contact.correction[k] = 0;
    if (is_corrected) contact.correction[2] = normal->correction;
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
             is_normal ? contact.correction[2] : 0,
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
  // use(degree of freedom, its polynomial at q) of each term of a coupling.
  template <class Use>
  void for_terms(int coupling, const double* q, const Use& use) const {
    const Coupling& own = scene_.couplings[coupling];
    for (int t = own.begin; t < own.end; ++t) {
      const CouplingTerm<double>& term = scene_.coupling_terms[t];
      use(term.dof, expand(term, q[term.q]));
    }
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
    const ContactList& list = *list_;
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
};

}  // namespace featherweight::FW_ISA
