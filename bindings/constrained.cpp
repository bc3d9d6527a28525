// bindings/constrained.cpp -- sets of constraints, and dynamics under them.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "articulated/limbs.hpp"
#include "bindings.hpp"

namespace featherweight::bindings {
namespace {

// frame, offset, whether it is a point, axes, compliance, the second frame, its offset, length of a rod
using ClosureTuple = std::tuple<nb::object, std::array<double, 16>, bool, std::vector<int>, std::vector<double>,
                                nb::object, std::array<double, 16>, double>;
// degree of freedom and polynomial of each joint; compliance
using CouplingTuple = std::tuple<std::vector<std::tuple<int, std::vector<double>>>, double>;
using ConstraintTuple = std::variant<ClosureTuple, CouplingTuple>;

ConstraintSpec specification(const Model& model, const ClosureTuple& closure) {
  const auto& [frame, offset, point, axes, compliance, to, to_offset, length] = closure;
  return ClosureSpec{find_frame(model, frame),
                     offset,
                     to.is_none() ? -1 : find_frame(model, to),
                     to_offset,
                     point,
                     axes,
                     compliance,
                     length};
}
ConstraintSpec specification(const Model&, const CouplingTuple& coupling) {
  CouplingSpec spec{{}, std::get<1>(coupling)};
  for (const auto& [dof, polynomial] : std::get<0>(coupling)) spec.terms.push_back({dof, polynomial});
  return spec;
}
std::vector<ConstraintSpec> specifications(const Model& model, const std::vector<ConstraintTuple>& constraints) {
  std::vector<ConstraintSpec> specs;
  for (const ConstraintTuple& constraint : constraints)
    specs.push_back(std::visit([&](const auto& each) { return specification(model, each); }, constraint));
  return specs;
}

}  // namespace

Algorithm find_method(const std::string& name) {
  static constexpr Algorithm all[] = {FW_DOUBLE_ALGORITHM(limb_pv), FW_DOUBLE_ALGORITHM(pv),
                                      FW_DOUBLE_ALGORITHM(prox_pv), FW_DOUBLE_ALGORITHM(pv_early),
                                      FW_DOUBLE_ALGORITHM(ltl),     FW_DOUBLE_ALGORITHM(kkt),
                                      FW_DOUBLE_ALGORITHM(pv_soft), FW_DOUBLE_ALGORITHM(constrained_aba)};
  std::string names;
  for (const Algorithm& method : all) {
    if (name == method.name) return method;
    names += (names.empty() ? "" : ", ") + std::string(method.name);
  }
  throw std::invalid_argument("method: unknown '" + name + "', expected one of " + names);
}

void check_model(const Model& model, const ConstraintSet& constraints) {
  if (&constraints.model() != &model) throw std::invalid_argument("constraints: compiled for another model");
}

void check_single_links(const Model& model, const ConstraintSet& constraints) {
  check_model(model, constraints);
  if (constraints.between_links())
    throw std::invalid_argument(
        "constraints: some are between two links or of joints; derivatives are known of anchors only");
}

void check_method(const ConstraintSet& constraints, const std::string& method) {
  if (!constraints.between_links()) return;
  for (const char* name : {"pv_early", "pv_soft"})
    if (method == name)
      throw std::invalid_argument("method: '" + method +
                                  "' knows no loops and no couplings; use 'limb_pv', 'pv', 'prox_pv', "
                                  "'constrained_aba', 'ltl' or 'kkt'");
  for (const char* name : {"pv_osim_base", "caba_osim"})
    if (method == name)
      throw std::invalid_argument("method: '" + method + "' knows no loops and no couplings; use 'dense' or 'ltl'");
}

namespace {

// None for rows of loops.
LimbPlan limbs_of(const ConstraintSet& constraints) {
  return constraints.compiled().limbs ? *constraints.compiled().limbs : LimbPlan{};
}
void check_dofs(const Model& model, const std::vector<int>& dofs) {
  for (int k : dofs)
    if (k < 0 || k >= model.nv())
      throw std::invalid_argument("unactuated: no degree of freedom " + std::to_string(k) + " in a model with " +
                                  std::to_string(model.nv()));
}

}  // namespace

void bind_constrained(nb::module_& m) {
  nb::class_<ConstraintSet>(m, "ConstraintSet", "Constraints on the links of one model, compiled to rows.")
      .def(
          "__init__",
          [](ConstraintSet* self, const Model& model, const std::vector<ConstraintTuple>& constraints) {
            new (self) ConstraintSet(model, specifications(model, constraints));
          },
          nb::arg("model"), nb::arg("constraints"), nb::keep_alive<1, 2>())
      .def_prop_ro("n_rows", &ConstraintSet::n_rows, "Number of rows of all constraints.")
      .def_prop_ro("n_constraints", &ConstraintSet::n_constraints, "Number of constraints.")
      .def_prop_ro("has_loops", &ConstraintSet::between_links,
                   "Whether some rows are between links, or of joints: not all methods know such rows.")
      .def_prop_ro(
          "limbs_inside", [](const ConstraintSet& set) { return limbs_of(set).n_inside; },
          "Limbs that limb_pv ends on links that move on, where a singular posture asks for a careful solve.")
      .def_prop_ro(
          "rows_at_root", [](const ConstraintSet& set) { return limbs_of(set).largest_irregular; },
          "Most rows that no limb can move by itself, and that limb_pv solves for together at the root of a tree.");
  m.def(
      "impulse_dynamics",
      [](const Model& model, nb::handle q, const ConstraintSet& constraints, nb::handle targets, nb::handle active,
         const std::string& method, double tolerance, int max_iterations, nb::handle num_threads) {
        check_model(model, constraints);
        check_method(constraints, method);
        Arguments arguments{{"q", q}, {}, {}, {}, false, {"targets", targets}, optional("active", active)};
        return call(model, find_method(method), arguments,
                    {static_cast<std::size_t>(model.nv() + constraints.n_rows() + 3)},
                    {.num_threads = num_threads,
                     .constraints = &constraints,
                     .tolerance = tolerance,
                     .max_iterations = max_iterations,
                     .weightless = true});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("constraints"), nb::arg("targets").none(),
      nb::arg("active").none(), nb::arg("method"), nb::arg("tolerance"), nb::arg("max_iterations"),
      nb::arg("num_threads").none(),
      nb::sig("def impulse_dynamics(model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, targets: "
              "numpy.typing.ArrayLike, active: numpy.typing.ArrayLike | None, method: str, tolerance: float, "
              "max_iterations: int, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]"),
      "Per sample [velocity change, impulses, residual, iterations, converged]; targets are those of J dv.\n"
      "\n"
      "Constrained dynamics at rest and without weight: what forces are to accelerations, impulses are to velocities.");
  m.def(
      "constrained_dynamics",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle tau, const ConstraintSet& constraints,
         nb::handle targets, nb::handle active, nb::handle f_ext, const std::string& method, double tolerance,
         int max_iterations, nb::handle num_threads) {
        check_model(model, constraints);
        check_method(constraints, method);
        Arguments arguments{{"q", q},
                            {"v", v},
                            {"tau", tau},
                            optional("f_ext", f_ext),
                            false,
                            {"targets", targets},
                            optional("active", active)};
        return call(model, find_method(method), arguments,
                    {static_cast<std::size_t>(model.nv() + constraints.n_rows() + 3)},
                    {.num_threads = num_threads,
                     .constraints = &constraints,
                     .tolerance = tolerance,
                     .max_iterations = max_iterations});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("tau").none(), nb::arg("constraints"),
      nb::arg("targets").none(), nb::arg("active").none(), nb::arg("f_ext").none(), nb::arg("method"),
      nb::arg("tolerance"), nb::arg("max_iterations"), nb::arg("num_threads").none(),
      nb::sig("def constrained_dynamics(model: Model, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, tau: "
              "numpy.typing.ArrayLike, constraints: ConstraintSet, targets: numpy.typing.ArrayLike, active: "
              "numpy.typing.ArrayLike | None, f_ext: numpy.typing.ArrayLike | None, method: str, tolerance: float, "
              "max_iterations: int, num_threads: int | None) -> numpy.typing.NDArray[numpy.float64]"),
      "Per sample [a, forces, residual, iterations, converged]; featherweight.constrained_dynamics unpacks it.");
  m.def(
      "constrained_inverse_dynamics",
      [](const Model& model, nb::handle q, nb::handle v, nb::handle a, const ConstraintSet& constraints,
         const std::vector<int>& unactuated, nb::handle active, nb::handle f_ext, double tolerance, int max_iterations,
         nb::handle num_threads) {
        check_model(model, constraints);
        check_dofs(model, unactuated);
        Arguments arguments{
            {"q", q}, {"v", v}, {"a", a}, optional("f_ext", f_ext), false, {}, optional("active", active)};
        return call(model, FW_DOUBLE_ALGORITHM(constrained_inverse), arguments,
                    {static_cast<std::size_t>(model.nv() + constraints.n_rows() + 2)},
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
