// step/again.hpp -- solving an environment again in the same step.
//
// Laws ask what the step before left: which contacts and limits were loaded. So that a second solution is of the same
// laws as the first, the impulses kept then are put back, and the solver starts from those it found.
#pragma once
#include "step/cone_matrix.hpp"
#include "step/job.hpp"

namespace featherweight::FW_ISA {

// f(impulses, their number) for each piece of what an environment keeps from step to step.
template <class F>
FW_INLINE void for_kept_impulses(const RolloutJob& job, std::size_t environment, const F& f) {
  const int n_rows = job.scene->n_kept;
  f(job.joint_impulses + environment * static_cast<std::size_t>(n_rows), n_rows);
  ContactList& contacts = job.contacts[environment];
  for (int k = 0; k < contacts.count; ++k) f(contacts.data[k].impulse, 6);
}

// Before it is solved for the first time.
inline void keep_start(const RolloutJob& job, std::size_t environment, Memory& start) {
  const std::size_t n = job.scene->n_kept;
  reserve(start, (n + 6 * static_cast<std::size_t>(job.contacts[environment].count)) * sizeof(double));
  double* out = static_cast<double*>(start.data);
  for_kept_impulses(job, environment, [&](const double* impulses, int count) {
    for (int k = 0; k < count; ++k) *out++ = impulses[k];
  });
}
inline void restore_start(const RolloutJob& job, std::size_t environment, const Memory& start) {
  const double* in = static_cast<const double*>(start.data);
  for_kept_impulses(job, environment, [&](double* impulses, int count) {
    for (int k = 0; k < count; ++k) impulses[k] = *in++;
  });
}

// What was solved for, with the number of rows in front.
template <class S>
void keep_solved(const ConeRows<S>& rows, const ConeMatrix<S>& matrix, Memory& solved) {
  reserve(solved, static_cast<std::size_t>(rows.m + 1) * sizeof(double));
  double* const out = static_cast<double*>(solved.data);
  out[0] = rows.m;
  for (int i = 0; i < rows.m; ++i) out[1 + i] = matrix.lambda[i];
}
template <class S>
void start_from_solved(const ConeRows<S>& rows, const ConeMatrix<S>& matrix, const Memory& solved) {
  const double* const in = static_cast<const double*>(solved.data);
  if (in[0] != rows.m) return;
  for (int i = 0; i < rows.m; ++i) matrix.lambda[i] = in[1 + i];
}

}  // namespace featherweight::FW_ISA
