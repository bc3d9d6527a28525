// simulation/memory.hpp -- memory that grows and is kept: once a scene has been stepped, a step allocates nothing.
#pragma once
#include <cstddef>

#include "simulation/scene.hpp"

namespace featherweight {

struct Buffer {
  void* data = nullptr;
  std::size_t bytes = 0;
};

// At least so many bytes, 64-byte aligned; the first `keep` of them survive. Throws std::bad_alloc.
void reserve(Buffer& buffer, std::size_t bytes, std::size_t keep = 0);
void release(Buffer& buffer);

// Room for so many contacts; those that are there survive.
void reserve(ContactList& list, int count);
void release(ContactList& list);

}  // namespace featherweight
