#include "step/environments.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "collision/broadphase.hpp"
#include "kinematics/forward.hpp"
#include "memory/kept.hpp"
#include "runtime/denormals.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/thread_pool.hpp"

namespace featherweight {
namespace {

struct ThreadMemory {
  StepMemory memory;
  Broadphase broadphase;
  ThreadMemory() { memory.broadphase = &broadphase; }
  ~ThreadMemory() {
    release(memory.placements);
    release(memory.bounds);
    release(memory.workspace);
    for (Memory& each : memory.rows) release(each);
    for (Memory& each : memory.matrix) release(each);
    for (Memory& each : memory.assembled) release(each);
    for (Memory& each : memory.held) release(each);
    for (Memory& each : memory.starts) release(each);
    for (Memory& each : memory.solved) release(each);
    release(memory.impacts);
    release(memory.next), release(memory.spare);
    for (ContactList& each : memory.aside) release(each);
    for (Memory& each : memory.pushes) release(each);
    for (Memory& each : memory.carried) release(each);
    for (FirstHalf& each : memory.first) release(each.contacts), release(each.impulses);
    release(memory.verdicts), release(memory.links);
  }
};

}  // namespace

// As many environments at a time as the widest registers hold.
void cut_into_tiles(std::vector<SceneRun>& runs) {
  constexpr std::size_t tile_size = 8;
  std::vector<SceneRun> tiles;
  for (const SceneRun& run : runs)
    for (std::size_t begin = run.begin; begin < run.end; begin += tile_size)
      tiles.push_back({begin, std::min(begin + tile_size, run.end), run.scene});
  runs.swap(tiles);
}

Environments::Environments(std::shared_ptr<const Simulation> simulation, std::size_t batch)
    : simulation_(std::move(simulation)),
      batch_(batch),
      v_(batch * static_cast<std::size_t>(simulation_->model().nv())),
      activation_(batch * static_cast<std::size_t>(simulation_->scene().n_activations)),
      impulses_(batch * static_cast<std::size_t>(simulation_->n_kept_impulses())),
      switches_(batch * static_cast<std::size_t>(simulation_->scene().n_grips)),
      v_start_(v_.size()),
      acceleration_(v_.size()),
      applied_(v_.size()),
      contacts_(batch),
      reports_(batch) {
  const std::vector<double> neutral = simulation_->model().neutral();
  for (std::size_t k = 0; k < batch; ++k) q_.insert(q_.end(), neutral.begin(), neutral.end());
  q_start_ = q_;
  for (std::size_t k = 0; k < switches_.size(); ++k) grips_.insert(grips_.end(), {0, 0, 0, 0, 0, 0, 1});
}
Environments::Environments(const Environments& other)
    : simulation_(other.simulation_),
      batch_(other.batch_),
      q_(other.q_),
      v_(other.v_),
      activation_(other.activation_),
      impulses_(other.impulses_),
      switches_(other.switches_),
      grips_(other.grips_),
      q_start_(other.q_start_),
      v_start_(other.v_start_),
      acceleration_(other.acceleration_),
      applied_(other.applied_),
      parameters_(other.parameters_),
      contacts_(other.batch_),
      reports_(other.reports_) {
  for (std::size_t k = 0; k < batch_; ++k) {
    const ContactList& from = other.contacts_[k];
    reserve(contacts_[k], from.count);
    if (from.count) std::memcpy(contacts_[k].data, from.data, sizeof(Contact) * static_cast<std::size_t>(from.count));
    contacts_[k].count = from.count;
  }
}
Environments::~Environments() {
  for (ContactList& list : contacts_) release(list);
}

OwnGround::OwnGround(const Scene& scene, std::vector<std::shared_ptr<const Field>> fields)
    : fields_(std::move(fields)),
      placed_(scene.shapes, scene.shapes + scene.n_shapes),
      pairs_(scene.pairs, scene.pairs + scene.n_pairs),
      own_(placed_.size(), nullptr),
      scene_(scene) {
  for (const auto& field : fields_) {
    const std::size_t k = static_cast<std::size_t>(field->shape);
    own_[k] = field->shapes.data();
    Shape& around = placed_[k].shape;
    for (const Shape& s : field->shapes) {
      const double apart =
          std::hypot(s.center[0] - around.center[0], s.center[1] - around.center[1], s.center[2] - around.center[2]);
      around.radius = std::max(around.radius, apart + s.radius);
    }
  }
  for (ScenePair& pair : pairs_)
    pair.reach = pair.margin + (placed_[static_cast<std::size_t>(pair.a)].shape.radius +
                                placed_[static_cast<std::size_t>(pair.b)].shape.radius);
  scene_.shapes = placed_.data();
  scene_.pairs = pairs_.data();
  scene_.own_shapes = own_.data();
}

template <class Change>
void Environments::change_parameters(const Change& change) {
  auto next = std::make_shared<Parameters>(*parameters_);
  change(*next);
  parameters_ = std::move(next);
}
std::vector<double> Environments::rows(const double* values, int n) const {
  return {values, values + batch_ * static_cast<std::size_t>(n)};
}

namespace {

// What factors on masses and gains come to, if any of them changes an inertia.
void find_inertias(const Simulation& simulation, std::size_t batch, Parameters& p) {
  p.inertias.clear();
  const bool by_gains = !p.gain_scale.empty() && simulation.has_servo_inertia();
  if (p.masses.empty() && !by_gains) return;
  const Scene& scene = simulation.scene();
  const std::size_t n = static_cast<std::size_t>(inertia_numbers * scene.tree.n_links);
  p.inertias.resize(batch * n);
  for (std::size_t k = 0; k < batch; ++k)
    simulation.scale_inertias(p.masses.empty() ? nullptr : p.masses.data() + k * scene.tree.n_user_links,
                              p.gain_scale.empty() ? nullptr : p.gain_scale.data() + k * scene.n_laws(),
                              p.inertias.data() + k * n);
}

}  // namespace

double Environments::fall(std::size_t environment) const {
  const double* const g =
      parameters_->gravity.empty() ? simulation_->scene().tree.gravity : parameters_->gravity.data() + 3 * environment;
  return std::hypot(g[0], g[1], g[2]) * simulation_->dt();
}
double Environments::friction(std::size_t environment) const {
  return parameters_->friction.empty() ? 1.0 : parameters_->friction[environment];
}
const double* Environments::inertias(std::size_t environment) const {
  const std::size_t n = static_cast<std::size_t>(inertia_numbers * simulation_->scene().tree.n_links);
  return parameters_->inertias.empty() ? nullptr : parameters_->inertias.data() + environment * n;
}

void Environments::set_friction(const double* factors) {
  change_parameters([&](Parameters& p) { p.friction = rows(factors, 1); });
}
void Environments::set_gains(const double* factors) {
  change_parameters([&](Parameters& p) {
    p.gain_scale = rows(factors, simulation_->scene().n_laws());
    find_inertias(*simulation_, batch_, p);
  });
}
void Environments::set_gravity(const double* gravity) {
  change_parameters([&](Parameters& p) { p.gravity = rows(gravity, 3); });
}
void Environments::set_masses(const double* factors) {
  change_parameters([&](Parameters& p) {
    p.masses = rows(factors, simulation_->model().n_links());
    find_inertias(*simulation_, batch_, p);
  });
}
void Environments::set_heights(int shape, const double* heights, const double* bases) {
  const Shape& given = simulation_->scene().shapes[shape].shape;
  if (given.kind != ShapeKind::height_field) throw std::invalid_argument("heights: the shape is no height field");
  const HeightField& like = *given.field;
  const std::size_t n = static_cast<std::size_t>(like.rows) * static_cast<std::size_t>(like.columns);
  auto field = std::make_shared<OwnGround::Field>();
  field->shape = shape;
  field->storage.reserve(batch_);  // shapes point into it
  for (std::size_t k = 0; k < batch_; ++k) {
    field->storage.push_back(
        build_height_field(heights + k * n, like.rows, like.columns, like.size_x, like.size_y, bases[k]));
    field->shapes.push_back(make_shape(&field->storage.back().view));
  }
  std::vector<std::shared_ptr<const OwnGround::Field>> fields{std::move(field)};
  if (parameters_->ground)
    for (const auto& kept : parameters_->ground->fields())
      if (kept->shape != shape) fields.push_back(kept);
  change_parameters(
      [&](Parameters& p) { p.ground = std::make_shared<OwnGround>(simulation_->scene(), std::move(fields)); });
}

bool Environments::has_switched_on() const {
  return std::any_of(switches_.begin(), switches_.end(), [](double on) { return on != 0; });
}
std::vector<bool> Environments::flags(std::size_t environment) const {
  const std::size_t n = switches_.size() / batch_;
  std::vector<bool> on(n);
  for (std::size_t k = 0; k < n; ++k) on[k] = switches_[environment * n + k] != 0;
  return on;
}
const Scene& Environments::scene(std::size_t environment) const {
  return switches_.empty() ? simulation_->scene() : simulation_->scene(flags(environment));
}

std::vector<double> Environments::compiled_grips() const {
  if (!has_switched_on()) return {};
  const std::vector<Mount<double>>& frames = simulation_->switched_frames();
  std::vector<double> compiled(switches_.size() * grip_numbers);
  for (std::size_t k = 0; k < switches_.size(); ++k) {
    using namespace host;
    const double* const grip = grips_.data() + k * grip_pose_numbers;
    const Mount<double>& on = frames[k % frames.size()];
    const Mat3<double> R = mat3(on.R) * quaternion_matrix(grip + 3);
    const Vec3<double> p = mat3(on.R) * Vec3<double>{grip[0], grip[1], grip[2]} + vec3(on.p);
    double* const out = compiled.data() + k * grip_numbers;
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) out[3 * r + c] = R(r, c);
      out[9 + r] = p[r];
    }
  }
  return compiled;
}

