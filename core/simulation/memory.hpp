// simulation/memory.hpp -- memory that grows and is kept: once a scene has been stepped, a step allocates nothing.
#pragma once
#include <cstddef>

#include "simulation/scene.hpp"

namespace featherweight {

struct Buffer {
  void* data = nullptr;
  std::size_t bytes = 0;
};

void grow(Buffer& buffer, std::size_t bytes, std::size_t keep);
// At least so many bytes, 64-byte aligned; the first `keep` of them survive. Throws std::bad_alloc.
inline void reserve(Buffer& buffer, std::size_t bytes, std::size_t keep = 0) {
  if (bytes > buffer.bytes) grow(buffer, bytes, keep);
}
void release(Buffer& buffer);

void grow(ContactList& list, int count);
// Room for so many contacts; those that are there survive.
inline void reserve(ContactList& list, int count) {
  if (sizeof(Contact) * static_cast<std::size_t>(count) > list.bytes) grow(list, count);
}
void release(ContactList& list);

}  // namespace featherweight
