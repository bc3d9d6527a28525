// step_diff/rk4_diff.hpp -- the derivative of a step of the Runge-Kutta method (step/rk4.hpp): a chain of four.
//
// At each stage, with the tangent q' at q (+) x and columns of v,
//   H a' = (tau' - ID)_q q' + (tau' - ID)_v v' + ...,   q' = Ad(exp(-x)) q0' + Jr(x) x',
//   rate' = (1 + ad_x / 2 + ad_x^2 / 12) v' - (ad_v / 2 + (ad_[x, v] + ad_x ad_v) / 12) x'
// and ad, exp and its right Jacobian Jr those of the joint: series in ad_x, which is small. Oracle: finite differences.
#pragma once
#include "step/rk4.hpp"
#include "step_diff/advance_diff.hpp"
#include "step_diff/inertia.hpp"
#include "step_diff/smooth_diff.hpp"

namespace featherweight::FW_ISA {

class Rk4Linearisation {
 public:
  Rk4Linearisation(const StepDiffJob& job, Arena& arena)
      : job_(job),
        tree_(job.scene->tree),
        nv_(tree_.nv),
        nc_(job.columns.count),
        smooth_(job, arena),
        H_(tree_, arena) {
    for (double** x : {&q_, &q_next_}) *x = arena.take<double>(tree_.nq);
    for (double** x : {&v_, &a_, &x_, &rate_, &zero_, &sum_}) *x = arena.take<double>(nv_);
    for (Matrix* m : {&dq_, &dv_, &da_, &dx_, &drate_, &sum_rate_, &sum_a_}) *m = take_matrix(arena, nv_, nc_);
  }

