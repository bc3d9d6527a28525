// step/follow.hpp -- rollouts that follow a plan with feedback: the line search of a controller, on lanes.
//
//   u = clip(u_k + alpha k_k + K_k (x - x_k)),   alpha of each environment
//
// x - x_k in the tangent space of the plan's q, then v. What drives the actuators is mixing u + offset.
#pragma once
#include "step/environments.hpp"

namespace featherweight {

// Nodes k of a plan, each of some steps; one for all environments.
struct FollowedPlan {
  int n_nodes, n_controls, substeps;
  const double *q, *v;                  // (nodes, nq), (nodes, nv)
  const double *control, *feedforward;  // (nodes, controls)
  const double* gain;                   // (nodes, controls, 2 nv)
  const double *lower, *upper;          // (controls)
  const double *mixing, *offset;        // (actuation, controls), (actuation); null: controls are what drives
  const double* lengths;                // alpha, (environments)
};

// Where it leads: (environments, nodes + 1, nq), likewise v, and (environments, nodes, controls). Environments stay at
// their last state; those that fail stay where they were.
struct FollowedPath {
  double *q, *v, *control;
};

void follow(Environments& environments, const FollowedPlan& plan, const SolverOptions& options,
            const FollowedPath& path, int n_threads);

}  // namespace featherweight
