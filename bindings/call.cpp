#include "call.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <stdexcept>

#include "gil.hpp"
#include "runtime/cores.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/run.hpp"

namespace featherweight::bindings {
namespace {

// Below this many degrees of freedom and links a call is too short for releasing the GIL to pay.
constexpr std::size_t worth_releasing = 512;

}  // namespace

int thread_count(nb::handle num_threads) {
  if (!num_threads.is_valid() || num_threads.is_none()) return default_threads();
  long n = 0;
  if (nb::isinstance<nb::bool_>(num_threads) || !nb::try_cast(num_threads, n) || n < 1)
    throw std::invalid_argument("num_threads: expected a positive integer or None, got " +
                                nb::cast<std::string>(nb::repr(num_threads)));
  return static_cast<int>(std::min<long>(n, 1024));
}

namespace {

// The joint coordinate k of a configuration belongs to.
std::string joint_at(const Model& model, std::size_t k, bool configuration) {
  const auto& ranges = model.joint_ranges();
  for (std::size_t j = 0; j < ranges.size(); ++j) {
    const int first = configuration ? ranges[j].q : ranges[j].v, n = configuration ? ranges[j].nq : ranges[j].nv;
    if (static_cast<int>(k) >= first && static_cast<int>(k) < first + n)
      return " (joint '" + model.spec().joints[j].name + "')";
  }
  return "";
}

std::string sample_text(std::size_t sample, bool batched) {
  return batched ? " of sample " + std::to_string(sample) : "";
}

template <class T>
void report_not_finite(const Model& model, const ArrayArgument& argument, Input<T> in, std::size_t n, std::size_t batch,
                       int per_joint) {
  for (std::size_t s = 0; s < (in.stride ? batch : 1); ++s)
    for (std::size_t k = 0; k < n; ++k)
      if (const T value = in.data[static_cast<std::ptrdiff_t>(s) * in.stride + static_cast<std::ptrdiff_t>(k)];
          !std::isfinite(value))
        throw std::invalid_argument(std::string(argument.name()) + ": entry " + std::to_string(k) +
                                    sample_text(s, in.stride != 0) +
                                    (per_joint >= 0 ? joint_at(model, k, per_joint == 1) : "") + " is " +
                                    std::to_string(value) + ", expected a finite number");
}

// Names the quaternion farthest from unit length.
template <class T>
[[noreturn]] void report_quaternion(const Model& model, const ArrayArgument& argument, Input<T> in, std::size_t batch) {
  const Tree<T>& tree = model.tree<T>();
  std::size_t worst_sample = 0, worst_entry = 0;
  double worst = -1, length = 1;
  for (std::size_t s = 0; s < (in.stride ? batch : 1); ++s)
    for (int j = 0; j < tree.n_quaternions; ++j) {
      const T* x = in.data + static_cast<std::ptrdiff_t>(s) * in.stride + tree.quaternions[j];
      const double norm =
          std::sqrt(double(x[0]) * x[0] + double(x[1]) * x[1] + double(x[2]) * x[2] + double(x[3]) * x[3]);
      if (std::abs(norm - 1) <= worst) continue;
      worst = std::abs(norm - 1), length = norm;
      worst_sample = s, worst_entry = static_cast<std::size_t>(tree.quaternions[j]);
    }
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", length);
  throw std::invalid_argument(std::string(argument.name()) + ": the quaternion at entries " +
                              std::to_string(worst_entry) + ".." + std::to_string(worst_entry + 3) +
                              sample_text(worst_sample, in.stride != 0) + joint_at(model, worst_entry, true) +
                              " has length " + text + "; lengths within 1e-6 of 1 are normalised, others rejected");
}

template <class T>
nb::object run(const Model& model, const Algorithm& algorithm, Arguments& arguments,
               const std::vector<std::size_t>& sample, const Options& options, std::optional<std::size_t> batch) {
  constexpr char format = sizeof(T) == sizeof(double) ? 'd' : 'f';
  if (format == 'f' && !model.f32_problem().empty())
    throw std::invalid_argument(std::string(algorithm.name) + ": model '" + model.spec().name +
                                "' cannot be computed in float32: " + model.f32_problem() + "; use float64 arrays");
  const std::ptrdiff_t nq = model.nq(), nv = model.nv(), n_links = model.n_links();
  const auto input = [&](ArrayArgument& argument, std::initializer_list<std::ptrdiff_t> shape) {
    Input<T> in;
    if (!argument.given()) return in;
    const bool batched = argument.batch(shape) > 0;
    argument.require(format);
    in.data = argument.data<T>();
    in.stride = 1;
    for (std::ptrdiff_t size : shape) in.stride *= size;
    if (!batched) in.stride = 0;
    return in;
  };
  Job<T> job;
  job.q = input(arguments.q, {nq});
  job.v = input(arguments.v, {nv});
  job.x = arguments.x_is_configuration ? input(arguments.x, {nq}) : input(arguments.x, {nv});
  job.f_ext = input(arguments.f_ext, {n_links, 6});
  job.w = input(arguments.w, {nv});
  job.mount = options.mount;
  job.reference = options.reference;
  job.classical = options.classical;
  if constexpr (sizeof(T) == sizeof(double)) {
    if (options.constraints) {
      job.constraints = &options.constraints->compiled();
      job.targets = options.n_sides ? input(arguments.targets, {options.constraints->n_rows(), options.n_sides})
                                    : input(arguments.targets, {options.constraints->n_rows()});
      job.n_sides = options.n_sides;
      job.factors = options.factors;
      job.factor_bytes = options.factor_bytes;
      job.active = input(arguments.active, {options.constraints->n_constraints()});
      job.tolerance = options.tolerance;
      job.max_iterations = options.max_iterations;
      job.positions = input(arguments.positions, {options.constraints->n_constraints(), 4, 4});
      job.weightless = options.weightless;
      if (options.unactuated) {
        job.unactuated = options.unactuated->data();
        job.n_unactuated = static_cast<int>(options.unactuated->size());
      }
    }
  }

  std::vector<std::size_t> shape = sample;
  job.out_stride = 1;
  for (std::size_t size : sample) job.out_stride *= static_cast<std::ptrdiff_t>(size);
  if (batch) shape.insert(shape.begin(), *batch);
  NewArray out(shape, format);
  job.out = static_cast<T*>(out.data());

  const std::size_t n = batch.value_or(1);
  const int threads = thread_count(options.num_threads);
  const Kernel<T> kernel = algorithm.kernel<T>(options.isa ? *options.isa : active_isa());
  unsigned faults = 0;
  if (n * static_cast<std::size_t>(nv + n_links) < worth_releasing) {
    const InterruptibleCall uninterrupted(nullptr);  // also where a signal handler makes it, inside another call
    faults = run_kernel(model, kernel, job, n, 1);
  } else {
    without_gil([&] { faults = run_kernel(model, kernel, job, n, threads); });
  }
  if (faults) {
    if (faults & fault::q) report_not_finite(model, arguments.q, job.q, static_cast<std::size_t>(nq), n, 1);
    if (faults & fault::v) report_not_finite(model, arguments.v, job.v, static_cast<std::size_t>(nv), n, 0);
    if (faults & fault::x)
      report_not_finite(model, arguments.x, job.x, static_cast<std::size_t>(arguments.x_is_configuration ? nq : nv), n,
                        arguments.x_is_configuration ? 1 : 0);
    if (faults & fault::f_ext)
      report_not_finite(model, arguments.f_ext, job.f_ext, static_cast<std::size_t>(6 * n_links), n, -1);
    if (faults & fault::w) report_not_finite(model, arguments.w, job.w, static_cast<std::size_t>(nv), n, 0);
    if constexpr (sizeof(T) == sizeof(double)) {
      if (faults & fault::targets)
        report_not_finite(model, arguments.targets, job.targets,
                          static_cast<std::size_t>(options.constraints->n_rows() * std::max(options.n_sides, 1)), n,
                          -1);
      if (faults & fault::positions)
        report_not_finite(model, arguments.positions, job.positions,
                          static_cast<std::size_t>(16 * options.constraints->n_constraints()), n, -1);
    }
    if (faults & fault::q_quaternion) report_quaternion(model, arguments.q, job.q, n);
    if (faults & fault::x_quaternion) report_quaternion(model, arguments.x, job.x, n);
    throw std::invalid_argument(std::string(algorithm.name) + ": an input changed while the call was running");
  }
  return out.take();
}

}  // namespace

nb::object call(const Model& model, const Algorithm& algorithm, Arguments& arguments,
                const std::vector<std::size_t>& sample, const Options& options) {
  const std::ptrdiff_t nq = model.nq(), nv = model.nv(), n_links = model.n_links();
  std::optional<std::size_t> batch;
  const ArrayArgument* first = nullptr;
  bool single_precision = true;
  const auto check = [&](const ArrayArgument& argument, std::initializer_list<std::ptrdiff_t> shape) {
    if (!argument.given()) return;
    single_precision = single_precision && argument.single_precision();
    const std::size_t size = argument.batch(shape);
    if (!size) return;
    if (batch && *batch != size)
      throw std::invalid_argument(std::string(argument.name()) + ": a batch of " + std::to_string(size) +
                                  " does not match the batch of " + std::to_string(*batch) + " in " + first->name());
    if (!batch) first = &argument;
    batch = size;
  };
  check(arguments.q, {nq});
  check(arguments.v, {nv});
  if (arguments.x_is_configuration)
    check(arguments.x, {nq});
  else
    check(arguments.x, {nv});
  check(arguments.f_ext, {n_links, 6});
  check(arguments.w, {nv});
  if (options.constraints) {
    if (options.n_sides)
      check(arguments.targets, {options.constraints->n_rows(), options.n_sides});
    else
      check(arguments.targets, {options.constraints->n_rows()});
    check(arguments.active, {options.constraints->n_constraints()});
    check(arguments.positions, {options.constraints->n_constraints(), 4, 4});
    single_precision = false;
  }
  return single_precision ? run<float>(model, algorithm, arguments, sample, options, batch)
                          : run<double>(model, algorithm, arguments, sample, options, batch);
}

}  // namespace featherweight::bindings
