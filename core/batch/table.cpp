// batch/table.cpp -- the table by which this instruction set is reached.
#include "batch/kernels.hpp"
#include "lanes/native.hpp"

namespace featherweight::FW_ISA {

// Built in double precision only.
template <class T>
constexpr Kernel<T> constrained_dynamics() {
  if constexpr (sizeof(T) == sizeof(double))
    return KernelOf<T>::constrained_dynamics;
  else
    return nullptr;
}

template <class T>
constexpr Kernels<T> kernels() {
  using K = KernelOf<T>;
  return {.lanes = width_of<Native<T>>,
          .forward_kinematics = K::forward_kinematics,
          .frame_placement = K::frame_placement,
          .frame_velocity = K::frame_velocity,
          .frame_acceleration = K::frame_acceleration,
          .jacobian = K::jacobian,
          .rnea = K::rnea,
          .aba = K::aba,
          .crba = K::crba,
          .minverse = K::minverse,
          .center_of_mass = K::center_of_mass,
          .kinetic_energy = K::kinetic_energy,
          .potential_energy = K::potential_energy,
          .centroidal_momentum = K::centroidal_momentum,
          .integrate = K::integrate,
          .difference = K::difference,
          .constrained_dynamics = constrained_dynamics<T>()};
}

extern const Isa isa;
constinit const Isa isa = {FW_ISA_NAME, kernels<double>(), kernels<float>()};

}  // namespace featherweight::FW_ISA
