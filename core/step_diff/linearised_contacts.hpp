// step_diff/linearised_contacts.hpp -- rows of contacts, and what contacts add to the right-hand sides.
//
// Degrees of freedom that move a contact fill the lanes. Contacts of the same two links have them in common, and what
// their wrenches change by is summed before it is carried along the tree.
#pragma once
#include "step_diff/linearised_columns.hpp"

namespace featherweight::FW_ISA {

class LinearisedContacts : public LinearisedColumns {
 public:
  using LinearisedColumns::LinearisedColumns;

 protected:
  void add_contact_columns() {
    set_zero(J_, m_);
    if (!by_sweeps_) set_zero(T_, m_);
    if (!by_sweeps_ && corrects_) set_zero(T2_, m_);
    for (int k = 0, last; k < n_contacts_; k = last) {
      last = k + 1;
      if (contacts_[k].between == Between::coupling) continue;
      if (contacts_[k].between == Between::joints) {
        add_joint_columns(contacts_[k]);
        continue;
      }
      if (by_sweeps_) {
        set_bounces(contacts_[k]);
        set_rows(contacts_[k]);
        continue;
      }
      while (last < n_contacts_ && are_alike(contacts_[k], contacts_[last])) ++last;
      add_alike(k, last);
    }
  }
  // Rows alone.
  void set_rows(const DiffContact& c) {
    const int end = c.rows + rows_of(c);
    for (int side = 0; side < 2; ++side) {
      if (c.link[side] < 0) continue;
      const Vector r = c.point - world_.root(c.link[side]);
      const double sign = side == 0 ? 1 : -1;
      world_.for_path(c.link[side], [&](int f) FW_LAMBDA_INLINE {
        const Twist& axis = world_.axis[f];
        const Twist s{point_velocity(axis, r) * sign, axis.ang * sign};
        for (int i = c.rows; i < end; ++i) {
          const int component = rows_[i].component;
          J_(i, f) += FW_ISA::dot(c.axis[component % 3], component < 3 ? s.lin : s.ang);
        }
      });
    }
  }

  template <class X>
  struct Relative {
    Vec3<X> u, w;
  };
  int rows_of(const DiffContact& c) const {
    int n = 0;
    while (c.rows + n < m_ && rows_[c.rows + n].contact == rows_[c.rows].contact) ++n;
    return n;
  }
  Relative<double> relative(const DiffContact& c, const Twist* V) const {
    Relative<double> r{zero3<double>(), zero3<double>()};
    for (int side = 0; side < 2; ++side) {
      if (c.link[side] < 0) continue;
      const Twist& m = V[c.link[side]];
      const double sign = side == 0 ? 1 : -1;
      r.u += point_velocity(m, c.point - world_.root(c.link[side])) * sign;
      r.w += m.ang * sign;
    }
    return r;
  }

 private:
  using S = Native<double>;
  static constexpr int width = width_of<S>;

  // Some of the degrees of freedom that move a contact.
  struct Movers {
    int count, dof[width];
    Motion<S> axis;
    Vec3<S> root;                 // about which it is written
    S on_a, on_b;                 // 1 if it moves that side
    Motion<S> plus, row, before;  // twists of what carries them: at the end, with what corrects, at the start
  };
  // What contacts' wrenches change by, on both sides.
  struct Changes {
    Force<S> side[2] = {zero_force<S>(), zero_force<S>()};
  };

