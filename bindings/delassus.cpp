#include <nanobind/stl/string.h>

#include <stdexcept>

#include "bindings.hpp"

namespace featherweight::bindings {

const Algorithm* find_delassus_method(const std::string& name) {
  static constexpr Algorithm all[] = {FW_DOUBLE_ALGORITHM(ltl_osim), FW_DOUBLE_ALGORITHM(pv_osim),
                                      FW_DOUBLE_ALGORITHM(efpa), FW_DOUBLE_ALGORITHM(kjr)};
  for (const Algorithm& method : all)
    if (name == method.name) return &method;
  return nullptr;
}

void bind_delassus(nb::module_& m) {
  m.def(
      "delassus",
      [](const Model& model, nb::handle q, const ConstraintSet& constraints, nb::handle active,
         const std::string& method, nb::handle num_threads) {
        check_model(model, constraints);
        const Algorithm* algorithm = find_delassus_method(method);
        if (!algorithm) throw std::invalid_argument("method: unknown '" + method + "'");
        Arguments arguments{{"q", q}, {}, {}, {}, false, {}, optional("active", active)};
        const std::size_t n = static_cast<std::size_t>(constraints.n_rows());
        return call(model, *algorithm, arguments, {n, n}, {.num_threads = num_threads, .constraints = &constraints});
      },
      nb::arg("model"), nb::arg("q").none(), nb::arg("constraints"), nb::arg("active").none(), nb::arg("method"),
      nb::arg("num_threads").none(),
      nb::sig("def delassus(model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, active: "
              "numpy.typing.ArrayLike | None, method: str, num_threads: int | None) -> "
              "numpy.typing.NDArray[numpy.float64]"),
      "J H^-1 J^T, (..., n_rows, n_rows), by the kernel of that name.");
}

}  // namespace featherweight::bindings
