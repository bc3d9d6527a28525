// bindings/gil.hpp -- running without the interpreter lock, also while the interpreter shuts down.
#pragma once
#include <nanobind/nanobind.h>

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

// Lets ReleasedGil know when the interpreter shuts down.
void watch_interpreter_exit();

}  // namespace featherweight::bindings
