// bindings/core.cpp -- the extension module featherweight._core.
#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The C++ core of featherweight.";
  featherweight::bindings::bind_model(m);
  featherweight::bindings::bind_kinematics(m);
  featherweight::bindings::bind_dynamics(m);
  featherweight::bindings::bind_batch(m);
}