void Environments::list_runs(std::vector<SceneRun>& runs,
                             std::vector<std::unique_ptr<const OwnGround>>& grounds) const {
  const OwnGround* const own = parameters_->ground.get();
  runs.clear();
  if (switches_.empty()) {
    runs.push_back({0, batch_, own ? &own->scene() : &simulation_->scene()});
    return;
  }
  const std::size_t n = switches_.size() / batch_;
  for (std::size_t k = 0; k < batch_; ++k) {
    const auto begin = switches_.begin() + static_cast<std::ptrdiff_t>(k * n);
    if (k > 0 && std::equal(begin, begin + static_cast<std::ptrdiff_t>(n), begin - static_cast<std::ptrdiff_t>(n))) {
      runs.back().end = k + 1;
      continue;
    }
    const Scene* scene = &this->scene(k);
    if (own) scene = &grounds.emplace_back(std::make_unique<const OwnGround>(*scene, own->fields()))->scene();
    runs.push_back({k, k + 1, scene});
  }
}

// Those that failed stay so. All at once: one by one takes three times as long, a tenth of a step of a small robot.
void Environments::forget_reports() {
  failed_.resize(batch_);
  for (std::size_t k = 0; k < batch_; ++k) failed_[k] = reports_[k].failed;
  static_assert(std::is_trivially_copyable_v<StepReport>);
  std::memset(static_cast<void*>(reports_.data()), 0, batch_ * sizeof(StepReport));
  for (std::size_t k = 0; k < batch_; ++k)
    if (failed_[k]) reports_[k].failed = reports_[k].frozen = failed_[k];
}

