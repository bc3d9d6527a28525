#include "simulation/memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "batch/run.hpp"

namespace featherweight {

void reserve(Buffer& buffer, std::size_t bytes, std::size_t keep) {
  if (bytes <= buffer.bytes) return;
  const std::size_t size = (bytes + bytes / 2 + 4095) / 4096 * 4096;
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

void reserve(ContactList& list, int count) {
  const std::size_t bytes = sizeof(Contact) * static_cast<std::size_t>(count);
  if (bytes <= list.bytes) return;
  Buffer buffer{list.data, list.bytes};
  reserve(buffer, bytes, sizeof(Contact) * static_cast<std::size_t>(list.count));
  list.data = static_cast<Contact*>(buffer.data);
  list.bytes = buffer.bytes;
}
void release(ContactList& list) {
  std::free(list.data);
  list = {};
}

}  // namespace featherweight
