// runtime/job.hpp -- what a batched call asks of a kernel. Plain data, shared by all instruction sets.
#pragma once
#include <cstddef>

#include "memory/memory.hpp"
#include "model/tree.hpp"

namespace featherweight {

template <class C>
struct ConstraintRows;  // rows/rows.hpp

// Sample-major array: sample k starts at data + k * stride; stride 0 means one sample shared by the whole batch.
template <class T>
struct Input {
  const T* data = nullptr;
  std::ptrdiff_t stride = 0;
};

template <class T>
struct Job {
  Input<T> q, v, x, f_ext;  // x: the third argument, tau or a or a second configuration
  Input<T> w;               // what a product of derivatives is taken with, nv
  T* out = nullptr;
  std::ptrdiff_t out_stride = 0;
  int mount = 0;  // link or frame asked about
  Reference reference = Reference::local;
  bool classical = false;  // acceleration of the point instead of the spatial acceleration
  const ConstraintRows<T>* constraints = nullptr;
  Input<T> targets, active;  // one per row; one per constraint, 1 or 0, or null
  double tolerance = 0;
  int max_iterations = 1;
  Input<T> positions;               // pose each constraint's frame should have in the world, 4 x 4
  const int* unactuated = nullptr;  // degrees of freedom without a motor
  int n_unactuated = 0;
  bool weightless = false;  // gravity is switched off
  void* factors = nullptr;  // of a DelassusOperator, factor_bytes for each pack of samples
  std::size_t factor_bytes = 0;
  int n_sides = 1;      // right-hand sides per sample, given as targets: rows x sides
  bool packed = false;  // crba: leave the packed rows of dynamics/crba.hpp, lanes innermost, in 64-byte aligned out
};

// Bits of what a kernel found wrong with its inputs; results are then meaningless.
namespace fault {
inline constexpr unsigned q = 1, v = 2, x = 4, f_ext = 8;  // not finite
inline constexpr unsigned q_quaternion = 16, x_quaternion = 32;
inline constexpr unsigned targets = 128, positions = 256, w = 512;
inline constexpr unsigned memory = 64;  // not a fault of the input: come back with `required` bytes
}  // namespace fault

// Samples [begin, end) of a job.
template <class T>
using Kernel = unsigned (*)(const Tree<T>&, const Job<T>&, std::size_t begin, std::size_t end, Memory&);

// One precision of one instruction set.
template <class T>
struct Kernels {
  int lanes;
  Kernel<T> forward_kinematics, frame_placement, frame_velocity, frame_acceleration, jacobian;
  Kernel<T> rnea, aba, crba, minverse;
  Kernel<T> center_of_mass, kinetic_energy, potential_energy, centroidal_momentum;
  Kernel<T> integrate, difference;
  Kernel<T> rnea_derivatives, rnea_vjp, aba_derivatives, aba_vjp;
  Kernel<T> frame_velocity_derivatives, frame_acceleration_derivatives, jacobian_time_derivative;
  Kernel<T> center_of_mass_derivatives, centroidal_momentum_derivatives;
  // constrained dynamics, float64 only: contact forces need the digits
  Kernel<T> limb_pv = nullptr, pv = nullptr, prox_pv = nullptr, ltl = nullptr, kkt = nullptr;
  Kernel<T> pv_early = nullptr, pv_soft = nullptr, constrained_aba = nullptr;
  Kernel<T> constraint_jacobian = nullptr, constraint_velocity = nullptr, constraint_acceleration = nullptr;
  Kernel<T> constraint_position_error = nullptr, constrained_inverse = nullptr;
  Kernel<T> constrained_derivatives = nullptr, impulse_derivatives = nullptr;
  Kernel<T> ltl_osim = nullptr, kjr = nullptr, efpa = nullptr, pv_osim = nullptr, pv_osimr = nullptr;
  Kernel<T> ltl_inverse = nullptr, pv_inverse = nullptr, pv_osim_base = nullptr, caba_osim = nullptr;
  Kernel<T> operator_factorise = nullptr, operator_apply = nullptr, operator_solve = nullptr;
  std::size_t (*operator_bytes)(const Tree<T>&, const ConstraintRows<T>&) = nullptr;
};

struct ContactKernels;     // cones/kernels.hpp
struct SimulationKernels;  // step/job.hpp
struct ControlKernels;     // control/linear_quadratic.hpp

// One build of the kernels.
struct Isa {
  const char* name;
  Kernels<double> f64;
  Kernels<float> f32;
  const ContactKernels* contact;
  const SimulationKernels* simulation;
  const ControlKernels* control;

  template <class T>
  const Kernels<T>& kernels() const {
    if constexpr (sizeof(T) == sizeof(double))
      return f64;
    else
      return f32;
  }
};

}  // namespace featherweight
