// step_diff/each_environment.hpp -- linearised steps, one environment after the other, and what is asked of them. Each
// kind of linearisation is a file of its own for the compiler (closed_diff.cpp and others).
#pragma once
#include "lanes/native.hpp"
#include "memory/arena.hpp"
#include "runtime/lane_io.hpp"
#include "step_diff/columns.hpp"

namespace featherweight::FW_ISA {

// By kind.
void differentiate_closed(const StepDiffJob& job, int most_rows, int most_contacts, std::size_t begin, std::size_t end,
                          Memory& memory);
void differentiate_rk4(const StepDiffJob& job, std::size_t begin, std::size_t end, Memory& memory);
void differentiate_relaxed(const StepDiffJob& job, std::size_t begin, std::size_t end, Memory& memory);

inline bool is_finite(const double* x, std::size_t n) {
  constexpr std::size_t width = columns_at_a_time;
  Columns sums[2] = {};
  std::size_t k = 0;
  for (; k + 2 * width <= n; k += 2 * width)
    sums[0] += load_columns(x + k) * 0.0, sums[1] += load_columns(x + k + width) * 0.0;
  double sum = 0;
  for (; k < n; ++k) sum += x[k] * 0;
  for (std::size_t c = 0; c < width; ++c) sum += sums[0][c] + sums[1][c];
  return sum == 0;
}

// One environment after the other, after what they have in common was found for a pack of them; columns of derivatives
// fill the registers. Those that failed, or whose
// derivatives are beyond what numbers hold, get zeros. make(arena): the linearisation.
template <class Make>
void differentiate(const StepDiffJob& job, std::size_t begin, std::size_t end, Memory& memory, const Make& make) {
  const std::size_t nv = static_cast<std::size_t>(job.scene->tree.nv), nc = static_cast<std::size_t>(job.columns.count);
  const std::size_t n_in = job.reading == Reading::reverse ? 2 * nv : nc;
  const std::size_t n_out = job.reading == Reading::jacobian  ? 2 * nv * nc
                            : job.reading == Reading::forward ? 2 * nv
                                                              : nc;
  Arena measure(memory);
  make(measure);
  if (!measure.fits()) reserve(memory, memory.required);
  Arena arena(memory);
  auto step = make(arena);
  constexpr std::size_t width = width_of<Native<double>>;
  for (std::size_t first = begin; first < end; first += width) {
    const Pack pack{first, static_cast<int>(end - first < width ? end - first : width)};
    step.load(pack);
    for (std::size_t e = first; e < first + pack.count; ++e) {
      double* const out = job.out + e * n_out;
      unsigned char* const infeasible = job.infeasible ? job.infeasible + e * nc : nullptr;
      for (std::size_t c = 0; infeasible && c < nc; ++c) infeasible[c] = 0;
      if (job.unique) job.unique[e] = 1;
      if (job.reports[e].failed) continue;
      step.linearise(e);
      if (job.reading == Reading::jacobian)
        step.jacobian(out, infeasible);
      else if (job.reading == Reading::forward)
        step.forward(job.in + e * n_in, out);
      else
        step.reverse(job.in + e * n_in, out);
      if (job.unique) job.unique[e] = step.is_unique();
    }
    if (job.reading == Reading::reverse) step.finish(pack, job.out + first * n_out);
    for (std::size_t e = first; e < first + pack.count; ++e) {
      double* const out = job.out + e * n_out;
      if (!job.reports[e].failed && is_finite(out, n_out)) continue;
      for (std::size_t k = 0; k < n_out; ++k) out[k] = 0;
    }
  }
}

}  // namespace featherweight::FW_ISA
