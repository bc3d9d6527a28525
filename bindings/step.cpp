// bindings/step.cpp -- batches of environments, their rollouts, and the solutions they keep.
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "bindings.hpp"
#include "forces/forces.hpp"
#include "gil.hpp"
#include "step/environments.hpp"
#include "step_records.hpp"

namespace featherweight::bindings {
namespace {

using Inputs = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;  // batch or 1, steps or 1, n

Solver solver_kind(const std::string& name) {
  static constexpr const char* names[] = {"auto", "gauss_seidel", "newton", "admm"};
  for (int k = 0; k < 4; ++k)
    if (name == names[k]) return static_cast<Solver>(k);
  throw std::invalid_argument("unknown solver '" + name + "'; there are auto, gauss_seidel, newton, admm");
}

// From an array for all steps of a rollout, the part that begins with step `first`. What is given once is shared by all
// environments, or by all steps.
Input<double> input(const char* name, const nb::object& value, int first, int n_steps, std::size_t batch, int n,
                    std::ptrdiff_t& step) {
  if (value.is_none()) return {};
  Inputs array;
  if (!nb::try_cast(value, array))
    throw std::invalid_argument(std::string(name) + ": expected a float64 array (batch, steps, n)");
  const std::size_t steps = static_cast<std::size_t>(first) + static_cast<std::size_t>(n_steps);
  const bool fits = (array.shape(0) == 1 || array.shape(0) == batch) &&
                    (array.shape(1) == 1 || array.shape(1) >= steps) && array.shape(2) == static_cast<std::size_t>(n);
  if (!fits)
    throw std::invalid_argument(std::string(name) + ": expected shape (" + std::to_string(batch) + " or 1, " +
                                std::to_string(steps) + " or 1, " + std::to_string(n) + ")");
  step = array.shape(1) == 1 ? 0 : n;
  return {array.data() + first * step, array.shape(0) == 1 ? 0 : static_cast<std::ptrdiff_t>(array.shape(1)) * n};
}

void rollout(Environments& self, int first, int n_steps, const nb::object& tau, const nb::object& control,
             const nb::object& f_ext, const SolverOptions& options, nb::handle num_threads, RecordedSteps* records,
             KeptSolutions* keep, bool read) {
  const Simulation& simulation = self.simulation();
  const int nv = simulation.model().nv();
  if (first < 0 || n_steps < 0) throw std::invalid_argument("steps must not be negative");
  const int n_threads = thread_count(num_threads);
  RolloutJob job{};
  job.n_steps = n_steps;
  job.options = options;
  job.tau = input("tau", tau, first, n_steps, self.batch(), nv, job.tau_step);
  job.control =
      input("control", control, first, n_steps, self.batch(), simulation.scene().n_controls(), job.control_step);
  job.f_ext = input("f_ext", f_ext, first, n_steps, self.batch(), 6 * simulation.model().n_links(), job.f_ext_step);
  if (records) {
    records->check(self, first, n_steps);
    job.first = first, job.rows = records->rows();
  }
  without_gil([&] {
    self.rollout(job, n_threads, keep);
    if (keep && read) replace_impulses(read_impulses(self, n_threads), self, *keep);
  });
}

// A whole number from 0 to `most`; throws for anything else. Doubles out of range must not be cast.
std::size_t whole_number(const char* what, double x, double most) {
  if (!(x >= 0 && x <= most && x == std::floor(x)))
    throw std::invalid_argument(std::string("contacts: ") + what + " must be integers from 0 to " +
                                std::to_string(static_cast<long long>(most)));
  return static_cast<std::size_t>(x);
}

Contact contact_of(const Scene& scene, const double* integers, const double* numbers) {
  const auto index = [&](const char* what, int k, double most) {
    return static_cast<int>(whole_number(what, integers[k], most));
  };
  Contact c;
  c.a = index("shapes", 0, scene.n_shapes - 1);
  c.b = index("shapes", 1, scene.n_shapes - 1);
  c.material = index("materials", 2, scene.n_materials - 1);
  c.feature = static_cast<std::uint32_t>(whole_number("features", integers[3], 0xFFFFFFFF));
  c.ball = -1, c.standing = Standing::certain, c.was_loaded = c.is_ahead = false;
  std::memcpy(c.position, numbers, sizeof c.position);
  std::memcpy(c.frame, numbers + 3, sizeof c.frame);
  c.gap = numbers[12];
  std::memcpy(c.impulse, numbers + 13, sizeof c.impulse);
  return c;
}

nb::object get_closure_errors(Environments& self) {
  const std::size_t n = static_cast<std::size_t>(self.simulation().scene().held.n_rows);
  return doubles({self.batch(), n}, closure_errors(self));
}

void set_contacts(Environments& self, nb::ndarray<const double, nb::ndim<1>, nb::c_contig> start,
                  nb::ndarray<const double, nb::shape<-1, 4>, nb::c_contig> integers,
                  nb::ndarray<const double, nb::shape<-1, 19>, nb::c_contig> numbers) {
  const std::size_t n = integers.shape(0);
  if (start.shape(0) != self.batch() + 1 || numbers.shape(0) != n || start.data()[0] != 0 ||
      start.data()[self.batch()] != double(n))
    throw std::invalid_argument("contacts: the arrays do not fit together or the batch");
  for (std::size_t e = 0; e < self.batch(); ++e) {
    const std::size_t first = whole_number("starts", start.data()[e], double(n)),
                      last = whole_number("starts", start.data()[e + 1], double(n));
    if (first > last) throw std::invalid_argument("contacts: starts must rise");
    ContactList& list = self.contacts()[e];
    list.count = 0;
    reserve(list, static_cast<int>(last - first));
    for (std::size_t k = first; k < last; ++k)
      list.data[list.count++] = contact_of(self.simulation().scene(), integers.data() + 4 * k, numbers.data() + 19 * k);
  }
}

using Flags = nb::ndarray<bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Sets flags (batch, n) of the columns of shapes that a contact pushed in the last step; others stay.
void mark_pushed(Environments& self, nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig> columns, Flags flags) {
  const std::size_t n = flags.shape(1);
  if (columns.shape(0) != static_cast<std::size_t>(self.simulation().scene().n_shapes) ||
      flags.shape(0) != self.batch())
    throw std::invalid_argument("mark_pushed: expected a column for each shape, and flags for each environment");
  for (std::size_t k = 0; k < columns.shape(0); ++k)
    if (columns.data()[k] < 0 || columns.data()[k] >= static_cast<std::int64_t>(n))
      throw std::invalid_argument("mark_pushed: a column is beyond the flags");
  for (std::size_t e = 0; e < self.batch(); ++e) {
    const ContactList& list = self.contacts()[e];
    for (int k = 0; k < list.count; ++k)
      if (list.data[k].impulse[2] > 0)
        for (int shape : {list.data[k].a, list.data[k].b}) flags.data()[e * n + columns.data()[shape]] = true;
  }
}

using Rows = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Starts = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Some environments anew: at rest with everything, no contacts, not failed.
void restart(Environments& self, Rows rows, Starts q, Starts v) {
  const std::size_t n = rows.shape(0), nq = self.q().size() / self.batch(), nv = self.v().size() / self.batch();
  if (q.shape(0) != n || v.shape(0) != n || q.shape(1) != nq || v.shape(1) != nv)
    throw std::invalid_argument("restart: expected q and v of each environment");
  const auto finite = [](const Starts& x) {
    return std::all_of(x.data(), x.data() + x.size(), [](double number) { return std::isfinite(number); });
  };
  if (!finite(q) || !finite(v))
    throw std::invalid_argument("a start has coordinates or velocities that are not finite");
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t e = static_cast<std::size_t>(rows.data()[k]);
    if (e >= self.batch()) throw std::out_of_range("restart: no such environment");
    for (auto* to : {&self.q(), &self.q_start()}) std::copy_n(q.data() + k * nq, nq, to->begin() + e * nq);
    for (auto* to : {&self.v(), &self.v_start()}) std::copy_n(v.data() + k * nv, nv, to->begin() + e * nv);
    for (auto* never : {&self.impulses(), &self.acceleration(), &self.applied(), &self.activation()}) {
      const std::size_t width = never->size() / self.batch();
      std::fill_n(never->begin() + e * width, width, 0.0);
    }
    const std::size_t n_grips = self.switches().size() / self.batch();
    std::fill_n(self.switches().begin() + static_cast<std::ptrdiff_t>(e * n_grips), n_grips, 0.0);
    for (std::size_t g = e * n_grips; g < (e + 1) * n_grips; ++g)
      for (std::size_t x = 0; x < grip_pose_numbers; ++x) self.grips()[g * grip_pose_numbers + x] = x == 6 ? 1.0 : 0.0;
    self.reports()[e] = {};
    self.contacts()[e].count = 0;
  }
}

host::Vec3<double> vector(const double* x) { return {x[0], x[1], x[2]}; }

// What contacts do to some shapes: linear and angular impulse about a point, of each environment, in world axes.
nb::object contact_wrenches(Environments& self, nb::ndarray<const double, nb::shape<-1, 6>, nb::c_contig> impulses,
                            nb::ndarray<const bool, nb::ndim<1>, nb::c_contig> shapes,
                            nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig> origins) {
  using namespace host;
  std::size_t n = 0;
  for (const ContactList& list : self.contacts()) n += static_cast<std::size_t>(list.count);
  if (impulses.shape(0) != n || shapes.shape(0) != static_cast<std::size_t>(self.simulation().scene().n_shapes) ||
      origins.shape(0) != self.batch())
    throw std::invalid_argument(
        "contact_wrenches: expected impulses of all contacts, a flag for each shape, and an "
        "origin for each environment");
  NewArray wrenches({self.batch(), 6}, 'd');
  double* out = static_cast<double*>(wrenches.data());
  const double* x = impulses.data();
  for (std::size_t e = 0; e < self.batch(); ++e, out += 6) {
    const Vec3<double> origin = vector(origins.data() + 3 * e);
    Vec3<double> force = zero3<double>(), moment = force;
    for (const Contact* c = self.contacts()[e].data; c != self.contacts()[e].data + self.contacts()[e].count;
         ++c, x += 6) {
      const double sign = static_cast<double>(shapes.data()[c->a]) - static_cast<double>(shapes.data()[c->b]);
      if (sign == 0) continue;
      const Vec3<double> t1 = vector(c->frame), t2 = vector(c->frame + 3), normal = vector(c->frame + 6);
      const Vec3<double> push = (t1 * x[0] + t2 * x[1] + normal * x[2]) * sign;
      force += push;
      moment += (t1 * x[3] + t2 * x[4] + normal * x[5]) * sign + cross(vector(c->position) - origin, push);
    }
    for (int k = 0; k < 3; ++k) out[k] = force[k], out[3 + k] = moment[k];
  }
  return wrenches.take();
}

// One number of each solved row of all environments.
template <class Value>
nb::object column(const KeptSolutions& kept, const Value& value) {
  std::vector<double> values;
  for (const StepSolution& solution : kept.of)
    for (int r = 0; r < solution.n_rows; ++r) values.push_back(static_cast<double>(value(solution.rows[r])));
  return doubles({values.size()}, values);
}

// Where rows come from: 0 closure, 1 contact, then the kinds of joint rows. The index of the
// latter is their degree of freedom.
int source_code(const Scene& scene, const SolvedRow& row) {
  if (row.source == RowSource::joint) return 2 + static_cast<int>(scene.joint_rows[row.index].kind);
  return row.source == RowSource::closure ? 0 : 1;
}

nb::dict solved_rows(const KeptSolutions& kept, const Simulation& simulation) {
  const Scene& scene = simulation.scene();  // joint rows are the same in all
  nb::dict rows;
  std::vector<double> environment, closure;
  // Closures and couplings by their numbers in the whole scene.
  for (const SceneRun& run : kept.scenes)
    for (std::size_t k = run.begin; k < run.end; ++k)
      for (int r = 0; r < kept.of[k].n_rows; ++r) {
        const SolvedRow& row = kept.of[k].rows[r];
        if (row.source != RowSource::closure) continue;
        const int first = run.scene->first_kept(row.index);
        int part = row.index;
        while (scene.held.parts[part].first < first) ++part;
        closure.push_back(part);
      }
  auto next_closure = closure.begin();
  for (std::size_t k = 0; k < kept.of.size(); ++k)
    environment.insert(environment.end(), static_cast<std::size_t>(kept.of[k].n_rows), static_cast<double>(k));
  const auto add = [&](const char* name, const auto& value) { rows[name] = column(kept, value); };
  rows["environment"] = doubles({environment.size()}, environment);
  add("source", [&](const SolvedRow& r) { return source_code(scene, r); });
  add("index", [&](const SolvedRow& r) {
    if (r.source == RowSource::closure) return static_cast<int>(*next_closure++);
    return r.source == RowSource::joint ? scene.joint_rows[r.index].term.dof : r.index;
  });
  add("component", [](const SolvedRow& r) { return r.component; });
  add("block", [](const SolvedRow& r) { return r.block; });
  add("law", [](const SolvedRow& r) { return static_cast<int>(r.law); });
  add("mode", [](const SolvedRow& r) { return static_cast<int>(r.mode); });
  add("impulse", [](const SolvedRow& r) { return r.impulse; });
  add("velocity", [](const SolvedRow& r) { return r.velocity; });
  add("shift", [](const SolvedRow& r) { return r.shift; });
  add("compliance", [](const SolvedRow& r) { return r.compliance; });
  add("bound", [](const SolvedRow& r) { return r.bound; });
  add("correction", [](const SolvedRow& r) { return r.correction; });
  add("predicted", [](const SolvedRow& r) { return r.predicted; });
  add("absorbed", [](const SolvedRow& r) { return r.absorbed; });
  return rows;
}

// Of several steps the largest of the first n_worst count, and the sums of the others.
constexpr std::size_t n_worst = 6;
std::array<double, 10> columns_of(const StepFigures& f) {
  return {f.residual,
          f.primal,
          f.dual,
          f.complementarity,
          f.penetration,
          f.closure_error,
          double(f.gauss_seidel),
          double(f.newton),
          double(f.admm),
          double(f.unconverged)};
}

using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig>;
const double* table(const char* name, const Table& values, std::size_t batch, int n) {
  if (values.shape(0) != batch || values.shape(1) != static_cast<std::size_t>(n))
    throw std::invalid_argument(std::string(name) + ": expected (" + std::to_string(batch) + ", " + std::to_string(n) +
                                ")");
  return values.data();
}

template <class T>
nb::ndarray<nb::numpy, double, nb::ndim<2>> view(nb::handle self, std::vector<T>& values, std::size_t batch) {
  const std::size_t n = batch ? values.size() / batch : 0;
  return nb::ndarray<nb::numpy, double, nb::ndim<2>>(values.data(), {batch, n}, self);
}

}  // namespace

