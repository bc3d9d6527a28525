// step/job.hpp -- what a rollout asks of the step. Plain data, shared by all instruction sets.
#pragma once
#include <cstddef>

#include "cones/problem.hpp"
#include "runtime/job.hpp"
#include "scene/contact_list.hpp"
#include "scene/scene.hpp"
#include "step/solution.hpp"

namespace featherweight {

// How well a step was solved.
struct StepFigures {
  double residual;                       // natural, relative to the velocities of the problem
  double primal, dual, complementarity;  // see SolverReport
  double penetration;                    // largest overlap at its start [m]
  double closure_error;                  // largest error of closures at its end [m or rad]
  int gauss_seidel, newton, admm;        // iterations
  int unconverged;                       // 1: missed the tolerance
};
struct StepReport {
  StepFigures last;             // of the last step
  StepFigures total;            // of all steps of a call: the worst, and sums
  int contacts;                 // in the last step
  int failed;                   // 1: stays where it was, since its velocities have lost their meaning (FailureTuning)
  int frozen;                   // 1: it does already
  int failed_dof, failed_step;  // the degree of freedom that was fastest, and in which step of the call
};

// What is kept of the steps of a rollout, where they are made: one row per environment and `every` steps, so that
// coordinates are in rows (environment * n_rows + row).
struct StepRows {
  int n_steps, every, n_rows;                          // of the whole rollout: the last row may be of fewer steps
  double *q = nullptr, *v = nullptr;                   // after the last step of a row; null: not recorded
  double *residual = nullptr, *penetration = nullptr;  // the worst of a row's steps, with q
  // What touched in the last step of a row, and all from which its forces are read:
  ContactList* contacts = nullptr;  // of each environment, row after row; null: not recorded
  int* starts = nullptr;            // (environments, n_rows + 1): where rows begin there
  double* traces = nullptr;         // (environments, n_rows, StepTrace::width)

  // Whether step k is the last of its row.
  bool keeps(int k) const { return n_rows && ((k + 1) % every == 0 || k + 1 == n_steps); }
};

// A step, beside its contacts: where it began, what it did, and how well it was solved.
struct StepTrace {
  int nq, nv, n_impulses;  // of joint rows and rows of closures

  int q_start() const { return 0; }
  int v_start() const { return nq; }
  int acceleration() const { return nq + nv; }
  int impulses() const { return nq + 2 * nv; }
  int residual() const { return impulses() + n_impulses; }
  int failed() const { return residual() + 1; }
  int width() const { return residual() + 2; }
};

// Steps [0, n_steps) of environments [begin, end), in place.
struct RolloutJob {
  const Scene* scene;
  double dt;
  int n_steps;
  SolverOptions options;
  double *q, *v;                      // one row per environment
  double* activation;                 // likewise
  double* joint_impulses;             // one per joint row and row of a closure: warm starts
  ContactList* contacts;              // one per environment
  StepReport* reports;                // one per environment
  double *q_start, *v_start;          // of the last step, one row per environment
  double *acceleration, *applied;     // of the last step, one row of nv per environment: mean, and joint forces
  StepSolution* solutions = nullptr;  // one per environment: the last step is kept; null: it is not
  double *v_free = nullptr,
         *dofs = nullptr;              // velocities without impulses, and dof_numbers per degree of freedom, or null
  const double* friction = nullptr;    // one per environment: factor on all coefficients of friction
  const double* gain_scale = nullptr;  // one row of laws of actuators per environment: factor on gains
  const double* gravity = nullptr;     // one row of 3 per environment, instead of the scene's [m/s^2]
  const double* masses = nullptr;      // one row of the user's links per environment: factors; in inertias already
  const double* inertias = nullptr;    // one row of links per environment, inertia_numbers each, instead of the scene's
  const double* grips = nullptr;       // one row of switched closures per environment, grip_numbers each
  Input<double> tau;                   // joint forces beside those of actuators; null: none
  std::ptrdiff_t tau_step = 0;         // from one step to the next
  Input<double> control;               // of laws of actuators, then of activations; null: none
  std::ptrdiff_t control_step = 0;
  Input<double> f_ext;  // on the user's links, in their axes; null: none
  std::ptrdiff_t f_ext_step = 0;
  int first = 0;  // step of the whole rollout, for its rows
  StepRows rows{};
};

class Broadphase;

// What the first half of a step in halves leaves of one environment.
struct FirstHalf {
  ContactList contacts;
  Memory impulses;  // of joint rows and rows of closures, then of contacts
  StepFigures figures;
};

// Memory of one thread.
struct StepMemory {
  Memory workspace;           // of StepWorkspace: see Arena
  Memory rows[8], matrix[8];  // of one environment's cone problem; of each lane's, where something is held
  Memory assembled[8];        // and those themselves
  Memory held[8];             // what is held of each lane
  Memory impacts;             // of its rounds
  Memory starts[8];           // of each lane: impulses at the start of the step,
  Memory solved[8];           // and what was solved for, where it is solved again
  ContactList next, spare;    // contacts being found, and sorted out
  ContactList aside[8];       // those that the motion of each lane misses (verify.hpp)
  Memory pushes[8];           // of each lane's doubtful contacts
  Memory verdicts, links;     // of one environment, while they are judged
  Memory carried[8];          // of each lane's contacts (carried_contacts.hpp)
  FirstHalf first[8];         // of each lane (verlet.hpp)
  Memory placements, bounds;  // of one environment's shapes
  Broadphase* broadphase = nullptr;
};

struct StepDiffJob;  // step_diff/job.hpp

struct SimulationKernels {
  int lanes;
  unsigned (*rollout)(const RolloutJob&, std::size_t begin, std::size_t end, StepMemory&);
  void (*differentiate)(const StepDiffJob&, std::size_t begin, std::size_t end, Memory&);
};

}  // namespace featherweight
