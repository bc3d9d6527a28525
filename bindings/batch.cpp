#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>

#include "batch/denormals.hpp"
#include "batch/dispatch.hpp"
#include "batch/run.hpp"
#include "batch/thread_pool.hpp"
#include "bindings.hpp"
#include "gil.hpp"

namespace featherweight::bindings {
namespace {

// What can be timed and counted, with the number of inputs read: q, then v, then x.
struct Measurable {
  Algorithm algorithm;
  int n_inputs;
};
const Measurable& find_algorithm(const std::string& name) {
  static const Measurable all[] = {{FW_ALGORITHM(forward_kinematics), 1},
                                   {FW_ALGORITHM(frame_placement), 1},
                                   {FW_ALGORITHM(frame_velocity), 2},
                                   {FW_ALGORITHM(frame_acceleration), 3},
                                   {FW_ALGORITHM(jacobian), 1},
                                   {FW_ALGORITHM(rnea), 3},
                                   {FW_ALGORITHM(aba), 3},
                                   {FW_ALGORITHM(crba), 1},
                                   {FW_ALGORITHM(minverse), 1},
                                   {FW_ALGORITHM(center_of_mass), 1},
                                   {FW_ALGORITHM(kinetic_energy), 2},
                                   {FW_ALGORITHM(potential_energy), 1},
                                   {FW_ALGORITHM(centroidal_momentum), 2},
                                   {FW_ALGORITHM(integrate), 2}};
  std::string names;
  for (const Measurable& m : all) {
    if (name == m.algorithm.name) return m;
    names += (names.empty() ? "" : ", ") + std::string(m.algorithm.name);
  }
  throw std::invalid_argument("algorithm: unknown '" + name + "', expected one of " + names);
}

// Numbers per sample of a result.
std::size_t result_size(const Model& model, const Algorithm& algorithm) {
  const std::size_t nv = static_cast<std::size_t>(model.nv());
  const std::string name = algorithm.name;
  if (name == "forward_kinematics") return 16 * static_cast<std::size_t>(model.n_links());
  if (name == "crba") return static_cast<std::size_t>(model.tree<double>().row[nv]);  // packed
  if (name == "minverse") return nv * nv;
  if (name == "jacobian") return 6 * nv;
  return std::max({nv, static_cast<std::size_t>(model.nq()), std::size_t{16}});
}

template <class T>
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::size_t n)
      : data_(static_cast<T*>(::operator new[](n * sizeof(T), std::align_val_t{64}))) {
    std::fill_n(data_.get(), n, T(0));
  }
  T* data() { return data_.get(); }