void bind_step(nb::module_& m) {
  nb::class_<KeptSolutions>(m, "KeptSolutions", "The solutions of the last step of a batch.")
      .def(
          "__init__",
          [](KeptSolutions* self, const Simulation& simulation, std::size_t batch, bool motion) {
            new (self) KeptSolutions(batch, simulation.model().nv(), motion);
          },
          nb::arg("simulation"), nb::arg("batch"), nb::arg("motion") = false,
          "motion: with velocities without impulses and the eliminated tree.")
      .def("rows", &solved_rows, nb::arg("simulation"),
           nb::sig("def rows(self, simulation: Simulation) -> dict[str, numpy.typing.NDArray[numpy.float64]]"),
           "Per row of all environments: environment, source, index, component, block, law, mode, impulse, velocity, "
           "shift, compliance, bound, correction.")
      .def_prop_ro(
          "v_free",
          [](nb::handle self) {
            auto& kept = nb::cast<KeptSolutions&>(self);
            return view(self, kept.v_free, kept.of.size());
          },
          "Velocities without impulses, (batch, nv).")
      .def_prop_ro(
          "dofs",
          [](nb::handle self) {
            auto& kept = nb::cast<KeptSolutions&>(self);
            return view(self, kept.dofs, kept.of.size());
          },
          "The eliminated tree, (batch, 13 nv): axis (6), carry (6) and weight of every degree of freedom.");

  nb::class_<SolverOptions>(m, "SolverOptions", "How the cone problems of steps are solved.")
      .def(
          "__init__",
          [](SolverOptions* self, const std::string& solver, double tolerance, int max_gauss_seidel, int max_pile,
             int max_newton, int max_admm, bool matrix_free) {
            const Solver kind = solver_kind(solver);
            if (matrix_free && kind != Solver::admm)
              throw std::invalid_argument("matrix_free: '" + solver +
                                          "' needs the matrix; only admm works with products");
            new (self) SolverOptions{kind, tolerance, max_gauss_seidel, max_pile, max_newton, max_admm, matrix_free};
          },
          nb::arg("solver"), nb::arg("tolerance"), nb::arg("max_gauss_seidel"), nb::arg("max_pile"),
          nb::arg("max_newton"), nb::arg("max_admm"), nb::arg("matrix_free"));

  nb::class_<Environments>(m, "Environments", "The states of a batch of environments.")
      .def(nb::init<std::shared_ptr<const Simulation>, std::size_t>(), nb::arg("simulation"), nb::arg("batch"))
      .def(
          "copy", [](const Environments& self) { return new Environments(self); }, nb::rv_policy::take_ownership)
      .def_prop_ro("batch", &Environments::batch)
      .def_prop_ro("q",
                   [](nb::handle self) {
                     auto& e = nb::cast<Environments&>(self);
                     return view(self, e.q(), e.batch());
                   })
      .def_prop_ro(
          "switches",
          [](nb::handle self) {
            auto& e = nb::cast<Environments&>(self);
            return view(self, e.switches(), e.batch());
          },
          "Of the closures that are switched, (batch, n): 1 on, 0 off.")
      .def_prop_ro(
          "grips",
          [](nb::handle self) {
            auto& e = nb::cast<Environments&>(self);
            return view(self, e.grips(), e.batch());
          },
          "Where switched closures took hold, (batch, 7 n): poses of their second frames on those links.")
      .def_prop_ro("v",
                   [](nb::handle self) {
                     auto& e = nb::cast<Environments&>(self);
                     return view(self, e.v(), e.batch());
                   })
      .def_prop_ro(
          "activation",
          [](nb::handle self) {
            auto& e = nb::cast<Environments&>(self);
            return view(self, e.activation(), e.batch());
          },
          "Activations of actuators, (batch, na).")
      .def_prop_ro(
          "impulses",
          [](nb::handle self) {
            auto& e = nb::cast<Environments&>(self);
            return view(self, e.impulses(), e.batch());
          },
          "Of joint rows and rows of closures, (batch, rows): warm starts [N s].")
      .def_prop_ro(
          "q_start",
          [](nb::handle self) {
            auto& e = nb::cast<Environments&>(self);
            return view(self, e.q_start(), e.batch());
          },
          "Coordinates at the start of the last step, (batch, nq).")
      .def_prop_ro(
          "v_start",
          [](nb::handle self) {
            auto& e = nb::cast<Environments&>(self);
            return view(self, e.v_start(), e.batch());
          },
          "Velocities at the start of the last step, (batch, nv).")
      .def_prop_ro(
          "acceleration",
          [](nb::handle self) {
            auto& e = nb::cast<Environments&>(self);
            return view(self, e.acceleration(), e.batch());
          },
          "Mean acceleration over the last step, (batch, nv).")
      .def_prop_ro(
          "applied",
          [](nb::handle self) {
            auto& e = nb::cast<Environments&>(self);
            return view(self, e.applied(), e.batch());
          },
          "Joint forces of the last step, (batch, nv), those of actuators included.")
      .def(
          "set_friction",
          [](Environments& self, nb::ndarray<const double, nb::ndim<1>, nb::c_contig> factors) {
            if (factors.shape(0) != self.batch())
              throw std::invalid_argument("friction: expected one factor per environment");
            self.set_friction(factors.data());
          },
          nb::arg("factors"), "Factor on all coefficients of friction of each environment.")
      .def(
          "set_gains",
          [](Environments& self, const Table& factors) {
            self.set_gains(table("gains", factors, self.batch(), self.simulation().scene().n_laws()));
          },
          nb::arg("factors"), "Factor on the gains of each law of actuators of each environment, (batch, laws).")
      .def(
          "set_gravity",
          [](Environments& self, const Table& gravity) {
            self.set_gravity(table("gravity", gravity, self.batch(), 3));
          },
          nb::arg("gravity"), "Gravity of each environment, (batch, 3) [m/s^2].")
      .def(
          "set_masses",
          [](Environments& self, const Table& factors) {
            self.set_masses(table("masses", factors, self.batch(), self.simulation().model().n_links()));
          },
          nb::arg("factors"), "Factor on mass and inertia of each link of each environment, (batch, n_links).")
      .def(
          "set_heights",
          [](Environments& self, int shape, nb::ndarray<const double, nb::ndim<3>, nb::c_contig> heights,
             nb::ndarray<const double, nb::ndim<1>, nb::c_contig> bases) {
            const Scene& scene = self.simulation().scene();
            check_index("heights: shape", shape, scene.n_shapes, false);
            const HeightField* like = scene.shapes[shape].shape.field;
            if (!like || heights.shape(0) != self.batch() || bases.shape(0) != self.batch() ||
                heights.shape(1) != static_cast<std::size_t>(like->rows) ||
                heights.shape(2) != static_cast<std::size_t>(like->columns))
              throw std::invalid_argument("heights: expected those of a height field, (batch, rows, columns)");
            self.set_heights(shape, heights.data(), bases.data());
          },
          nb::arg("shape"), nb::arg("heights"), nb::arg("bases"),
          "Heights of a height field in each environment, (batch, rows, columns) [m], and its thickness below them.")
      .def("rollout", &rollout, nb::arg("first"), nb::arg("n_steps"), nb::arg("tau").none(), nb::arg("control").none(),
           nb::arg("f_ext").none(), nb::arg("options"), nb::arg("num_threads").none(),
           nb::arg("records").none() = nb::none(), nb::arg("keep").none() = nb::none(), nb::arg("read") = true,
           nb::sig("def rollout(self, first: int, n_steps: int, tau: numpy.typing.NDArray[numpy.float64] | None, "
                   "control: numpy.typing.NDArray[numpy.float64] | None, f_ext: numpy.typing.NDArray[numpy.float64] | "
                   "None, options: SolverOptions, num_threads: int | None, records: StepRecords | None = None, "
                   "keep: KeptSolutions | None = None, read: bool = True) -> None"),
           "Steps [first, first + n_steps) of a rollout. records: of the whole of it; keep: takes the solution of the "
           "last one; read: its impulses "
           "are "
           "those that are read, not those of the solver.")
      .def(
          "contacts", [](Environments& self) { return contact_table(self.contacts()); },
          nb::sig("def contacts(self) -> tuple[numpy.typing.NDArray[numpy.float64], "
                  "numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"))
      .def(
          "read_impulses",
          [](Environments& self, nb::handle num_threads) {
            const int n_threads = thread_count(num_threads);
            ReadImpulses read;
            without_gil([&] { read = read_impulses(self, n_threads); });
            return impulse_tables(self.simulation().scene(), read, self.batch());
          },
          nb::arg("num_threads").none(),
          nb::sig(
              "def read_impulses(self, num_threads: int | None) -> tuple[numpy.typing.NDArray[numpy.float64], ...]"),
          "The least impulses that do what those of the solver do: of contacts, (n, 6) along t1, t2, n and about them; "
          "along degrees of freedom, (batch, nv) each, of limits, dry friction and servos that are rows; of rows of "
          "closures, (batch, rows) [N s, N m s].")
      .def("closure_errors", &get_closure_errors,
           nb::sig("def closure_errors(self) -> numpy.typing.NDArray[numpy.float64]"),
           "How far rows of closures are from closed, (batch, rows) [m, rad].")
      .def("contact_wrenches", &contact_wrenches, nb::arg("impulses"), nb::arg("shapes"), nb::arg("origins"),
           nb::sig("def contact_wrenches(self, impulses: numpy.typing.NDArray[numpy.float64], shapes: "
                   "numpy.typing.NDArray[numpy.bool_], origins: numpy.typing.NDArray[numpy.float64]) -> "
                   "numpy.typing.NDArray[numpy.float64]"),
           "What contacts do to the shapes that are flagged, with impulses (n, 6) as they are read: (batch, 6), linear "
           "and about origins (batch, 3), world axes [N s, N m s].")
      .def("mark_pushed", &mark_pushed, nb::arg("columns"), nb::arg("flags"),
           "Sets flags (batch, n) of the columns of shapes that a contact pushed in the last step; others stay.")
      .def(
          "mark_failed",
          [](Environments& self, nb::ndarray<bool, nb::ndim<1>, nb::c_contig, nb::device::cpu> flags) {
            if (flags.shape(0) != self.batch())
              throw std::invalid_argument("mark_failed: expected a flag for each environment");
            for (std::size_t k = 0; k < self.batch(); ++k)
              if (self.reports()[k].failed) flags.data()[k] = true;
          },
          nb::arg("flags"), "Sets flags (batch,) of environments that failed; others stay.")
      .def("set_contacts", &set_contacts, nb::arg("start"), nb::arg("integers"), nb::arg("numbers"))
      .def(
          "reports",
          [](Environments& self) {
            std::vector<double> values;
            for (const StepReport& r : self.reports()) {
              for (const StepFigures& f : {r.last, r.total})
                for (double x : columns_of(f)) values.push_back(x);
              values.push_back(r.contacts);
              values.push_back(r.failed);
              values.push_back(r.failed_dof);
              values.push_back(r.failed_step);
            }
            return doubles({self.batch(), 24}, values);
          },
          nb::sig("def reports(self) -> numpy.typing.NDArray[numpy.float64]"),
          "(batch, 24): residual (relative), primal, dual, complementarity, penetration, closure_error, gauss_seidel, "
          "newton, admm, unconverged of the last step; the same over all steps of the last call; contacts, failed, and "
          "of "
          "those that failed in it the degree of freedom and the step.")
      .def_prop_ro(
          "any_failed",
          [](Environments& self) {
            for (const StepReport& r : self.reports())
              if (r.failed) return true;
            return false;
          },
          "Whether velocities of some environment lost their meaning.")
      .def(
          "add_totals",
          [](Environments& self, nb::ndarray<double, nb::shape<-1, 10>, nb::c_contig, nb::device::cpu> totals) {
            if (totals.shape(0) != self.batch())
              throw std::invalid_argument("totals: expected a row for each environment");
            double* row = totals.data();
            for (const StepReport& r : self.reports()) {
              const auto more = columns_of(r.total);
              for (std::size_t k = 0; k < more.size(); ++k, ++row)
                *row = k < n_worst ? std::max(*row, more[k]) : *row + more[k];
            }
          },
          nb::arg("totals"), "Adds those of the last call: the worst of the first six columns of reports, and sums.")
      .def(
          "set_reports",
          [](Environments& self, nb::ndarray<const double, nb::ndim<1>, nb::c_contig> failed,
             nb::ndarray<const double, nb::ndim<1>, nb::c_contig> residual) {
            if (failed.shape(0) != self.batch() || residual.shape(0) != self.batch())
              throw std::invalid_argument("failed, residual: expected one number per environment");
            for (std::size_t k = 0; k < self.batch(); ++k) {
              self.reports()[k].failed = failed.data()[k] != 0;
              self.reports()[k].last.residual = residual.data()[k];
            }
          },
          nb::arg("failed"), nb::arg("residual"), "What steps and reading depend on.")
      .def("restart", &restart, nb::arg("rows"), nb::arg("q"), nb::arg("v"),
           "Environments `rows` at q (rows, nq) and v (rows, nv), as if they had never been stepped.")
      .def(
          "forgive",
          [](Environments& self, std::size_t environment) {
            if (environment >= self.batch()) throw std::out_of_range("environment");
            self.reports()[environment] = {};
            self.contacts()[environment].count = 0;
          },
          "Environment as if it had never been stepped: no contacts, not failed.");
}

}  // namespace featherweight::bindings
