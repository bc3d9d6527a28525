// bindings/step_diff.cpp -- derivatives of the last step of a batch.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

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

nb::object differentiate_step(Environments& after, const KeptSolutions& kept, const nb::object& tau,
                              const nb::object& control, const nb::object& f_ext, const std::vector<std::string>& wrt,
                              const std::string& product, const nb::object& x, nb::handle num_threads) {
  const Simulation& simulation = after.simulation();
  const std::size_t batch = after.batch(), nv = static_cast<std::size_t>(simulation.model().nv());
  if (kept.of.size() != batch) throw std::invalid_argument("kept: expected solutions of the same batch");
  StepDiffJob job{};
  job.columns = layout(simulation, wrt);
  const std::size_t nc = static_cast<std::size_t>(job.columns.count);
  job.tau = input("tau", tau, batch, static_cast<int>(nv));
  job.control = input("control", control, batch, simulation.scene().n_controls());
  job.f_ext = input("f_ext", f_ext, batch, 6 * simulation.model().n_links());
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
  const auto flags = [](const std::vector<std::size_t>& shape, const std::vector<unsigned char>& values) {
    NewArray array(shape, 'd');
    for (std::size_t k = 0; k < values.size(); ++k) static_cast<double*>(array.data())[k] = values[k];
    return array.take();
  };
  return nb::make_tuple(out.take(), flags({batch, nc}, infeasible), flags({batch}, unique));
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
      "ground_shapes", [](const Simulation& simulation) { return ground_shapes(simulation.scene()); },
      nb::arg("simulation"), "Shapes of the world, in the order of the columns of 'heights'.");
}

}  // namespace featherweight::bindings
