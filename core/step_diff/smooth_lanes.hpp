// step_diff/smooth_lanes.hpp -- what steps of a pack of environments have in common, on lanes: placements, inertia, and
// the derivatives of inverse dynamics at the acceleration of the step, with the impulses of contacts among the forces.
//
//   R = dt (-ID)_q,  dt (-ID)_v + H (1 + dt turn_v)       rows of H v' but for joint forces and what contacts change
//   w = H^-1 J^T mu,  R2 = -(H w - J^T mu)_q              of impulses mu that take overlaps out of coordinates
// Lanes are then handed out: each environment finds its own numbers in a row. Of products with cotangents R and R2 are
// not formed: environments leave x and x2, and x R + x2 R2 is found in O(n) (dynamics_adjoint.hpp).
#pragma once
#include "dynamics/ltl_factor.hpp"
#include "step/advance.hpp"
#include "step_diff/dynamics_adjoint.hpp"
#include "step_diff/inverse_dynamics.hpp"

namespace featherweight::FW_ISA {

class SmoothLanes {
 public:
  using S = Native<double>;
  static constexpr int width = width_of<S>;

  // Of one environment.
  struct Numbers {
    Pose<double>* pose;
    Twist *axis, *V, *V_plus, *W_w;
    Vector* center;
    double *v_plus, *w, *H, *factor;
    Matrix R, R2;
    bool lifts;  // w is not zero
  };

  // R_stride: of rows of R and R2, which begin with columns of q and v; what else they have is left as it is.
  SmoothLanes(const StepDiffJob& job, int R_stride, Arena& arena)
      : job_(job),
        scene_(*job.scene),
        tree_(job.scene->tree),
        world_(*job.scene, arena),
        dynamics_(world_, arena),
        adjoint_(world_, arena),
        R_stride_(R_stride),
        has_columns_(job.reading != Reading::reverse) {
    const std::size_t nv = static_cast<std::size_t>(tree_.nv), n_links = static_cast<std::size_t>(tree_.n_links);
    q_ = arena.take<S>(tree_.nq);
    for (S** x : {&v_, &a_, &v_plus_, &w_, &zero_, &x_, &x2_}) *x = arena.take<S>(nv);
    factor_ = arena.take<S>(tree_.row[nv]);
    inertias_ = arena.take<LaneInertia<S>>(n_links);
    for (Motion<S>** x : {&V_, &V_plus_, &W_w_, &none_}) *x = arena.take<Motion<S>>(n_links);
    for (Force<S>** x : {&f_, &W_, &lift_, &sum_}) *x = arena.take<Force<S>>(n_links);
    f_scratch_ = arena.take<S>(job.f_ext.data ? 6 * tree_.n_user_links : 0);
    const auto piece = [&](std::size_t n) {
      const std::size_t at = size_;
      size_ += (n + 7) / 8 * 8;
      return at;
    };
    at_ = {piece(12 * n_links),
           piece(6 * nv),
           piece(6 * n_links),
           piece(6 * n_links),
           piece(6 * n_links),
           piece(3 * n_links),
           piece(nv),
           piece(nv),
           piece(tree_.row[nv]),
           piece(tree_.row[nv]),
           piece(has_columns_ ? nv * R_stride_ : 0),
           piece(has_columns_ ? nv * R_stride_ : 0)};
    out_ = arena.take<double>(width * size_);
  }

  bool lifts(std::size_t environment) const { return lifts_[environment - first_]; }
  Numbers of(std::size_t environment) {
    if (!is_handed_out_) hand_out();
    const std::size_t lane = environment - first_;
    double* const x = out_ + lane * size_;
    const auto twists = [&](std::size_t at) { return reinterpret_cast<Twist*>(x + at); };
    return {reinterpret_cast<Pose<double>*>(x + at_.pose),
            twists(at_.axis),
            twists(at_.V),
            twists(at_.V_plus),
            twists(at_.W_w),
            reinterpret_cast<Vector*>(x + at_.center),
            x + at_.v_plus,
            x + at_.w,
            x + at_.H,
            x + at_.factor,
            {x + at_.R, R_stride_},
            {x + at_.R2, R_stride_},
            lifts_[lane]};
  }