  // What takes overlaps out is looked at with velocities at the end; what is held stays where it is without them.
  const Twist* corrected(const DiffContact& c) const { return c.is_held() ? W_w_ : V_row_; }
  static bool are_alike(const DiffContact& x, const DiffContact& y) {
    return x.between == y.between && x.link[0] == y.link[0] && x.link[1] == y.link[1];
  }
  void add_joint_columns(const DiffContact& c) {
    const int r = c.rows, q = column(Wrt::q), v = column(Wrt::v);
    const DiffRow& row = rows_[r];
    for_joint_terms(c, [&](int f, double along) {
      J_(r, f) = along;
      if (by_sweeps_) return;
      if (has(Wrt::q)) T_(r, q + f) = row.gap_slope * along;
      if (has(Wrt::q) && row.is_corrected) T2_(r, q + f) = row.slack_slope * along;
      if (has(Wrt::v)) T_(r, v + f) = row.bounce * along;
    });
    if (has(Wrt::restitution) && !by_sweeps_) T_(r, column(Wrt::restitution)) = row.by_restitution;
  }
  void add_alike(int first, int last) {
    const DiffContact& one = contacts_[first];
    for (int k = first; k < last; ++k) set_bounces(contacts_[k]);
    set_marks(one);
    for (int at = 0; at < one.count; at += width) {
      const Movers movers = gather(one, path_ + one.first + at, one.count - at < width ? one.count - at : width);
      Changes pushes, lifts;
      for (int k = first; k < last; ++k) add_columns(contacts_[k], movers, pushes, lifts);
      if (!has(Wrt::q)) continue;
      carry(one, movers, pushes, R_);
      if (corrects_) carry(one, movers, lifts, R2_);
    }
    forget_marks(one);
    for (int k = first; has(Wrt::heights) && k < last; ++k)
      if (contacts_[k].contact) add_height_columns(contacts_[k]);
  }
  Movers gather(const DiffContact& c, const int* dofs, int count) const {
    Movers m;
    const Twist* const V_row = corrected(c);
    m.count = count;
    const auto put = [](Motion<S>& to, int lane, const Twist& x) {
      for (int i = 0; i < 3; ++i) {
        ScalarTraits<S>::set(to.lin[i], lane, x.lin[i]);
        ScalarTraits<S>::set(to.ang[i], lane, x.ang[i]);
      }
    };
    for (int lane = 0; lane < width; ++lane) {
      const int k = m.dof[lane] = dofs[lane < count ? lane : 0], link = link_of_[k], inboard = world_.parent(link);
      const Twist none = zero_motion<double>();
      put(m.axis, lane, world_.axis[k]);
      put(m.plus, lane, inboard < 0 ? none : V_plus_[inboard]);
      put(m.before, lane, inboard < 0 ? none : V_[inboard]);
      if (corrects_) put(m.row, lane, inboard < 0 ? none : V_row[inboard]);
      for (int i = 0; i < 3; ++i) ScalarTraits<S>::set(m.root[i], lane, world_.root(link)[i]);
      ScalarTraits<S>::set(m.on_a, lane, mark_[k] & 1 ? 1 : 0);
      ScalarTraits<S>::set(m.on_b, lane, mark_[k] & 2 ? 1 : 0);
    }
    return m;
  }
  static void put(const Matrix& to, int row, int first, const Movers& m, const S& x) {
    for (int lane = 0; lane < m.count; ++lane) to(row, first + m.dof[lane]) = ScalarTraits<S>::get(x, lane);
  }
  static void add(const Matrix& to, int row, int first, const Movers& m, const S& x) {
    for (int lane = 0; lane < m.count; ++lane) to(row, first + m.dof[lane]) += ScalarTraits<S>::get(x, lane);
  }

  // What turning k does to the relative velocity: S_k x (V - V before k) at each end it moves. r: the point.
  static Relative<S> turned(const DiffContact& c, const Movers& m, const Vec3<S>& r, const Twist* V,
                            const Motion<S>& inboard) {
    Relative<S> out{zero3<S>(), zero3<S>()};
    for (int side = 0; side < 2; ++side) {
      if (c.link[side] < 0) continue;
      const Twist& own = V[c.link[side]];
      const Motion<S> z = cross(m.axis, Motion<S>{own.lin - inboard.lin, own.ang - inboard.ang});
      const S sign = side == 0 ? m.on_a : -m.on_b;
      out.u += point_velocity(z, r) * sign;
      out.w += z.ang * sign;
    }
    return out;
  }
  // d(J v) of one row.
  template <class X>
  static X row_rate(const DiffContact& c, int component, const ContactRates<X>& rates, const Relative<double>& v,
                    const Relative<X>& z) {
    const int k = component % 3;
    if (component >= 3) return FW_ISA::dot(rates.axis[k], v.w) + FW_ISA::dot(c.axis[k], z.w);
    return FW_ISA::dot(rates.axis[k], v.u) + FW_ISA::dot(c.axis[k], FW_ISA::cross(v.w, rates.point) + z.u);
  }
  // Of impulses along and about the axes, on one side of the contact.
  template <class X>
  Force<X> wrench_rate(const DiffContact& c, const ContactRates<X>& rates, const double* along, int side) const {
    Vector f = zero3<double>();
    Vec3<X> df = zero3<X>(), dm = zero3<X>();
    for (int r = 0; r < 3; ++r) {
      f += c.axis[r] * along[r], df += rates.axis[r] * X(along[r]);
      if (along[3 + r] != 0) dm += rates.axis[r] * X(along[3 + r]);
    }
    const Vec3<X> turn = FW_ISA::cross(rates.point, f) + dm;
    const X sign = X(side == 0 ? 1 : -1);
    return Force<X>{df, turn + FW_ISA::cross(c.point - world_.root(c.link[side]), df)} * sign;
  }

