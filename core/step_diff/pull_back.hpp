// step_diff/pull_back.hpp -- products of cotangents with the right-hand sides of a linearised step, without their
// columns.
//
//   g += x R + eta T + x2 R2 + eta2 T2
// x, eta: cotangents of velocities and rows; x2, eta2: of what takes overlaps out. The part of inverse dynamics is
// found on lanes (smooth_lanes.hpp). What contacts add is linear in the rates of their points, axes and gaps, and these
// in the twists of their links: cotangents of rates become wrenches Gamma on links. Rows and impulses that stay in the
// world while what is outboard of k turns, S_k x (V - V before k) at each end, add with U, the wrench of eta on a link,
//   S_k . (sum of Gamma + V x* U outboard of k - V before k x* sum of U)
// Cost: O(n + m). Oracle: the columns.
#pragma once
#include "step_diff/linearised_contacts.hpp"

namespace featherweight::FW_ISA {

class PulledBack : public LinearisedContacts {
 public:
  PulledBack(const StepDiffJob& job, int most_rows, int most_found, Arena& arena)
      : LinearisedContacts(job, most_rows, most_found, arena),
        X_of_(arena.take<Twist>(tree_.n_links)),
        X2_of_(arena.take<Twist>(tree_.n_links)),
        pulls_(arena.take<Pulls>(tree_.n_links)) {}

 protected:
  // x, x2: of degrees of freedom; eta: of rows; eta2: of rows that are corrected, in their order.
  void pull_back(const double* x, const double* eta, const double* x2, const double* eta2, double* g) {
    lanes_.leave(environment_, x, corrects_ && from_lanes_.lifts ? x2 : nullptr);
    world_.twists(x, X_of_);
    if (corrects_) world_.twists(x2, X2_of_);
    for (int i = 0; i < tree_.n_links; ++i) pulls_[i] = {};
    for (int k = 0, corrected = 0; k < n_contacts_; ++k) pull_contact(contacts_[k], eta, eta2, corrected, g);
    sweep_inward(g);
    pull_joints(x, x2, g);
    if (has(Wrt::f_ext)) smooth_.pull_forces(X_of_, job_.dt, g + column(Wrt::f_ext));
  }

 private:
  // On a link, and then on all outboard of its joint: wrenches as of rates, and of rows by whose velocities they are.
  struct Pulls {
    Wrench all = zero_force<double>(), end = zero_force<double>(), moved = zero_force<double>(),
           start = zero_force<double>();
  };
  Twist *X_of_, *X2_of_;  // of links
  Pulls* pulls_;

