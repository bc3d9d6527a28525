// cones/anderson.hpp -- Anderson's acceleration: where Gauss-Seidel is going, from its last iterations.
//
// An iteration takes impulses x to S(x). Along soft modes of a pile it moves them by little and always in much the same
// direction, so that they take thousands of iterations. The last few tell how the change f = S(x) - x depends on x;
// were the dependence linear, the combination of them with the smallest f would be close to the solution, and the next
// iteration starts from there. O(m) per iteration; f is measured as energy (D f^2).
//
// Where contacts begin to slide or open, what was learnt is wrong and f grows. All of it is then forgotten at once,
// which is essential: if f may first grow by a twentieth, dense piles are not solved. Measured: docs/adr/0016. Source:
// [Anderson 1965], restarted. Oracle: the natural map, dense.
#pragma once
#include "cones/workspace.hpp"

namespace featherweight::FW_ISA {

class Anderson {
 public:
  Anderson(const ConeProblem& problem, Arena& scratch) : m_(problem.m) {
    const std::size_t n = static_cast<std::size_t>(padded(m_));
    weight_ = scratch.take<double>(n);
    before_ = scratch.take<double>(n);
    last_ = {scratch.take<double>(n), scratch.take<double>(n)};
    for (Iteration& s : learnt_) s = {scratch.take<double>(n), scratch.take<double>(n)};
  }

  void start(const ConeProblem& problem, const ContactWorkspace& w) {
    for (int j = 0; j < problem.n_blocks; ++j)
      for (int r = 0; r < problem.blocks[j].rows; ++r)
        weight_[problem.blocks[j].first + r] = w.moves(j) ? root(w.D[j]) : 0;
    for (int i = m_; i < padded(m_); ++i) {
      last_.f[i] = 0;
      for (Iteration& s : learnt_) s.f[i] = 0;
    }
    forget();
  }

  void forget() { energy_ = -1, count_ = next_ = 0; }

  void before_iteration(const double* lambda) { copy(m_, lambda, before_); }

  // lambda: on entry as the iteration left it, on exit where to continue. True if that is elsewhere.
  bool after_iteration(double* lambda) {
    const double energy = energy_;
    Iteration& newest = learnt_[next_];
    for (int i = 0; i < m_; ++i) {
      const double f = weight_[i] * (lambda[i] - before_[i]);
      newest.f[i] = f - last_.f[i], newest.lambda[i] = lambda[i] - last_.lambda[i];
      last_.f[i] = f, last_.lambda[i] = lambda[i];
    }
    energy_ = dot(padded(m_), last_.f, last_.f);
    if (!(energy_ <= energy)) {
      count_ = next_ = 0;
      return false;
    }
    for (int k = 0; k <= count_ && k < memory; ++k)
      products_[next_ * memory + k] = products_[k * memory + next_] = dot(padded(m_), learnt_[k].f, newest.f);
    if (count_ < memory) ++count_;
    next_ = (next_ + 1) % memory;
    extrapolate(lambda);
    return true;
  }

 private:
  static constexpr int memory = AndersonTuning::memory;

  // The change f of the impulses times the root of D, and the impulses it led to; of those learnt, the differences to
  // the iteration before.
  struct Iteration {
    double *f, *lambda;
  };

  // Least squares for the smallest f; iterations that add nothing new have no part in it.
  void extrapolate(double* lambda) const {
    double factor[memory * memory], part[memory];
    for (int k = 0; k < count_; ++k) part[k] = -dot(padded(m_), learnt_[k].f, last_.f);
    factorise_semidefinite(count_, products_, memory, 0, factor);
    solve_semidefinite(count_, factor, part);
    for (int k = 0; k < count_; ++k)
      for (int i = 0; i < m_; ++i) lambda[i] += part[k] * learnt_[k].lambda[i];
  }

  int m_, count_, next_;
  double energy_;  // of the last change; -1: there is none
  double *weight_, *before_;
  Iteration last_, learnt_[memory];
  double products_[memory * memory];  // of the f learnt
};

}  // namespace featherweight::FW_ISA
