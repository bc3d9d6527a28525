// step/assemble.hpp -- the cone problem of one environment.
//   in    its contacts, the joint rows that are near; w.motion, and how what is held reacts
//   out   rows with their laws and velocities, their matrix, warm starts: what cones/ solves
#pragma once
#include "step/cone_matrix.hpp"
#include "step/contact_rows.hpp"
#include "step/joint_rows.hpp"
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

template <class S>
ConeRows<S> assemble_rows(const RolloutJob& job, StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                          double reach, StepMemory& memory, bool is_again) {
  const Scene& scene = *job.scene;
  double* const joint_impulses = job.joint_impulses + environment * static_cast<std::size_t>(scene.n_kept);
  const int place = scene.held.n_rows ? lane.lane : 0;
  ContactList& contacts = job.contacts[environment];
  Approach* approaches = nullptr;
  ConeRows<S> rows(job, w.motion, w.balls, lane.lane, contacts.count, memory.rows[place],
                   [&](Arena& arena) FW_LAMBDA_INLINE { approaches = arena.take<Approach>(contacts.count); });
  JointRows<S>(job.dt, rows)
      .add(w.near_rows + lane.lane * scene.n_joint_rows, w.n_near_rows[lane.lane], joint_impulses);
  const CarriedContact* const carried =
      is_again && scene.is_verlet() ? static_cast<const CarriedContact*>(memory.carried[lane.lane].data) : nullptr;
  ContactRows<S>(job.dt, job.friction ? job.friction[environment] : 1, reach, carried, rows).add(contacts, approaches);
  if (scene.held.n_rows && rows.m) rows.hold(HeldLane(scene, w.held, lane, memory.held[lane.lane]));
  w.left_out[lane.lane] = rows.left_out;
  return rows;
}

extern const ContactKernels contact_kernels;

// The cone problem of one environment, where it stays: the matrix refers to the rows. Where something is held it is
// solved more than once, with other velocities.
template <class S>
struct Assembled {
  ConeRows<S> rows;
  ConeMatrix<S> matrix;
};

// Null if there are no rows.
template <class S>
Assembled<S>* assemble(const RolloutJob& job, StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                       double reach, StepMemory& memory, bool is_again) {
  const int place = job.scene->held.n_rows ? lane.lane : 0;
  reserve(memory.assembled[place], sizeof(Assembled<S>));
  Assembled<S>* const own = static_cast<Assembled<S>*>(memory.assembled[place].data);
  new (&own->rows) ConeRows<S>(assemble_rows(job, w, lane, environment, reach, memory, is_again));
  if (own->rows.m == 0) return w.assembled[lane.lane] = nullptr;
  new (&own->matrix) ConeMatrix<S>(*job.scene, own->rows, contact_kernels, job.options, memory.matrix[place]);
  return w.assembled[lane.lane] = own;
}

}  // namespace featherweight::FW_ISA
