// bindings/cones.cpp -- cone problems solved one at a time, from dense arrays.
#include "cones/kernels.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "bindings.hpp"
#include "gil.hpp"
#include "runtime/dispatch.hpp"

namespace featherweight::bindings {
namespace {

template <class T, std::size_t n>
T find_named(const char* argument, const std::string& name, const std::pair<const char*, T> (&all)[n]) {
  std::string known;
  for (const auto& [candidate, value] : all) {
    if (name == candidate) return value;
    known += std::string(known.empty() ? "'" : ", '") + candidate + "'";
  }
  throw std::invalid_argument(std::string(argument) + ": unknown '" + name + "', known are " + known);
}

constexpr std::pair<const char*, Law> laws[] = {{"equality", Law::equality},
                                                {"unilateral", Law::unilateral},
                                                {"interval", Law::interval},
                                                {"point", Law::point},
                                                {"disc", Law::disc}};
constexpr std::pair<const char*, Solver> solvers[] = {{"auto", Solver::automatic},
                                                      {"gauss_seidel", Solver::gauss_seidel},
                                                      {"newton", Solver::newton},
                                                      {"admm", Solver::admm}};

[[noreturn]] void refuse(std::size_t block, const std::string& what) {
  throw std::invalid_argument("blocks: block " + std::to_string(block) + " " + what);
}

// (law, rows, normal, mu, lower, upper) for each block, in the order of their rows.
std::vector<Block> read_blocks(nb::sequence given, int m) {
  std::vector<Block> blocks;
  int first = 0;
  for (nb::handle one : given) {
    const std::size_t k = blocks.size();
    if (nb::len(one) != 6) refuse(k, "is not (law, rows, normal, mu, lower, upper)");
    Block b{};
    b.law = find_named("blocks", nb::cast<std::string>(one[0]), laws);
    b.first = first;
    b.rows = nb::cast<int>(one[1]);
    b.normal = nb::cast<int>(one[2]);
    b.mu = nb::cast<double>(one[3]);
    b.lower = nb::cast<double>(one[4]);
    b.upper = nb::cast<double>(one[5]);
    const int wanted = b.law == Law::point ? 3 : 1;
    const bool fits = b.law == Law::equality ? b.rows >= 1
                      : b.law == Law::disc   ? b.rows == 1 || b.rows == 2
                                             : b.rows == wanted;
    if (!fits) refuse(k, "cannot have " + std::to_string(b.rows) + " rows");
    if (!(b.mu >= 0)) refuse(k, "has a negative mu");
    if (!(b.lower <= b.upper)) refuse(k, "has a lower bound above its upper one");
    if (b.law == Law::disc && (b.normal < 0 || b.normal >= first))
      refuse(k, "is bounded by row " + std::to_string(b.normal) + ", which does not come before it");
    first += b.rows;
    blocks.push_back(b);
  }
  if (first != m)
    throw std::invalid_argument("blocks: have " + std::to_string(first) + " rows, but G has " + std::to_string(m));
  return blocks;
}

// The same matrix in the layouts of ContactMatrix.
struct Storage {
  std::vector<double> values;
  std::vector<int> start, neighbour;
  std::vector<std::size_t> at;
  ContactMatrix matrix;

  Storage(const double* G, int m, const std::vector<Block>& blocks, bool sparse) {
    if (!sparse) {
      const int stride = (m + 7) / 8 * 8;
      values.assign(static_cast<std::size_t>(m) * stride, 0.0);
      for (int j = 0; j < m; ++j)
        for (int i = 0; i < m; ++i) values[static_cast<std::size_t>(j) * stride + i] = G[i * m + j];
      matrix = {values.data(), stride};
      return;
    }
    start.push_back(0);
    for (const Block& column : blocks) {
      for (std::size_t k = 0; k < blocks.size(); ++k) {
        const Block& row = blocks[k];
        bool coupled = &row == &column;
        for (int i = 0; i < row.rows; ++i)
          for (int j = 0; j < column.rows; ++j) coupled |= G[(row.first + i) * m + column.first + j] != 0;
        if (!coupled) continue;
        neighbour.push_back(static_cast<int>(k));
        at.push_back(values.size());
        for (int j = 0; j < column.rows; ++j)
          for (int i = 0; i < row.rows; ++i) values.push_back(G[(row.first + i) * m + column.first + j]);
      }
      start.push_back(static_cast<int>(neighbour.size()));
    }
    values.push_back(0);
    matrix = {values.data(), 0, start.data(), neighbour.data(), at.data()};
  }
};

// Scratch full of NaN: nothing may depend on what was there before.
class NanScratch {
 public:
  explicit NanScratch(std::size_t bytes) : data_(::operator new(bytes + 8, std::align_val_t{64})) {
    double* numbers = static_cast<double*>(data_);
    for (std::size_t i = 0; i < bytes / 8 + 1; ++i) numbers[i] = std::numeric_limits<double>::quiet_NaN();
  }
  ~NanScratch() { ::operator delete(data_, std::align_val_t{64}); }
  NanScratch(const NanScratch&) = delete;
  NanScratch& operator=(const NanScratch&) = delete;
  void* data() const { return data_; }

