// runtime/table.cpp -- the table by which this instruction set is reached.
#include "lanes/native.hpp"
#include "runtime/kernels.hpp"

namespace featherweight::FW_ISA {

template <class T>
constexpr Kernels<T> kernels() {
  using K = KernelOf<T>;
  Kernels<T> table{.lanes = width_of<Native<T>>,
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
                   .rnea_derivatives = K::rnea_derivatives,
                   .rnea_vjp = K::rnea_vjp,
                   .aba_derivatives = K::aba_derivatives,
                   .aba_vjp = K::aba_vjp,
                   .frame_velocity_derivatives = K::frame_velocity_derivatives,
                   .frame_acceleration_derivatives = K::frame_acceleration_derivatives,
                   .jacobian_time_derivative = K::jacobian_time_derivative,
                   .center_of_mass_derivatives = K::center_of_mass_derivatives,
                   .centroidal_momentum_derivatives = K::centroidal_momentum_derivatives};
  if constexpr (sizeof(T) == sizeof(double)) {
    table.pv = K::pv;
    table.limb_pv = K::limb_pv;
    table.prox_pv = K::prox_pv;
    table.pv_early = K::pv_early;
    table.pv_soft = K::pv_soft;
    table.constrained_aba = K::constrained_aba;
    table.ltl = K::ltl;
    table.kkt = K::kkt;
    table.constraint_jacobian = K::constraint_jacobian;
    table.constraint_velocity = K::constraint_velocity;
    table.constraint_acceleration = K::constraint_acceleration;
    table.constraint_position_error = K::constraint_position_error;
    table.constrained_inverse = K::constrained_inverse;
    table.constrained_derivatives = K::constrained_derivatives;
    table.impulse_derivatives = K::impulse_derivatives;
    table.ltl_osim = K::ltl_osim;
    table.pv_osim = K::pv_osim;
    table.pv_osimr = K::pv_osimr;
    table.ltl_inverse = K::ltl_inverse;
    table.pv_inverse = K::pv_inverse;
    table.pv_osim_base = K::pv_osim_base;
    table.caba_osim = K::caba_osim;
    table.operator_factorise = K::operator_factorise;
    table.operator_apply = K::operator_apply;
    table.operator_solve = K::operator_solve;
    table.operator_bytes = K::operator_bytes;
    table.efpa = K::efpa;
    table.kjr = K::kjr;
  }
  return table;
}

// defined in cones/solve.cpp, step/step.cpp and control/riccati.cpp
extern const ContactKernels contact_kernels;
extern const SimulationKernels simulation_kernels;
extern const ControlKernels control_kernels;

extern const Isa isa;
constinit const Isa isa = {FW_ISA_NAME,      kernels<double>(),   kernels<float>(),
                           &contact_kernels, &simulation_kernels, &control_kernels};

}  // namespace featherweight::FW_ISA
