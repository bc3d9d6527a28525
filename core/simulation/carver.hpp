// simulation/carver.hpp -- arrays carved out of one piece of memory; from null it only adds up how large that must be.
#pragma once
#include <cstddef>
#include <cstdint>

#include "lanes/config.hpp"

namespace featherweight::FW_ISA {

class Carver {
 public:
  explicit Carver(void* memory) : start_(reinterpret_cast<std::uintptr_t>(memory)), next_(start_) {}

  template <class T>
  FW_INLINE T* take(std::size_t count) {
    T* const piece = reinterpret_cast<T*>(next_);
    next_ += (count * sizeof(T) + 63) / 64 * 64;
    return piece;
  }
  std::size_t used() const { return next_ - start_; }

 private:
  std::uintptr_t start_, next_;
};

}  // namespace featherweight::FW_ISA
