// cones/level.hpp -- how points that share a load share it where some of them slide.
//   in    a solution
//   out   the solution whose normal impulses are least, as if every point were a spring of the same stiffness
//
// Four corners of a face carry their load in a line of ways. What sticks moves alike in all of them; of what slides,
// friction depends on the way, and a solver goes the way of the order of its blocks. Normal impulses of the same effect
// differ by what their part N of G cannot tell, so the least are N's image of them: the impulses projected on it by
// orthogonal columns. Friction follows its bound; what that leaves is solved again, and so on.
// Oracle: a box that is turned by quarters, mirrored; its own equations.
#pragma once
#include "cones/at_bound.hpp"
#include "cones/gauss_seidel.hpp"

namespace featherweight::FW_ISA {

class Level {
 public:
  Level(const ConeProblem& problem, ContactWorkspace& w, double* lambda) : problem_(problem), w_(w), lambda_(lambda) {}

  // Whether loads may be shared in more than one way, and something slides: the points of one face.
  bool find() {
    n_ = 0;
    bool slides = false;
    if (problem_.G.start || problem_.G.products) return false;
    for (int j = 0; j < problem_.n_blocks; ++j) {
      const Block& block = problem_.blocks[j];
      if (block.law != Law::point || !touches(block)) continue;
      if (n_ == LevelTuning::most_points) return false;
      slides |= at_bound(block);
      block_[n_++] = j;
    }
    return slides && n_ > face && find_image();
  }

  // The largest change [m/s]. No impulse becomes negative.
  double project() {
    double next[LevelTuning::most_points], share = 1, largest = 0;
    for (int i = 0; i < n_; ++i) next[i] = 0;
    for (int k = 0; k < rank_; ++k) {
      double sum = 0;
      for (int i = 0; i < n_; ++i) sum += image_[k][i] * normal(i);
      for (int i = 0; i < n_; ++i) next[i] += sum * image_[k][i];
    }
    for (int i = 0; i < n_; ++i)
      if (next[i] < 0) share = min_of(share, normal(i) / (normal(i) - next[i]));
    for (int i = 0; i < n_; ++i) {
      const Block& block = problem_.blocks[block_[i]];
      double* const l = lambda_ + block.first;
      const double change = share * (next[i] - l[2]), factor = at_bound(block) ? (l[2] + change) / l[2] : 1;
      largest = max_of(largest, w_.D[block_[i]] * magnitude(change));
      l[0] *= factor, l[1] *= factor, l[2] += change;
    }
    return largest;
  }

 private:
  static constexpr int face = 3;  // a load, and moments about two axes

  const ConeProblem& problem_;
  ContactWorkspace& w_;
  double* lambda_;
  int n_ = 0, rank_ = 0;
  int block_[LevelTuning::most_points];
  double image_[LevelTuning::most_points][LevelTuning::most_points];  // orthonormal columns

  // Loaded, or ready to be: where a solver put a load on some points of a face, others may have none.
  bool touches(const Block& block) const {
    return lambda_[block.first + 2] > 0 || w_.sigma[block.first + 2] <= w_.tolerance;
  }
  double normal(int i) const { return lambda_[problem_.blocks[block_[i]].first + 2]; }
  bool at_bound(const Block& block) const {
    const double* const l = lambda_ + block.first;
    return is_at_bound(l[0], l[1], block.mu * l[2]);
  }
  // Columns of N made orthogonal, the largest remainder first. False if they are independent.
  bool find_image() {
    double rest[LevelTuning::most_points][LevelTuning::most_points], first = 0;
    for (int k = 0; k < n_; ++k) {
      const RowSpan span = span_of(problem_, block_[k]);
      const std::size_t column = static_cast<std::size_t>(problem_.blocks[block_[k]].first + 2);
      for (int i = 0; i < n_; ++i) {
        const int row = problem_.blocks[block_[i]].first + 2;
        const bool couples = row >= span.first && row < span.end;
        rest[k][i] = couples ? problem_.G.values[column * static_cast<std::size_t>(problem_.G.stride) + row] : 0;
      }
    }
    for (rank_ = 0; rank_ < n_; ++rank_) {
      int most = 0;
      double length2 = 0;
      for (int k = 0; k < n_; ++k) {
        double sum = 0;
        for (int i = 0; i < n_; ++i) sum += rest[k][i] * rest[k][i];
        if (sum > length2) length2 = sum, most = k;
      }
      if (rank_ == 0) first = length2;
      if (!(length2 > LevelTuning::dependent * LevelTuning::dependent * first)) return rank_ == face;
      if (rank_ == face) return false;
      const double scale = 1 / root(length2);
      for (int i = 0; i < n_; ++i) image_[rank_][i] = scale * rest[most][i];
      for (int k = 0; k < n_; ++k) {
        double sum = 0;
        for (int i = 0; i < n_; ++i) sum += image_[rank_][i] * rest[k][i];
        for (int i = 0; i < n_; ++i) rest[k][i] -= sum * image_[rank_][i];
      }
    }
    return false;
  }
};

// Of a solution, with its report. Where it leads away from one, the solution stays as it was.
inline void level_loads(const ConeProblem& problem, ContactWorkspace& w, double* lambda, SolverReport& report) {
  Level level(problem, w, lambda);
  for (int round = 0; round < LevelTuning::most_rounds && level.find(); ++round) {
    copy(problem.m, lambda, w.best);
    if (level.project() <= w.tolerance) {
      copy(problem.m, w.best, lambda);
      return;
    }
    set_velocities(problem, lambda, w.sigma);
    const int most = LevelTuning::most_iterations;
    if (gauss_seidel(problem, most, most, w, lambda, report)) continue;
    copy(problem.m, w.best, lambda);
    set_velocities(problem, lambda, w.sigma);
    report_residuals(problem, w.D, lambda, w.sigma, report);
    return;
  }
}

}  // namespace featherweight::FW_ISA