  void load(const Pack& pack) {
    first_ = pack.first;
    load_states(pack);
    world_.place(q_, inertias_);
    const S dt(job_.dt);
    for (int f = 0; f < tree_.nv; ++f) zero_[f] = w_[f] = S(0), v_plus_[f] = v_[f] + a_[f] * dt;
    add_turning_of_axes(tree_, world_.center, v_, dt, v_plus_);
    world_.twists(v_, V_), world_.twists(v_plus_, V_plus_);
    gather_wrenches(pack);
    if (has_columns_)
      dynamics_.differentiate(v_, a_, base_, job_.f_ext.data ? f_ : nullptr, W_);
    else
      dynamics_.find_inertia();
    for (int k = 0; k < tree_.row[tree_.nv]; ++k) factor_[k] = dynamics_.H[k];
    factorise_ltl(tree_, factor_);
    if (has_columns_) make_columns();
    is_handed_out_ = false;
    if (has_columns_) hand_out();  // what lifts is differentiated in the same place
    if (any_lifts_) add_lifts();
    for (int f = 0; f < tree_.nv; ++f) x_[f] = x2_[f] = S(0);
  }

  // Of all of the pack.
  const WorldTreeOf<S>& world() const { return world_; }
  const S* H() const { return dynamics_.H; }
  const S* factor() const { return factor_; }
  const S* v_plus() const { return v_plus_; }
  const Motion<S>* V_plus() const { return V_plus_; }

  // x of one degree of freedom, in lanes where the mask is one.
  void leave_where(const S& mask, int f, const S& x) { x_[f] = select(mask > S(0), x, x_[f]); }
  // Of one environment, instead of columns: x2 is null where nothing is lifted.
  void leave(std::size_t environment, const double* x, const double* x2) {
    const int lane = static_cast<int>(environment - first_);
    for (int f = 0; f < tree_.nv; ++f) {
      ScalarTraits<S>::set(x_[f], lane, x[f]);
      if (x2) ScalarTraits<S>::set(x2_[f], lane, x2[f]);
    }
  }
  // out += x R + x2 R2: columns of q, then of v; rows of environments are `stride` apart.
  void add_products(const Pack& pack, double* out, std::size_t stride) {
    const int nv = tree_.nv;
    const S dt(job_.dt);
    adjoint_.find(v_, V_, a_, base_, job_.f_ext.data ? f_ : nullptr, W_, x_);
    S *const by_q = adjoint_.by_q, *const by_v = adjoint_.by_v, *const Hx = adjoint_.by_a;
    for (int f = 0; f < nv; ++f) by_v[f] = Hx[f] - by_v[f] * dt;
    for (int i = 0; i < tree_.n_links; ++i)
      if (tree_.links[i].kind == JointKind::free) add_turning(i, Hx, by_v);
    add_to(pack, by_q, -job_.dt, out, stride);
    add_to(pack, by_v, 1, out + nv, stride);
    if (!any_lifts_) return;
    for (int i = 0; i < tree_.n_links; ++i) none_[i] = zero_motion<S>();
    adjoint_.find(zero_, none_, w_, zero_motion<S>(), nullptr, lift_, x2_);
    add_to(pack, by_q, -1, out, stride);
  }

