// memory/arena.hpp -- a workspace handed out piece by piece.
//
// An algorithm takes all it needs before it starts; if the memory is too small, nothing is touched, `required` says how
// much is needed, and the caller comes back with that. So every workspace sizes itself, and a warm call allocates
// nothing. A copy continues where the original stands: what it hands out is free again when it is gone.
#pragma once
#include <cstdint>

#include "lanes/config.hpp"
#include "memory/memory.hpp"

namespace featherweight::FW_ISA {

class Arena {
 public:
  static constexpr std::size_t alignment = 64;  // a cache line, and the widest register

  Arena() : start_(0) {}  // only measures
  explicit Arena(void* data) : start_(reinterpret_cast<std::uintptr_t>(data)) {}
  explicit Arena(Memory& memory) : Arena(memory.data) { memory_ = &memory; }

  template <class T>
  FW_INLINE T* take(std::size_t count) {
    // integers, because it may go beyond the memory, or there may be none
    T* piece = reinterpret_cast<T*>(start_ + used_);
    used_ += (count * sizeof(T) + alignment - 1) & ~(alignment - 1);
    return piece;
  }
  FW_INLINE std::size_t used() const { return used_; }
  // Of the memory it was given.
  FW_INLINE bool fits() const {
    memory_->required = used_;
    return used_ <= memory_->size;
  }

 private:
  std::uintptr_t start_;
  std::size_t used_ = 0;
  Memory* memory_ = nullptr;
};

// carve(arena) takes what it needs; it is called again if there was too little.
template <class Carve>
FW_INLINE void carve_out(Memory& memory, const Carve& carve) {
  Arena arena(memory);
  carve(arena);
  if (arena.fits()) return;
  reserve(memory, memory.required);
  Arena again(memory);
  carve(again);
}

}  // namespace featherweight::FW_ISA