 private:
  void* data_;
};

nb::tuple solve_cone_problem(nb::handle G, nb::handle g, nb::sequence blocks, nb::handle lambda0, double scale,
                             const std::string& solver, double tolerance, int max_gauss_seidel, int max_pile,
                             int max_newton, int max_admm, bool sparse) {
  ArrayArgument g_in("g", g), G_in("G", G), start = optional("lambda0", lambda0);
  const int m = static_cast<int>(nb::len(g));
  for (ArrayArgument* each : {&g_in, &G_in, &start}) each->require('d');
  const bool shapes = g_in.batch({m}) == 0 && G_in.batch({m, m}) == 0 && (!start.given() || start.batch({m}) == 0);
  if (!shapes) throw std::invalid_argument("G, g, lambda0: expected a single problem, not a batch");
  if (!(scale > 0)) throw std::invalid_argument("scale: expected a positive velocity, got " + std::to_string(scale));

  const std::vector<Block> read = read_blocks(blocks, m);
  const Storage storage(G_in.data<double>(), m, read, sparse);
  const ConeProblem problem{m, static_cast<int>(read.size()), read.data(), storage.matrix, g_in.data<double>(), scale};
  const SolverOptions options{
      find_named("solver", solver, solvers), tolerance, max_gauss_seidel, max_pile, max_newton, max_admm};
  NewArray lambda({static_cast<std::size_t>(m)}, 'd');
  double* l = static_cast<double*>(lambda.data());
  for (int i = 0; i < m; ++i) l[i] = start.given() ? start.data<double>()[i] : 0;

  const ContactKernels& kernels = *active_isa().contact;
  SolverReport report;
  without_gil([&] {
    const NanScratch scratch(kernels.scratch_bytes(problem, options));
    report = kernels.solve(problem, options, l, scratch.data());
  });
  nb::dict described;
  described["residual"] = report.residual;
  described["primal"] = report.primal;
  described["dual"] = report.dual;
  described["complementarity"] = report.complementarity;
  described["gauss_seidel"] = report.gauss_seidel;
  described["newton"] = report.newton;
  described["admm"] = report.admm;
  described["converged"] = report.converged;
  return nb::make_tuple(lambda.take(), described);
}

}  // namespace

void bind_cones(nb::module_& m, nb::module_& testing) {
  m.def(
      "solver_defaults",
      [] {
        nb::dict defaults;
        defaults["tolerance"] = SolverOptions{}.tolerance;
        defaults["max_gauss_seidel"] = SolverOptions{}.max_gauss_seidel_iterations;
        defaults["max_pile"] = SolverOptions{}.max_pile_iterations;
        defaults["max_newton"] = SolverOptions{}.max_newton_iterations;
        defaults["max_admm"] = SolverOptions{}.max_admm_iterations;
        return defaults;
      },
      nb::sig("def solver_defaults() -> dict[str, typing.Any]"),
      "Tolerance and largest numbers of iterations that solvers have unless told otherwise.");
  testing.def(
      "solve_cone_problem", &solve_cone_problem, nb::arg("G"), nb::arg("g"), nb::arg("blocks"),
      nb::arg("lambda0").none() = nb::none(), nb::kw_only(), nb::arg("scale") = 1.0, nb::arg("solver") = "auto",
      nb::arg("tolerance") = SolverOptions{}.tolerance,
      nb::arg("max_gauss_seidel") = SolverOptions{}.max_gauss_seidel_iterations,
      nb::arg("max_pile") = SolverOptions{}.max_pile_iterations,
      nb::arg("max_newton") = SolverOptions{}.max_newton_iterations,
      nb::arg("max_admm") = SolverOptions{}.max_admm_iterations, nb::arg("sparse") = false,
      nb::sig(
          "def solve_cone_problem(G: numpy.typing.ArrayLike, g: numpy.typing.ArrayLike, blocks: "
          "collections.abc.Sequence[tuple[str, int, int, float, float, float]], lambda0: numpy.typing.ArrayLike | "
          "None = None, *, scale: float = 1.0, solver: str = 'auto', tolerance: float = ..., max_gauss_seidel: int = "
          "..., max_pile: int = ..., max_newton: int = ..., max_admm: int = ..., sparse: bool = False) -> "
          "tuple[numpy.typing.NDArray[numpy.float64], dict[str, typing.Any]]"),
      "The impulses lambda, (m,), with which sigma = G lambda + g obeys the laws of all blocks, and a report.\n"
      "\n"
      "G: (m, m) symmetric [1/kg]; g: (m,) [m/s]. blocks: (law, rows, normal, mu, lower, upper) in the order of their\n"
      "rows; law is 'equality', 'unilateral', 'interval' (lower, upper), 'point' (two tangents, then the normal; mu)\n"
      "or 'disc' (mu times the impulse of the row `normal`). lambda0: warm start. scale: typical velocity, to which\n"
      "the tolerance of the natural residual is relative. solver: 'auto', 'gauss_seidel', 'newton' or 'admm'. sparse:\n"
      "G is stored by its blocks that are not zero.\n"
      "report: residual, primal, dual, complementarity; gauss_seidel, newton, admm (iterations); converged.");
}

}  // namespace featherweight::bindings
