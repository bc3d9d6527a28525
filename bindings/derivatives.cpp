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
}

}  // namespace featherweight::bindings
