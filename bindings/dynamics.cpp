#include <stdexcept>

#include "bindings.hpp"

namespace featherweight::bindings {
namespace {

std::size_t count(int n) { return static_cast<std::size_t>(n); }

}  // namespace

void require_mass(const Model& model, const char* function) {
  if (model.tree<double>().mass <= 0)
    throw std::invalid_argument(std::string(function) + ": nothing of model '" + model.spec().name +
                                "' that moves has mass");
}

void bind_dynamics(nb::module_& m) {
  m.def(
      "rnea",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle a, nb::handle f_ext, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {"v", v}, {"a", a}, optional("f_ext", f_ext)};
        return call(model, FW_ALGORITHM(rnea), arguments, {count(model.nv())}, {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("a").none(), nb::arg("f_ext") = nb::none(),
      nb::kw_only(), nb::arg("num_threads") = nb::none(),
      nb::sig("def rnea(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: numpy.typing.ArrayLike, "
              "f_ext: numpy.typing.ArrayLike | None = None, *, num_threads: int | None = None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "Inverse dynamics: the joint forces tau = H(q) a + h(q, v) - J^T f_ext, (..., nv).\n"
      "\n"
      "f_ext: forces [force; moment] on the links, (n_links, 6) or (batch, n_links, 6), each in its link's axes at its "
      "origin."
      "\n"
      "\n"
      ">>> fw.rnea(fw.models.pendulum(), [0.0], [0.0], [2.0])\n"
      "array([2.])");
  m.def(
      "aba",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle tau, nb::handle f_ext, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {"v", v}, {"tau", tau}, optional("f_ext", f_ext)};
        return call(model, FW_ALGORITHM(aba), arguments, {count(model.nv())}, {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("tau").none(), nb::arg("f_ext") = nb::none(),
      nb::kw_only(), nb::arg("num_threads") = nb::none(),
      nb::sig("def aba(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, tau: "
              "numpy.typing.ArrayLike, f_ext: numpy.typing.ArrayLike | None = None, *, num_threads: int | None = None) "
              "-> numpy.typing.NDArray[typing.Any]"),
      "Forward dynamics: the accelerations a = H(q)^-1 (tau + J^T f_ext - h(q, v)), (..., nv), in O(nv).\n"
      "\n"
      "f_ext: forces [force; moment] on the links, (n_links, 6) or (batch, n_links, 6), each in its link's axes at its "
      "origin."
      "\n"
      "\n"
      ">>> fw.aba(fw.models.pendulum(), [0.0], [0.0], [2.0])\n"
      "array([2.])");
  m.def(
      "bias_forces",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {"v", v}, {}, {}};
        return call(model, FW_ALGORITHM(rnea), arguments, {count(model.nv())}, {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::kw_only(), nb::arg("num_threads") = nb::none(),
      nb::sig("def bias_forces(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, *, num_threads: int "
              "| None = None) -> numpy.typing.NDArray[typing.Any]"),
      "h(q, v): the joint forces that balance gravity, Coriolis and centrifugal forces, (..., nv)."
      "\n"
      "\n"
      ">>> fw.bias_forces(fw.models.pendulum(), [0.5 * np.pi], [0.0]).round(2)\n"
      "array([9.81])");
  m.def(
      "gravity_forces",
      [](const Model& model, nb::handle q, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {}, {}, {}};
        return call(model, FW_ALGORITHM(rnea), arguments, {count(model.nv())}, {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::kw_only(), nb::arg("num_threads") = nb::none(),
      nb::sig("def gravity_forces(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "The joint forces that hold the robot still against gravity, (..., nv)."
      "\n"
      "\n"
      ">>> fw.gravity_forces(fw.models.pendulum(), [0.5 * np.pi]).round(2)\n"
      "array([9.81])");
  m.def(
      "crba",
      [](const Model& model, nb::handle q, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {}, {}, {}};
        return call(model, FW_ALGORITHM(crba), arguments, {count(model.nv()), count(model.nv())},
                    {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::kw_only(), nb::arg("num_threads") = nb::none(),
      nb::sig("def crba(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "The joint-space inertia H(q), (..., nv, nv), symmetric, armature included."
      "\n"
      "\n"
      ">>> fw.crba(fw.models.pendulum(length=2.0), [0.3])\n"
      "array([[4.]])");
  m.def(
      "minverse",
      [](const Model& model, nb::handle q, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {}, {}, {}};
        return call(model, FW_ALGORITHM(minverse), arguments, {count(model.nv()), count(model.nv())},
                    {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::kw_only(), nb::arg("num_threads") = nb::none(),
      nb::sig("def minverse(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "The inverse of the joint-space inertia, (..., nv, nv), computed without forming H, in O(nv^2)."
      "\n"
      "\n"
      ">>> fw.minverse(fw.models.pendulum(length=2.0), [0.3])\n"
      "array([[0.25]])");
  m.def(
      "center_of_mass",
      [](const Model& model, nb::handle q, nb::handle num_threads) {
        require_mass(model, "center_of_mass");
        Arguments arguments{{"q", q}, {}, {}, {}};
        return call(model, FW_ALGORITHM(center_of_mass), arguments, {3}, {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::kw_only(), nb::arg("num_threads") = nb::none(),
      nb::sig("def center_of_mass(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "Centre of mass of everything that moves, (..., 3) [m], world axes."
      "\n"
      "\n"
      ">>> fw.center_of_mass(fw.models.pendulum(length=2.0), [0.0]) + 0.0\n"
      "array([ 0.,  0., -2.])");
  m.def(
      "kinetic_energy",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {"v", v}, {}, {}};
        return call(model, FW_ALGORITHM(kinetic_energy), arguments, {}, {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::kw_only(), nb::arg("num_threads") = nb::none(),
      nb::sig("def kinetic_energy(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, *, num_threads: "
              "int | None = None) -> numpy.typing.NDArray[typing.Any]"),
      "1/2 v^T H v, rotors (armature) included, (...) [J]."
      "\n"
      "\n"
      ">>> float(fw.kinetic_energy(fw.models.pendulum(), [0.0], [2.0]))\n"
      "2.0");
  m.def(
      "potential_energy",
      [](const Model& model, nb::handle q, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {}, {}, {}};
        return call(model, FW_ALGORITHM(potential_energy), arguments, {}, {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::kw_only(), nb::arg("num_threads") = nb::none(),
      nb::sig("def potential_energy(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "Potential energy of gravity, zero with the centre of mass at the world's origin, (...) [J]."
      "\n"
      "\n"
      ">>> round(float(fw.potential_energy(fw.models.pendulum(), [0.0])), 2)\n"
      "-9.81");
  m.def(
      "centroidal_momentum",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle num_threads) {
        require_mass(model, "centroidal_momentum");
        Arguments arguments{{"q", q}, {"v", v}, {}, {}};
        return call(model, FW_ALGORITHM(centroidal_momentum), arguments, {6}, {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::kw_only(), nb::arg("num_threads") = nb::none(),
      nb::sig("def centroidal_momentum(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, *, "
              "num_threads: int | None = None) -> numpy.typing.NDArray[typing.Any]"),
      "Momentum [linear; angular] about the centre of mass, (..., 6) [kg m/s, kg m^2/s], world axes."
      "\n"
      "\n"
      ">>> fw.centroidal_momentum(fw.models.box(mass=2.0), [0, 0, 0, 0, 0, 0, 1], [3, 0, 0, 0, 0, 0])\n"
      "array([6., 0., 0., 0., 0., 0.])");
}

}  // namespace featherweight::bindings
