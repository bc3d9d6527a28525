#include "step_diff/differentiate.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <stdexcept>
#include <string>

#include "memory/kept.hpp"
#include "runtime/denormals.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/thread_pool.hpp"

namespace featherweight {
namespace {

struct ThreadMemory {
  Memory memory;
  ~ThreadMemory() { release(memory); }
};

}  // namespace

std::vector<int> ground_shapes(const Scene& scene) {
  std::vector<int> shapes;
  for (int k = 0; k < scene.n_shapes; ++k)
    if (scene.shapes[k].link < 0) shapes.push_back(k);
  return shapes;
}

int column_count(const Simulation& simulation, Wrt x) {
  const Scene& scene = simulation.scene();
  switch (x) {
    case Wrt::q:
    case Wrt::v:
    case Wrt::tau: return scene.tree.nv;
    case Wrt::control:
    case Wrt::gains: return scene.n_laws();
    case Wrt::f_ext: return 6 * scene.tree.n_user_links;
    case Wrt::gravity: return 3;
    case Wrt::masses: return scene.tree.n_user_links;
    case Wrt::heights: return static_cast<int>(ground_shapes(scene).size());
    default: return 1;
  }
}

void differentiate(Environments& after, const KeptSolutions& kept, StepDiffJob job, int n_threads) {
  const Simulation& simulation = after.simulation();
  const Scene& scene = simulation.scene();
  const Parameters& own = after.parameters();
  const auto given = [](const std::vector<double>& values) { return values.empty() ? nullptr : values.data(); };
  std::vector<SceneRun> runs;
  std::vector<std::unique_ptr<const OwnGround>> grounds;
  after.list_runs(runs, grounds);
  const std::vector<double> grips = after.compiled_grips();
  job.grips = given(grips);
  job.dt = simulation.dt();
  job.q = after.q_start().data(), job.v = after.v_start().data();
  job.acceleration = after.acceleration().data();
  job.q_end = after.q().data(), job.v_end = after.v().data();
  job.friction = given(own.friction), job.gain_scale = given(own.gain_scale);
  job.gravity = given(own.gravity), job.masses = given(own.masses), job.inertias = given(own.inertias);
  job.contacts = after.contacts().data(), job.reports = after.reports().data();
  job.solutions = kept.of.data();
  std::vector<int> ground(static_cast<std::size_t>(scene.n_shapes), -1);
  int place = 0;
  for (int k : ground_shapes(scene)) ground[static_cast<std::size_t>(k)] = place++;
  job.ground = ground.data();
  const std::vector<InertiaShare>& shares = simulation.model().inertia_shares();
  job.shares = shares.empty() ? nullptr : shares.front().data();
  const auto kernel = active_isa().simulation->differentiate;
  if (!kernel)
    throw std::runtime_error(std::string("the build '") + active_isa().name +
                             "' of the kernels has no step; choose another by FEATHERWEIGHT_ISA");
  std::atomic<bool> out_of_memory = false;
  const auto run = [&](const SceneRun& tile) {
    const FlushDenormals flush;
    StepDiffJob part = job;
    part.scene = tile.scene;
    try {
      const Kept<ThreadMemory> mine;
      kernel(part, tile.begin, tile.end, mine->memory);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  if (n_threads != 1) cut_into_tiles(runs);
  if (n_threads == 1 || runs.size() == 1)
    for (const SceneRun& tile : runs) run(tile);
  else
    run_tiles(runs.size(), n_threads, [&](std::size_t k) { run(runs[k]); });
  if (out_of_memory) throw std::bad_alloc();
}

}  // namespace featherweight
