#include <nanobind/stl/string.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "bindings.hpp"
#include "runtime/dispatch.hpp"

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

// Factors for all samples, in the layout of the instruction set that made them.
class DelassusOperator {
 public:
  DelassusOperator(const Model& model, nb::handle q, const ConstraintSet& constraints, nb::handle damping,
                   nb::handle active, nb::handle num_threads)
      : model_(model), constraints_(constraints), isa_(active_isa()) {
    check_model(model, constraints);
    Arguments arguments{{"q", q}, {}, {}, {}, false, {"damping", damping}, optional("active", active)};
    n_samples_ =
        std::max({std::size_t{1}, arguments.q.batch({model.nq()}), arguments.targets.batch({constraints.n_rows()}),
                  arguments.active.given() ? arguments.active.batch({constraints.n_constraints()}) : 0});
    const std::size_t lanes = static_cast<std::size_t>(isa_.f64.lanes), n_packs = (n_samples_ + lanes - 1) / lanes;
    bytes_ = isa_.f64.operator_bytes(model.tree<double>(), constraints.compiled());
    factors_ = static_cast<char*>(::operator new(n_packs * bytes_, alignment));
    try {
      call(model, FW_DOUBLE_ALGORITHM(operator_factorise), arguments, {0}, options(0, num_threads));
    } catch (...) {
      ::operator delete(factors_, alignment);
      throw;
    }
  }
  ~DelassusOperator() { ::operator delete(factors_, alignment); }
  DelassusOperator(const DelassusOperator&) = delete;
  DelassusOperator& operator=(const DelassusOperator&) = delete;

  nb::object run(const Algorithm& algorithm, const char* name, nb::handle sides, int n_sides,
                 nb::handle num_threads) const {
    Arguments arguments{{}, {}, {}, {}, false, {name, sides}};
    if (std::max(arguments.targets.batch({constraints_.n_rows(), n_sides}), std::size_t{1}) != n_samples_)
      throw std::invalid_argument(std::string(name) + ": expected one for each of the operator's " +
                                  std::to_string(n_samples_) + " samples");
    return call(model_, algorithm, arguments,
                {static_cast<std::size_t>(constraints_.n_rows()), static_cast<std::size_t>(n_sides)},
                options(n_sides, num_threads));
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::align_val_t alignment{64};

  Options options(int n_sides, nb::handle num_threads) const {
    return {.num_threads = num_threads,
            .constraints = &constraints_,
            .n_sides = n_sides,
            .factors = factors_,
            .factor_bytes = bytes_,
            .isa = &isa_};
  }

  const Model& model_;
  const ConstraintSet& constraints_;
  const Isa& isa_;
  std::size_t n_samples_, bytes_;
  char* factors_;
};

}  // namespace

const Algorithm* find_delassus_method(const std::string& name) {
  static constexpr Algorithm all[] = {FW_DOUBLE_ALGORITHM(ltl_osim), FW_DOUBLE_ALGORITHM(kjr),
                                      FW_DOUBLE_ALGORITHM(efpa), FW_DOUBLE_ALGORITHM(pv_osim),
                                      FW_DOUBLE_ALGORITHM(pv_osimr)};
  return find_among(all, name);
}
const Algorithm* find_delassus_inverse(const std::string& name) {
  static constexpr Algorithm all[] = {FW_DOUBLE_ALGORITHM(ltl_inverse), FW_DOUBLE_ALGORITHM(pv_inverse),
                                      FW_DOUBLE_ALGORITHM(pv_osim_base), FW_DOUBLE_ALGORITHM(caba_osim)};
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
        check_model(model, constraints);
        check_method(constraints, method);
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
  nb::class_<DelassusOperator>(m, "DelassusOperator", "Factors of Delassus matrices, to multiply and solve with.")
      .def(nb::init<const Model&, nb::handle, const ConstraintSet&, nb::handle, nb::handle, nb::handle>(),
           nb::arg("model"), nb::arg("q").none(), nb::arg("constraints"), nb::arg("damping").none(),
           nb::arg("active").none(), nb::arg("num_threads").none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 4>(),
           nb::sig("def __init__(self, model: Model, q: numpy.typing.ArrayLike, constraints: ConstraintSet, damping: "
                   "numpy.typing.ArrayLike, active: numpy.typing.ArrayLike | None, num_threads: int | None) -> None"))
      .def(
          "apply",
          [](const DelassusOperator& self, nb::handle x, int n_sides, nb::handle num_threads) {
            return self.run(FW_DOUBLE_ALGORITHM(operator_apply), "x", x, n_sides, num_threads);
          },
          nb::arg("x").none(), nb::arg("n_sides"), nb::arg("num_threads").none(),
          nb::sig("def apply(self, x: numpy.typing.ArrayLike, n_sides: int, num_threads: int | None) -> "
                  "numpy.typing.NDArray[numpy.float64]"),
          "Delta x, (..., n_rows, n_sides).")
      .def(
          "solve",
          [](const DelassusOperator& self, nb::handle b, int n_sides, nb::handle num_threads) {
            return self.run(FW_DOUBLE_ALGORITHM(operator_solve), "b", b, n_sides, num_threads);
          },
          nb::arg("b").none(), nb::arg("n_sides"), nb::arg("num_threads").none(),
          nb::sig("def solve(self, b: numpy.typing.ArrayLike, n_sides: int, num_threads: int | None) -> "
                  "numpy.typing.NDArray[numpy.float64]"),
          "(Delta + damping)^-1 b, (..., n_rows, n_sides).")
      .def_prop_ro("bytes", &DelassusOperator::bytes, "Memory of one pack of samples.");
}

}  // namespace featherweight::bindings
