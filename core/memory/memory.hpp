// memory/memory.hpp -- memory that grows and is kept: a warm call allocates nothing. Plain data, shared by all
// instruction sets.
#pragma once
#include <cstddef>

namespace featherweight {

// 64-byte aligned: a cache line, and the widest register.
struct Memory {
  void* data = nullptr;
  std::size_t size = 0;
  std::size_t required = 0;  // set by whoever found it too small, see Arena
};

void grow(Memory& memory, std::size_t size, std::size_t keep);
// At least so many bytes; the first `keep` of them survive. Throws std::bad_alloc.
inline void reserve(Memory& memory, std::size_t size, std::size_t keep = 0) {
  if (size > memory.size) grow(memory, size, keep);
}
void release(Memory& memory);

// How often memory had to grow, over all threads, since the process started.
long memory_growths();

}  // namespace featherweight