 private:
  struct Offsets {
    std::size_t pose, axis, V, V_plus, W_w, center, v_plus, w, H, factor, R, R2;
  };
  const StepDiffJob& job_;
  const Scene& scene_;
  const Tree<double>& tree_;
  WorldTreeOf<S> world_;
  InverseDynamicsOf<S> dynamics_;
  DynamicsAdjointOf<S> adjoint_;
  int R_stride_;
  bool has_columns_;
  S *q_, *v_, *a_, *v_plus_, *w_, *zero_, *x_, *x2_, *factor_, *f_scratch_;
  LaneInertia<S>* inertias_;
  Motion<S>*V_, *V_plus_, *W_w_, *none_;
  Force<S>*f_, *W_, *lift_, *sum_;  // on links: given, of impulses over the step, of those that lift, and a scratch
  Motion<S> base_ = zero_motion<S>();
  double* out_;
  Offsets at_;
  std::size_t size_ = 0, first_ = 0;
  bool lifts_[width] = {}, any_lifts_ = false, are_shared_ = false, is_handed_out_ = false;

  void load_states(const Pack& pack) {
    Watch<S> unwatched;
    const auto read = [&](const double* from, int n, S* to) {
      FW_ISA::load(Input<double>{from, n}, pack, n, to, unwatched);
    };
    read(job_.q, tree_.nq, q_), read(job_.v, tree_.nv, v_), read(job_.acceleration, tree_.nv, a_);
    if (job_.inertias)
      read(job_.inertias, inertia_numbers * tree_.n_links, reinterpret_cast<S*>(inertias_));
    else if (!are_shared_)
      share_inertias(tree_, inertias_), are_shared_ = true;
    S g[3] = {S(tree_.gravity[0]), S(tree_.gravity[1]), S(tree_.gravity[2])};
    if (job_.gravity) read(job_.gravity, 3, g);
    base_ = {{-g[0], -g[1], -g[2]}, zero3<S>()};
    if (!job_.f_ext.data) return;
    load_forces(tree_, job_.f_ext, pack, f_, f_scratch_, unwatched);
  }

  static void add(Vec3<S>& to, int lane, const Vector& x) {
    for (int k = 0; k < 3; ++k) ScalarTraits<S>::set(to[k], lane, ScalarTraits<S>::get(to[k], lane) + x[k]);
  }
  // Impulses of each environment's contacts.
  void gather_wrenches(const Pack& pack) {
    for (int i = 0; i < tree_.n_links; ++i) {
      W_[i] = lift_[i] = zero_force<S>();
      if (!job_.f_ext.data) continue;
      const Rotation<S> R{world_.pose[i].R};
      f_[i] = shift_to_parent(to_parent(R, f_[i]), world_.from_root(i));
    }
    any_lifts_ = false;
    for (int lane = 0; lane < pack.count; ++lane) {
      lifts_[lane] = false;
      const std::size_t e = pack.first + static_cast<std::size_t>(lane);
      if (job_.reports[e].failed) continue;
      const StepSolution& solution = job_.solutions[e];
      for (int first = 0, last; first < solution.n_rows; first = last) {
        const SolvedRow& row = solution.rows[first];
        last = first + 1;
        if (row.source == RowSource::joint) add_joint_row(lane, row);
        if (row.source != RowSource::contact) continue;
        while (last < solution.n_rows && solution.rows[last].source == RowSource::contact &&
               solution.rows[last].index == row.index)
          ++last;
        add_contact(lane, job_.contacts[e].data[row.index], solution.rows + first, last - first);
      }
      any_lifts_ = any_lifts_ || lifts_[lane];
    }
  }
  void add_joint_row(int lane, const SolvedRow& row) {
    const JointRow& joint = scene_.joint_rows[row.index];
    if (!joint.is_limit() || !(row.correction > 0)) return;
    const auto lift = [&](const JointTerm<double>& term) {
      S& w = w_[term.dof];
      ScalarTraits<S>::set(w, lane, ScalarTraits<S>::get(w, lane) + term.coefficient * row.correction);
    };
    lift(joint.term);
    for (int k = joint.first_more; k < joint.first_more + joint.n_more; ++k) lift(scene_.tendon_terms[k]);
    lifts_[lane] = true;
  }
  void add_contact(int lane, const Contact& c, const SolvedRow* rows, int n) {
    Vector force = zero3<double>(), moment = zero3<double>();
    double lift = 0;
    for (int r = 0; r < n; ++r) {
      const double* const axis = c.frame + 3 * (rows[r].component % 3);
      Vector& sum = rows[r].component < 3 ? force : moment;
      for (int i = 0; i < 3; ++i) sum[i] += axis[i] * rows[r].impulse;
      if (rows[r].component == 2) lift = rows[r].correction;
    }
    const double per_dt = 1 / job_.dt;
    add_wrench(lane, c, force * per_dt, moment * per_dt, W_);
    if (!(lift > 0) || scene_.materials[c.material].compliance > 0) return;
    add_wrench(lane, c, Vector{c.frame[6], c.frame[7], c.frame[8]} * lift, zero3<double>(), lift_);
    lifts_[lane] = true;
  }
  void add_wrench(int lane, const Contact& c, const Vector& force, const Vector& moment, Force<S>* to) {
    for (int side = 0; side < 2; ++side) {
      const int link = scene_.shapes[side == 0 ? c.a : c.b].link;
      if (link < 0) continue;
      const double sign = side == 0 ? 1 : -1;
      const Vec3<S>& root = world_.root(link);
      Vector r;
      for (int i = 0; i < 3; ++i) r[i] = c.position[i] - ScalarTraits<S>::get(root[i], lane);
      add(to[link].lin, lane, force * sign);
      add(to[link].ang, lane, (moment + FW_ISA::cross(r, force)) * sign);
    }
  }

