#include "forces/least_norm.hpp"

#include <algorithm>
#include <cmath>

namespace featherweight {
namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}
double norm(const std::vector<double>& a) { return std::sqrt(dot(a, a)); }

// Size of a friction's impulses, or their part along the direction in which it slides.
double size_of(const LoadFriction& f, const double* z) {
  const double x = z[f.first], y = f.rows == 2 ? z[f.first + 1] : 0.0;
  return f.slides ? f.along[0] * x + f.along[1] * y : std::hypot(x, y);
}

}  // namespace

// Degrees of freedom have several units; each is measured by what all rows together do to it.
void LeastNorm::scale_dofs(Load& load) {
  scale_.assign(static_cast<std::size_t>(load.n_dofs), 0.0);
  const auto for_entries = [&](const auto& f) {
    for (const LoadBlock& b : load.blocks)
      for (int r = 0; r < b.rows; ++r)
        for (int k = 0; k < b.n_dofs; ++k)
          f(load.jacobian[b.jacobian + r * b.n_dofs + k], scale_[load.dofs[b.dofs + k]]);
  };
  for_entries([](double J, double& sum) { sum += J * J; });
  for (double& sum : scale_) sum = sum > 0.0 ? 1.0 / std::sqrt(sum) : 0.0;
  for_entries([](double& J, double scale) { J *= scale; });
}

void LeastNorm::act(const Load& load, const double* x, double* on_dofs) const {
  std::fill_n(on_dofs, load.n_dofs, 0.0);
  for (const LoadBlock& b : load.blocks) {
    const double* J = load.jacobian.data() + b.jacobian;
    const int* const dofs = load.dofs.data() + b.dofs;
    for (int r = 0; r < b.rows; ++r, J += b.n_dofs)
      for (int k = 0; k < b.n_dofs; ++k) on_dofs[dofs[k]] += J[k] * x[b.first + r];
  }
}
void LeastNorm::pull_back(const Load& load, const double* on_dofs, double* z) const {
  for (const LoadBlock& b : load.blocks) {
    const double* J = load.jacobian.data() + b.jacobian;
    const int* const dofs = load.dofs.data() + b.dofs;
    for (int r = 0; r < b.rows; ++r, J += b.n_dofs) {
      double sum = 0.0;
      for (int k = 0; k < b.n_dofs; ++k) sum += J[k] * on_dofs[dofs[k]];
      z[b.first + r] = sum;
    }
  }
}

// A pushing block is a problem in its normal n alone: n - z_n - sum of c (|z_i| - c n) over the frictions that n bounds
// by c n. The left side is concave, so that Newton's method from n = 0, where all are bounded, comes from one side and
// ends exactly after a friction or two was let go.
double LeastNorm::project(const Load& load) {
  const double* const z = z_.data();
  double value = 0.0;
  for (std::size_t j = 0; j < load.blocks.size(); ++j) {
    const LoadBlock& b = load.blocks[j];
    Piece& piece = pieces_[j];
    double* const x = x_.data();
    for (int r = b.first; r < b.first + b.rows; ++r) x[r] = z[r];
    if (b.law == LoadBlock::interval) {
      x[b.first] = std::clamp(z[b.first], b.lower, b.upper);
      piece.moves = x[b.first] == z[b.first];
    } else if (b.law == LoadBlock::pushing) {
      double n = b.known, before = -1.0, weight = 1.0;
      for (int i = 0; i < b.n_frictions; ++i) piece.bounded[i] = true;
      for (; b.normal >= 0 && n != before;) {
        before = n;
        n = z[b.normal], weight = 1.0;
        for (int i = 0; i < b.n_frictions; ++i) {
          const LoadFriction& f = b.frictions[i];
          const double size = size_of(f, z);
          piece.bounded[i] = piece.bounded[i] && (f.slides || size > f.bound * std::max(before, 0.0));
          if (piece.bounded[i]) n += f.bound * size, weight += f.bound * f.bound;
        }
        n = std::max(n / weight, 0.0);
        if (n == 0.0) break;
      }
      piece.moves = n > 0.0;
      piece.share = b.normal >= 0 ? 1.0 / weight : 0.0;
      if (b.normal >= 0) x[b.normal] = n;
      for (int i = 0; i < b.n_frictions; ++i) {
        const LoadFriction& f = b.frictions[i];
        const double size = size_of(f, z), radius = f.bound * n;
        piece.bounded[i] = f.slides || size > radius;
        if (!piece.bounded[i]) continue;
        piece.across[i] = f.slides || !(size > 0.0) ? 0.0 : radius / size;
        for (int r = 0; r < f.rows; ++r) {
          piece.along[i][r] = f.slides ? f.along[r] : size > 0.0 ? z[f.first + r] / size : 0.0;
          x[f.first + r] = radius * piece.along[i][r];
        }
      }
    }
    for (int r = b.first; r < b.first + b.rows; ++r) value += (z[r] - 0.5 * x[r]) * x[r];
  }
  return value;
}

