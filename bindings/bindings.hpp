// bindings/bindings.hpp -- what each part adds to the module, and how its functions are declared. `testing`: what only
// tests and benchmarks use.
#pragma once
#include "call.hpp"

namespace featherweight::bindings {

void bind_model(nb::module_& m);
void bind_kinematics(nb::module_& m);
void bind_dynamics(nb::module_& m);
void bind_derivatives(nb::module_& m);
void bind_rows(nb::module_& m);
void bind_constrained(nb::module_& m);
void bind_control(nb::module_& m);
void bind_delassus(nb::module_& m);
void bind_collision(nb::module_& m, nb::module_& testing);
void bind_scene(nb::module_& m);
void bind_cones(nb::module_& m, nb::module_& testing);
void bind_step(nb::module_& m);
void bind_step_records(nb::module_& m);
void bind_step_diff(nb::module_& m);
void bind_episodes(nb::module_& m);
void bind_follow(nb::module_& m);
void bind_runtime(nb::module_& m, nb::module_& testing);
void bind_measure(nb::module_& testing);

// A frame given by name or by index.
int find_frame(const Model& model, nb::handle frame);
// Whose origin and axes a motion is expressed with, by name.
Reference find_reference(nb::handle reference);
// Throws naming the function if nothing that moves has mass.
void require_mass(const Model& model, const char* function);
// Throws unless 0 <= index < n, or -1 where the world is allowed.
void check_index(const char* what, int index, int n, bool world_allowed);
// A method for constrained dynamics; throws naming the known ones.
Algorithm find_method(const std::string& name);

// An algorithm for Delassus matrices, null if there is none of that name.
const Algorithm* find_delassus_method(const std::string& name);
const Algorithm* find_delassus_inverse(const std::string& name);

// Throws unless the constraints were compiled for this model.
void check_model(const Model& model, const ConstraintSet& constraints);
// And if there are loops or couplings, which what is called does not know.
void check_single_links(const Model& model, const ConstraintSet& constraints);
// Throws if there are loops or couplings and the method, of whatever kind, knows only rows on one link.
void check_method(const ConstraintSet& constraints, const std::string& method);

#define FW_ALGORITHM(name) \
  ::featherweight::bindings::Algorithm { #name, &Kernels<double>::name, &Kernels<float>::name }

#define FW_DOUBLE_ALGORITHM(name) \
  ::featherweight::bindings::Algorithm { #name, &Kernels<double>::name, nullptr }

}  // namespace featherweight::bindings
