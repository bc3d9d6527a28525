#include "gil.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/denormals.hpp"

namespace nb = nanobind;

namespace featherweight::bindings {
namespace {

std::atomic<bool> closing = false;
std::atomic<int> n_waiting = 0;  // threads that wait for the lock, to go back to the interpreter
unsigned long main_thread = 0;

// With the lock again, for as long as handlers take. What they raise stays with the thread.
bool signal_raises() {
  if (closing) return false;
  const FlushDenormals usual(false);
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool raises = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return raises;
}

}  // namespace

InterruptibleCall::Ask signal_question() {
  return PyThread_get_thread_ident() == main_thread ? signal_raises : nullptr;
}

ReleasedGil::ReleasedGil() : state_(closing ? nullptr : PyEval_SaveThread()) {}

ReleasedGil::~ReleasedGil() {
  if (!state_) return;
  ++n_waiting;
  // The main thread never gets here: it sets `closing` itself, holding the lock, and from then on does not release it.
  if (closing) {
    --n_waiting;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  PyEval_RestoreThread(state_);
  --n_waiting;
}

// Threads that wait for the lock when the interpreter ends would be ended in the middle of a C++ function, which aborts
// the process: they get it first. Those that come later sleep.
void close() {
  closing = true;
  while (n_waiting > 0) {
    PyThreadState* const state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
  }
}

void watch_interpreter() {
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(close));
}

}  // namespace featherweight::bindings