  // Restitution as a share of the velocity before.
  void set_bounces(const DiffContact& c) {
    if (!c.contact) return;
    const int n = rows_of(c);
    bool bounces = false;
    for (int r = c.rows; r < c.rows + n; ++r) bounces = bounces || rows_[r].bounce != 0;
    if (!bounces) return;
    const Relative<double> before = relative(c, V_);
    for (int r = c.rows; r < c.rows + n; ++r) {
      DiffRow& row = rows_[r];
      if (row.bounce == 0 || row.component >= 3) continue;
      const double velocity = FW_ISA::dot(c.axis[row.component], before.u);
      row.bounce = velocity != 0 ? row.bounce / velocity : 0;
      row.gap_slope = 0;
      const double given = scene_.materials[c.contact->material].restitution;
      if (row.component != 2) continue;
      row.share = given > 0 ? row.bounce / given : 1;
      if (!has(Wrt::restitution)) continue;
      if (by_sweeps_)
        row.by_restitution = row.share * velocity;
      else
        T_(r, column(Wrt::restitution)) = row.share * velocity;
    }
  }
  void add_columns(const DiffContact& c, const Movers& m, Changes& pushes, Changes& lifts) {
    const int end = c.rows + rows_of(c);
    const Vec3<S> r = c.point - m.root;
    const Motion<S> s{point_velocity(m.axis, r), m.axis.ang};  // of the point
    const S side = m.on_a - m.on_b;
    bool bounces = false;
    for (int i = c.rows; i < end; ++i) {
      const int component = rows_[i].component;
      const S along = side * FW_ISA::dot(c.axis[component % 3], component < 3 ? s.lin : s.ang);
      put(J_, i, 0, m, along);
      if (rows_[i].bounce == 0) continue;
      bounces = true;
      if (has(Wrt::v)) add(T_, i, column(Wrt::v), m, along * S(rows_[i].bounce));
    }
    if (!has(Wrt::q)) return;
    const ContactRates<S> rates = c.rates(s * m.on_a, s * m.on_b);
    const Relative<double> v_plus = relative(c, V_plus_);
    const Relative<S> z = turned(c, m, r, V_plus_, m.plus);
    for (int i = c.rows; i < end; ++i) {
      const DiffRow& row = rows_[i];
      put(T_, i, column(Wrt::q), m, row_rate(c, row.component, rates, v_plus, z) + S(row.gap_slope) * rates.gap);
      if (row.is_corrected)
        put(T2_, i, column(Wrt::q), m,
            row_rate(c, row.component, rates, relative(c, corrected(c)), turned(c, m, r, corrected(c), m.row)) +
                S(row.slack_slope) * rates.gap);
    }
    if (bounces) {
      const Relative<double> before = relative(c, V_);
      const Relative<S> turn = turned(c, m, r, V_, m.before);
      for (int i = c.rows; i < end; ++i)
        if (const DiffRow& row = rows_[i]; row.bounce != 0)
          add(T_, i, column(Wrt::q), m, row_rate(c, row.component, rates, before, turn) * S(row.bounce));
    }
    for (int k = 0; k < 2; ++k) {
      if (c.link[k] < 0) continue;
      pushes.side[k] += wrench_rate(c, rates, c.force, k);
      if (corrects_) lifts.side[k] += wrench_rate(c, rates, c.correction, k);
    }
  }
  // to += J^T dW
  void carry(const DiffContact& c, const Movers& m, const Changes& changes, const Matrix& to) {
    for (int side = 0; side < 2; ++side) {
      const Force<S>& d = changes.side[side];
      world_.for_path(c.link[side], [&](int j) FW_LAMBDA_INLINE {
        const Twist& axis = world_.axis[j];
        add(to, j, column(Wrt::q), m, FW_ISA::dot(axis.lin, d.lin) + FW_ISA::dot(axis.ang, d.ang));
      });
    }
  }
  // A shape of the world is raised.
  void add_height_columns(const DiffContact& c) {
    const Twist up{{0, 0, 1}, zero3<double>()}, none = zero_motion<double>();
    const Relative<double> still{zero3<double>(), zero3<double>()}, v_plus = relative(c, V_plus_);
    const int end = c.rows + rows_of(c);
    for (int side = 0; side < 2; ++side) {
      const int place = job_.ground[side == 0 ? c.contact->a : c.contact->b];
      if (place < 0) continue;
      const int col = column(Wrt::heights) + place;
      const ContactRates<double> rates = c.rates(side == 0 ? up : none, side == 1 ? up : none);
      for (int r = c.rows; r < end; ++r) {
        const DiffRow& row = rows_[r];
        T_(r, col) += row_rate(c, row.component, rates, v_plus, still) + row.gap_slope * rates.gap;
        if (row.bounce != 0) T_(r, col) += row.bounce * row_rate(c, row.component, rates, relative(c, V_), still);
        if (row.is_corrected)
          T2_(r, col) += row_rate(c, row.component, rates, relative(c, V_row_), still) + row.slack_slope * rates.gap;
      }
      for (int k = 0; k < 2; ++k) {
        if (c.link[k] < 0) continue;
        const Wrench push = wrench_rate(c, rates, c.force, k), lifted = wrench_rate(c, rates, c.correction, k);
        world_.for_path(c.link[k], [&](int j) FW_LAMBDA_INLINE {
          R_(j, col) += dot(world_.axis[j], push);
          if (corrects_) R2_(j, col) += dot(world_.axis[j], lifted);
        });
      }
    }
  }
};

}  // namespace featherweight::FW_ISA
