#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <stdexcept>

#include "bindings.hpp"
#include "gil.hpp"
#include "runtime/denormals.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/run.hpp"

namespace featherweight::bindings {
namespace {

// What can be timed and counted, with the number of inputs read: q, then v, then x, then w, which is x again.
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
                                   {FW_ALGORITHM(integrate), 2},
                                   {FW_ALGORITHM(rnea_derivatives), 3},
                                   {FW_ALGORITHM(rnea_vjp), 4},
                                   {FW_ALGORITHM(aba_derivatives), 3},
                                   {FW_ALGORITHM(aba_vjp), 4},
                                   {FW_ALGORITHM(frame_velocity_derivatives), 2},
                                   {FW_ALGORITHM(frame_acceleration_derivatives), 3},
                                   {FW_ALGORITHM(jacobian_time_derivative), 2},
                                   {FW_ALGORITHM(center_of_mass_derivatives), 1},
                                   {FW_ALGORITHM(centroidal_momentum_derivatives), 2}};
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
  if (name == "rnea_derivatives" || name == "aba_derivatives") return nv + 3 * nv * nv;
  if (name.ends_with("_derivatives") || name == "jacobian_time_derivative") return std::max<std::size_t>(16, 18 * nv);
  if (name.ends_with("_vjp")) return 3 * nv;
  return std::max({nv, static_cast<std::size_t>(model.nq()), std::size_t{16}});
}

// The constraints a method is measured with. Without any, the algorithm is one of those above.
class ConstraintArguments {
 public:
  ConstraintArguments(const Model& model, const ConstraintSet* set, nb::handle targets, double tolerance,
                      int max_iterations)
      : set_(set), tolerance_(tolerance), max_iterations_(max_iterations) {
    if (!set) return;
    check_model(model, *set);
    targets_.assign(8 * static_cast<std::size_t>(set->n_rows()), 0.0);  // derivatives take eight for each row
    if (targets.is_none()) return;
    ArrayArgument given("targets", targets);
    if (given.batch({set->n_rows()})) throw std::invalid_argument("targets: expected one number per row");
    given.require('d');
    std::copy_n(given.data<double>(), set->n_rows(), targets_.begin());
  }
  Measurable find(const std::string& name) const {
    if (!set_) return find_algorithm(name);
    if (const Algorithm* matrix = find_delassus_method(name)) return {*matrix, 1};
    check_method(*set_, name);
    if (name == "constrained_derivatives") {
      check_single_links(set_->model(), *set_);
      return {FW_DOUBLE_ALGORITHM(constrained_derivatives), 3};
    }
    if (const Algorithm* inverse = find_delassus_inverse(name)) return {*inverse, 1};
    return {find_method(name), 3};
  }
  std::size_t result_size(const Model& model, const Algorithm& algorithm) const {
    if (!set_) return bindings::result_size(model, algorithm);
    const std::size_t m = static_cast<std::size_t>(set_->compiled().n_ends);
    if (find_delassus_method(algorithm.name) || find_delassus_inverse(algorithm.name))
      return m * (m + 1) / 2;  // packed
    const std::size_t nv = static_cast<std::size_t>(model.nv());
    return std::string(algorithm.name) == "constrained_derivatives" ? 3 * nv * (nv + m) : nv + m + 3;
  }
  void apply(Job<double>& job) const {
    if (!set_) return;
    job.constraints = &set_->compiled();
    job.targets.data = targets_.data();  // of all samples
    job.tolerance = tolerance_;
    job.max_iterations = max_iterations_;
  }
  void apply(Job<float>&) const {
    if (set_) throw std::invalid_argument("dtype: constrained dynamics runs in float64 only");
  }

 private:
  const ConstraintSet* set_;
  std::vector<double> targets_;
  double tolerance_;
  int max_iterations_;
};

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

