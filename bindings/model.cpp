#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "bindings.hpp"
#include "dynamics/singular_joints.hpp"

namespace featherweight::bindings {
namespace {

using LinkTuple = std::tuple<std::string, double, std::array<double, 3>, std::array<double, 9>>;
using JointTuple = std::tuple<std::string, std::string, int, int, std::array<double, 16>, std::array<double, 16>,
                              std::array<double, 3>, std::array<double, 3>, double, std::vector<double>>;
using FrameTuple = std::tuple<std::string, int, std::array<double, 16>>;

JointType joint_type(const std::string& joint, const std::string& type) {
  static constexpr const char* names[] = {"fixed",     "revolute", "continuous", "prismatic", "helical",
                                          "universal", "planar",   "spherical",  "free"};
  for (int k = 0; k < 9; ++k)
    if (type == names[k]) return static_cast<JointType>(k);
  throw std::invalid_argument("joint '" + joint + "': unknown type '" + type + "'");
}

template <class Numbers>
void require_finite(const std::string& what, const Numbers& numbers) {
  for (double x : numbers)
    if (!std::isfinite(x)) throw std::invalid_argument(what + " is not finite");
}
void require_unit(const std::string& what, const std::array<double, 3>& axis) {
  const double norm = std::sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
  if (!(std::abs(norm - 1) < 1e-9)) throw std::invalid_argument(what + " must be a unit vector");
}

void require_pose(const std::string& what, const PoseArray& m) {
  require_finite(what, m);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c <= r; ++c) {
      const auto row = [&](int k) { return &m[static_cast<std::size_t>(4 * k)]; };
      const double product = row(r)[0] * row(c)[0] + row(r)[1] * row(c)[1] + row(r)[2] * row(c)[2];
      if (!(std::abs(product - (r == c ? 1 : 0)) < 1e-9)) throw std::invalid_argument(what + " is not a rigid motion");
    }
}

ModelSpec specification(std::string name, std::array<double, 3> gravity, const std::vector<LinkTuple>& links,
                        const std::vector<JointTuple>& joints, const std::vector<FrameTuple>& frames) {
  ModelSpec spec;
  spec.name = std::move(name);
  spec.gravity = gravity;
  require_finite("gravity", gravity);
  for (const auto& [link, mass, com, inertia] : links) {
    require_finite("link '" + link + "': com", com);
    require_finite("link '" + link + "': inertia", inertia);
    if (!std::isfinite(mass) || mass < 0)
      throw std::invalid_argument("link '" + link + "': mass must be finite and not negative");
    spec.links.push_back({link, mass, com, inertia});
  }
  for (const auto& [joint, type, parent, child, placement, child_placement, axis, axis2, pitch, armature] : joints) {
    const std::string what = "joint '" + joint + "': ";
    const JointType t = joint_type(joint, type);
    require_pose(what + "placement", placement);
    require_pose(what + "child_placement", child_placement);
    require_finite(what + "armature", armature);
    require_finite(what + "pitch", std::array<double, 1>{pitch});
    if (t == JointType::revolute || t == JointType::continuous || t == JointType::prismatic ||
        t == JointType::helical || t == JointType::universal)
      require_unit(what + "axis", axis);
    if (t == JointType::universal) require_unit(what + "axis2", axis2);
    for (double a : armature)
      if (a < 0) throw std::invalid_argument(what + "armature must not be negative");
    spec.joints.push_back({joint, t, parent, child, placement, child_placement, axis, axis2, pitch, armature});
  }
  for (const auto& [frame, link, placement] : frames) {
    require_pose("frame '" + frame + "': placement", placement);
    spec.frames.push_back({frame, link, placement});
  }
  return spec;
}

nb::object as_array(const std::vector<double>& values) {
  NewArray array({values.size()}, 'd');
  std::memcpy(array.data(), values.data(), values.size() * sizeof(double));
  return array.take();
}

}  // namespace

