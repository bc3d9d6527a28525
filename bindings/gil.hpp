// bindings/gil.hpp -- running without the interpreter lock, also while the interpreter shuts down, and until Ctrl-C.
#pragma once
#include <nanobind/nanobind.h>

#include "runtime/interrupt.hpp"

namespace featherweight::bindings {

// Releases the lock while in scope. A daemon thread that comes back after the interpreter has begun to shut down must
// not ask for the lock again: Python would end the thread by unwinding its stack, which C++ answers with terminate.
// Such a thread waits here for the process to end instead.
class ReleasedGil {
 public:
  ReleasedGil();
  ~ReleasedGil();
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* state_;
};

// What to ask during a call that should end when a signal handler raises, as that of Ctrl-C does: null in threads other
// than the main one, where Python runs no handlers.
InterruptibleCall::Ask signal_question();

// Runs work() without the lock. Ctrl-C ends it and is raised.
template <class Work>
void without_gil(const Work& work) {
  bool stopped = false;
  {
    const InterruptibleCall::Ask ask = signal_question();
    const ReleasedGil released;
    const InterruptibleCall call(ask);
    work();
    stopped = call.stopped();
  }
  if (stopped) throw nanobind::python_error();
}

// Finds out which thread is the main one, and when the interpreter shuts down.
void watch_interpreter();

}  // namespace featherweight::bindings
