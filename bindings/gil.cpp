#include "gil.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace nb = nanobind;

namespace featherweight::bindings {
namespace {

std::atomic<bool> closing = false;

}  // namespace

ReleasedGil::ReleasedGil() : state_(closing ? nullptr : PyEval_SaveThread()) {}

ReleasedGil::~ReleasedGil() {
  if (!state_) return;
  // The main thread never gets here: it sets `closing` itself, holding the lock, and from then on does not release it.
  while (closing) std::this_thread::sleep_for(std::chrono::hours(1));
  PyEval_RestoreThread(state_);
}

void watch_interpreter_exit() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] { closing = true; }));
}

}  // namespace featherweight::bindings
