#include "memory/memory.hpp"

#include <atomic>
#include <cstring>
#include <new>

#include "memory/platform.hpp"

namespace featherweight {
namespace {

std::atomic<long> growths = 0;

}  // namespace

void grow(Memory& memory, std::size_t size, std::size_t keep) {
  const std::size_t rounded = (size + size / 2 + 63) / 64 * 64;
  void* const data = platform::aligned_allocate(64, rounded);
  if (!data) throw std::bad_alloc();
  if (keep) std::memcpy(data, memory.data, keep);
  platform::aligned_free(memory.data);
  memory = {data, rounded, 0};
  ++growths;
}

void release(Memory& memory) {
  platform::aligned_free(memory.data);
  memory = {};
}

long memory_growths() { return growths; }

}  // namespace featherweight