  // From derivatives of inverse dynamics to R, in place.
  void make_columns() {
    const S minus_dt(-job_.dt);
    const int nv = tree_.nv;
    const MatrixOf<S>&R = dynamics_.dq, &R_v = dynamics_.dv;
    for (int k = 0; k < nv * R.stride; ++k) R.data[k] = R.data[k] * minus_dt;
    for (int k = 0; k < nv; ++k) {
      const S* row = dynamics_.H + tree_.row[k];
      R_v(k, k) = R_v(k, k) + row[0];
      for (int i = tree_.dof_parent[k]; i >= 0; i = tree_.dof_parent[i]) {
        ++row;
        R_v(k, i) = R_v(k, i) + *row, R_v(i, k) = R_v(i, k) + *row;
      }
    }
    for (int i = 0; i < tree_.n_links; ++i)
      if (tree_.links[i].kind == JointKind::free) add_turning(i);
  }
  // H times w x (u + w x c) by the velocity (u; w) of a free joint.
  void add_turning(int i) {
    const Link<double>& l = tree_.links[i];
    const S* const v = v_ + l.v;
    const Vec3<S> w{v[3], v[4], v[5]}, c = world_.center[i];
    Vec3<S> p{v[0], v[1], v[2]};
    add_cross(p, w, c);
    const S dt(job_.dt);
    for (int k = 0; k < 6; ++k) {
      Vec3<S> e = zero3<S>();
      e[k % 3] = dt;
      const Vec3<S> turn = k < 3 ? cross(w, e) : cross(e, p) + cross(w, cross(e, c));
      const int end = l.subtree_end == tree_.n_links ? tree_.nv : tree_.links[l.subtree_end].v;
      const auto add_times_inertia = [&](int j, const S& h, int r) {
        S& to = dynamics_.dv(j, l.v + k);
        to = to + h * turn[r];
      };
      for (int r = 0; r < 3; ++r) {
        const S* row = dynamics_.H + tree_.row[l.v + r];
        for (int j = l.v + r; j >= 0; j = tree_.dof_parent[j]) add_times_inertia(j, *row++, r);
        for (int j = l.v + r + 1; j < end; ++j)
          add_times_inertia(j, dynamics_.H[tree_.row[j] + scene_.depth[j] - scene_.depth[l.v + r]], r);
      }
    }
  }

