// bindings/step_diff.cpp -- derivatives of the last step of a batch.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "bindings.hpp"
#include "gil.hpp"
#include "step_diff/differentiate.hpp"

namespace featherweight::bindings {
namespace {

constexpr const char* names[n_wrt] = {"q",     "v",       "tau",    "control", "f_ext",      "friction",
                                      "gains", "gravity", "masses", "heights", "restitution"};

Wrt wrt_of(const std::string& name) {
  for (int k = 0; k < n_wrt; ++k)
    if (name == names[k]) return static_cast<Wrt>(k);
  throw std::invalid_argument("wrt: unknown '" + name + "'");
}

ColumnLayout layout(const Simulation& simulation, const std::vector<std::string>& wrt) {
  ColumnLayout columns{};
  for (int& first : columns.first) first = -1;
  for (const std::string& name : wrt) {
    const Wrt x = wrt_of(name);
    if (columns.has(x)) throw std::invalid_argument("wrt: '" + name + "' is given twice");
    columns.first[static_cast<int>(x)] = columns.count;
    columns.count += column_count(simulation, x);
  }
  return columns;
}

using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// One row for each environment, or one for all.
Input<double> input(const char* name, const nb::object& value, std::size_t batch, int n) {
  if (value.is_none()) return {};
  Table array;
  if (!nb::try_cast(value, array) || (array.shape(0) != 1 && array.shape(0) != batch) ||
      array.shape(1) != static_cast<std::size_t>(n))
    throw std::invalid_argument(std::string(name) + ": expected a float64 array (" + std::to_string(batch) + " or 1, " +
                                std::to_string(n) + ")");
  return {array.data(), array.shape(0) == 1 ? 0 : n};
}

// What drove the step, and the columns that are asked for.
StepDiffJob job_of(const Environments& after, const KeptSolutions& kept, const nb::object& tau,
                   const nb::object& control, const nb::object& f_ext, const std::vector<std::string>& wrt) {
  const Simulation& simulation = after.simulation();
  const std::size_t batch = after.batch();
  if (kept.of.size() != batch) throw std::invalid_argument("kept: expected solutions of the same batch");
  StepDiffJob job{};
  job.columns = layout(simulation, wrt);
  job.tau = input("tau", tau, batch, simulation.model().nv());
  job.control = input("control", control, batch, simulation.scene().n_controls());
  job.f_ext = input("f_ext", f_ext, batch, 6 * simulation.model().n_links());
  return job;
}
nb::object array_of_flags(const std::vector<std::size_t>& shape, const std::vector<unsigned char>& values) {
  NewArray array(shape, 'd');
  for (std::size_t k = 0; k < values.size(); ++k) static_cast<double*>(array.data())[k] = values[k];
  return array.take();
}

nb::object differentiate_step(Environments& after, const KeptSolutions& kept, const nb::object& tau,
                              const nb::object& control, const nb::object& f_ext, const std::vector<std::string>& wrt,
                              const std::string& product, const nb::object& x, nb::handle num_threads) {
  const Simulation& simulation = after.simulation();
  const std::size_t batch = after.batch(), nv = static_cast<std::size_t>(simulation.model().nv());
  StepDiffJob job = job_of(after, kept, tau, control, f_ext, wrt);
  const std::size_t nc = static_cast<std::size_t>(job.columns.count);
  const bool is_jacobian = product == "jacobian";
  job.reading = is_jacobian ? Reading::jacobian : product == "forward" ? Reading::forward : Reading::reverse;
  if (!is_jacobian && product != "forward" && product != "reverse")
    throw std::invalid_argument("product: expected jacobian, forward or reverse");
  const std::size_t n_in = job.reading == Reading::forward ? nc : 2 * nv;
  if (!is_jacobian) {
    const Input<double> in = input("x", x, batch, static_cast<int>(n_in));
    if (!in.data || (in.stride == 0 && batch > 1)) throw std::invalid_argument("x: expected one row per environment");
    job.in = in.data;
  }
  NewArray out(is_jacobian                       ? std::vector<std::size_t>{batch, 2 * nv, nc}
               : job.reading == Reading::forward ? std::vector<std::size_t>{batch, 2 * nv}
                                                 : std::vector<std::size_t>{batch, nc},
               'd');
  job.out = static_cast<double*>(out.data());
  std::vector<unsigned char> infeasible(is_jacobian ? batch * nc : 0), unique(is_jacobian ? batch : 0);
  if (is_jacobian) job.infeasible = infeasible.data(), job.unique = unique.data();
  const int n_threads = thread_count(num_threads);
  without_gil([&] { differentiate(after, kept, job, n_threads); });
  if (!is_jacobian) return out.take();
  return nb::make_tuple(out.take(), array_of_flags({batch, nc}, infeasible), array_of_flags({batch}, unique));
}

nb::object relax_step(Environments& after, const KeptSolutions& kept, const nb::object& tau, const nb::object& control,
                      const nb::object& f_ext, const std::vector<std::string>& wrt, double kappa, double reach,
                      nb::handle num_threads) {
  const Simulation& simulation = after.simulation();
  if (simulation.scene().rules)
    throw std::invalid_argument("relaxed steps look at all pairs of shapes; this scene has too many");
  if (simulation.scene().held.n_rows || simulation.scene().is_verlet() || simulation.scene().has_tendons ||
      simulation.scene().integrator == Integrator::rk4)
    throw std::invalid_argument(
        "relaxed steps are those of the integrators 'semi_implicit' and 'implicit', of scenes without loops and "
        "without "
        "limits or dry friction of tendons");
  const std::size_t batch = after.batch(), nv = static_cast<std::size_t>(simulation.model().nv()),
                    nq = static_cast<std::size_t>(simulation.model().nq());
  StepDiffJob job = job_of(after, kept, tau, control, f_ext, wrt);
  job.reading = Reading::jacobian;
  job.kappa = kappa, job.reach = reach;
  NewArray out({batch, 2 * nv, static_cast<std::size_t>(job.columns.count)}, 'd'), q({batch, nq}, 'd'),
      v({batch, nv}, 'd');
  job.out = static_cast<double*>(out.data());
  job.q_relaxed = static_cast<double*>(q.data()), job.v_relaxed = static_cast<double*>(v.data());
  std::copy(after.q().begin(), after.q().end(), job.q_relaxed);  // of environments that failed
  std::copy(after.v().begin(), after.v().end(), job.v_relaxed);
  std::vector<unsigned char> converged(batch);
  job.unique = converged.data();
  const int n_threads = thread_count(num_threads);
  without_gil([&] { differentiate(after, kept, job, n_threads); });
  return nb::make_tuple(out.take(), q.take(), v.take(), array_of_flags({batch}, converged));
}

}  // namespace

void bind_step_diff(nb::module_& m) {
  m.def("differentiate_step", &differentiate_step, nb::arg("after"), nb::arg("kept"), nb::arg("tau").none(),
        nb::arg("control").none(), nb::arg("f_ext").none(), nb::arg("wrt"), nb::arg("product"), nb::arg("x").none(),
        nb::arg("num_threads").none(),
        nb::sig("def differentiate_step(after: Environments, kept: KeptSolutions, tau: "
                "numpy.typing.NDArray[numpy.float64] | None, control: numpy.typing.NDArray[numpy.float64] | None, "
                "f_ext: numpy.typing.NDArray[numpy.float64] | None, wrt: collections.abc.Sequence[str], product: str, "
                "x: numpy.typing.NDArray[numpy.float64] | None, num_threads: int | None) -> typing.Any"),
        "The last step of environments, whose solutions were kept, linearised. product: 'jacobian': (batch, 2 nv, "
        "columns), with columns that have no derivative and environments whose velocities are unique; 'forward': "
        "(batch, 2 nv) for x (batch, columns); 'reverse': (batch, columns) for x (batch, 2 nv).");
  m.def(
      "relax_step", &relax_step, nb::arg("after"), nb::arg("kept"), nb::arg("tau").none(), nb::arg("control").none(),
      nb::arg("f_ext").none(), nb::arg("wrt"), nb::arg("kappa"), nb::arg("reach"), nb::arg("num_threads").none(),
      nb::sig("def relax_step(after: Environments, kept: KeptSolutions, tau: numpy.typing.NDArray[numpy.float64] | "
              "None, control: numpy.typing.NDArray[numpy.float64] | None, f_ext: numpy.typing.NDArray[numpy.float64] "
              "| None, wrt: collections.abc.Sequence[str], kappa: float, reach: float, num_threads: int | None) -> "
              "tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], "
              "numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
      "The last step of environments once more, with laws of contacts relaxed by kappa [J] for shapes up to reach [m] "
      "apart: its Jacobian (batch, 2 nv, columns), q and v at its end, and whether impulses converged.");
  m.def(
      "ground_shapes", [](const Simulation& simulation) { return ground_shapes(simulation.scene()); },
      nb::arg("simulation"), "Shapes of the world, in the order of the columns of 'heights'.");
}

}  // namespace featherweight::bindings
