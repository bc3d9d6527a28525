// step_diff/relaxed.hpp -- a step whose contacts act at a distance, with its derivative: no modes, no kinks.
//
// Contacts within reach have their laws relaxed (central_path.hpp), by velocities with which gaps close within the
// step: v_n + gap / dt. All else is the step that was taken: joint rows keep the modes they had, and the velocity
// without contacts is that at its end less what its contacts did. Overlaps are pushed out by the same law; nothing
// bounces. The derivative is that of these equations: where contacts stick in linearise.hpp, rows yield by their laws.
// Oracle: central differences; with kappa -> 0 the step itself.
#pragma once
#include "step_diff/linearise.hpp"

namespace featherweight::FW_ISA {

// Contacts of shapes that are no farther apart than reach.
inline void find_within(const Scene& scene, std::size_t environment, const Pose<double>* poses, double reach,
                        ContactList& list) {
  const auto placement = [&](const PlacedShape& s) {
    Pose<double> X{mat3(s.R), vec3(s.p)};
    if (s.link >= 0) X = compose(poses[s.link], X.R, X.p);
    Placement<double> out;
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) out.R[3 * r + c] = X.R(r, c);
      out.p[r] = X.p[r];
    }
    return out;
  };
  list.count = 0;
  for (int k = 0; k < scene.n_pairs; ++k) {
    const ScenePair& pair = scene.pairs[k];
    find_contacts(scene, environment, pair.a, pair.b, pair.material, placement(scene.shapes[pair.a]),
                  placement(scene.shapes[pair.b]), reach, list);
  }
}

class RelaxedLinearisation : public StepLinearisation {
 public:
  RelaxedLinearisation(const StepDiffJob& job, int most_contacts, ContactList& list, Arena& arena)
      : StepLinearisation(job, 3 * most_contacts, most_contacts, arena),
        found_(list),
        laws_(3 * most_contacts, arena),
        of_path_(arena.take<PathContact>(most_contacts)),
        g_of_(arena.take<double>(3 * most_contacts)),
        base_(arena.take<double>(nv_)),
        own_a_(arena.take<double>(nv_)) {}

  void load(const Pack&) {}
  void linearise(std::size_t environment) {
    set_start(environment);
    tumbles_ = tumble_.find(world_, smooth_.inertias, v_, job_.dt);
    add_rows();
    set_inertia();
    find_base();
    find_within(scene_, environment, world_.pose, job_.reach, found_);
    list_ = &found_;
    for (int k = 0; k < found_.count; ++k) add_near(found_.data[k]);
    solve_laws();
    find_pair_slopes();
    for (int f = 0; f < nv_; ++f) own_a_[f] = (v_plus_[f] - v_[f]) / job_.dt - turn_[f];
    a_ = own_a_;
    world_.twists(v_plus_, V_plus_);
    tumbles_ ? add_turned_columns() : add_free_columns();
    find_corrections();
    add_contact_columns();
    add_friction_columns();
    impulses_ = laws_.lambda;
    factorise();
    differentiate_coordinates();
    write_end();
  }
  bool is_unique() const { return converged_; }

 private:
  ContactList& found_;
  CentralPath laws_;
  PathContact* of_path_;
  double *g_of_, *base_, *own_a_;
  bool converged_ = true;

