// batch/arena.hpp -- a workspace handed out piece by piece.
//
// A kernel takes all it needs before it starts; if the memory does not suffice nothing is touched, `required` tells
// how much does, and the caller comes back with that. So every workspace sizes itself, and a warm call allocates
// nothing.
#pragma once
#include <cstdint>

#include "batch/job.hpp"
#include "lanes/config.hpp"

namespace featherweight::FW_ISA {

class Arena {
 public:
  static constexpr std::size_t alignment = 64;  // a cache line, and the widest register

  explicit Arena(Memory& memory) : memory_(memory) { memory_.required = 0; }

  template <class T>
  FW_INLINE T* take(std::size_t count) {
    // integers, because offsets from a null pointer are what measuring needs
    T* piece = reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(memory_.data) + memory_.required);
    memory_.required += (count * sizeof(T) + alignment - 1) / alignment * alignment;
    return piece;
  }
  FW_INLINE bool fits() const { return memory_.required <= memory_.size; }

 private:
  Memory& memory_;
};

}  // namespace featherweight::FW_ISA
