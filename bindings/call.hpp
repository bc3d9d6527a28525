// bindings/call.hpp -- one batched call: check the arguments, run the kernel, name the culprit if an input was bad.
#pragma once
#include "arrays.hpp"
#include "constrained/constraint_set.hpp"
#include "model/model.hpp"
#include "runtime/job.hpp"

namespace featherweight::bindings {

// The kernel of one algorithm in both precisions.
struct Algorithm {
  const char* name;
  Kernel<double> Kernels<double>::* f64;
  Kernel<float> Kernels<float>::* f32;

  template <class T>
  Kernel<T> kernel(const Isa& isa) const {
    if constexpr (sizeof(T) == sizeof(double))
      return isa.f64.*f64;
    else
      return isa.f32.*f32;
  }
};

struct Arguments {
  ArrayArgument q, v, x, f_ext;
  bool x_is_configuration = false;
  ArrayArgument targets{}, active{}, positions{};  // with constraints only
  ArrayArgument w{};                               // for products of derivatives only
};

struct Options {
  int mount = 0;
  Reference reference = Reference::local;
  bool classical = false;
  nb::handle num_threads = nb::handle();  // None: all cores
  const ConstraintSet* constraints = nullptr;
  double tolerance = 0;
  int max_iterations = 1;
  const std::vector<int>* unactuated = nullptr;
  bool weightless = false;
  int n_sides = 0;  // targets are (n_rows, n_sides) if not 0
  void* factors = nullptr;
  std::size_t factor_bytes = 0;
  const Isa* isa = nullptr;  // the active one unless given
};

// Threads asked for; None: all cores.
int thread_count(nb::handle num_threads);

// `sample` is the shape of one sample's result.
nb::object call(const Model& model, const Algorithm& algorithm, Arguments& arguments,
                const std::vector<std::size_t>& sample, const Options& options);

}  // namespace featherweight::bindings
