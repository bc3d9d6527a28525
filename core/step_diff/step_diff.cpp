#include "step_diff/closed_diff.hpp"
#include "step_diff/relaxed.hpp"
#include "step_diff/rk4_diff.hpp"

namespace featherweight::FW_ISA {

#if !defined(FW_COUNTING)
namespace {

bool is_finite(const double* x, std::size_t n) {
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

struct OwnContacts {
  ContactList list;
  Memory memory{};
  ~OwnContacts() { release(list.memory), release(memory); }
};
// Laws of contacts are relaxed. How many there are within reach is seen first.
void relax(const StepDiffJob& job, std::size_t begin, std::size_t end, Memory& memory) {
  OwnContacts own;
  const auto make = [&](Arena& arena) { return SmoothDiff(job, arena); };
  Arena measure(own.memory);
  make(measure);
  if (!measure.fits()) reserve(own.memory, own.memory.required);
  Arena arena(own.memory);
  SmoothDiff smooth = make(arena);
  int most = 1;
  for (std::size_t e = begin; e < end; ++e) {
    if (job.reports[e].failed) continue;
    smooth.start(e);
    smooth.world.place(job.q + e * job.scene->tree.nq, smooth.link_inertias());
    find_within(*job.scene, e, smooth.world.pose, job.reach, own.list);
    most = own.list.count > most ? own.list.count : most;
  }
  differentiate(job, begin, end, memory, [&](Arena& room) { return RelaxedLinearisation(job, most, own.list, room); });
}

}  // namespace

// What step.cpp puts into the table.
void differentiate(const StepDiffJob& job, std::size_t begin, std::size_t end, Memory& memory);
void differentiate(const StepDiffJob& job, std::size_t begin, std::size_t end, Memory& memory) {
  if (job.scene->integrator == Integrator::rk4)
    return differentiate(job, begin, end, memory, [&](Arena& arena) { return Rk4Linearisation(job, arena); });
  if (job.kappa > 0) return relax(job, begin, end, memory);
  int most_rows = 0, most_contacts = 0;
  for (std::size_t e = begin; e < end; ++e) {
    most_rows = job.solutions[e].n_rows > most_rows ? job.solutions[e].n_rows : most_rows;
    most_contacts = job.contacts[e].count > most_contacts ? job.contacts[e].count : most_contacts;
  }
  if (job.scene->held.n_rows)
    return differentiate(job, begin, end, memory,
                         [&](Arena& arena) { return ClosedLinearisation(job, most_rows, most_contacts, arena); });
  differentiate(job, begin, end, memory,
                [&](Arena& arena) { return StepLinearisation(job, most_rows, most_contacts, arena); });
}

#endif

}  // namespace featherweight::FW_ISA