  void set_inertia() {
    dynamics_.find_inertia();
    keep_inertia();
    for (int f = 0; f < nv_; ++f) H_[tree_.row[f]] += hold_[f].armature;
    held_.factorise(H_, locked_);
  }
  // The velocity at the end, without contacts.
  void find_base() {
    for (int i = 0; i < tree_.n_links; ++i) wrench_[i] = zero_force<double>();
    const StepSolution& solution = job_.solutions[environment_];
    for (int r = 0; r < solution.n_rows; ++r) {
      const SolvedRow& row = solution.rows[r];
      if (row.source != RowSource::contact || row.impulse == 0) continue;
      const Contact& c = list_->data[row.index];
      const double* const axis = c.frame + 3 * (row.component % 3);
      for (int side = 0; side < 2; ++side) {
        const int link = scene_.shapes[side == 0 ? c.a : c.b].link;
        if (link < 0) continue;
        const Vector along = Vector{axis[0], axis[1], axis[2]} * (side == 0 ? row.impulse : -row.impulse);
        const Vector at = Vector{c.position[0], c.position[1], c.position[2]} - world_.root(link);
        wrench_[link] += row.component < 3 ? Wrench{along, FW_ISA::cross(at, along)} : Wrench{zero3<double>(), along};
      }
    }
    for (int f = 0; f < nv_; ++f) base_[f] = 0;
    for (int i = 0; i < tree_.n_links; ++i)
      world_.for_path(i, [&](int f) FW_LAMBDA_INLINE { base_[f] += dot(world_.axis[f], wrench_[i]); });
    for (int f = 0; f < nv_; ++f)
      if (locked_[f]) base_[f] = 0;
    held_.solve(base_);
    for (int f = 0; f < nv_; ++f) base_[f] = v_plus_[f] - base_[f];
  }
  void add_near(const Contact& c) {
    DiffContact& contact = contacts_[n_contacts_];
    contact = {};
    contact.contact = &c;
    contact.link[0] = scene_.shapes[c.a].link, contact.link[1] = scene_.shapes[c.b].link;
    if (contact.link[0] < 0 && contact.link[1] < 0) return;
    contact.point = {c.position[0], c.position[1], c.position[2]};
    for (int k = 0; k < 3; ++k) contact.axis[k] = {c.frame[3 * k], c.frame[3 * k + 1], c.frame[3 * k + 2]};
    for (int k = 0; k < 6; ++k) contact.force[k] = contact.correction[k] = 0;
    contact.rows = m_;
    const double mu = scene_.materials[c.material].friction * (job_.friction ? job_.friction[environment_] : 1);
    for (int k = mu > 0 ? 0 : 2; k < 3; ++k) {
      DiffRow& row = rows_[m_++];
      row = {n_contacts_, k, Mode::sticking, Law::point, 0, 0, 0, 0, mu, 0, 0, 0, 1, 0, false};
      if (k == 2) row.gap_slope = 1 / job_.dt;
    }
    add_path(contact);
    ++n_contacts_;
  }
  // Impulses, and the velocity at the end.
  void solve_laws() {
    for (int f = 0; f < nv_; ++f) v_plus_[f] = base_[f];
    converged_ = true;
    if (m_ == 0) return;
    set_zero(J_, m_);
    for (int k = 0; k < n_contacts_; ++k) set_rows(contacts_[k]), of_path_[k] = path_contact(contacts_[k]);
    set_responses(held_, locked_, m_, [](int r) { return r; }, Y_);
    set_zero(G_, m_);
    add_rows_times(Y_, G_);
    for (int k = 0; k < n_contacts_; ++k) {
      const int n = of_path_[k].first + of_path_[k].n - 1;
      for (int r = of_path_[k].first; r <= n; ++r) g_of_[r] = along(J_, r, base_);
      g_of_[n] += contacts_[k].contact->gap / job_.dt;
    }
    converged_ = laws_.solve(m_, G_, g_of_, of_path_, n_contacts_, job_.kappa);
    if (!converged_) m_ = n_contacts_ = 0;  // the step without contacts, and told
    for (int r = 0; r < m_; ++r) {
      rows_[r].impulse = contacts_[rows_[r].contact].force[rows_[r].component] = laws_.lambda[r];
      for (int f = 0; f < nv_; ++f) v_plus_[f] += Y_(f, r) * laws_.lambda[r];
    }
  }
  void add_friction_columns() {
    const double factor = job_.friction ? job_.friction[environment_] : 1;
    for (int k = 0; friction_column() >= 0 && k < n_contacts_; ++k)
      for (int i = 0; of_path_[k].n == 3 && i < 2; ++i)
        T_(of_path_[k].first + i, friction_column()) +=
            CentralPath::by_friction(of_path_[k], laws_.lambda, job_.kappa, i) / factor;
  }
  void write_end() {
    double* const v = job_.v_relaxed + environment_ * static_cast<std::size_t>(nv_);
    double* const q = job_.q_relaxed + environment_ * static_cast<std::size_t>(tree_.nq);
    for (int k = 0; k < tree_.nq; ++k) q[k] = q_[k];
    for (int f = 0; f < nv_; ++f) v[f] = v_plus_[f];
    advance(tree_, world_.center, moved_, job_.dt, q, v);
  }
};

}  // namespace featherweight::FW_ISA
