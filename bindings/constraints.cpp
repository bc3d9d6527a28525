#include "bindings.hpp"

#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace featherweight::bindings {
namespace {

std::size_t count(int n) { return static_cast<std::size_t>(n); }

void check_freedoms(const Model& model, const std::vector<int>& freedoms) {
  for (int k : freedoms)
    if (k < 0 || k >= model.nv())
      throw std::invalid_argument("unactuated: no freedom " + std::to_string(k) + " in a model with " +
                                  std::to_string(model.nv()));
}

}  // namespace

void bind_constraints(nb::module_& m) {
  m.def(
      "constraint_jacobian",
      [](const Model& model, nb::handle q, const ConstraintSet& constraints, nb::handle num_threads) {
        check_model(model, constraints);
        Arguments arguments{{"q", q}, {}, {}, {}};
        return call(model, FW_DOUBLE_ALGORITHM(constraint_jacobian), arguments,
                    {count(constraints.n_rows()), count(model.nv())},
                    {.num_threads = num_threads, .constraints = &constraints});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("constraints"), nb::arg("num_threads").none(),
      nb::sig("def constraint_jacobian(model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, "
              "num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]"),
      "J, (..., n_rows, nv).");
  m.def(
      "constraint_velocity",
      [](const Model& model, nb::handle q, nb::handle v, const ConstraintSet& constraints, nb::handle num_threads) {
        check_model(model, constraints);
        Arguments arguments{{"q", q}, {"v", v}, {}, {}};
        return call(model, FW_DOUBLE_ALGORITHM(constraint_velocity), arguments, {count(constraints.n_rows())},
                    {.num_threads = num_threads, .constraints = &constraints});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("constraints"), nb::arg("num_threads").none(),
      nb::sig("def constraint_velocity(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, "
              "constraints: ConstraintSet, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]"),
      "J v, (..., n_rows).");
  m.def(
      "constraint_bias",
      [](const Model& model, nb::handle q, nb::handle v, const ConstraintSet& constraints, nb::handle num_threads) {
        check_model(model, constraints);
        Arguments arguments{{"q", q}, {"v", v}, {}, {}};
        return call(model, FW_DOUBLE_ALGORITHM(constraint_acceleration), arguments, {count(constraints.n_rows())},
                    {.num_threads = num_threads, .constraints = &constraints});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("constraints"), nb::arg("num_threads").none(),
      nb::sig("def constraint_bias(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, constraints: "
              "ConstraintSet, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]"),
      "gamma, (..., n_rows).");
  m.def(
      "constraint_residual",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle a, const ConstraintSet& constraints,
         nb::handle targets, nb::handle num_threads) {
        check_model(model, constraints);
        Arguments arguments{{"q", q}, {"v", v}, {"a", a}, {}, false, {"targets", targets}};
        return call(model, FW_DOUBLE_ALGORITHM(constraint_acceleration), arguments, {count(constraints.n_rows())},
                    {.num_threads = num_threads, .constraints = &constraints});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("a").none(), nb::arg("constraints"),
      nb::arg("targets").none(), nb::arg("num_threads").none(),
      nb::sig("def constraint_residual(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: "
              "numpy.typing.ArrayLike, constraints: ConstraintSet, targets: numpy.typing.ArrayLike, num_threads: int | "
              "None) -> numpy.typing.NDArray[numpy.float64]"),
      "J a + gamma - targets, (..., n_rows).");
  m.def(
      "constraint_position_error",
      [](const Model& model, nb::handle q, const ConstraintSet& constraints, nb::handle positions,
         nb::handle num_threads) {
        check_model(model, constraints);
        Arguments arguments{{"q", q}, {}, {}, {}, false, {}, {}, {"positions", positions}};
        return call(model, FW_DOUBLE_ALGORITHM(constraint_position_error), arguments, {count(constraints.n_rows())},
                    {.num_threads = num_threads, .constraints = &constraints});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("constraints"), nb::arg("positions").none(),
      nb::arg("num_threads").none(),
      nb::sig("def constraint_position_error(model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, "
              "positions: numpy.typing.ArrayLike, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]"),
      "Distance of the constraints' frames from the poses positions (..., n_constraints, 4, 4), (..., n_rows).");
  m.def(
      "constrained_inverse_dynamics",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle a, const ConstraintSet& constraints,
         const std::vector<int>& unactuated, nb::handle active, nb::handle f_ext, double tolerance, int max_iterations,
         nb::handle num_threads) {
        check_model(model, constraints);
        check_freedoms(model, unactuated);
        Arguments arguments{
            {"q", q}, {"v", v}, {"a", a}, optional("f_ext", f_ext), false, {}, optional("active", active)};
        return call(model, FW_DOUBLE_ALGORITHM(constrained_inverse), arguments,
                    {count(model.nv() + constraints.n_rows() + 2)},
                    {.num_threads = num_threads,
                     .constraints = &constraints,
                     .tolerance = tolerance,
                     .max_iterations = max_iterations,
                     .unactuated = &unactuated});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("a").none(), nb::arg("constraints"),
      nb::arg("unactuated"), nb::arg("active").none(), nb::arg("f_ext").none(), nb::arg("tolerance"),
      nb::arg("max_iterations"), nb::arg("num_threads").none(),
      nb::sig("def constrained_inverse_dynamics(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: "
              "numpy.typing.ArrayLike, constraints: ConstraintSet, unactuated: Sequence[int], active: "
              "numpy.typing.ArrayLike | None, f_ext: numpy.typing.ArrayLike | None, tolerance: float, max_iterations: "
              "int, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]"),
      "Per sample [tau, forces, residual, converged]; featherweight.constrained_inverse_dynamics unpacks it.");
}

}  // namespace featherweight::bindings