  void put(const S* x, std::size_t n, std::size_t at) {
    store(x, static_cast<int>(n), Pack{0, width}, out_ + at, static_cast<std::ptrdiff_t>(size_));
  }
  void hand_out() {
    is_handed_out_ = true;
    const std::size_t nv = static_cast<std::size_t>(tree_.nv), n_links = static_cast<std::size_t>(tree_.n_links);
    const auto put_motions = [&](const Motion<S>* x, std::size_t n, std::size_t at) {
      put(reinterpret_cast<const S*>(x), 6 * n, at);
    };
    put(reinterpret_cast<const S*>(world_.pose), 12 * n_links, at_.pose);
    put(reinterpret_cast<const S*>(world_.center), 3 * n_links, at_.center);
    put_motions(world_.axis, nv, at_.axis);
    put_motions(V_, n_links, at_.V), put_motions(V_plus_, n_links, at_.V_plus);
    put(v_plus_, nv, at_.v_plus);
    put(dynamics_.H, static_cast<std::size_t>(tree_.row[nv]), at_.H);
    put(factor_, static_cast<std::size_t>(tree_.row[nv]), at_.factor);
    for (std::size_t f = 0; has_columns_ && f < nv; ++f)
      put(dynamics_.dq.data + f * 2 * nv, 2 * nv, at_.R + f * R_stride_);
  }
  void add_lifts() {
    for (int i = 0; i < tree_.n_links; ++i) sum_[i] = lift_[i];
    for (int i = tree_.n_links - 1; i >= 0; --i) {
      const Link<double>& l = tree_.links[i];
      for (int k = l.v; k < l.v + l.nv; ++k) w_[k] = w_[k] + dot(world_.axis[k], sum_[i]);
      if (l.parent >= 0) sum_[l.parent] += sum_[i];
    }
    solve_inward(tree_, factor_, w_);
    solve_outward(tree_, factor_, w_);
    world_.twists(w_, W_w_);
    hand_out_lifts();
    if (!has_columns_) return;
    dynamics_.differentiate(zero_, w_, zero_motion<S>(), nullptr, lift_);
    const std::size_t nv = static_cast<std::size_t>(tree_.nv);
    for (std::size_t f = 0; f < nv; ++f) {
      S* const row = dynamics_.dq.data + f * 2 * nv;
      for (std::size_t k = 0; k < nv; ++k) row[k] = -row[k];
      put(row, nv, at_.R2 + f * R_stride_);
    }
  }
  void hand_out_lifts() {
    put(w_, static_cast<std::size_t>(tree_.nv), at_.w);
    put(reinterpret_cast<const S*>(W_w_), 6 * static_cast<std::size_t>(tree_.n_links), at_.W_w);
  }

  // to += Hx times dt w x (u + w x c) by the velocity (u; w) of a free joint.
  void add_turning(int i, const S* Hx, S* to) const {
    const int f = tree_.links[i].v;
    const S *const v = v_ + f, *const force = Hx + f;
    const Vec3<S> w{v[3], v[4], v[5]}, c = world_.center[i];
    Vec3<S> p{v[0], v[1], v[2]};
    add_cross(p, w, c);
    const Vec3<S> y = Vec3<S>{force[0], force[1], force[2]} * S(job_.dt), turned = cross(y, w);
    const Vec3<S> by_w = cross(p, y) + cross(c, turned);
    for (int k = 0; k < 3; ++k) to[f + k] = to[f + k] + turned[k], to[f + 3 + k] = to[f + 3 + k] + by_w[k];
  }
  void add_to(const Pack& pack, const S* x, double s, double* out, std::size_t stride) const {
    for (int lane = 0; lane < pack.count; ++lane)
      for (int f = 0; f < tree_.nv; ++f)
        out[static_cast<std::size_t>(lane) * stride + static_cast<std::size_t>(f)] +=
            s * ScalarTraits<S>::get(x[f], lane);
  }
};

}  // namespace featherweight::FW_ISA
