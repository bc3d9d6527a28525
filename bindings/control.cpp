// bindings/control.cpp -- linear-quadratic problems of optimal control.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "control/linear_quadratic.hpp"
#include "gil.hpp"
#include "memory/kept.hpp"
#include "runtime/denormals.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/thread_pool.hpp"

namespace featherweight::bindings {
namespace {

using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

struct OwnMemory {
  Memory memory;
  ~OwnMemory() { release(memory); }
};

// One array per problem of the batch, (batch, ...) or null.
class Given {
 public:
  Given(const char* name, const std::optional<Numbers>& array, std::vector<std::size_t> sample, std::size_t batch) {
    if (!array) return;
    sample.insert(sample.begin(), batch);
    bool fits = array->ndim() == sample.size();
    for (std::size_t k = 0; k < sample.size() && fits; ++k) fits = array->shape(k) == sample[k];
    if (!fits) throw std::invalid_argument(std::string(name) + ": has another shape than A and B ask for");
    data_ = array->data();
    for (std::size_t k = 1; k < sample.size(); ++k) size_ *= sample[k];
  }
  const double* operator[](std::size_t k) const { return data_ ? data_ + k * size_ : nullptr; }
  // One for all.
  void share() { size_ = 0; }

 private:
  const double* data_ = nullptr;
  std::size_t size_ = 1;
};

// Of all problems of a batch.
struct Arrays {
  NewArray gain, feedforward, x, u, P, p;
  Arrays(std::size_t batch, std::size_t N, std::size_t n, std::size_t m)
      : gain({batch, N, m, n}, 'd'),
        feedforward({batch, N, m}, 'd'),
        x({batch, N + 1, n}, 'd'),
        u({batch, N, m}, 'd'),
        P({batch, n, n}, 'd'),
        p({batch, n}, 'd') {}
  LinearQuadraticSolution of(std::size_t k, std::size_t N, std::size_t n, std::size_t m) const {
    const auto at = [k](const NewArray& array, std::size_t size) {
      return static_cast<double*>(array.data()) + k * size;
    };
    return {at(gain, N * m * n), at(feedforward, N * m), at(x, (N + 1) * n), at(u, N * m), at(P, n * n), at(p, n)};
  }
};

nb::tuple riccati(Numbers A, Numbers B, Numbers Q, Numbers R, std::optional<Numbers> S, std::optional<Numbers> q,
                  std::optional<Numbers> r, std::optional<Numbers> c, std::optional<Numbers> start,
                  std::optional<Numbers> E, std::optional<Numbers> D, std::vector<int> blocks, double regularisation,
                  std::optional<Numbers> lower, std::optional<Numbers> upper, nb::handle num_threads) {
  if (A.ndim() != 4 || B.ndim() != 4) throw std::invalid_argument("A, B: expected (batch, nodes, rows, columns)");
  const std::size_t batch = A.shape(0), N = A.shape(1), n = A.shape(2), m = B.shape(3), half = n / 2;
  if (E.has_value() != D.has_value() || (E && n % 2)) throw std::invalid_argument("E, D: expected both or none");
  if (E && (blocks.empty() || blocks.front() != 0 || blocks.back() != static_cast<int>(half)))
    throw std::invalid_argument("blocks: expected to begin at 0 and end at the number of coordinates");
  for (std::size_t k = 1; k < blocks.size(); ++k)
    if (blocks[k] <= blocks[k - 1]) throw std::invalid_argument("blocks: expected rising numbers");
  if (lower.has_value() != upper.has_value()) throw std::invalid_argument("lower, upper: expected both or none");
  const bool Q_is_diagonal = Q.ndim() == 3, R_is_diagonal = R.ndim() == 3;
  const Given in_A("A", A, {N, n, n}, batch), in_B("B", B, {N, n, m}, batch), in_S("S", S, {N, m, n}, batch),
      in_Q("Q", Q, Q_is_diagonal ? std::vector{N + 1, n} : std::vector{N + 1, n, n}, batch),
      in_R("R", R, R_is_diagonal ? std::vector{N, m} : std::vector{N, m, m}, batch), in_q("q", q, {N + 1, n}, batch),
      in_r("r", r, {N, m}, batch), in_c("c", c, {N, n}, batch), in_start("x0", start, {n}, batch),
      in_lower("lower", lower, {N, m}, batch), in_upper("upper", upper, {N, m}, batch);
  const bool is_shared = E && E->ndim() == 2;  // by all nodes of all problems
  const auto integration = [&](const char* name, const std::optional<Numbers>& array) {
    if (!is_shared) return Given(name, array, {N, half, half}, batch);
    Given shared(name, array, {half}, half);
    shared.share();
    return shared;
  };
  const Given in_E = integration("E", E), in_D = integration("D", D);
  const ControlKernels* const kernels = active_isa().control;
  const int n_threads = thread_count(num_threads);
  Arrays out(batch, N, n, m);
  std::vector<int> failed(batch, -1);
  std::atomic<bool> out_of_memory = false;
  without_gil([&] {
    run_tiles(batch, n_threads, [&](std::size_t k) {
      const LinearQuadratic problem{.n_nodes = static_cast<int>(N),
                                    .n_states = static_cast<int>(n),
                                    .n_controls = static_cast<int>(m),
                                    .A = in_A[k],
                                    .B = in_B[k],
                                    .Q = in_Q[k],
                                    .R = in_R[k],
                                    .Q_is_diagonal = Q_is_diagonal,
                                    .R_is_diagonal = R_is_diagonal,
                                    .S = in_S[k],
                                    .q = in_q[k],
                                    .r = in_r[k],
                                    .c = in_c[k],
                                    .start = in_start[k],
                                    .E = in_E[k],
                                    .D = in_D[k],
                                    .E_stride = is_shared ? 0 : static_cast<int>(half * half),
                                    .n_blocks = static_cast<int>(blocks.size()) - 1,
                                    .blocks = blocks.data(),
                                    .regularisation = regularisation,
                                    .lower = in_lower[k],
                                    .upper = in_upper[k]};
      if (interrupted(static_cast<double>(N * (n + m) * (n + m) * n))) return;
      const FlushDenormals flush;
      try {
        const Kept<OwnMemory> mine;
        failed[k] = kernels->riccati(problem, out.of(k, N, n, m), mine->memory);
      } catch (const std::bad_alloc&) {
        out_of_memory = true;
      }
    });
  });
  if (out_of_memory) throw std::bad_alloc();
  return nb::make_tuple(out.gain.take(), out.feedforward.take(), out.x.take(), out.u.take(), out.P.take(), out.p.take(),
                        nb::cast(failed));
}

nb::tuple gauss_newton(const Numbers& J, const Numbers& slope, const Numbers& curvature, std::size_t start) {
  if (J.ndim() != 3) throw std::invalid_argument("J: expected (nodes, rows, columns)");
  const std::size_t N = J.shape(0), rows = J.shape(1), n = J.shape(2);
  const Given in_slope("slope", slope, {rows}, N), in_curvature("curvature", curvature, {rows}, N);
  NewArray q({start + N, n}, 'd'), Q({start + N, n, n}, 'd');
  std::fill_n(static_cast<double*>(q.data()), (start + N) * n, 0.0);
  std::fill_n(static_cast<double*>(Q.data()), (start + N) * n * n, 0.0);
  const Residuals residuals{static_cast<int>(N), static_cast<int>(rows), static_cast<int>(n), J.data(),
                            in_slope[0],         in_curvature[0]};
  without_gil([&] {
    const FlushDenormals flush;
    active_isa().control->gauss_newton(residuals, static_cast<double*>(q.data()) + start * n,
                                       static_cast<double*>(Q.data()) + start * n * n);
  });
  return nb::make_tuple(q.take(), Q.take());
}

}  // namespace

void bind_control(nb::module_& m) {
  m.def("gauss_newton", gauss_newton, nb::arg("J"), nb::arg("slope"), nb::arg("curvature"), nb::arg("start"),
        nb::sig("def gauss_newton(J: numpy.typing.NDArray[numpy.float64], slope: numpy.typing.NDArray[numpy.float64], "
                "curvature: numpy.typing.NDArray[numpy.float64], start: int) -> "
                "tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
        "Of residuals J (nodes, rows, n) and what each row costs, (nodes, rows): J^T slope and J^T curvature J, "
        "(start + nodes, n) and (start + nodes, n, n), zero at the first ``start`` nodes.");
  m.def(
      "riccati", riccati, nb::arg("A"), nb::arg("B"), nb::arg("Q"), nb::arg("R"), nb::arg("S").none(),
      nb::arg("q").none(), nb::arg("r").none(), nb::arg("c").none(), nb::arg("start").none(), nb::arg("E").none(),
      nb::arg("D").none(), nb::arg("blocks"), nb::arg("regularisation"), nb::arg("lower").none(),
      nb::arg("upper").none(), nb::arg("num_threads").none(),
      nb::sig("def riccati(A: numpy.typing.NDArray[numpy.float64], B: numpy.typing.NDArray[numpy.float64], "
              "Q: numpy.typing.NDArray[numpy.float64], R: numpy.typing.NDArray[numpy.float64], "
              "S: numpy.typing.NDArray[numpy.float64] | None, q: numpy.typing.NDArray[numpy.float64] | None, "
              "r: numpy.typing.NDArray[numpy.float64] | None, c: numpy.typing.NDArray[numpy.float64] | None, "
              "start: numpy.typing.NDArray[numpy.float64] | None, E: numpy.typing.NDArray[numpy.float64] | None, "
              "D: numpy.typing.NDArray[numpy.float64] | None, blocks: list[int], regularisation: float, lower: "
              "numpy.typing.NDArray[numpy.float64] | "
              "None, upper: numpy.typing.NDArray[numpy.float64] | None, num_threads: int | None) -> tuple[typing.Any, "
              "...]"),
      "Gains, feed-forward, states, controls, value and its slope of the first state, and of each problem the node at "
      "which it failed or -1. lower, upper: of feed-forward.");
}

}  // namespace featherweight::bindings
