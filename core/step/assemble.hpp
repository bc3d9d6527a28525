// step/assemble.hpp -- the cone problem of one environment.
//   in    its contacts, the joint rows that are near, closures; w.motion
//   out   rows with their laws and velocities, their matrix, warm starts: what cones/ solves
#pragma once
#include "step/closure_rows.hpp"
#include "step/cone_matrix.hpp"
#include "step/contact_rows.hpp"
#include "step/joint_rows.hpp"
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

template <class S>
ConeRows<S> assemble_rows(const RolloutJob& job, StepWorkspace<S>& w, LaneOf<S> lane, std::size_t environment,
                          double reach, StepMemory& memory, bool is_again) {
  const Scene& scene = *job.scene;
  double* const joint_impulses =
      job.joint_impulses + environment * static_cast<std::size_t>(scene.n_joint_rows + scene.n_closure_rows);
  // where there are closures, the rows of all lanes are needed again at the end of the step
  Memory& room = memory.rows[scene.n_closures ? lane.lane : 0];
  ContactList& contacts = job.contacts[environment];
  Approach* approaches = nullptr;
  ConeRows<S> rows(job, w.motion, w.balls, lane.lane, contacts.count, room,
                   [&](Arena& arena) FW_LAMBDA_INLINE { approaches = arena.take<Approach>(contacts.count); });
  double* const closure_impulse = joint_impulses + scene.n_joint_rows;
  for (int k = 0, row = 0; k < scene.n_closures; ++k)
    row += add_closure(scene.closures[k], job.dt, w.opening + row, w.apart + row, closure_impulse + row, rows);
  if (scene.n_closures) {
    w.closures[lane.lane] = ClosureSystem(scene, rows.quartets, memory.closures[lane.lane]);
    w.closures[lane.lane].leave_out_dependent(rows);
  }
  JointRows<S>(job.dt, rows)
      .add(w.near_rows + lane.lane * scene.n_joint_rows, w.n_near_rows[lane.lane], joint_impulses);
  const CarriedContact* const carried =
      is_again && scene.is_verlet() ? static_cast<const CarriedContact*>(memory.carried[lane.lane].data) : nullptr;
  ContactRows<S>(job.dt, job.friction ? job.friction[environment] : 1, reach, carried, rows).add(contacts, approaches);
  w.left_out[lane.lane] = rows.left_out;
  w.closures_alone[lane.lane] = rows.m == scene.n_closure_rows;
  return rows;
}

}  // namespace featherweight::FW_ISA
