#include "bindings.hpp"

#include <nanobind/stl/string.h>

#include <stdexcept>

namespace featherweight::bindings {
namespace {

std::size_t count(int n) { return static_cast<std::size_t>(n); }

}  // namespace

Reference find_reference(nb::handle reference) {
  std::string name;
  if (nb::try_cast(reference, name)) {
    if (name == "local") return Reference::local;
    if (name == "world") return Reference::world;
    if (name == "local_world_aligned") return Reference::local_world_aligned;
  }
  throw std::invalid_argument("reference: expected 'local', 'world' or 'local_world_aligned', got " +
                              nb::cast<std::string>(nb::repr(reference)));
}

void bind_kinematics(nb::module_& m) {
  m.def(
      "forward_kinematics",
      [](const Model& model, nb::handle q, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {}, {}, {}};
        return call(model, FW_ALGORITHM(forward_kinematics), arguments, {count(model.n_links()), 4, 4},
                    {.num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::kw_only(), nb::arg("num_threads") = nb::none(),
      nb::sig("def forward_kinematics(model: Model, q: numpy.typing.ArrayLike, *, num_threads: int | None = None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "Placements of all links in the world, (..., n_links, 4, 4), in the order of model.link_names.\n"
      "\n"
      "q: configurations, (nq,) or (batch, nq)."
      "\n"
      "\n"
      ">>> fw.forward_kinematics(fw.models.quadruped(), fw.models.quadruped().neutral()).shape\n"
      "(17, 4, 4)");
  m.def(
      "frame_placement",
      [](const Model& model, nb::handle q, nb::handle frame, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {}, {}, {}};
        return call(model, FW_ALGORITHM(frame_placement), arguments, {4, 4},
                    {.mount = find_frame(model, frame), .num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("frame").none(), nb::kw_only(),
      nb::arg("num_threads") = nb::none(),
      nb::sig("def frame_placement(model: Model, q: numpy.typing.ArrayLike, frame: str | int, *, num_threads: int | "
              "None = None) -> numpy.typing.NDArray[typing.Any]"),
      "Placement of a link or frame in the world, (..., 4, 4).\n"
      "\n"
      "q: configurations, (nq,) or (batch, nq). frame: name or index."
      "\n"
      "\n"
      ">>> fw.frame_placement(fw.models.pendulum(), [0.0], \"tip\")[:3, 3] + 0.0\n"
      "array([ 0.,  0., -1.])");
  m.def(
      "frame_velocity",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle frame, nb::handle reference,
         nb::handle num_threads) {
        Arguments arguments{{"q", q}, {"v", v}, {}, {}};
        return call(
            model, FW_ALGORITHM(frame_velocity), arguments, {6},
            {.mount = find_frame(model, frame), .reference = find_reference(reference), .num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("frame").none(), nb::kw_only(),
      nb::arg("reference").none() = "local", nb::arg("num_threads") = nb::none(),
      nb::sig("def frame_velocity(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, frame: str | "
              "int, *, reference: typing.Literal['local', 'world', 'local_world_aligned'] = 'local', num_threads: int "
              "| None = None) -> numpy.typing.NDArray[typing.Any]"),
      "Spatial velocity [linear; angular] of a link or frame, (..., 6) [m/s, rad/s].\n"
      "\n"
      "reference: 'local' (axes and origin of the frame), 'world' (those of the world) or 'local_world_aligned'\n"
      "(origin of the frame, axes of the world)."
      "\n"
      "\n"
      ">>> fw.frame_velocity(fw.models.pendulum(), [0.0], [2.0], \"tip\") + 0.0\n"
      "array([-2.,  0.,  0.,  0.,  2.,  0.])");
  m.def(
      "frame_acceleration",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle a, nb::handle frame, nb::handle reference,
         bool classical, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {"v", v}, {"a", a}, {}};
        return call(model, FW_ALGORITHM(frame_acceleration), arguments, {6},
                    {.mount = find_frame(model, frame),
                     .reference = find_reference(reference),
                     .classical = classical,
                     .num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("a").none(), nb::arg("frame").none(),
      nb::kw_only(), nb::arg("reference").none() = "local", nb::arg("classical") = false,
      nb::arg("num_threads") = nb::none(),
      nb::sig("def frame_acceleration(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, a: "
              "numpy.typing.ArrayLike, frame: str | int, *, reference: typing.Literal['local', 'world', "
              "'local_world_aligned'] = 'local', classical: bool = False, num_threads: int | None = None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "Spatial acceleration [linear; angular] of a link or frame, (..., 6) [m/s^2, rad/s^2], gravity not included.\n"
      "\n"
      "classical: instead, the acceleration of the material point at the origin (adds angular x linear velocity)."
      "\n"
      "\n"
      ">>> fw.frame_acceleration(fw.models.pendulum(), [0.0], [2.0], [0.0], \"tip\", classical=True)[:3] + 0.0\n"
      "array([0., 0., 4.])");
  m.def(
      "jacobian",
      [](const Model& model, nb::handle q, nb::handle frame, nb::handle reference, nb::handle num_threads) {
        Arguments arguments{{"q", q}, {}, {}, {}};
        return call(
            model, FW_ALGORITHM(jacobian), arguments, {6, count(model.nv())},
            {.mount = find_frame(model, frame), .reference = find_reference(reference), .num_threads = num_threads});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("frame").none(), nb::kw_only(),
      nb::arg("reference").none() = "local", nb::arg("num_threads") = nb::none(),
      nb::sig("def jacobian(model: Model, q: numpy.typing.ArrayLike, frame: str | int, *, reference: "
              "typing.Literal['local', 'world', 'local_world_aligned'] = 'local', num_threads: int | None = None) -> "
              "numpy.typing.NDArray[typing.Any]"),
      "Jacobian of a link or frame, (..., 6, nv): its spatial velocity in the same reference is jacobian @ v."
      "\n"
      "\n"
      ">>> fw.jacobian(fw.models.pendulum(), [0.0], \"tip\").T + 0.0\n"
      "array([[-1.,  0.,  0.,  0.,  1.,  0.]])");
}

}  // namespace featherweight::bindings
