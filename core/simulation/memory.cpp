#include "simulation/memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "batch/run.hpp"

namespace featherweight {

void grow(Buffer& buffer, std::size_t bytes, std::size_t keep) {
  const std::size_t size = (bytes + bytes / 2 + 63) / 64 * 64;
  void* const data = std::aligned_alloc(64, size);
  if (!data) throw std::bad_alloc();
  if (keep) std::memcpy(data, buffer.data, keep);
  std::free(buffer.data);
  buffer = {data, size};
  count_workspace_allocation();
}
void release(Buffer& buffer) {
  std::free(buffer.data);
  buffer = {};
}

void grow(ContactList& list, int count) {
  Buffer buffer{list.data, list.bytes};
  grow(buffer, sizeof(Contact) * static_cast<std::size_t>(count),
       sizeof(Contact) * static_cast<std::size_t>(list.count));
  list.data = static_cast<Contact*>(buffer.data);
  list.bytes = buffer.bytes;
}
void release(ContactList& list) {
  std::free(list.data);
  list = {};
}

}  // namespace featherweight
