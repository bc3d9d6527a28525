// step_diff/job.hpp -- what the derivative of a step is asked for. Plain data, shared by all instruction sets.
#pragma once
#include "step/job.hpp"

namespace featherweight {

// What a step may be differentiated by.
enum class Wrt : int {
  q,            // tangent space, nv
  v,            // nv
  tau,          // nv
  control,      // of laws of actuators
  f_ext,        // six of each of the user's links
  friction,     // the factor on all coefficients
  gains,        // the factor of each law
  gravity,      // 3
  masses,       // the factor of each of the user's links
  heights,      // of each shape of the world
  restitution,  // what is added to all coefficients along normals
};
inline constexpr int n_wrt = 11;

// Where the columns of each begin, -1: not asked for.
struct ColumnLayout {
  int first[n_wrt];
  int count;   // of all
  int stride;  // the same, a multiple of what registers hold

  int of(Wrt x) const { return first[static_cast<int>(x)]; }
  bool has(Wrt x) const { return of(x) >= 0; }
};
inline constexpr int columns_at_a_time = 8;

// What is made of the linear map from columns to (q, v) at the end, in the tangent space there.
enum class Reading : int {
  jacobian,  // out: (2 nv, columns)
  forward,   // in: (columns), out: (2 nv)
  reverse,   // in: (2 nv), out: (columns)
};

// Of the last step of environments, by what is known at its end.
struct StepDiffJob {
  const Scene* scene;
  double dt;
  const double *q, *v;          // at the start, one row per environment
  const double* acceleration;   // mean over the step, likewise
  const double *q_end, *v_end;  // and at the end
  Input<double> tau, control, f_ext;
  const double* friction = nullptr;  // as of RolloutJob
  const double* gain_scale = nullptr;
  const double* gravity = nullptr;
  const double* masses = nullptr;
  const double* inertias = nullptr;
  const double* grips = nullptr;
  const ContactList* contacts;
  const StepSolution* solutions;
  const StepReport* reports;
  const double* shares;  // ten numbers of each of the user's links (InertiaShare)
  const int* ground;     // of each shape: its place among those of the world, or -1
  ColumnLayout columns;
  Reading reading;
  const double* in = nullptr;
  double* out = nullptr;
  unsigned char* infeasible = nullptr;  // (columns) per environment: it has no derivative in the modes there are
  unsigned char* unique = nullptr;      // per environment: velocities at the end are
  double kappa = 0;                     // [J] > 0: laws of contacts are relaxed by it (relaxed.hpp),
  double reach = 0;                     // of shapes up to so far apart [m];
  double *q_relaxed = nullptr, *v_relaxed = nullptr;  // where that ends, as q_end and v_end
};

}  // namespace featherweight
