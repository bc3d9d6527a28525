#include "step/record.hpp"
#include "step/rk4.hpp"
#include "step/verlet.hpp"

namespace featherweight::FW_ISA {

extern const SimulationKernels simulation_kernels;
// in step_diff/step_diff.cpp
void differentiate(const StepDiffJob& job, std::size_t begin, std::size_t end, Memory& memory);

#if defined(FW_COUNTING)
constinit const SimulationKernels simulation_kernels = {1, nullptr, nullptr};
#else
namespace {

using S = Native<double>;

// One step's part of an input that changes from step to step.
Input<double> at_step(Input<double> in, std::ptrdiff_t stride, int step) {
  if (in.data) in.data += stride * step;
  return in;
}

// The fastest degree of freedom of a lane; the first that is no number, if there is one.
int fastest_dof(const S* v, int nv, int lane) {
  int fastest = 0;
  double most = 0;
  for (int k = 0; k < nv; ++k) {
    const double speed = LaneOf<S>{lane}(v[k]) < 0 ? -LaneOf<S>{lane}(v[k]) : LaneOf<S>{lane}(v[k]);
    if (speed <= most) continue;
    fastest = k, most = speed;
    if (speed != speed) break;
  }
  return fastest;
}

// Environments whose velocities have lost their meaning stay where they were, and say so; nothing is kept of the rows
// of such a step. k: the step.
void freeze_failed(const RolloutJob& job, const Pack& pack, int k, StepWorkspace<S>& w) {
  const Tree<double>& tree = job.scene->tree;
  const S squares = squares_of(w.v, tree.nv);  // and with them q
  const int n_activations = job.scene->n_activations;
  for (int lane = 0; lane < width_of<S>; ++lane) {
    const std::size_t environment = pack.first + static_cast<std::size_t>(lane < pack.count ? lane : pack.count - 1);
    StepReport& report = job.reports[environment];
    const bool is_fine = is_sane(squares, lane) && are_finite(w.activation, n_activations, lane);
    if (is_fine && !report.failed) continue;
    if (job.solutions) job.solutions[environment].n_rows = 0;  // their impulses may be no numbers
    if (report.frozen == 0) {
      report.failed = report.frozen = 1;
      report.failed_dof = fastest_dof(w.v, tree.nv, lane), report.failed_step = k;
    }
    for (int i = 0; i < tree.nq; ++i) ScalarTraits<S>::set(w.q[i], lane, LaneOf<S>{lane}(w.kept_q[i]));
    for (int i = 0; i < tree.nv; ++i) ScalarTraits<S>::set(w.v[i], lane, LaneOf<S>{lane}(w.kept_v[i]));
    for (int i = 0; i < n_activations; ++i)
      ScalarTraits<S>::set(w.activation[i], lane, LaneOf<S>{lane}(w.kept_activation[i]));
  }
}

// world: the acceleration that stands in for gravity.
void set_gravity(const RolloutJob& job, const Motion<S>& world, StepWorkspace<S>& w) {
  w.world = world;
  w.motion.fall = square_root(dot(world.lin, world.lin)) * S(job.dt);
}

// What follows from inertias.
void set_inertias(const Tree<double>& tree, StepWorkspace<S>& w) {
  find_centers(tree, w.inertias, w.centers);
  for (int i = 0; i < tree.n_links; ++i) w.own_rotors[i] = w.inertias[i].rotor;
}
// Gravity and inertias are laid on lanes once where all environments have the scene's, or pack by pack.
void share_physics(const RolloutJob& job, StepWorkspace<S>& w) {
  const Tree<double>& tree = job.scene->tree;
  if (!job.gravity) set_gravity(job, minus_gravity<S>(tree), w);
  if (job.inertias) return;
  share_inertias(tree, w.inertias);
  set_inertias(tree, w);
}
void load_physics(const RolloutJob& job, const Pack& pack, StepWorkspace<S>& w) {
  load_lifts(job, pack, w.lift_scale);
  if (job.gravity) {
    S g[3];
    Watch<S> watch;
    load(Input<double>{job.gravity, 3}, pack, 3, g, watch);
    set_gravity(job, {{-g[0], -g[1], -g[2]}, zero3<S>()}, w);
  }
  if (job.grips) {
    Watch<S> watch;
    const int n = grip_numbers * job.scene->n_grips;
    load(Input<double>{job.grips, n}, pack, n, w.grips, watch);
  }
  if (!job.inertias) return;
  load_inertias(job, pack, w.inertias);
  set_inertias(job.scene->tree, w);
}

void load_forces(const RolloutJob& job, const Pack& pack, int k, StepWorkspace<S>& w) {
  const Scene& scene = *job.scene;
  Watch<S> watch;  // what is not finite shows in the velocities
  if (job.tau.data)
    load(at_step(job.tau, job.tau_step, k), pack, scene.tree.nv, w.tau, watch);
  else
    for (int f = 0; f < scene.tree.nv; ++f) w.tau[f] = S(0);
  if (job.control.data)
    load(at_step(job.control, job.control_step, k), pack, scene.n_controls(), w.control, watch);
  else
    for (int i = 0; i < scene.n_controls(); ++i) w.control[i] = S(0);
  if (w.f_ext)
    FW_ISA::load_forces(scene.tree, at_step(job.f_ext, job.f_ext_step, k), pack, w.f_ext, w.f_scratch, watch);
}

// Of a pack in which nothing touches, very roughly. Contacts announce themselves.
double operations_of_step(const Scene& scene) {
  return 1e3 * scene.tree.nv + 1e2 * (static_cast<double>(scene.n_pairs) + scene.n_shapes);
}

unsigned rollout(const RolloutJob& job, std::size_t begin, std::size_t end, StepMemory& memory) {
  constexpr int width = width_of<S>;
  const Tree<double>& tree = job.scene->tree;
  const int n_laws = job.scene->n_laws(), n_activations = job.scene->n_activations;
  const std::size_t n_kept = static_cast<std::size_t>(job.scene->n_kept);
  Arena arena(memory.workspace);
  StepWorkspace<S> w(*job.scene, job.options, job.f_ext.data != nullptr, arena);
  Rk4Workspace<S> stages(tree, arena);
  if (!arena.fits()) return fault::memory;
  share_physics(job, w);
  Watch<S> q_watch, v_watch;
  for (std::size_t first = begin; first < end; first += width) {
    const std::size_t left = end - first;
    const Pack pack{first, left < width ? static_cast<int>(left) : width};
    load(Input<double>{job.q, tree.nq}, pack, tree.nq, w.q, q_watch);  // of unit length since the last step
    load(Input<double>{job.v, tree.nv}, pack, tree.nv, w.v, v_watch);
    load(Input<double>{job.v_start, tree.nv}, pack, tree.nv, w.kept_v, v_watch);
    load(Input<double>{job.activation, n_activations}, pack, n_activations, w.activation, v_watch);
    load_physics(job, pack, w);
    for (int lane = 0; lane < width; ++lane) {
      const std::size_t environment = first + static_cast<std::size_t>(lane < pack.count ? lane : pack.count - 1);
      w.last_impulses[lane] = job.joint_impulses + environment * n_kept;
      w.last_contacts[lane] = job.contacts + environment;
    }
    if (job.gain_scale)
      load(Input<double>{job.gain_scale, n_laws}, pack, n_laws, w.gain_scale, q_watch);
    else
      for (int k = 0; k < n_laws; ++k) w.gain_scale[k] = S(1);
    for (int k = 0; k < job.n_steps; ++k) {
      if (interrupted(operations_of_step(*job.scene))) return 0;
      for (int i = 0; i < tree.nq; ++i) w.kept_q[i] = w.q[i];
      for (int i = 0; i < tree.nv; ++i) w.last_v[i] = w.kept_v[i], w.kept_v[i] = w.v[i];
      load_forces(job, pack, k, w);
      activate(*job.scene, S(job.dt), w);
      const bool is_last = k + 1 == job.n_steps;
      if (job.scene->integrator == Integrator::rk4)
        rk4_step(job, w, stages);
      else if (job.scene->is_verlet())
        verlet_step(job, pack, is_last, w, memory);
      else
        step(job, pack, is_last, is_last || (job.rows.contacts && job.rows.keeps(job.first + k)), w, memory);
      freeze_failed(job, pack, k, w);
      record_step(job, pack, k, w);
    }
    if (job.n_steps > 0) {
      store(w.kept_q, tree.nq, pack, job.q_start, tree.nq);
      store(w.kept_v, tree.nv, pack, job.v_start, tree.nv);
      store(w.a, tree.nv, pack, job.acceleration, tree.nv);
      store(w.tau, tree.nv, pack, job.applied, tree.nv);
    }
    store(w.q, tree.nq, pack, job.q, tree.nq);
    store(w.v, tree.nv, pack, job.v, tree.nv);
    store(w.activation, n_activations, pack, job.activation, n_activations);
  }
  return 0;
}

}  // namespace

constinit const SimulationKernels simulation_kernels = {width_of<S>, rollout, differentiate};
#endif

}  // namespace featherweight::FW_ISA
