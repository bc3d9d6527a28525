// bindings/scene.cpp -- which shapes may touch, and scenes compiled for steps of one length.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "arrays.hpp"
#include "bindings.hpp"
#include "collision.hpp"
#include "scene/simulation.hpp"
#include "step/strut_lengths.hpp"

namespace featherweight::bindings {

void check_index(const char* what, int index, int n, bool world_allowed) {
  if (index < (world_allowed ? -1 : 0) || index >= n)
    throw std::invalid_argument(std::string(what) + ": index " + std::to_string(index) + " is out of range");
}

namespace {

using ShapeTuple = std::tuple<std::string, int, PoseArray, nb::object>;  // kind, link, placement, size or data
// friction, torsional, rolling, restitution, compliance, damping, margin, dim, tangential restitution
using MaterialTuple = std::tuple<double, double, double, double, double, double, double, int, double>;
using JointRowTuple = std::tuple<std::string, int, double, double>;  // kind, degree of freedom, bound, restitution
// kind, degrees of freedom with coefficients, bound
using TendonRowTuple = std::tuple<std::string, std::vector<std::pair<int, double>>, double>;
using ClosureTuple = std::tuple<int, PoseArray, int, PoseArray, std::vector<int>, double>;  // length of a rod last
using CouplingTuple = std::vector<std::tuple<int, std::vector<double>>>;  // degrees of freedom and polynomials
using GuideTuple = std::array<double, 4>;             // acceleration, stiffness, damping, compliance
using SpringTuple = std::tuple<int, double, double>;  // degree of freedom, stiffness, rest
// degree of freedom, gain, kp, kd, lower, upper, velocity
using ActuatorTuple = std::tuple<int, double, double, double, double, double, double>;
using Three = std::array<double, 3>;
using Range = std::array<double, 2>;
// terms (degree of freedom, coefficient, actuator that brakes it); link, placement and wrench in it; gain (3),
// constant, kp, kd; lower, upper; slack; muscle (8 numbers), if it is one; strut (-1: none) and travel per that of the
// strut; link that sticks (-1: none) and how far
using TransmissionTuple =
    std::tuple<std::vector<std::tuple<int, double, int>>, int, PoseArray, std::array<double, 6>, Three, Three, Range,
               Range, std::optional<std::array<double, 8>>, int, double, int, double>;
// is a muscle's; keep, take; rise, fall, smoothing; lower, upper; is early
using ActivationTuple = std::tuple<bool, std::array<double, 2>, Three, std::array<double, 2>, bool>;
using ActivatedLawTuple = std::tuple<int, int, double>;  // activation, law, gain
using LiftTuple = std::tuple<int, double, Three>;        // link, mass, centre of mass
using StrutPointTuple = std::tuple<int, Three>;          // link (-1: the world), position
// span, link, placement, whether it is a ball, radius, a point that tells the side, if there is one
using StrutBendTuple = std::tuple<int, int, PoseArray, bool, double, std::optional<StrutPointTuple>>;
// points, shares of the spans between them, bends; stiffness, damping, slack
using StrutTuple =
    std::tuple<std::vector<StrutPointTuple>, std::vector<double>, std::vector<StrutBendTuple>, double, double, Range>;
using StrutRowTuple = std::tuple<std::string, int, double>;  // kind, strut, bound
using MediumTuple = std::tuple<double, double, Three>;       // density, viscosity, wind
using BoxTuple = std::tuple<int, PoseArray, Three>;          // link, placement, edges
// link, placement, radii, coefficients, virtual mass and inertia over the density
using EllipsoidTuple = std::tuple<int, PoseArray, Three, std::array<double, 5>, Three, Three>;

JointRow::Kind row_kind(const std::string& name) {
  if (name == "lower_limit") return JointRow::lower_limit;
  if (name == "upper_limit") return JointRow::upper_limit;
  if (name == "dry_friction") return JointRow::dry_friction;
  throw std::invalid_argument("unknown kind of joint row '" + name + "'");
}
Integrator find_integrator(const std::string& name) {
  static constexpr const char* names[] = {"semi_implicit", "implicit", "rk4", "verlet"};
  for (int k = 0; k < 4; ++k)
    if (name == names[k]) return static_cast<Integrator>(k);
  throw std::invalid_argument("unknown integrator '" + name + "'; there are semi_implicit, implicit, rk4, verlet");
}

// shapes: contype, conaffinity, body, parent body, family, surface, static of each.
void make_rules(PairRules* self, const std::vector<std::array<int, 7>>& shapes,
                const std::vector<std::vector<int>>& surfaces, const std::vector<std::array<int, 3>>& exceptions) {
  std::vector<ShapeRule> of_shapes;
  for (const auto& [contype, conaffinity, body, parent, family, surface, is_static] : shapes)
    of_shapes.push_back({static_cast<std::uint32_t>(contype), static_cast<std::uint32_t>(conaffinity), body, parent,
                         family, surface, is_static != 0});
  std::vector<int> materials;
  for (const std::vector<int>& row : surfaces) materials.insert(materials.end(), row.begin(), row.end());
  std::vector<PairRule> of_pairs;
  for (const auto& [first, second, material] : exceptions) of_pairs.push_back({first, second, material});
  new (self)
      PairRules(std::move(of_shapes), std::move(materials), static_cast<int>(surfaces.size()), std::move(of_pairs));
}

SceneSpec scene_spec(const Model& model, const std::vector<ShapeTuple>& shapes,
                     const std::vector<MaterialTuple>& materials, const std::vector<JointRowTuple>& joint_rows,
                     const std::vector<ClosureTuple>& closures, const std::vector<SpringTuple>& springs,
                     const std::vector<ActuatorTuple>& actuators) {
  SceneSpec spec;
  for (const auto& [kind, link, placement, size] : shapes) {
    check_index("shape: link", link, model.n_links(), true);
    spec.shapes.push_back({find_shape(kind, size), link, placement});
  }
  for (const auto& [friction, torsional, rolling, restitution, compliance, damping, margin, dim, turning] : materials)
    spec.materials.push_back({friction, torsional, rolling, restitution, compliance, damping, margin, dim, turning});
  for (const auto& [kind, dof, bound, restitution] : joint_rows) {
    check_index("joint row: degree of freedom", dof, model.nv(), false);
    spec.joint_rows.push_back({row_kind(kind), dof, bound, restitution});
  }
  for (const auto& [a, pose_a, b, pose_b, axes, length] : closures) {
    check_index("closure: link", a, model.n_links(), true);
    check_index("closure: link", b, model.n_links(), true);
    for (std::size_t k = 0; k < axes.size(); ++k)
      if (axes[k] < 0 || axes[k] > 5 || (k > 0 && axes[k] <= axes[k - 1]))
        throw std::invalid_argument("closure: axes must be rising numbers from 0 to 5");
    spec.closures.push_back({a, pose_a, b, pose_b, true, axes, {}, length});
  }
  for (const auto& [dof, stiffness, rest] : springs) {
    check_index("spring: degree of freedom", dof, model.nv(), false);
    spec.springs.push_back({dof, 0, stiffness, rest});
  }
  for (const auto& [dof, gain, kp, kd, lower, upper, velocity] : actuators) {
    check_index("actuator: degree of freedom", dof, model.nv(), false);
    spec.actuators.push_back({dof, 0, 0, gain, kp, kd, lower, upper, velocity, 0, 0, 0, 0});
  }
  return spec;
}

void drive(SceneSpec& spec, const Model& model, const std::vector<TransmissionTuple>& transmissions,
           const std::vector<ActivationTuple>& activations, const std::vector<ActivatedLawTuple>& laws) {
  for (const auto& [terms, link, placement, wrench, gain, affine, bounds, slack, muscle, strut, per_strut, sticky,
                    reach] : transmissions) {
    check_index("transmission: link", link, model.n_links(), true);
    Transmission law{};
    law.gain = gain[0], law.gain_length = gain[1], law.gain_rate = gain[2];
    law.constant = affine[0], law.kp = affine[1], law.kd = affine[2];
    law.lower = bounds[0], law.upper = bounds[1];
    law.slack[0] = slack[0], law.slack[1] = slack[1];
    law.strut = strut, law.per_strut = per_strut;
    check_index("transmission: link", sticky, model.n_links(), true);
    law.sticky = sticky, law.reach = reach;
    if (muscle) {
      const auto& [peak, slack, optimal, shortest, longest, fastest, passive, eccentric] = *muscle;
      law.is_muscle = 1;
      law.muscle = {peak, slack, optimal, shortest, longest, fastest, passive, eccentric};
    }
    std::vector<TransmissionTerm> along;
    for (const auto& [dof, coefficient, brake] : terms) {
      check_index("transmission: degree of freedom", dof, model.nv(), false);
      along.push_back({dof, -1, coefficient, brake});
    }
    spec.transmissions.push_back({law, std::move(along), link, placement, wrench});
  }
  for (const auto& [is_muscle, linear, times, range, is_early] : activations)
    spec.activations.push_back({is_muscle ? Activation::muscle : Activation::linear, linear[0], linear[1], times[0],
                                times[1], times[2], range[0], range[1], is_early});
  for (const auto& [activation, law, gain] : laws) spec.activated_laws.push_back({activation, law, gain});
}

void couple(SceneSpec& spec, const Model& model, const std::vector<CouplingTuple>& couplings,
            const std::vector<GuideTuple>& guides) {
  for (const auto& [acceleration, stiffness, damping, compliance] : guides)
    spec.guides.push_back({acceleration, stiffness, damping, compliance});
  for (const CouplingTuple& terms : couplings) {
    CouplingSpec& coupling = spec.couplings.emplace_back();
    for (const auto& [dof, polynomial] : terms) {
      check_index("coupling: degree of freedom", dof, model.nv(), false);
      coupling.terms.push_back({dof, polynomial});
    }
  }
}

void brace(SceneSpec& spec, const Model& model, const std::vector<StrutTuple>& struts,
           const std::vector<StrutRowTuple>& rows) {
  const auto point_of = [&](const StrutPointTuple& point) {
    check_index("strut: link", std::get<0>(point), model.n_links(), true);
    return StrutSpec::Point{std::get<0>(point), std::get<1>(point)};
  };
  for (const auto& [points, shares, bends, stiffness, damping, slack] : struts) {
    StrutSpec& strut = spec.struts.emplace_back();
    strut.law.stiffness = stiffness, strut.law.damping = damping;
    strut.law.slack[0] = slack[0], strut.law.slack[1] = slack[1];
    for (const StrutPointTuple& point : points) strut.points.push_back(point_of(point));
    if (points.size() < 2 || shares.size() + 1 != points.size())
      throw std::invalid_argument("strut: expected two points or more, and a share for each span");
    strut.shares = shares;
    for (const auto& [span, link, placement, is_ball, radius, side] : bends) {
      check_index("strut: span", span, static_cast<int>(shares.size()), false);
      check_index("strut: link", link, model.n_links(), true);
      StrutSpec::Bend& bend = strut.bends.emplace_back(StrutSpec::Bend{span, link, placement, is_ball, radius, {}});
      if (side) bend.side.push_back(point_of(*side));
    }
  }
  for (const auto& [kind, strut, bound] : rows) {
    check_index("strut row: strut", strut, static_cast<int>(struts.size()), false);
    spec.strut_rows.push_back({row_kind(kind), strut, bound});
  }
}

void string_up(SceneSpec& spec, const Model& model, const std::vector<TendonRowTuple>& rows) {
  for (const auto& [kind, terms, bound] : rows) {
    for (const auto& [dof, coefficient] : terms) check_index("tendon: degree of freedom", dof, model.nv(), false);
    spec.tendon_rows.push_back({row_kind(kind), terms, bound});
  }
}

void immerse(SceneSpec& spec, const Model& model, const MediumTuple& medium, const std::vector<BoxTuple>& boxes,
             const std::vector<EllipsoidTuple>& ellipsoids) {
  const auto& [density, viscosity, wind] = medium;
  spec.medium = {density, viscosity, {wind[0], wind[1], wind[2]}};
  for (const auto& [link, placement, edges] : boxes) {
    check_index("box in the medium: link", link, model.n_links(), false);
    spec.boxes.push_back({link, placement, edges});
  }
  for (const auto& [link, placement, radii, coefficients, mass, inertia] : ellipsoids) {
    check_index("ellipsoid in the medium: link", link, model.n_links(), false);
    spec.ellipsoids.push_back({link, placement, radii, coefficients, mass, inertia});
  }
}

// Of one environment after the other.
nb::object measure_struts(const Simulation& simulation, nb::handle configurations) {
  using namespace host;
  const Scene& scene = simulation.scene();
  const std::size_t nq = static_cast<std::size_t>(scene.tree.nq), nv = static_cast<std::size_t>(scene.tree.nv),
                    n = static_cast<std::size_t>(scene.n_struts),
                    n_links = static_cast<std::size_t>(scene.tree.n_links);
  ArrayArgument q("q", configurations);
  const std::size_t batch = q.batch({scene.tree.nq});
  q.require('d');
  std::vector<double> joints(static_cast<std::size_t>(scene.tree.n_states)),
      travels(static_cast<std::size_t>(scene.n_strut_travels));
  std::vector<Pose<double>> poses(n_links);
  std::vector<Force<double>> carried(n_links), wrenches(static_cast<std::size_t>(scene.n_strut_links));
  NewArray lengths({batch, n}, 'd'), arms({batch, n, nv}, 'd');
  double* const length = static_cast<double*>(lengths.data());
  double* const arm = static_cast<double*>(arms.data());
  std::fill_n(arm, batch * n * nv, 0.0);
  for (std::size_t e = 0; e < batch && n > 0; ++e) {
    const StrutState<double> out{length + e * n, travels.data(), wrenches.data()};
    StrutMeasure<double> all(scene, poses.data(), carried.data(), out);
    all.place_links(q.data<double>() + e * nq, joints.data());
    all.measure();
    for (std::size_t k = 0; k < n; ++k)
      for_strut_dofs(scene, scene.struts[k], [&](int f, int place) {
        arm[(e * n + k) * nv + static_cast<std::size_t>(f)] = travels[static_cast<std::size_t>(place)];
      });
  }
  return nb::make_tuple(lengths.take(), arms.take());
}

}  // namespace

void bind_scene(nb::module_& m) {
  nb::class_<PairRules>(m, "PairRules", "Which shapes of a scene may touch, and by which law: its filter.")
      .def("__init__", &make_rules, nb::arg("shapes"), nb::arg("surfaces"), nb::arg("exceptions"))
      .def(
          "law",
          [](const PairRules& self, int a, int b) {
            check_index("shape", a, self.n_shapes(), false);
            check_index("shape", b, self.n_shapes(), false);
            return self.material(a, b);
          },
          nb::arg("a"), nb::arg("b"), "Index of the law of two shapes; -1: they never touch.")
      .def(
          "pairs",
          [](const PairRules& self, std::size_t most) -> std::optional<std::vector<std::array<int, 3>>> {
            const auto found = self.pairs(most);
            if (!found) return std::nullopt;
            std::vector<std::array<int, 3>> pairs;
            for (const PairRule& pair : *found) pairs.push_back({pair.first, pair.second, pair.material});
            return pairs;
          },
          nb::arg("most"), "First and second shape and law of all pairs that may touch; None if there are more.");

  nb::class_<Simulation>(m, "Simulation", "A scene compiled for steps of one length.")
      .def(
          "__init__",
          [](Simulation* self, const Model& model, double dt, const std::string& integrator,
             const std::vector<ShapeTuple>& shapes, std::shared_ptr<const PairRules> rules,
             const std::vector<MaterialTuple>& materials, const std::vector<JointRowTuple>& joint_rows,
             const std::vector<ClosureTuple>& closures, const std::vector<ActuatorTuple>& actuators,
             std::vector<double> damping, std::vector<double> inertias, const std::vector<SpringTuple>& springs,
             const MediumTuple& medium, const std::vector<BoxTuple>& boxes,
             const std::vector<EllipsoidTuple>& ellipsoids, const std::vector<TransmissionTuple>& transmissions,
             const std::vector<ActivationTuple>& activations, const std::vector<ActivatedLawTuple>& activated_laws,
             const std::vector<LiftTuple>& lifts, const std::vector<CouplingTuple>& couplings,
             const std::vector<GuideTuple>& guides, const std::vector<StrutTuple>& struts,
             const std::vector<TendonRowTuple>& tendon_rows, const std::vector<StrutRowTuple>& strut_rows,
             std::vector<int> switched) {
            SceneSpec spec = scene_spec(model, shapes, materials, joint_rows, closures, springs, actuators);
            couple(spec, model, couplings, guides);
            string_up(spec, model, tendon_rows);
            spec.rules = std::move(rules);
            spec.switched = std::move(switched);
            spec.damping = std::move(damping);
            spec.inertias = std::move(inertias);
            immerse(spec, model, medium, boxes, ellipsoids);
            drive(spec, model, transmissions, activations, activated_laws);
            for (const auto& [link, mass, center] : lifts) {
              check_index("lift: link", link, model.n_links(), false);
              spec.lifts.push_back({link, mass, center});
            }
            brace(spec, model, struts, strut_rows);
            new (self) Simulation(model, std::move(spec), dt, find_integrator(integrator));
          },
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 5>(), nb::arg("model"), nb::arg("dt"), nb::arg("integrator"),
          nb::arg("shapes"), nb::arg("rules"), nb::arg("materials"), nb::arg("joint_rows"), nb::arg("closures"),
          nb::arg("actuators"), nb::arg("damping"), nb::arg("inertias"), nb::arg("springs"), nb::arg("medium"),
          nb::arg("boxes"), nb::arg("ellipsoids"), nb::arg("transmissions"), nb::arg("activations"),
          nb::arg("activated_laws"), nb::arg("lifts"), nb::arg("couplings"), nb::arg("guides"), nb::arg("struts"),
          nb::arg("tendon_rows"), nb::arg("strut_rows"), nb::arg("switched"))
      .def("measure_struts", &measure_struts, nb::arg("q"),
           nb::sig("def measure_struts(self, q: numpy.typing.NDArray[numpy.float64]) -> "
                   "tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
           "Of q (batch, nq): how long struts are [m], (batch, struts), and how that changes with velocities, "
           "(batch, struts, nv).")
      .def_prop_ro("dt", &Simulation::dt, "Length of a step [s].");
}

}  // namespace featherweight::bindings