// rows <- dP rows
void LeastNorm::differentiate(const LoadBlock& b, const Piece& piece, double* rows) {
  if (b.law == LoadBlock::any) return;
  if (!piece.moves) {
    std::fill_n(rows + b.first, b.rows, 0.0);
    return;
  }
  if (b.law == LoadBlock::interval) return;
  double along[3] = {0.0, 0.0, 0.0}, n = b.normal >= 0 ? rows[b.normal] : 0.0;
  for (int i = 0; i < b.n_frictions; ++i) {
    const LoadFriction& f = b.frictions[i];
    if (!piece.bounded[i]) continue;
    for (int r = 0; r < f.rows; ++r) along[i] += piece.along[i][r] * rows[f.first + r];
    n += f.bound * along[i];
  }
  n *= piece.share;
  if (b.normal >= 0) rows[b.normal] = n;
  for (int i = 0; i < b.n_frictions; ++i) {
    const LoadFriction& f = b.frictions[i];
    if (!piece.bounded[i]) continue;
    for (int r = 0; r < f.rows; ++r) {
      double& x = rows[f.first + r];
      x = piece.across[i] * (x - along[i] * piece.along[i][r]) + f.bound * n * piece.along[i][r];
    }
  }
}

double LeastNorm::evaluate(const Load& load, const std::vector<double>& nu) {
  pull_back(load, nu.data(), z_.data());
  const double value = project(load);
  act(load, x_.data(), gradient_.data());
  for (std::size_t k = 0; k < gradient_.size(); ++k) gradient_[k] = wanted_[k] - gradient_[k];
  return dot(nu, wanted_) - value;
}

