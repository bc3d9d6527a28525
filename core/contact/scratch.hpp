// contact/scratch.hpp -- arrays handed out of one piece of memory, 64-byte aligned.
#pragma once
#include <cstddef>

#include "lanes/config.hpp"

namespace featherweight::FW_ISA {

// Hands out scratch, or only counts it when there is none.
class Scratch {
 public:
  explicit Scratch(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <class T>
  T* take(std::size_t n) {
    T* taken = memory_ ? reinterpret_cast<T*>(memory_ + used_) : nullptr;
    used_ += (n * sizeof(T) + 63) & ~std::size_t{63};
    return taken;
  }
  std::size_t used() const { return used_; }

 private:
  char* memory_;
  std::size_t used_ = 0;
};

}  // namespace featherweight::FW_ISA
