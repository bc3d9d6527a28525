// step/record.hpp -- a step is written down: where it went, how well it was solved, what touched.
//
// Forces are not read here, only all that they are read from (forces/forces.hpp): who never asks for them never pays.
#pragma once
#include "runtime/lane_io.hpp"
#include "step/job.hpp"
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

// Figures of a row are the worst of its steps: `first_in_row` starts them.
inline void record_figures(const StepRows& rows, std::size_t at, bool first_in_row, const StepFigures& figures) {
  double &residual = rows.residual[at], &penetration = rows.penetration[at];
  if (first_in_row || figures.residual > residual) residual = figures.residual;
  if (first_in_row || figures.penetration > penetration) penetration = figures.penetration;
}

// The contacts of an environment behind those of the rows before; what an interrupted call left there is overwritten.
inline void record_contacts(const StepRows& rows, std::size_t environment, int row, const ContactList& touched) {
  int* const starts = rows.starts + environment * (static_cast<std::size_t>(rows.n_rows) + 1);
  ContactList& list = rows.contacts[environment];
  if (row == 0) starts[0] = 0;
  list.count = starts[row];
  // Room for the rows that are left if as much touches in them, within reason: new pages cost more than what is
  // written.
  const double wanted = list.count + touched.count;
  const double likely = wanted + static_cast<double>(touched.count) * (rows.n_rows - row - 1);
  if (wanted * sizeof(Contact) > static_cast<double>(list.memory.size))
    reserve(list, static_cast<int>(likely < 4 * wanted ? likely : 4 * wanted));
  for (int k = 0; k < touched.count; ++k) list.data[list.count++] = touched.data[k];
  starts[row + 1] = list.count;
}

template <class S>
void record_trace(const RolloutJob& job, const Pack& pack, int row, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  const StepTrace trace{scene.tree.nq, scene.tree.nv, scene.n_kept};
  const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(job.rows.n_rows) * trace.width();
  double* const out = job.rows.traces + static_cast<std::ptrdiff_t>(row) * trace.width();
  store(w.kept_q, trace.nq, pack, out + trace.q_start(), stride);
  store(w.kept_v, trace.nv, pack, out + trace.v_start(), stride);
  store(w.a, trace.nv, pack, out + trace.acceleration(), stride);
  for (int lane = 0; lane < pack.count; ++lane) {
    const std::size_t environment = pack.first + static_cast<std::size_t>(lane);
    const double* const impulses = job.joint_impulses + environment * static_cast<std::size_t>(trace.n_impulses);
    double* const mine = out + stride * static_cast<std::ptrdiff_t>(environment);
    for (int k = 0; k < trace.n_impulses; ++k) mine[trace.impulses() + k] = impulses[k];
    mine[trace.residual()] = job.reports[environment].last.residual;
    mine[trace.failed()] = job.reports[environment].failed;
    record_contacts(job.rows, environment, row, job.contacts[environment]);
  }
}

// k: of the call.
template <class S>
void record_step(const RolloutJob& job, const Pack& pack, int k, StepWorkspace<S>& w) {
  const StepRows& rows = job.rows;
  if (!rows.n_rows) return;
  const Tree<double>& tree = job.scene->tree;
  const int at = job.first + k, row = at / rows.every;
  for (int lane = 0; rows.q && lane < pack.count; ++lane) {
    const std::size_t environment = pack.first + static_cast<std::size_t>(lane);
    record_figures(rows, environment * static_cast<std::size_t>(rows.n_rows) + static_cast<std::size_t>(row),
                   at % rows.every == 0, job.reports[environment].last);
  }
  if (!rows.keeps(at)) return;
  if (rows.q) {
    const std::ptrdiff_t nq = tree.nq, nv = tree.nv;
    store(w.q, tree.nq, pack, rows.q + row * nq, rows.n_rows * nq);
    store(w.v, tree.nv, pack, rows.v + row * nv, rows.n_rows * nv);
  }
  if (rows.contacts) record_trace(job, pack, row, w);
}

}  // namespace featherweight::FW_ISA