// L D L^T = A dP A^T + damping, by rows: L below the diagonal, inverses of D on it; zero where a pivot is rounding.
void LeastNorm::factorise(const Load& load, bool bounded, double damping) {
  const std::size_t n = static_cast<std::size_t>(load.n_dofs);
  matrix_.assign(n * n, 0.0);
  for (std::size_t j = 0; j < load.blocks.size(); ++j) {
    const LoadBlock& b = load.blocks[j];
    const double* const J = load.jacobian.data() + b.jacobian;
    const int* const dofs = load.dofs.data() + b.dofs;
    for (int k = 0; k < b.n_dofs; ++k) {
      double* const column = rows_.data() + b.first;
      for (int r = 0; r < b.rows; ++r) column[r] = J[r * b.n_dofs + k];
      if (bounded) differentiate(b, pieces_[j], rows_.data());
      for (int i = 0; i < b.n_dofs; ++i) {
        if (dofs[i] < dofs[k]) continue;
        double sum = 0.0;
        for (int r = 0; r < b.rows; ++r) sum += J[r * b.n_dofs + i] * column[r];
        matrix_[static_cast<std::size_t>(dofs[i]) * n + static_cast<std::size_t>(dofs[k])] += sum;
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = matrix_.data() + i * n;
    double d = row[i] + damping;
    for (std::size_t j = 0; j < i; ++j) {
      const double* const other = matrix_.data() + j * n;
      for (std::size_t k = 0; k < j; ++k) row[j] -= row[k] * other[k];
    }
    for (std::size_t j = 0; j < i; ++j) {
      const double y = row[j];
      row[j] *= matrix_[j * n + j];
      d -= y * row[j];
    }
    row[i] = d > LeastNormTuning::least_pivot ? 1.0 / d : 0.0;
  }
}
void LeastNorm::solve_factorised(int size) {
  const std::size_t n = static_cast<std::size_t>(size);
  direction_ = gradient_;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) direction_[i] -= matrix_[i * n + j] * direction_[j];
  for (std::size_t i = n; i-- > 0;) {
    direction_[i] *= matrix_[i * n + i];
    for (std::size_t k = i + 1; k < n; ++k) direction_[i] -= matrix_[k * n + i] * direction_[k];
  }
}

// (A dP A^T + damping) direction = gradient; bounded: or P is the identity. goal: of conjugate gradients.
void LeastNorm::solve(const Load& load, bool bounded, double damping, double goal) {
  using Tuning = LeastNormTuning;
  if (load.n_dofs <= Tuning::most_factorised) {
    factorise(load, bounded, damping);
    return solve_factorised(load.n_dofs);
  }
  std::fill(direction_.begin(), direction_.end(), 0.0);
  residual_ = gradient_;
  search_ = residual_;
  double square = dot(residual_, residual_);
  const int most = Tuning::gradients_per_dof * load.n_dofs + Tuning::more_gradients;
  for (int k = 0; k < most && square > goal * goal; ++k) {
    pull_back(load, search_.data(), rows_.data());
    for (std::size_t j = 0; bounded && j < load.blocks.size(); ++j)
      differentiate(load.blocks[j], pieces_[j], rows_.data());
    act(load, rows_.data(), product_.data());
    for (std::size_t i = 0; i < product_.size(); ++i) product_[i] += damping * search_[i];
    const double curvature = dot(search_, product_);
    if (!(curvature > 0.0)) break;
    const double step = square / curvature;
    for (std::size_t i = 0; i < product_.size(); ++i) {
      direction_[i] += step * search_[i];
      residual_[i] -= step * product_[i];
    }
    const double next = dot(residual_, residual_);
    for (std::size_t i = 0; i < product_.size(); ++i) search_[i] = residual_[i] + next / square * search_[i];
    square = next;
  }
}

bool LeastNorm::find(Load& load) {
  using Tuning = LeastNormTuning;
  const std::size_t n = static_cast<std::size_t>(load.n_dofs), m = load.impulses.size();
  for (auto* on_dofs : {&wanted_, &nu_, &gradient_, &direction_, &residual_, &search_, &product_, &trial_})
    on_dofs->assign(n, 0.0);
  for (auto* of_rows : {&z_, &x_, &rows_}) of_rows->assign(m, 0.0);
  pieces_.resize(load.blocks.size());
  scale_dofs(load);
  act(load, load.impulses.data(), wanted_.data());
  const double size = norm(load.impulses);
  if (!(size > 0.0)) return true;
  if (!std::isfinite(size)) return false;
  // as if there were no bounds
  gradient_ = wanted_;
  solve(load, false, 0.0, Tuning::exact * size);
  nu_ = direction_;
  double value = evaluate(load, nu_), error = norm(gradient_);
  for (int step = 0; step < Tuning::most_steps && error > Tuning::exact * size; ++step) {
    const double damping = std::max(Tuning::damping * std::min(1.0, error / size), Tuning::least_damping);
    solve(load, true, damping, std::max(Tuning::direction * error, 0.1 * Tuning::exact * size));
    const double slope = dot(gradient_, direction_), before = error, value_before = value;
    double length = 1.0;
    for (int half = 0; half < Tuning::most_halvings; ++half, length *= 0.5) {
      for (std::size_t k = 0; k < n; ++k) trial_[k] = nu_[k] + length * direction_[k];
      value = evaluate(load, trial_);
      error = norm(gradient_);
      if (value >= value_before + Tuning::least_increase * length * slope || error <= 0.5 * before) break;
    }
    nu_.swap(trial_);
    if (error <= Tuning::good * size && error > Tuning::progress * before) break;
  }
  if (!(error <= Tuning::enough * size)) return false;
  load.impulses = x_;
  return true;
}

}  // namespace featherweight
