// step_diff/central_path.hpp -- impulses of contacts whose laws are relaxed by one parameter, on the central path.
//
//   v = G lambda + g,   v_n lambda_n = kappa,   v_t = -beta lambda_t,   beta (mu^2 lambda_n^2 - |lambda_t|^2) = 2 kappa
// kappa [J]: a contact at distance d pushes with a force of kappa / d; with kappa -> 0 the laws of Signorini and
// Coulomb are left. By Newton's method along kappa, which falls from where all impulses are in the middle of their
// cones. Source: log-barriers of second-order cones, with Coulomb's slip instead of its convex part. Oracle: the
// equations.
#pragma once
#include "linalg/general.hpp"
#include "step_diff/columns.hpp"

namespace featherweight::FW_ISA {

struct CentralPathTuning {
  static constexpr int most_iterations = 200;
  // kappa falls to this share of itself once velocities are right to that share of what their laws ask for [1].
  static constexpr double fall = 0.1, near = 1e-2;
  // At the end, what is left of velocities, over the largest [1].
  static constexpr double tolerance = 1e-12;
  // Steps keep this share of the distance to the edge of cones [1], and are halved so often.
  static constexpr double inside = 0.1;
  static constexpr int most_halvings = 30;
};

// A contact: rows of two tangents, or none, then of its normal.
struct PathContact {
  int first, n;  // rows
  double mu;
};

class CentralPath {
 public:
  CentralPath(int most_rows, Arena& arena)
      : lambda(arena.take<double>(most_rows)),
        F_(arena.take<double>(most_rows)),
        trial_(arena.take<double>(most_rows)),
        trial_F_(arena.take<double>(most_rows)),
        M_(arena.take<double>(static_cast<std::size_t>(most_rows) * (most_rows + 1))) {}

  double* lambda;

  // False if it did not converge.
  bool solve(int m, const Matrix& G, const double* g, const PathContact* contacts, int n_contacts, double kappa) {
    m_ = m, G_ = G, g_ = g, contacts_ = contacts, n_contacts_ = n_contacts;
    double now = kappa, speed = 0;
    for (int r = 0; r < m; ++r) speed = size(g[r]) > speed ? size(g[r]) : speed, lambda[r] = 0;
    for (int k = 0; k < n_contacts; ++k) {
      const int r = contacts[k].first + contacts[k].n - 1;
      if (g[r] > 0) continue;
      if (!(G(r, r) > 0)) return false;  // nothing can open it
      const double energy = g[r] * g[r] / G(r, r);
      now = energy > now ? energy : now;
    }
    for (int k = 0; k < n_contacts; ++k) {  // as if each were alone
      const int r = contacts[k].first + contacts[k].n - 1;
      const double root = __builtin_sqrt(g[r] * g[r] + 4 * G(r, r) * now);
      lambda[r] = g[r] > 0 ? 2 * now / (g[r] + root) : (root - g[r]) / (2 * G(r, r));
      speed = now / lambda[r] > speed ? now / lambda[r] : speed;
    }
    for (int iteration = 0; iteration < CentralPathTuning::most_iterations; ++iteration) {
      const double error = residual(lambda, now, F_);
      const bool is_last = now <= kappa;
      if (is_last && error <= CentralPathTuning::tolerance * speed) return true;
      if (!is_last && error <= CentralPathTuning::near * speed) {
        now = now * CentralPathTuning::fall > kappa ? now * CentralPathTuning::fall : kappa;
        continue;
      }
      if (!newton(now, error)) return is_last && error <= 1e4 * CentralPathTuning::tolerance * speed;
    }
    return false;
  }
  // M += what rows yield: -d v / d lambda by their laws.
  static void add_yielding(const PathContact& c, const double* lambda, double kappa, const Matrix& M) {
    const int n = c.first + c.n - 1;
    const double load = lambda[n];
    M(n, n) += kappa / (load * load);
    if (c.n == 1) return;
    const double *const t = lambda + c.first, beta = friction(c, lambda, kappa), per = beta * beta / kappa;
    for (int i = 0; i < 2; ++i) {
      M(c.first + i, c.first + i) += beta;
      for (int j = 0; j < 2; ++j) M(c.first + i, c.first + j) += per * t[i] * t[j];
      M(c.first + i, n) -= per * t[i] * c.mu * c.mu * load;
    }
  }
  // Of beta lambda_t by the logarithm of mu.
  static double by_friction(const PathContact& c, const double* lambda, double kappa, int i) {
    const double beta = friction(c, lambda, kappa), load = lambda[c.first + 2];
    return -beta * beta / kappa * c.mu * c.mu * load * load * lambda[c.first + i];
  }

 private:
  double *F_, *trial_, *trial_F_;
  double* M_;  // with the right-hand side in the last column
  Matrix G_;
  const double* g_ = nullptr;
  const PathContact* contacts_ = nullptr;
  int m_ = 0, n_contacts_ = 0;

  static double size(double x) { return x < 0 ? -x : x; }
  static double slack(const PathContact& c, const double* lambda) {
    const double *const t = lambda + c.first, most = c.mu * lambda[c.first + 2];
    return most * most - t[0] * t[0] - t[1] * t[1];
  }
  static double friction(const PathContact& c, const double* lambda, double kappa) {
    return 2 * kappa / slack(c, lambda);
  }
  // Of velocities; the largest.
  double residual(const double* x, double kappa, double* F) const {
    for (int r = 0; r < m_; ++r) {
      F[r] = g_[r];
      for (int c = 0; c < m_; ++c) F[r] += G_(r, c) * x[c];
    }
    double worst = 0;
    for (int k = 0; k < n_contacts_; ++k) {
      const PathContact& c = contacts_[k];
      const int n = c.first + c.n - 1;
      F[n] -= kappa / x[n];
      for (int i = 0; c.n == 3 && i < 2; ++i) F[c.first + i] += friction(c, x, kappa) * x[c.first + i];
      for (int i = c.first; i <= n; ++i) worst = size(F[i]) > worst ? size(F[i]) : worst;
    }
    return worst;
  }
  bool is_inside(const double* x) const {
    for (int k = 0; k < n_contacts_; ++k) {
      const PathContact& c = contacts_[k];
      const int n = c.first + c.n - 1;
      if (!(x[n] > CentralPathTuning::inside * lambda[n])) return false;
      if (c.n == 3 && !(slack(c, x) > CentralPathTuning::inside * CentralPathTuning::inside * slack(c, lambda)))
        return false;
    }
    return true;
  }
  bool newton(double kappa, double error) {
    const Matrix M{M_, m_ + 1};
    for (int r = 0; r < m_; ++r) {
      for (int c = 0; c < m_; ++c) M(r, c) = G_(r, c);
      M(r, m_) = -F_[r];
    }
    for (int k = 0; k < n_contacts_; ++k) add_yielding(contacts_[k], lambda, kappa, M);
    if (!solve_general(m_, M_)) return false;
    double share = 1;
    for (int k = 0; k < CentralPathTuning::most_halvings; ++k, share *= 0.5) {
      for (int r = 0; r < m_; ++r) trial_[r] = lambda[r] + share * M(r, m_);
      if (!is_inside(trial_) || !(residual(trial_, kappa, trial_F_) < error)) continue;
      for (int r = 0; r < m_; ++r) lambda[r] = trial_[r];
      return true;
    }
    return false;
  }
};

}  // namespace featherweight::FW_ISA
