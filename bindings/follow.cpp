// bindings/follow.cpp -- rollouts that follow a plan with feedback.
#include "step/follow.hpp"

#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "gil.hpp"

namespace featherweight::bindings {
namespace {

using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

const double* rows(const char* name, const Numbers& array, std::initializer_list<std::size_t> shape) {
  bool fits = array.ndim() == shape.size();
  std::size_t k = 0;
  for (const std::size_t n : shape) fits = fits && array.shape(k++) == n;
  if (!fits) throw std::invalid_argument(std::string(name) + ": has another shape than the plan asks for");
  return array.data();
}

nb::tuple follow_plan(Environments& self, int substeps, const Numbers& q, const Numbers& v, const Numbers& control,
                      const Numbers& feedforward, const Numbers& gain, const Numbers& lengths, const Numbers& lower,
                      const Numbers& upper, const nb::object& mixing, const nb::object& offset,
                      const SolverOptions& options, nb::handle num_threads) {
  const Model& model = self.simulation().model();
  if (control.ndim() != 2) throw std::invalid_argument("control: expected (nodes, controls)");
  const std::size_t batch = self.batch(), N = control.shape(0), nu = control.shape(1),
                    nq = static_cast<std::size_t>(model.nq()), nv = static_cast<std::size_t>(model.nv()),
                    told = static_cast<std::size_t>(self.simulation().scene().n_controls());
  if (substeps < 1) throw std::invalid_argument("substeps: expected at least one");
  FollowedPlan plan{};
  plan.n_nodes = static_cast<int>(N), plan.n_controls = static_cast<int>(nu), plan.substeps = substeps;
  plan.q = rows("q", q, {N, nq}), plan.v = rows("v", v, {N, nv});
  plan.control = rows("control", control, {N, nu}), plan.feedforward = rows("feedforward", feedforward, {N, nu});
  plan.gain = rows("gain", gain, {N, nu, 2 * nv}), plan.lengths = rows("lengths", lengths, {batch});
  plan.lower = rows("lower", lower, {nu}), plan.upper = rows("upper", upper, {nu});
  if (mixing.is_none() && nu != told) throw std::invalid_argument("mixing: controls are not what drives the actuators");
  if (!mixing.is_none()) {
    plan.mixing = rows("mixing", nb::cast<Numbers>(mixing), {told, nu});
    plan.offset = rows("offset", nb::cast<Numbers>(offset), {told});
  }
  const int n_threads = thread_count(num_threads);
  NewArray q_out({batch, N + 1, nq}, 'd'), v_out({batch, N + 1, nv}, 'd'), u_out({batch, N, nu}, 'd');
  const FollowedPath path{static_cast<double*>(q_out.data()), static_cast<double*>(v_out.data()),
                          static_cast<double*>(u_out.data())};
  without_gil([&] { follow(self, plan, options, path, n_threads); });
  return nb::make_tuple(q_out.take(), v_out.take(), u_out.take());
}

}  // namespace

void bind_follow(nb::module_& m) {
  m.def("follow_plan", &follow_plan, nb::arg("environments"), nb::arg("substeps"), nb::arg("q"), nb::arg("v"),
        nb::arg("control"), nb::arg("feedforward"), nb::arg("gain"), nb::arg("lengths"), nb::arg("lower"),
        nb::arg("upper"), nb::arg("mixing").none(), nb::arg("offset").none(), nb::arg("options"),
        nb::arg("num_threads").none(),
        nb::sig("def follow_plan(environments: Environments, substeps: int, q: numpy.typing.NDArray[numpy.float64], "
                "v: numpy.typing.NDArray[numpy.float64], control: numpy.typing.NDArray[numpy.float64], "
                "feedforward: numpy.typing.NDArray[numpy.float64], gain: numpy.typing.NDArray[numpy.float64], "
                "lengths: numpy.typing.NDArray[numpy.float64], lower: numpy.typing.NDArray[numpy.float64], "
                "upper: numpy.typing.NDArray[numpy.float64], mixing: numpy.typing.NDArray[numpy.float64] | None, "
                "offset: numpy.typing.NDArray[numpy.float64] | None, options: SolverOptions, "
                "num_threads: int | None) -> tuple[numpy.typing.NDArray[numpy.float64], ...]"),
        "Rolls environments out under u = clip(control + length feedforward + gain (x - plan)), each with its length. "
        "Returns q (environments, nodes + 1, nq), v likewise, and controls (environments, nodes, nu).");
}

}  // namespace featherweight::bindings
