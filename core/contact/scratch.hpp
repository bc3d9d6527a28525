// contact/scratch.hpp -- arrays handed out of one piece of memory, 64-byte aligned.
#pragma once
#include <cstddef>
#include <cstdint>

#include "lanes/config.hpp"

namespace featherweight::FW_ISA {

// Hands out scratch and counts it: what was taken may be used if that much is there.
class Scratch {
 public:
  explicit Scratch(void* memory) : start_(reinterpret_cast<std::uintptr_t>(memory)) {}
  template <class T>
  FW_INLINE T* take(std::size_t n) {
    // integers, because it may go beyond the memory, or there may be none
    T* taken = reinterpret_cast<T*>(start_ + used_);
    used_ += (n * sizeof(T) + 63) & ~std::size_t{63};
    return taken;
  }
  FW_INLINE std::size_t used() const { return used_; }

 private:
  std::uintptr_t start_;
  std::size_t used_ = 0;
};

}  // namespace featherweight::FW_ISA
