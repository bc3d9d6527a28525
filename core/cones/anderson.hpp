// cones/anderson.hpp -- where sweeps are going, from how the last of them changed.
//
// A sweep takes impulses x to S(x). Along soft modes of a heap it moves them little and much the same each time, so
// they take thousands of sweeps. The last few tell how the change f = S(x) - x depends on x; were all linear, the
// combination of them in which f is smallest would be close to the end, and the next sweep starts from there.
// O(m) per sweep, f measured as energy (D f^2).
//
// Where contacts begin to slide or open, what was learnt is wrong, and f grows. Then all of it is forgotten at once,
// and the method stands on that: where f may grow by a twentieth first, dense heaps are not solved. Measured:
// docs/adr/0016. Source: [Anderson 1965], restarted. Oracle: the natural map, dense.
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
    for (Sweep& s : learnt_) s = {scratch.take<double>(n), scratch.take<double>(n)};
  }

  void start(const ConeProblem& problem, const ContactWorkspace& w) {
    for (int j = 0; j < problem.n_blocks; ++j)
      for (int r = 0; r < problem.blocks[j].rows; ++r)
        weight_[problem.blocks[j].first + r] = w.moves(j) ? root(w.D[j]) : 0;
    for (int i = m_; i < padded(m_); ++i) {
      last_.f[i] = 0;
      for (Sweep& s : learnt_) s.f[i] = 0;
    }
    forget();
  }

  void forget() { energy_ = -1, count_ = next_ = 0; }

  void before_sweep(const double* lambda) { copy(m_, lambda, before_); }

  // lambda: on entry as the sweep left it, on exit where to go on from. True if that is elsewhere.
  bool after_sweep(double* lambda) {
    const double energy = energy_;
    Sweep& newest = learnt_[next_];
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
  static constexpr int memory = 7;  // sweeps

  // The change f of impulses times the root of D, and where it led; of those learnt, their differences to the sweep
  // before.
  struct Sweep {
    double *f, *lambda;
  };

  // Least squares: those that say nothing new get no part.
  void extrapolate(double* lambda) const {
    double along[memory], factor[memory * memory], part[memory];
    const double none[memory] = {};
    for (int k = 0; k < count_; ++k) along[k] = dot(padded(m_), learnt_[k].f, last_.f);
    factorise_equality(count_, {products_, memory}, 0, factor);
    solve_equality(count_, factor, none, along, part);
    for (int k = 0; k < count_; ++k)
      for (int i = 0; i < m_; ++i) lambda[i] += part[k] * learnt_[k].lambda[i];
  }

  int m_, count_, next_;
  double energy_;  // of the last change; -1: there was none
  double *weight_, *before_;
  Sweep last_, learnt_[memory];
  double products_[memory * memory];  // of the f learnt
};

}  // namespace featherweight::FW_ISA
