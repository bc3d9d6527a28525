#include <nanobind/stl/string.h>

#include <stdexcept>

#include "bindings.hpp"

namespace featherweight::bindings {
namespace {

template <std::size_t n>
const Algorithm* find_among(const Algorithm (&all)[n], const std::string& name) {
  for (const Algorithm& algorithm : all)
    if (name == algorithm.name) return &algorithm;
  return nullptr;
}
const Algorithm& known(const Algorithm* algorithm, const std::string& name) {
  if (!algorithm) throw std::invalid_argument("method: unknown '" + name + "'");
  return *algorithm;
}

}  // namespace

const Algorithm* find_delassus_method(const std::string& name) {
  static constexpr Algorithm all[] = {FW_DOUBLE_ALGORITHM(ltl_osim), FW_DOUBLE_ALGORITHM(pv_osim)};
  return find_among(all, name);
}
const Algorithm* find_delassus_inverse(const std::string& name) {
  static constexpr Algorithm all[] = {FW_DOUBLE_ALGORITHM(ltl_inverse), FW_DOUBLE_ALGORITHM(pv_inverse),
                                      FW_DOUBLE_ALGORITHM(pv_osim_base)};
  return find_among(all, name);
}

void bind_delassus(nb::module_& m) {
  m.def(
      "delassus",
      [](const Model& model, nb::handle q, const ConstraintSet& constraints, nb::handle active,
         const std::string& method, nb::handle num_threads) {
        check_model(model, constraints);
        Arguments arguments{{"q", q}, {}, {}, {}, false, {}, optional("active", active)};
        const std::size_t n = static_cast<std::size_t>(constraints.n_rows());
        return call(model, known(find_delassus_method(method), method), arguments, {n, n},
                    {.num_threads = num_threads, .constraints = &constraints});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("constraints"), nb::arg("active").none(), nb::arg("method"),
      nb::arg("num_threads").none(),
      nb::sig("def delassus(model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, active: "
              "numpy.typing.ArrayLike | None, method: str, num_threads: int | None) -> "
              "numpy.typing.NDArray[numpy.float64]"),
      "J H^-1 J^T, (..., n_rows, n_rows), by the kernel of that name.");
  m.def(
      "delassus_inverse",
      [](const Model& model, nb::handle q, const ConstraintSet& constraints, nb::handle damping, nb::handle active,
         const std::string& method, nb::handle num_threads) {
        check_single_links(model, constraints);
        Arguments arguments{{"q", q}, {}, {}, {}, false, {"damping", damping}, optional("active", active)};
        const std::size_t n = static_cast<std::size_t>(constraints.n_rows());
        return call(model, known(find_delassus_inverse(method), method), arguments, {n * n + 1},
                    {.num_threads = num_threads, .constraints = &constraints});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("constraints"), nb::arg("damping").none(),
      nb::arg("active").none(), nb::arg("method"), nb::arg("num_threads").none(),
      nb::sig("def delassus_inverse(model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, damping: "
              "numpy.typing.ArrayLike, active: numpy.typing.ArrayLike | None, method: str, num_threads: int | None) -> "
              "numpy.typing.NDArray[numpy.float64]"),
      "Per sample [(J H^-1 J^T + damping)^-1 row by row, then the mobility of a row over its pivot, at most].");
}

}  // namespace featherweight::bindings
