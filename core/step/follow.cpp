#include "step/follow.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/dispatch.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/run.hpp"

namespace featherweight {
namespace {

// Rows of one node, and what one environment is told there.
class Follower {
 public:
  Follower(Environments& environments, const FollowedPlan& plan, const FollowedPath& path)
      : environments_(environments),
        plan_(plan),
        path_(path),
        model_(environments.simulation().model()),
        batch_(environments.batch()),
        nq_(static_cast<std::size_t>(model_.nq())),
        nv_(static_cast<std::size_t>(model_.nv())),
        nu_(static_cast<std::size_t>(plan.n_controls)),
        n_told_(plan.mixing ? static_cast<std::size_t>(environments.simulation().scene().n_controls()) : nu_),
        away_(batch_ * 2 * nv_),
        told_(batch_ * n_told_) {}

  void roll_out(const SolverOptions& options, int n_threads) {
    RolloutJob job{};
    job.n_steps = plan_.substeps;
    job.options = options;
    job.control = {told_.data(), static_cast<std::ptrdiff_t>(n_told_)};
    keep(0);
    for (std::size_t k = 0; k < static_cast<std::size_t>(plan_.n_nodes); ++k) {
      if (interrupted(0)) return;
      look(k);
      for (std::size_t e = 0; e < batch_; ++e) decide(k, e);
      environments_.rollout(job, n_threads);
      keep(k + 1);
    }
  }

 private:
  Environments& environments_;
  const FollowedPlan& plan_;
  const FollowedPath& path_;
  const Model& model_;
  std::size_t batch_, nq_, nv_, nu_, n_told_;
  std::vector<double> away_, told_;

  // How far environments are from the plan, (environments, 2 nv).
  void look(std::size_t k) {
    Job<double> job{};
    job.q = {plan_.q + k * nq_, 0};
    job.x = {environments_.q().data(), static_cast<std::ptrdiff_t>(nq_)};
    job.out = away_.data();
    job.out_stride = static_cast<std::ptrdiff_t>(2 * nv_);
    run_kernel(model_, active_isa().f64.difference, job, batch_, 1);
    for (std::size_t e = 0; e < batch_; ++e)
      for (std::size_t i = 0; i < nv_; ++i)
        away_[(2 * e + 1) * nv_ + i] = environments_.v()[e * nv_ + i] - plan_.v[k * nv_ + i];
  }
  void decide(std::size_t k, std::size_t e) {
    double* const u = path_.control + (e * static_cast<std::size_t>(plan_.n_nodes) + k) * nu_;
    const double* const away = away_.data() + 2 * e * nv_;
    for (std::size_t i = 0; i < nu_; ++i) {
      const std::size_t at = k * nu_ + i;
      const double* const gain = plan_.gain + at * 2 * nv_;
      double sum = plan_.control[at] + plan_.lengths[e] * plan_.feedforward[at];
      for (std::size_t j = 0; j < 2 * nv_; ++j) sum += gain[j] * away[j];
      u[i] = std::min(std::max(sum, plan_.lower[i]), plan_.upper[i]);
    }
    double* const told = told_.data() + e * n_told_;
    if (!plan_.mixing) {
      std::copy(u, u + nu_, told);
      return;
    }
    for (std::size_t r = 0; r < n_told_; ++r) {
      told[r] = plan_.offset[r];
      for (std::size_t i = 0; i < nu_; ++i) told[r] += plan_.mixing[r * nu_ + i] * u[i];
    }
  }
  void keep(std::size_t k) const {
    const std::size_t rows = static_cast<std::size_t>(plan_.n_nodes) + 1;
    for (std::size_t e = 0; e < batch_; ++e) {
      std::copy_n(environments_.q().data() + e * nq_, nq_, path_.q + (e * rows + k) * nq_);
      std::copy_n(environments_.v().data() + e * nv_, nv_, path_.v + (e * rows + k) * nv_);
    }
  }
};

}  // namespace

void follow(Environments& environments, const FollowedPlan& plan, const SolverOptions& options,
            const FollowedPath& path, int n_threads) {
  Follower(environments, plan, path).roll_out(options, n_threads);
}

}  // namespace featherweight