  void load(const Pack&) {}
  void finish(const Pack&, double*) {}
  // Leaves rows of q and of v at the end.
  void linearise(std::size_t e) {
    const double *const q0 = job_.q + e * tree_.nq, *const v0 = job_.v + e * nv_;
    constexpr double nodes[4] = {0, 0.5, 0.5, 1}, weights[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    smooth_.start(e);
    set_zero(sum_rate_, nv_), set_zero(sum_a_, nv_), set_zero(dx_, nv_), set_zero(dv_, nv_);
    for (int f = 0; f < nv_; ++f) x_[f] = zero_[f] = sum_[f] = 0, v_[f] = v0[f];
    for (int stage = 0; stage < 4; ++stage) {
      const double h = job_.dt * nodes[stage];
      for (int f = 0; stage > 0 && f < nv_; ++f) {
        x_[f] = rate_[f] * h, v_[f] = v0[f] + a_[f] * h;
        for (int k = 0; k < dx_.packs(); ++k)
          dx_.pack(f, k) = drate_.pack(f, k) * h, dv_.pack(f, k) = da_.pack(f, k) * h;
      }
      if (job_.columns.has(Wrt::v))
        for (int f = 0; f < nv_; ++f) dv_(f, job_.columns.of(Wrt::v) + f) += 1;
      integrate(tree_, q0, x_, q_);
      move(x_, dx_, dq_);
      accelerate();
      advance_chart();
      for (int f = 0; f < nv_; ++f) {
        sum_[f] += rate_[f] * weights[stage] * job_.dt;
        add_row(sum_rate_, f, weights[stage] * job_.dt, drate_, f),
            add_row(sum_a_, f, weights[stage] * job_.dt, da_, f);
      }
    }
    move(sum_, sum_rate_, dq_);
    if (job_.columns.has(Wrt::v))
      for (int f = 0; f < nv_; ++f) sum_a_(f, job_.columns.of(Wrt::v) + f) += 1;
  }
  void jacobian(double* out, unsigned char*) const {
    for (int r = 0; r < 2 * nv_; ++r)
      for (int c = 0; c < nc_; ++c) out[static_cast<std::size_t>(r) * nc_ + c] = at(r, c);
  }
  void forward(const double* in, double* out) const {
    for (int r = 0; r < 2 * nv_; ++r) {
      out[r] = 0;
      for (int c = 0; c < nc_; ++c) out[r] += at(r, c) * in[c];
    }
  }
  void reverse(const double* in, double* out) const {
    for (int c = 0; c < nc_; ++c) out[c] = 0;
    for (int r = 0; r < 2 * nv_; ++r)
      for (int c = 0; c < nc_; ++c) out[c] += at(r, c) * in[r];
  }
  bool is_unique() const { return true; }

 private:
  const StepDiffJob& job_;
  const Tree<double>& tree_;
  int nv_, nc_;
  SmoothDiff smooth_;
  FactorisedInertia H_;
  double *q_, *q_next_, *v_, *a_, *x_, *rate_, *zero_, *sum_;
  Matrix dq_, dv_, da_, dx_, drate_, sum_rate_, sum_a_;

  double at(int r, int c) const { return r < nv_ ? dq_(r, c) : sum_a_(r - nv_, c); }

  // Square matrices of one joint.
  struct Square {
    double e[6][6] = {};
    static Square unit() {
      Square m;
      for (int k = 0; k < 6; ++k) m.e[k][k] = 1;
      return m;
    }
    void add(double s, const Square& o) {
      for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c) e[r][c] += s * o.e[r][c];
    }
    Square operator*(const Square& o) const {
      Square m;
      for (int r = 0; r < 6; ++r)
        for (int k = 0; k < 6; ++k)
          for (int c = 0; c < 6; ++c) m.e[r][c] += e[r][k] * o.e[k][c];
      return m;
    }
    double size() const {
      double most = 0;
      for (const auto& row : e)
        for (double x : row) most = (x < 0 ? -x : x) > most ? (x < 0 ? -x : x) : most;
      return most;
    }
  };
  // [x, y] = ad(x) y; nv: 6 of a free joint, 3 of a spherical one.
  static Square ad(int nv, const double* x) {
    Square m;
    const int t = nv - 3;
    const Matrix3 W = skew({x[t], x[t + 1], x[t + 2]});
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) m.e[t + r][t + c] = W(r, c);
    if (t == 0) return m;
    const Matrix3 V = skew({x[0], x[1], x[2]});
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) m.e[r][c] = W(r, c), m.e[r][3 + c] = V(r, c);
    return m;
  }
  // Ad(exp(-x)), and Jr(x)
  static void exponentials(const Square& adx, Square& Ad, Square& Jr) {
    Ad = Jr = Square::unit();
    Square power = Square::unit();
    double factorial = 1;
    for (int k = 1; k < 60; ++k) {
      power = power * adx;
      factorial *= -k;
      Ad.add(1 / factorial, power);
      Jr.add(1 / (factorial * (k + 1)), power);
      if (power.size() < 1e-18 * (factorial < 0 ? -factorial : factorial)) break;
    }
  }
  // out = A x + B y, rows of one joint
  static void combine(const Link<double>& l, const Square& A, const Matrix& x, const Square& B, const Matrix& y,
                      const Matrix& out) {
    for (int r = 0; r < l.nv; ++r)
      for (int p = 0; p < out.packs(); ++p) {
        Columns sum{};
        for (int k = 0; k < l.nv; ++k) sum += x.pack(l.v + k, p) * A.e[r][k] + y.pack(l.v + k, p) * B.e[r][k];
        out.pack(l.v + r, p) = sum;
      }
  }
  // The tangent at q0 (+) x.
  void move(const double* x, const Matrix& dx, const Matrix& dq) {
    const int q = job_.columns.of(Wrt::q);
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      Square Ad = Square::unit(), Jr = Ad;
      if (l.nv > 1) exponentials(ad(l.nv, x + l.v), Ad, Jr);
      combine(l, Jr, dx, Square{}, dx, dq);
      for (int r = 0; q >= 0 && r < l.nv; ++r)
        for (int k = 0; k < l.nv; ++k) dq(l.v + r, q + l.v + k) += Ad.e[r][k];
    }
  }
  void accelerate() {
    smooth_.place(q_, v_);
    smooth_.accelerate(v_, zero_, H_, a_);
    smooth_.dynamics.differentiate(v_, a_, smooth_.base, smooth_.f, nullptr);
    set_zero(da_, nv_);
    const InverseDynamics& d = smooth_.dynamics;
    // by q and v: where these go is not among the columns, so slopes are made square first
    const MatrixOf<double>&by_q = d.dq, &by_v = d.dv;
    for (int r = 0; r < nv_; ++r)
      for (int k = 0; k < nv_; ++k) by_q(r, k) = -by_q(r, k), by_v(r, k) = -by_v(r, k);
    for (int f = 0; f < nv_; ++f) by_q(f, f) += smooth_.joints.by_q[f], by_v(f, f) += smooth_.joints.by_v[f];
    smooth_.drag.add_columns(smooth_.world, smooth_.V, 1, 0, -1, by_q);
    smooth_.drag.add_columns(smooth_.world, smooth_.V, 1, -1, 0, by_v);
    smooth_.start_forces.add_columns(1, 0, -1, false, by_q);
    smooth_.start_forces.add_columns(1, -1, 0, false, by_v);
    for (int r = 0; r < nv_; ++r)
      for (int k = 0; k < nv_; ++k) {
        if (by_q(r, k) != 0) add_row(da_, r, by_q(r, k), dq_, k);
        if (by_v(r, k) != 0) add_row(da_, r, by_v(r, k), dv_, k);
      }
    smooth_.add_columns(da_, 1, a_);
    H_.solve(da_);
  }
  void advance_chart() {
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      visit(l.kind, [&](auto joint) { chart_rate(joint, x_ + l.v, v_ + l.v, rate_ + l.v); });
      Square by_v = Square::unit(), by_x;
      if (l.nv > 1) {
        const Square X = ad(l.nv, x_ + l.v), V = ad(l.nv, v_ + l.v);
        double once[6] = {};
        for (int r = 0; r < l.nv; ++r)
          for (int k = 0; k < l.nv; ++k) once[r] += X.e[r][k] * v_[l.v + k];
        by_v.add(0.5, X), by_v.add(1.0 / 12, X * X);
        by_x.add(-0.5, V), by_x.add(-1.0 / 12, ad(l.nv, once)), by_x.add(-1.0 / 12, X * V);
      }
      combine(l, by_v, dv_, by_x, dx_, drate_);
    }
  }
};

}  // namespace featherweight::FW_ISA