int find_frame(const Model& model, nb::handle frame) {
  std::string name;
  if (nb::try_cast(frame, name)) return model.frame(name);
  int index = 0;
  if (nb::isinstance<nb::bool_>(frame) || !PyIndex_Check(frame.ptr()) || !nb::try_cast(frame, index))
    throw std::invalid_argument("frame: expected the name or the index of a link or frame, got " +
                                nb::cast<std::string>(nb::repr(frame)));
  if (index < 0 || index >= model.n_frames())
    throw std::invalid_argument("frame: index " + std::to_string(index) + " is out of range, model '" +
                                model.spec().name + "' has " + std::to_string(model.n_frames()) + " links and frames");
  return index;
}

void bind_model(nb::module_& m) {
  nb::class_<Model>(m, "Model", "A compiled robot: immutable, shareable between threads.")
      .def(
          "__init__",
          [](Model* self, std::string name, std::array<double, 3> gravity, const std::vector<LinkTuple>& links,
             const std::vector<JointTuple>& joints, const std::vector<FrameTuple>& frames) {
            const Model* model = new (self) Model(specification(std::move(name), gravity, links, joints, frames));
            try {
              require_regular_joints(*model);
            } catch (...) {
              model->~Model();
              throw;
            }
          },
          nb::arg("name"), nb::arg("gravity"), nb::arg("links"), nb::arg("joints"), nb::arg("frames"))
      .def_prop_ro("nq", &Model::nq, "Number of configuration coordinates.")
      .def_prop_ro("nv", &Model::nv,
                   "Number of degrees of freedom: the length of velocities, accelerations and joint forces.")
      .def_prop_ro("n_links", &Model::n_links, "Number of links, those on fixed joints included.")
      .def_prop_ro("mass", &Model::mass, "Total mass [kg].")
      .def_prop_ro(
          "gravity",
          [](const Model& model) {
            const auto& g = model.spec().gravity;
            return as_array({g[0], g[1], g[2]});
          },
          nb::sig("def gravity(self) -> numpy.typing.NDArray[numpy.float64]"), "Gravity, (3,) [m/s^2], world axes.")
      .def(
          "neutral", [](const Model& model) { return as_array(model.neutral()); },
          nb::sig("def neutral(self) -> numpy.typing.NDArray[numpy.float64]"),
          "The configuration with every coordinate zero and every quaternion the identity, (nq,).")
      .def(
          "joint_ranges",
          [](const Model& model) {
            std::vector<std::tuple<int, int, int, int>> ranges;
            for (const JointRange& r : model.joint_ranges()) ranges.emplace_back(r.q, r.nq, r.v, r.nv);
            return ranges;
          },
          "For every joint (first q, number of q, first v, number of v).")
      .def(
          "integrate",
          [](const Model& model, nb::handle q, nb::handle dv, nb::handle num_threads) {
            Arguments arguments{{"q", q}, {"dv", dv}, {}, {}};
            return call(model, FW_ALGORITHM(integrate), arguments, {static_cast<std::size_t>(model.nq())},
                        {.num_threads = num_threads});
          },
          nb::arg("q").none(), nb::arg("dv").none(), nb::kw_only(), nb::arg("num_threads") = nb::none(),
          nb::sig("def integrate(self, q: numpy.typing.ArrayLike, dv: numpy.typing.ArrayLike, *, "
                  "num_threads: int | None = None) -> numpy.typing.NDArray[typing.Any]"),
          "The configuration reached from q (..., nq) by moving along the tangent vector dv (..., nv) for unit "
          "time.\n\n"
          "Rotations compose with the exponential, a free joint follows the twist dv; quaternions stay normalised.")
      .def(
          "difference",
          [](const Model& model, nb::handle q0, nb::handle q1, nb::handle num_threads) {
            Arguments arguments{{"q0", q0}, {}, {"q1", q1}, {}, true};
            return call(model, FW_ALGORITHM(difference), arguments, {static_cast<std::size_t>(model.nv())},
                        {.num_threads = num_threads});
          },
          nb::arg("q0").none(), nb::arg("q1").none(), nb::kw_only(), nb::arg("num_threads") = nb::none(),
          nb::sig("def difference(self, q0: numpy.typing.ArrayLike, q1: numpy.typing.ArrayLike, *, "
                  "num_threads: int | None = None) -> numpy.typing.NDArray[typing.Any]"),
          "The tangent vector (..., nv) that leads from q0 to q1: integrate(q0, difference(q0, q1)) is q1.");
}

}  // namespace featherweight::bindings