void Environments::rollout(RolloutJob job, int n_threads, KeptSolutions* keep) {
  const Parameters& own = *parameters_;
  const auto given = [](const std::vector<double>& values) { return values.empty() ? nullptr : values.data(); };
  std::vector<std::unique_ptr<const OwnGround>> grounds;
  list_runs(tiles_, grounds);
  const std::vector<double> grips = compiled_grips();
  job.grips = given(grips);
  job.dt = simulation_->dt();
  job.q = q_.data(), job.v = v_.data(), job.activation = activation_.data(), job.joint_impulses = impulses_.data();
  job.q_start = q_start_.data(), job.v_start = v_start_.data();
  job.acceleration = acceleration_.data(), job.applied = applied_.data();
  if (keep) {
    job.solutions = keep->of.data();
    if (!keep->dofs.empty()) job.v_free = keep->v_free.data(), job.dofs = keep->dofs.data();
    keep->scenes.clear();
    for (const SceneRun& run : tiles_) keep->scenes.push_back({run.begin, run.end, &scene(run.begin)});
  }
  job.friction = given(own.friction), job.gain_scale = given(own.gain_scale);
  job.gravity = given(own.gravity), job.masses = given(own.masses), job.inertias = given(own.inertias);
  job.contacts = contacts_.data();
  forget_reports();
  job.reports = reports_.data();
  const auto kernel = active_isa().simulation->rollout;
  if (!kernel)
    throw std::runtime_error(std::string("the build '") + active_isa().name +
                             "' of the kernels has no step, it counts operations; choose another by FEATHERWEIGHT_ISA");
  std::atomic<bool> out_of_memory = false;
  const auto run = [&](const SceneRun& tile) {
    const FlushDenormals flush;
    RolloutJob mine = job;
    mine.scene = tile.scene;
    try {
      const Kept<ThreadMemory> own_memory;
      if (kernel(mine, tile.begin, tile.end, own_memory->memory) & fault::memory) {
        reserve(own_memory->memory.workspace, own_memory->memory.workspace.required);
        kernel(mine, tile.begin, tile.end, own_memory->memory);
      }
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  if (n_threads != 1) cut_into_tiles(tiles_);
  if (n_threads == 1 || tiles_.size() == 1)
    for (const SceneRun& tile : tiles_) run(tile);
  else
    run_tiles(tiles_.size(), n_threads, [&](std::size_t k) { run(tiles_[k]); });
  if (out_of_memory) throw std::bad_alloc();
}

}  // namespace featherweight