// Runs the kernel back to back, without Python and on one thread. crba and Delassus algorithms leave their packed
// rows, as a caller in C++ would use them.
template <class T>
std::vector<double> time_kernel(const Model& model, Kernel<T> kernel, Job<T> job, std::size_t n_out, std::size_t batch,
                                int repeats, bool single) {
  job.packed = true;
  job.out_stride = static_cast<std::ptrdiff_t>(n_out);
  AlignedBuffer<T> out((batch + 16) * n_out);
  job.out = out.data();
  std::vector<double> seconds;
  seconds.reserve(static_cast<std::size_t>(repeats));
  const auto pass = [&] {
    unsigned faults = 0;
    if (!single) return run_kernel(model, kernel, job, batch, 1);
    Job<T> one = job;
    for (std::size_t k = 0; k < batch; ++k) {  // one sample after the other, all into the same place
      faults |= run_kernel(model, kernel, one, 1, 1);
      for (Input<T>* in : {&one.q, &one.v, &one.x, &one.w}) in->data += in->stride;
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
                   const ConstraintSet* constraints, nb::handle targets, double tolerance, int max_iterations,
                   const std::string& dtype, int repeats, bool single, const std::string& isa) {
  const ConstraintArguments constrained(model, constraints, targets, tolerance, max_iterations);
  const Measurable timed = constrained.find(name);
  if (dtype != "float64" && dtype != "float32")
    throw std::invalid_argument("dtype: expected 'float64' or 'float32', got '" + dtype + "'");
  if (repeats < 1) throw std::invalid_argument("repeats: expected a positive number");
  ArrayArgument q_array("q", q), v_array("v", v), x_array("x", x);
  const std::size_t batch = q_array.batch({model.nq()});
  if (!batch || v_array.batch({model.nv()}) != batch || x_array.batch({model.nv()}) != batch)
    throw std::invalid_argument("benchmark: q, v and x must be batches of the same size");
  const Isa& kernels = isa.empty() ? active_isa() : find_isa(isa);
  const auto run = [&]<class T>(T, char format) {
    Job<T> job;
    const auto input = [&](ArrayArgument& a, int n) {
      a.require(format);
      return Input<T>{a.data<T>(), n};
    };
    job.q = input(q_array, model.nq());
    if (timed.n_inputs > 1) job.v = input(v_array, model.nv());
    if (timed.n_inputs > 2) job.x = input(x_array, model.nv());
    if (timed.n_inputs > 3) job.w = job.x;
    constrained.apply(job);
    const ReleasedGil released;
    return time_kernel(model, timed.algorithm.kernel<T>(kernels), job, constrained.result_size(model, timed.algorithm),
                       batch, repeats, single);
  };
  std::vector<double> seconds = dtype == "float64" ? run(0.0, 'd') : run(0.0f, 'f');
  std::sort(seconds.begin(), seconds.end());
  nb::dict result;
  result["seconds_min"] = seconds.front();
  result["seconds_median"] = seconds[seconds.size() / 2];
  return result;
}

// The neutral configuration unless given.
std::vector<double> configuration(const Model& model, nb::handle q) {
  if (q.is_none()) return model.neutral();
  ArrayArgument given("q", q);
  if (given.batch({model.nq()})) throw std::invalid_argument("q: expected one configuration, not a batch");
  given.require('d');
  return {given.data<double>(), given.data<double>() + model.nq()};
}

nb::dict count_operations(const Model& model, const std::string& name, nb::handle q, const ConstraintSet* constraints,
                          nb::handle targets, double tolerance, int max_iterations) {
  const ConstraintArguments constrained(model, constraints, targets, tolerance, max_iterations);
  const auto [algorithm, n_inputs] = constrained.find(name);
  const std::vector<double> posture = configuration(model, q), half(static_cast<std::size_t>(model.nv()), 0.5);
  AlignedBuffer<double> out(constrained.result_size(model, algorithm));
  Job<double> job;
  job.q.data = posture.data();
  if (n_inputs > 1) job.v.data = half.data();
  if (n_inputs > 2) job.x.data = half.data();
  if (n_inputs > 3) job.w.data = half.data();
  constrained.apply(job);
  job.out = out.data();
  job.packed = true;
  job.mount = model.n_links() - 1;  // the last link: the longest path on a chain
  reset_operation_counts();
  if (run_kernel(model, algorithm.kernel<double>(find_isa("counting")), job, 1, 1))
    throw std::invalid_argument("operation_counts: the inputs are not valid");
  const OperationCounts counts = operation_counts();
  nb::dict result;
  result["add"] = counts.additions;
  result["mul"] = counts.multiplications;
  result["div"] = counts.divisions;
  result["sincos"] = counts.sincos;
  return result;
}

}  // namespace

void bind_measure(nb::module_& testing) {
  testing.def(
      "operation_counts", &count_operations, nb::arg("model"), nb::arg("algorithm"), nb::kw_only(),
      nb::arg("q") = nb::none(), nb::arg("constraints").none() = nb::none(), nb::arg("targets") = nb::none(),
      nb::arg("tolerance") = 1e-10, nb::arg("max_iterations") = 60,
      nb::sig("def operation_counts(model: Model, algorithm: str, *, q: numpy.typing.ArrayLike | "
              "None = None, "
              "constraints: ConstraintSet | None = None, targets: numpy.typing.ArrayLike | None = "
              "None, tolerance: "
              "float = 1e-10, max_iterations: int = 60) -> dict[str, int]"),
      "Floating-point operations of one sample, counted by running the kernel with a counting scalar.\n\n"
      "q: the neutral configuration unless given. With constraints, algorithm is a method of constrained_dynamics, "
      "or an\nalgorithm for Delassus matrices by its full name, such as 'pv_osim'.");
  testing.def(
      "benchmark", &benchmark, nb::arg("model"), nb::arg("algorithm"), nb::arg("q"), nb::arg("v"), nb::arg("x"),
      nb::kw_only(), nb::arg("constraints").none() = nb::none(), nb::arg("targets") = nb::none(),
      nb::arg("tolerance") = 1e-10, nb::arg("max_iterations") = 60, nb::arg("dtype") = "float64",
      nb::arg("repeats") = 10, nb::arg("single") = false, nb::arg("isa") = "",
      nb::sig("def benchmark(model: Model, algorithm: str, q: numpy.typing.ArrayLike, v: "
              "numpy.typing.ArrayLike, x: "
              "numpy.typing.ArrayLike, *, constraints: ConstraintSet | None = None, targets: "
              "numpy.typing.ArrayLike "
              "| None = None, tolerance: float = 1e-10, max_iterations: int = 60, dtype: str = 'float64', repeats: "
              "int = 10, single: bool = False, isa: str = '') -> dict[str, float]"),
      "Seconds of one pass over the batch inside C++, minimum and median of `repeats`, on one thread.\n\n"
      "With constraints, algorithm is a method of constrained_dynamics and x are the joint forces, or an algorithm "
      "for\nDelassus matrices by its full name, such as 'pv_osim'.");
}

}  // namespace featherweight::bindings
