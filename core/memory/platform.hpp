// What operating systems do differently, behind one name each.
#pragma once

#include <cstddef>
#include <cstdlib>
#ifdef _WIN32
#include <malloc.h>
#else
#include <unistd.h>
#endif

namespace featherweight::platform {

// `size` is a multiple of `alignment`; null if there is no memory. Given back with aligned_free.
inline void* aligned_allocate(std::size_t alignment, std::size_t size) {
#ifdef _WIN32
  return _aligned_malloc(size, alignment);
#else
  return std::aligned_alloc(alignment, size);
#endif
}

inline void aligned_free(void* data) {
#ifdef _WIN32
  _aligned_free(data);
#else
  std::free(data);
#endif
}

// Differs between a process and those that it forks, which have its memory but not its threads. Windows has no fork.
inline long process_number() {
#ifdef _WIN32
  return 1;
#else
  return getpid();
#endif
}

}  // namespace featherweight::platform
