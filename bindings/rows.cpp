// bindings/rows.cpp -- Jacobian, velocity, bias and position error of a set of constraints.
#include "bindings.hpp"

namespace featherweight::bindings {
namespace {

std::size_t count(int n) { return static_cast<std::size_t>(n); }

}  // namespace

void bind_rows(nb::module_& m) {
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
}

}  // namespace featherweight::bindings
