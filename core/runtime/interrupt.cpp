#include "runtime/interrupt.hpp"

#include <chrono>

namespace featherweight {
namespace {

// Some tens of microseconds: as rare as a look at the clock has to be to cost nothing.
constexpr double operations_between_looks = 1e5;
// [s] Between two questions to the caller, which may have to wait for the interpreter's lock.
constexpr double between_questions = 0.1;

// What this thread works on.
struct Work {
  InterruptibleCall* call = nullptr;
  bool is_caller = false;
  double left = 0;  // operations before the next look
};
thread_local Work work;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

bool interrupted(double operations) {
  Work& own = work;
  if (!own.call) return false;
  own.left -= operations;
  if (own.left < 0) {
    own.left = operations_between_looks;
    if (own.is_caller) return own.call->look();
  }
  return own.call->stopped();
}

InterruptibleCall* current_call() { return work.call; }

InterruptibleCall::InterruptibleCall(Ask ask)
    : ask_(ask), asked_(ask ? now() : 0), outer_(work.call), outer_left_(work.left) {
  work = {this, true, operations_between_looks};
}
InterruptibleCall::~InterruptibleCall() { work = {outer_, true, outer_left_}; }

bool InterruptibleCall::look() {
  if (!ask_ || stopped()) return stopped();
  const double time = now();
  if (time - asked_ < between_questions) return false;
  asked_ = time;
  // what answers may call us again: a signal handler does what it likes
  const bool stop = ask_();
  asked_ = now();
  if (stop) __atomic_store_n(&stopped_, true, __ATOMIC_RELAXED);
  return stop;
}

SharedCall::SharedCall(InterruptibleCall* call) { work = {call, false, operations_between_looks}; }
SharedCall::~SharedCall() { work = {}; }

}  // namespace featherweight
