#include <stdexcept>

#include "bindings.hpp"

namespace featherweight::bindings {
namespace {

// Degrees of freedom up to which a result of several nv x nv matrices is counted by an int.
constexpr int most_dofs = 16000;

// n_vectors of nv numbers and n_matrices of nv x nv, one after the other.
std::vector<std::size_t> table(const Model& model, std::size_t n_vectors, std::size_t n_matrices) {
  if (model.nv() > most_dofs && n_matrices)
    throw std::invalid_argument("model '" + model.spec().name + "' has " + std::to_string(model.nv()) +
                                " degrees of freedom, expected at most " + std::to_string(most_dofs) +
                                " for matrices of derivatives");
  const std::size_t n = static_cast<std::size_t>(model.nv());
  return {n_vectors * n + n_matrices * n * n};
}

// Some matrices of n_rows x nv; without a count, one.
std::vector<std::size_t> matrices(const Model& model, std::size_t n, std::size_t n_rows) {
  const std::size_t nv = static_cast<std::size_t>(model.nv());
  return n ? std::vector<std::size_t>{n, n_rows, nv} : std::vector<std::size_t>{n_rows, nv};
}

// Of `n_matrices` derivatives of joint motion and of forces on rows.
nb::object call_constrained(const Model& model, const Algorithm& algorithm, std::size_t n_matrices, nb::handle q,
                            nb::handle v, std::pair<const char*, nb::handle> x, const ConstraintSet& constraints,
                            nb::handle inputs, nb::handle active, nb::handle f_ext, nb::handle num_threads) {
  check_model(model, constraints);
  if (constraints.between_links())
    throw std::invalid_argument(
        "constraints: some are between two links or couple joints; derivatives are known of anchored links only");
  const std::size_t nv = static_cast<std::size_t>(model.nv()), m = static_cast<std::size_t>(constraints.n_rows());
  table(model, 0, n_matrices);
  Arguments arguments{{"q", q}, {"v", v},           {x.first, x.second},       optional("f_ext", f_ext),
                      false,    {"inputs", inputs}, optional("active", active)};
  return call(model, algorithm, arguments, {n_matrices * nv * (nv + m)},
              {.num_threads = num_threads, .constraints = &constraints, .n_sides = 8});
}

}  // namespace

void bind_derivatives(nb::module_& m) {
  m.def(
      "rnea_derivatives",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle a, nb::handle f_ext, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {"v", v}, {"a", a}, optional("f_ext", f_ext)};
        return call(model, FW_ALGORITHM(rnea_derivatives), arguments, table(model, 1, 3), {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("a").none(), nb::arg("f_ext").none(),
      nb::arg("num_threads").none(),
      nb::sig("def rnea_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: "
              "numpy.typing.ArrayLike, f_ext: numpy.typing.ArrayLike | None, num_threads: int | None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "tau, then its derivatives by q, v and a: (..., nv + 3 nv^2).");
  m.def(
      "rnea_vjp",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle a, nb::handle w, nb::handle f_ext,
         nb::handle num_threads) {
        Arguments arguments{
            .q = {"q", q}, .v = {"v", v}, .x = {"a", a}, .f_ext = optional("f_ext", f_ext), .w = {"w", w}};
        return call(model, FW_ALGORITHM(rnea_vjp), arguments, table(model, 3, 0), {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("a").none(), nb::arg("w").none(),
      nb::arg("f_ext").none(), nb::arg("num_threads").none(),
      nb::sig("def rnea_vjp(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: "
              "numpy.typing.ArrayLike, w: numpy.typing.ArrayLike, f_ext: numpy.typing.ArrayLike | None, num_threads: "
              "int | None) -> numpy.typing.NDArray[typing.Any]"),
      "w^T times the derivatives of tau by q, v and a: (..., 3 nv).");
  m.def(
      "aba_derivatives",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle tau, nb::handle f_ext, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {"v", v}, {"tau", tau}, optional("f_ext", f_ext)};
        return call(model, FW_ALGORITHM(aba_derivatives), arguments, table(model, 1, 3), {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("tau").none(), nb::arg("f_ext").none(),
      nb::arg("num_threads").none(),
      nb::sig("def aba_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, tau: "
              "numpy.typing.ArrayLike, f_ext: numpy.typing.ArrayLike | None, num_threads: int | None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "a, then its derivatives by q, v and tau: (..., nv + 3 nv^2).");
  m.def(
      "aba_vjp",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle tau, nb::handle w, nb::handle f_ext,
         nb::handle num_threads) {
        Arguments arguments{
            .q = {"q", q}, .v = {"v", v}, .x = {"tau", tau}, .f_ext = optional("f_ext", f_ext), .w = {"w", w}};
        return call(model, FW_ALGORITHM(aba_vjp), arguments, table(model, 3, 0), {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("tau").none(), nb::arg("w").none(),
      nb::arg("f_ext").none(), nb::arg("num_threads").none(),
      nb::sig("def aba_vjp(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, tau: "
              "numpy.typing.ArrayLike, w: numpy.typing.ArrayLike, f_ext: numpy.typing.ArrayLike | None, num_threads: "
              "int | None) -> numpy.typing.NDArray[typing.Any]"),
      "w^T times the derivatives of a by q, v and tau: (..., 3 nv).");
  m.def(
      "frame_velocity_derivatives",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle frame, nb::handle reference,
         nb::handle num_threads) {
        Arguments arguments{{"q", q}, {"v", v}, {}, {}};
        return call(
            model, FW_ALGORITHM(frame_velocity_derivatives), arguments, matrices(model, 2, 6),
            {.mount = find_frame(model, frame), .reference = find_reference(reference), .num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("frame").none(), nb::arg("reference").none(),
      nb::arg("num_threads").none(),
      nb::sig("def frame_velocity_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, "
              "frame: str | int, reference: str, num_threads: int | None) -> numpy.typing.NDArray[typing.Any]"),
      "Derivatives of frame_velocity by q and v: (..., 2, 6, nv).");
  m.def(
      "frame_acceleration_derivatives",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle a, nb::handle frame, nb::handle reference,
         bool classical, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {"v", v}, {"a", a}, {}};
        return call(model, FW_ALGORITHM(frame_acceleration_derivatives), arguments, matrices(model, 3, 6),
                    {.mount = find_frame(model, frame),
                     .reference = find_reference(reference),
                     .classical = classical,
                     .num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("a").none(), nb::arg("frame").none(),
      nb::arg("reference").none(), nb::arg("classical"), nb::arg("num_threads").none(),
      nb::sig("def frame_acceleration_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, "
              "a: numpy.typing.ArrayLike, frame: str | int, reference: str, classical: bool, num_threads: int | None) "
              "-> numpy.typing.NDArray[typing.Any]"),
      "Derivatives of frame_acceleration by q, v and a: (..., 3, 6, nv).");
  m.def(
      "jacobian_time_derivative",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle frame, nb::handle reference,
         nb::handle num_threads) {
        Arguments arguments{{"q", q}, {"v", v}, {}, {}};
        return call(
            model, FW_ALGORITHM(jacobian_time_derivative), arguments, matrices(model, 0, 6),
            {.mount = find_frame(model, frame), .reference = find_reference(reference), .num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("frame").none(), nb::kw_only(),
      nb::arg("reference").none() = "local", nb::arg("num_threads") = nb::none(),
      nb::sig(
          "def jacobian_time_derivative(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, frame: "
          "str | int, *, reference: typing.Literal['local', 'world', 'local_world_aligned'] = 'local', num_threads: "
          "int | None = None) -> numpy.typing.NDArray[typing.Any]"),
      "The rate of a frame's Jacobian as the robot moves with v, (..., 6, nv).\n"
      "\n"
      ">>> fw.jacobian_time_derivative(fw.models.pendulum(), [0.0], [2.0], \"tip\").shape\n"
      "(6, 1)");
  m.def(
      "center_of_mass_derivatives",
      [](const Model& model, nb::handle q, nb::handle num_threads) {
        require_mass(model, "center_of_mass_derivatives");
        Arguments arguments{{"q", q}, {}, {}, {}};
        return call(model, FW_ALGORITHM(center_of_mass_derivatives), arguments, matrices(model, 0, 3),
                    {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("num_threads").none(),
      nb::sig("def center_of_mass_derivatives(model: Model, q: numpy.typing.ArrayLike, num_threads: int | None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "Derivative of the centre of mass by q: (..., 3, nv).");
  m.def(
      "centroidal_momentum_derivatives",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle num_threads) {
        require_mass(model, "centroidal_momentum_derivatives");
        Arguments arguments{{"q", q}, {"v", v}, {}, {}};
        return call(model, FW_ALGORITHM(centroidal_momentum_derivatives), arguments, matrices(model, 2, 6),
                    {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("num_threads").none(),
      nb::sig("def centroidal_momentum_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, "
              "num_threads: int | None) -> numpy.typing.NDArray[typing.Any]"),
      "Derivatives of the centroidal momentum by q and v: (..., 2, 6, nv).");
  m.def(
      "constrained_derivatives",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle a, const ConstraintSet& constraints,
         nb::handle inputs, nb::handle active, nb::handle f_ext, nb::handle num_threads) {
        return call_constrained(model, FW_DOUBLE_ALGORITHM(constrained_derivatives), 3, q, v, {"a", a}, constraints,
                                inputs, active, f_ext, num_threads);
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("a").none(), nb::arg("constraints"),
      nb::arg("inputs"), nb::arg("active").none(), nb::arg("f_ext").none(), nb::arg("num_threads").none(),
      nb::sig("def constrained_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: "
              "numpy.typing.ArrayLike, constraints: ConstraintSet, inputs: numpy.typing.ArrayLike, active: "
              "numpy.typing.ArrayLike | None, f_ext: numpy.typing.ArrayLike | None, num_threads: int | None) -> "
              "numpy.typing.NDArray[numpy.float64]"),
      "Derivatives of a by q, v and tau, then of the forces: (..., 3 nv^2 + 3 n_rows nv).\n"
      "\n"
      "inputs: per row its force, damping, and what stiffness adds per motion of its frame (6), (..., n_rows, 8).");
  m.def(
      "impulse_derivatives",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle after, const ConstraintSet& constraints,
         nb::handle inputs, nb::handle active, nb::handle num_threads) {
        return call_constrained(model, FW_DOUBLE_ALGORITHM(impulse_derivatives), 2, q, v, {"after", after}, constraints,
                                inputs, active, nb::none(), num_threads);
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("after"), nb::arg("constraints"),
      nb::arg("inputs"), nb::arg("active").none(), nb::arg("num_threads").none(),
      nb::sig("def impulse_derivatives(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, after: "
              "numpy.typing.ArrayLike, constraints: ConstraintSet, inputs: numpy.typing.ArrayLike, active: "
              "numpy.typing.ArrayLike | None, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]"),
      "Derivatives of the velocity after an impact by q and v, then of the impulses: (..., 2 nv^2 + 2 n_rows nv).\n"
      "\n"
      "inputs: per row its impulse, restitution, and six zeros, (..., n_rows, 8).");
}

}  // namespace featherweight::bindings
