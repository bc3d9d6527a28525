// scene/contact_list.hpp -- points of contact of one environment. Plain data, shared by all instruction sets.
#pragma once
#include <cstdint>

#include "memory/memory.hpp"

namespace featherweight {

// What is known of a contact in the step that found it (step/verify.hpp).
enum class Standing : std::uint8_t {
  certain,
  doubtful,  // the shapes may pass by each other
  struck,    // they meet if nothing else pushes them
  verified,
};

// One point of contact, kept from step to step.
struct Contact {
  int a, b;  // shapes
  int material;
  std::uint32_t feature;
  double position[3];  // [m] world, in the plane of its patch
  double frame[9];     // rows t1, t2, n in world axes; n points from b to a
  double gap;          // [m] at the start of the step
  double impulse[6];   // on a, along t1, t2, n and about them [N s, N m s]
  // in the step that found it:
  int ball;  // ScenePair::ball
  Standing standing;
  bool was_loaded;  // it pushed in the step before
  bool is_ahead;    // of a later time in the step (scene/ahead.hpp)
  bool is_beside;   // of a field that carries the shape along other normals (step/doubts.hpp)
};
struct ContactList {
  Contact* data = nullptr;
  int count = 0;
  Memory memory{};  // of data
};

// Room for so many contacts; those that are there survive. Throws std::bad_alloc.
inline void reserve(ContactList& list, int count) {
  reserve(list.memory, sizeof(Contact) * static_cast<std::size_t>(count),
          sizeof(Contact) * static_cast<std::size_t>(list.count));
  list.data = static_cast<Contact*>(list.memory.data);
}
inline void append(const Contact& c, ContactList& list) {
  reserve(list, list.count + 1);
  list.data[list.count++] = c;
}
inline void swap(ContactList& x, ContactList& y) {
  const ContactList z = x;
  x = y, y = z;
}
inline void release(ContactList& list) {
  release(list.memory);
  list = {};
}

}  // namespace featherweight
