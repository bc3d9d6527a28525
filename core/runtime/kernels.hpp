// runtime/kernels.hpp -- the kernels of this instruction set, one per algorithm, each instantiated in its own source.
#pragma once
#include "lanes/config.hpp"
#include "runtime/job.hpp"

namespace featherweight::FW_ISA {

// Samples [begin, end) of a job, see Kernel in runtime/job.hpp.
template <class T>
struct KernelOf {
  using Range = std::size_t;
  static unsigned forward_kinematics(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned frame_placement(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned frame_velocity(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned frame_acceleration(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned jacobian(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned rnea(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned aba(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned crba(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned minverse(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned center_of_mass(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned kinetic_energy(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned potential_energy(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned centroidal_momentum(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned integrate(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned difference(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  // derivatives
  static unsigned rnea_derivatives(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned rnea_vjp(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned aba_derivatives(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned aba_vjp(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned frame_velocity_derivatives(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned frame_acceleration_derivatives(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned jacobian_time_derivative(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned center_of_mass_derivatives(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned centroidal_momentum_derivatives(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  // constrained dynamics
  static unsigned pv(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned limb_pv(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned prox_pv(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned pv_early(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned pv_soft(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned constrained_aba(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned ltl(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned kkt(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  // around it
  static unsigned constraint_jacobian(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned constraint_velocity(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned constraint_acceleration(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned constraint_position_error(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned constrained_inverse(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned constrained_derivatives(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned impulse_derivatives(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  // Delassus matrices
  static unsigned ltl_osim(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned pv_osim(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned pv_osimr(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  // and their inverses
  static unsigned ltl_inverse(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned pv_inverse(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned pv_osim_base(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned caba_osim(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned operator_factorise(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned operator_apply(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned operator_solve(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static std::size_t operator_bytes(const Tree<T>&, const ConstraintRows<T>&);  // of a pack's factors
  static unsigned efpa(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
  static unsigned kjr(const Tree<T>&, const Job<T>&, Range begin, Range end, Memory&);
};

// At the end of the source that defines it.
#define FW_INSTANTIATE_DOUBLE_KERNEL(name) \
  template unsigned KernelOf<double>::name(const Tree<double>&, const Job<double>&, Range, Range, Memory&)
#define FW_INSTANTIATE_KERNEL(name)   \
  FW_INSTANTIATE_DOUBLE_KERNEL(name); \
  template unsigned KernelOf<float>::name(const Tree<float>&, const Job<float>&, Range, Range, Memory&)

}  // namespace featherweight::FW_ISA