  // Forces and moments along the axes of a contact.
  struct Pushes {
    Vector force = zero3<double>(), moment = zero3<double>();
  };
  // s d(J v) of one row, or of an impulse s where v is a cotangent.
  static void pull_row(const DiffContact& c, int component, double s, const Relative<double>& v, ContactCotangents& w,
                       Pushes& pushes) {
    const Vector& axis = c.axis[component % 3];
    if (component >= 3) {
      w.axis[component - 3] += v.w * s;
      pushes.moment += axis * s;
      return;
    }
    w.axis[component] += v.u * s;
    w.point += FW_ISA::cross(axis, v.w) * s;
    pushes.force += axis * s;
  }
  void pull_contact(const DiffContact& c, const double* eta, const double* eta2, int& corrected, double* g) {
    if (c.between == Between::joints) {
      const DiffRow& row = rows_[c.rows];
      const double s = eta[c.rows],
                   by_gap = s * row.gap_slope + (row.is_corrected ? eta2[corrected++] * row.slack_slope : 0);
      for_joint_terms(c, [&](int f, double along) {
        g[column(Wrt::q) + f] += by_gap * along, g[column(Wrt::v) + f] += s * row.bounce * along;
      });
      if (has(Wrt::restitution)) g[column(Wrt::restitution)] += s * row.by_restitution;
      return;
    }
    ContactCotangents w{zero3<double>(), {zero3<double>(), zero3<double>(), zero3<double>()}, 0};
    Pushes end, moved, start, given, lifted;
    const Relative<double> v_end = relative(c, V_plus_), x = relative(c, X_of_);
    for (int r = c.rows, last = c.rows + rows_of(c); r < last; ++r) {
      const DiffRow& row = rows_[r];
      pull_row(c, row.component, eta[r], v_end, w, end);
      w.gap += eta[r] * row.gap_slope;
      if (row.bounce != 0) pull_row(c, row.component, eta[r] * row.bounce, relative(c, V_), w, start);
      if (has(Wrt::restitution)) g[column(Wrt::restitution)] += eta[r] * row.by_restitution;
      if (!row.is_corrected) continue;
      const double s = eta2[corrected++];
      pull_row(c, row.component, s, relative(c, V_row_), w, moved);
      w.gap += s * row.slack_slope;
    }
    for (int k = 0; k < 6; ++k)
      if (c.force[k] != 0) pull_row(c, k, c.force[k], x, w, given);
    if (c.correction[2] != 0) pull_row(c, 2, c.correction[2], relative(c, X2_of_), w, lifted);
    const PointWrenches pulled = c.pulled_back(w);
    for (int side = 0; side < 2; ++side) {
      const int link = c.link[side];
      const Wrench& own = side == 0 ? pulled.a : pulled.b;
      if (link < 0) {
        const int place = has(Wrt::heights) ? job_.ground[side == 0 ? c.contact->a : c.contact->b] : -1;
        if (place >= 0) g[column(Wrt::heights) + place] += own.lin[2];
        continue;
      }
      const Vector r = c.point - world_.root(link);
      const auto about_root = [&](const Pushes& p) {
        return Wrench{p.force, p.moment + FW_ISA::cross(r, p.force)} * (side == 0 ? 1.0 : -1.0);
      };
      Pulls& to = pulls_[link];
      const auto add_turning = [&](const Pushes& p, const Twist* V, Wrench& sum) {
        const Wrench f = about_root(p);
        sum += f;
        to.all += cross(V[link], f);
      };
      to.all += Wrench{own.lin, own.ang + FW_ISA::cross(r, own.lin)};
      to.all += cross(X_of_[link], about_root(given));
      if (c.correction[2] != 0) to.all += cross(X2_of_[link], about_root(lifted));
      add_turning(end, V_plus_, to.end), add_turning(start, V_, to.start);
      if (corrects_) add_turning(moved, V_row_, to.moved);
    }
  }
  // Leaf to root.
  void sweep_inward(double* g) {
    const int q = column(Wrt::q), v = column(Wrt::v);
    for (int i = tree_.n_links - 1; i >= 0; --i) {
      const Link<double>& l = tree_.links[i];
      const Pulls& own = pulls_[i];
      Wrench all = own.all;
      if (l.parent >= 0) {
        all -= cross(V_plus_[l.parent], own.end), all -= cross(V_[l.parent], own.start);
        if (corrects_) all -= cross(V_row_[l.parent], own.moved);
        Pulls& to = pulls_[l.parent];
        to.all += own.all, to.end += own.end, to.moved += own.moved, to.start += own.start;
      }
      for (int f = l.v; f < l.v + l.nv; ++f) {
        g[q + f] += dot(world_.axis[f], all);
        g[v + f] += dot(world_.axis[f], own.start);
      }
    }
  }
  void pull_joints(const double* x, const double* x2, double* g) const {
    const int q = column(Wrt::q), v = column(Wrt::v);
    const double dt = job_.dt;
    for (int f = 0; f < nv_; ++f) {
      g[q + f] += dt * forces_.by_q[f] * x[f], g[v + f] += dt * forces_.by_v[f] * x[f];
      if (has(Wrt::tau)) g[column(Wrt::tau) + f] += dt * x[f];
    }
    for (int k = 0; k < scene_.n_actuators; ++k) {
      const int f = scene_.actuators[k].dof;
      const DriveSlope &force = forces_.force[k], &impulse = row_force_[k];
      g[q + f] += impulse.by_q * x[f], g[v + f] += impulse.by_v * x[f];
      if (has(Wrt::control)) g[column(Wrt::control) + k] += (dt * force.by_control + impulse.by_control) * x[f];
      if (!has(Wrt::gains)) continue;
      double& by_gain = g[column(Wrt::gains) + k];
      by_gain += (dt * (force.by_gain - forces_.inertia[k] * a_[f]) + impulse.by_gain) * x[f];
      if (corrects_ && from_lanes_.lifts) by_gain -= forces_.inertia[k] * w_[f] * x2[f];
    }
  }
};

}  // namespace featherweight::FW_ISA
