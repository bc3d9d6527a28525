// bindings/core.cpp -- the extension module featherweight._core.
#include "bindings.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // models held by module globals outlive the interpreter, and that is fine
  m.doc() = "The C++ core of featherweight.";
  featherweight::bindings::bind_model(m);
  featherweight::bindings::bind_kinematics(m);
  featherweight::bindings::bind_dynamics(m);
  featherweight::bindings::bind_batch(m);
}
