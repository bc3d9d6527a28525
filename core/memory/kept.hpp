// memory/kept.hpp -- one T per thread, kept from call to call.
#pragma once
#include <memory>
#include <utility>

namespace featherweight {

// Borrows the T of this thread while in scope. A call from inside, which a signal handler may make, gets another.
template <class T>
class Kept {
 public:
  Kept() : borrowed_(std::move(spare())) {
    if (!borrowed_) borrowed_ = std::make_unique<T>();
  }
  ~Kept() { spare() = std::move(borrowed_); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  T* operator->() const { return borrowed_.get(); }

 private:
  std::unique_ptr<T> borrowed_;

  static std::unique_ptr<T>& spare() {
    thread_local std::unique_ptr<T> instance;
    return instance;
  }
};

}  // namespace featherweight