 private:
  struct Delete {
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  std::unique_ptr<T, Delete> data_;
};

// Runs the kernel back to back, without Python and on one thread. crba leaves its packed rows, as a caller in C++
// would use them.
template <class T>
std::vector<double> time_kernel(const Model& model, const Algorithm& algorithm, const Isa& isa, Job<T> job,
                                std::size_t batch, int repeats, bool single) {
  const Tree<T>& tree = model.tree<T>();
  const Kernel<T> kernel = algorithm.kernel<T>(isa);
  job.packed = true;
  job.out_stride = static_cast<std::ptrdiff_t>(result_size(model, algorithm));
  AlignedBuffer<T> out((batch + 16) * static_cast<std::size_t>(job.out_stride));
  job.out = out.data();
  std::vector<double> seconds;
  seconds.reserve(static_cast<std::size_t>(repeats));
  const auto pass = [&] {
    unsigned faults = 0;
    if (!single) return run_kernel(model, kernel, job, batch, 1);
    for (std::size_t k = 0; k < batch; ++k) {  // one sample after the other, all into the same place
      Job<T> one = job;
      for (Input<T>* in : {&one.q, &one.v, &one.x}) in->data += static_cast<std::ptrdiff_t>(k) * in->stride;
      faults |= run_kernel(model, kernel, one, 1, 1);
    }
    return faults;
  };
  const FlushDenormals flush;  // as a caller would who has many single samples
  if (pass()) throw std::invalid_argument("benchmark: the inputs are not valid");  // also warms up
  for (int k = 0; k < repeats; ++k) {
    const auto start = std::chrono::steady_clock::now();
    pass();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return seconds;
}

nb::dict benchmark(const Model& model, const std::string& name, nb::handle q, nb::handle v, nb::handle x,
                   const std::string& dtype, int repeats, bool single, const std::string& isa) {
  const auto& [algorithm, n_inputs] = find_algorithm(name);
  if (dtype != "float64" && dtype != "float32")
    throw std::invalid_argument("dtype: expected 'float64' or 'float32', got '" + dtype + "'");
  if (repeats < 1) throw std::invalid_argument("repeats: expected a positive number");
  ArrayArgument q_array("q", q), v_array("v", v), x_array("x", x);
  const std::size_t batch = q_array.batch({model.nq()});
  if (!batch || v_array.batch({model.nv()}) != batch || x_array.batch({model.nv()}) != batch)
    throw std::invalid_argument("benchmark: q, v and x must be batches of the same size");
  const int inputs = n_inputs;
  const Algorithm& timed = algorithm;
  const Isa& kernels = isa.empty() ? active_isa() : find_isa(isa);
  const auto run = [&]<class T>(T, char format) {
    Job<T> job;
    const auto input = [&](ArrayArgument& a, int n) {
      a.require(format);
      return Input<T>{a.data<T>(), n};
    };
    job.q = input(q_array, model.nq());
    if (inputs > 1) job.v = input(v_array, model.nv());
    if (inputs > 2) job.x = input(x_array, model.nv());
    const ReleasedGil released;
    return time_kernel(model, timed, kernels, job, batch, repeats, single);
  };
  std::vector<double> seconds = dtype == "float64" ? run(0.0, 'd') : run(0.0f, 'f');
  std::sort(seconds.begin(), seconds.end());
  nb::dict result;
  result["seconds_min"] = seconds.front();
  result["seconds_median"] = seconds[seconds.size() / 2];
  return result;
}

// Operations of one sample.
nb::dict count_operations(const Model& model, const std::string& name) {
  const auto& [algorithm, n_inputs] = find_algorithm(name);
  std::vector<double> q = model.neutral(), v(static_cast<std::size_t>(model.nv()), 0.5), x = v;
  AlignedBuffer<double> out(result_size(model, algorithm));
  Job<double> job;
  job.q.data = q.data();
  if (n_inputs > 1) job.v.data = v.data();
  if (n_inputs > 2) job.x.data = x.data();
  job.out = out.data();
  job.packed = true;
  job.mount = model.n_links() - 1;  // the last link: the longest path on a chain
  reset_operation_counts();
  run_kernel(model, algorithm.kernel<double>(find_isa("counting")), job, 1, 1);
  const OperationCounts counts = operation_counts();
  nb::dict result;
  result["add"] = counts.additions;
  result["mul"] = counts.multiplications;
  result["div"] = counts.divisions;
  result["sincos"] = counts.sincos;
  return result;
}

nb::dict build_info() {
  nb::dict info;
  const Isa& active = active_isa();
  info["version"] = FW_VERSION;
  info["isa"] = active.name;
  nb::list names;
  for (const Isa* isa : available_isas()) names.append(isa->name);
  info["available_isas"] = names;
  info["lanes_float64"] = active.f64.lanes;
  info["lanes_float32"] = active.f32.lanes;
  info["threads"] = available_threads();
#if defined(__clang__)
  info["compiler"] = "clang " __clang_version__;
#else
  info["compiler"] = "gcc " __VERSION__;
#endif
  info["sanitizers"] = FW_SANITIZERS;
  return info;
}

}  // namespace

void bind_batch(nb::module_& m) {
  m.def("build_info", &build_info, nb::sig("def build_info() -> dict[str, typing.Any]"),
        "How this build runs: version, instruction set in use and available, lanes, threads, compiler.");
  m.def("use_isa", &use_isa, nb::arg("name"),
        "Switches all kernels to another instruction set of build_info()['available_isas'].");
  m.def("operation_counts", &count_operations, nb::arg("model"), nb::arg("algorithm"),
        nb::sig("def operation_counts(model: Model, algorithm: str) -> dict[str, int]"),
        "Floating-point operations of one sample, counted by running the kernel with a counting scalar.");
  m.def(
      "benchmark", &benchmark, nb::arg("model"), nb::arg("algorithm"), nb::arg("q"), nb::arg("v"), nb::arg("x"),
      nb::kw_only(), nb::arg("dtype") = "float64", nb::arg("repeats") = 10, nb::arg("single") = false,
      nb::arg("isa") = "",
      nb::sig("def benchmark(model: Model, algorithm: str, q: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike, x: "
              "numpy.typing.ArrayLike, *, dtype: str = 'float64', repeats: int = 10, single: bool = False, isa: str = "
              "'') -> dict[str, float]"),
      "Seconds of one pass over the batch inside C++, minimum and median of `repeats`, on one thread.");
  m.def("allocation_count", &workspace_allocations,
        "How often a workspace had to grow since the process started: constant over warm calls.");
}

}  // namespace featherweight::bindings
