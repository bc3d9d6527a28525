// runtime/interrupt.hpp -- long work asks now and then whether it should stop.
//
// Work announces itself in operations, roughly, and pays no more than a subtraction until there has been enough of it
// for a look at the clock. Of the threads that share a call only the caller's asks; the others see what it was told.
// Work that stops leaves its results unfinished: whoever made the call throws them away.
#pragma once

namespace featherweight {

// True if the work at hand should be given up.
bool interrupted(double operations);

// What the threads that work on one call share.
class InterruptibleCall {
 public:
  using Ask = bool (*)();  // true: stop. Called in the thread of the caller, at most some ten times a second.

  // Work in this thread belongs to the call while it is in scope. ask null: nobody wants to stop it.
  explicit InterruptibleCall(Ask ask);
  ~InterruptibleCall();
  InterruptibleCall(const InterruptibleCall&) = delete;
  InterruptibleCall& operator=(const InterruptibleCall&) = delete;

  bool stopped() const { return __atomic_load_n(&stopped_, __ATOMIC_RELAXED); }
  // The caller asks, if it is time to.
  bool look();

 private:
  Ask ask_;
  bool stopped_ = false;
  double asked_;  // when [s]
  InterruptibleCall* outer_;
  double outer_left_;
};

// The call that this thread works on, null if there is none.
InterruptibleCall* current_call();

// A helper's work belongs to the call while it is in scope.
class SharedCall {
 public:
  explicit SharedCall(InterruptibleCall* call);
  ~SharedCall();
  SharedCall(const SharedCall&) = delete;
  SharedCall& operator=(const SharedCall&) = delete;
};

}  // namespace featherweight
