// bindings/core.cpp -- the extension module featherweight._core.
#include "bindings.hpp"
#include "gil.hpp"
#include "runtime/cores.hpp"
#include "runtime/dispatch.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // models kept in module globals may outlive the interpreter
  featherweight::active_isa();   // chosen now: a wrong FEATHERWEIGHT_ISA is an error of the import
  featherweight::default_threads();
  featherweight::bindings::watch_interpreter();
  m.doc() = "The C++ core of featherweight.";
  nb::module_ testing = m.def_submodule("_testing", "Parts of the core by themselves, for tests and benchmarks only.");
  featherweight::bindings::bind_model(m);
  featherweight::bindings::bind_kinematics(m);
  featherweight::bindings::bind_dynamics(m);
  featherweight::bindings::bind_derivatives(m);
  featherweight::bindings::bind_constrained(m);
  featherweight::bindings::bind_control(m);
  featherweight::bindings::bind_rows(m);
  featherweight::bindings::bind_delassus(m);
  featherweight::bindings::bind_collision(m, testing);
  featherweight::bindings::bind_scene(m);
  featherweight::bindings::bind_step(m);
  featherweight::bindings::bind_step_records(m);
  featherweight::bindings::bind_step_diff(m);
  featherweight::bindings::bind_episodes(m);
  featherweight::bindings::bind_follow(m);
  featherweight::bindings::bind_cones(m, testing);
  featherweight::bindings::bind_runtime(m, testing);
  featherweight::bindings::bind_measure(testing);
}
