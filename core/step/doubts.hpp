// step/doubts.hpp -- which contacts may be none: those whose shapes may pass by each other within the step.
//   in    contacts of one environment, in the order of pairs, with the impulses of the step before
//   out   their standing; points of a field that carries a shape in two groups
#pragma once
#include "collision/sweep.hpp"
#include "scene/contact_list.hpp"
#include "scene/scene.hpp"
#include "step/tuning.hpp"

namespace featherweight::FW_ISA {

FW_INLINE bool is_half_space(const Scene& scene, const Contact& c) {
  return scene.shapes[c.a].shape.kind == ShapeKind::plane || scene.shapes[c.b].shape.kind == ShapeKind::plane;
}
FW_INLINE bool is_of_field(const Scene& scene, const Contact& c) {
  return scene.shapes[c.b].shape.kind == ShapeKind::height_field;
}
// What a field has beside that on which it carries a shape counts as another pair, after it.
FW_INLINE bool precedes(const Contact& x, const Contact& y) {
  return x.a < y.a || (x.a == y.a && (x.b < y.b || (x.b == y.b && x.is_beside < y.is_beside)));
}

// Points of one pair after the other: f(first, last).
template <class F>
FW_INLINE void for_pairs(const ContactList& list, const F& f) {
  for (int first = 0, last; first < list.count; first = last) {
    for (last = first + 1; last < list.count && !precedes(list.data[first], list.data[last]);) ++last;
    f(first, last);
  }
}

// What counts as a push [N s].
inline double least_push(const ContactList& contacts) {
  double largest = 0;
  for (int k = 0; k < contacts.count; ++k)
    largest = contacts.data[k].impulse[2] > largest ? contacts.data[k].impulse[2] : largest;
  return VerifyTuning::loaded * largest;
}

// Points along normals that are not carried go behind the others; returns the first of them.
inline int put_beside(const Carried& carried, int first, int last, ContactList& list) {
  int middle = first;
  for (int k = first; k < last; ++k) {
    if (!carried.has(list.data[k].frame + 6)) continue;
    const Contact c = list.data[k];
    for (int j = k; j > middle; --j) list.data[j] = list.data[j - 1];
    list.data[middle++] = c;
  }
  for (int k = middle; k < last; ++k) list.data[k].is_beside = true;
  return middle;
}
// f(contact) for all of the shapes of `c`.
template <class F>
FW_INLINE void for_shapes_of(const Contact& c, const ContactList& list, const F& f) {
  for (int k = 0; k < list.count && list.data[k].a <= c.a; ++k)
    if (list.data[k].a == c.a && list.data[k].b == c.b) f(list.data[k]);
}
// Normals along which a field carries the shape of `c`.
inline Carried carried_normals(const ContactList& contacts, const Contact& c) {
  Carried carried;
  for_shapes_of(c, contacts, [&](const Contact& o) {
    if (!o.is_beside) carried.add(o.frame + 6);
  });
  return carried;
}

// At the first look: which pairs are doubtful. False if none is.
inline bool mark_doubtful(const Scene& scene, ContactList& contacts) {
  bool some = false;
  double least = -1;
  for_pairs(contacts, [&](int first, int last) {
    if (is_half_space(scene, contacts.data[first])) return;
    if (least < 0) least = least_push(contacts);
    Carried carried;
    for (int k = first; k < last; ++k)
      if (contacts.data[k].impulse[2] > least) carried.add(contacts.data[k].frame + 6);
    int doubtful = first;
    if (carried.count > 0)
      doubtful = is_of_field(scene, contacts.data[first]) ? put_beside(carried, first, last, contacts) : last;
    for (int k = doubtful; k < last; ++k) contacts.data[k].standing = Standing::doubtful, some = true;
  });
  return some;
}

// Whether a field has its faces beside those that carry the shape of `c` apart from these, or has to.
inline bool is_split(const Contact& c, const ContactList& contacts, const ContactList& aside) {
  bool is = false;
  const auto ask = [&](const Contact& o) { is |= o.is_beside || o.standing == Standing::certain; };
  for_shapes_of(c, contacts, ask), for_shapes_of(c, aside, ask);
  return is;
}

// At later ones: pairs that were judged stay as they are, and others that were not seen before are doubtful. False if
// there are none of these. room: for the list that takes the place of `found`.
inline bool keep_judged(const Scene& scene, const ContactList& contacts, const ContactList& aside, ContactList& found,
                        ContactList& room) {
  room.count = 0;
  bool some = false;
  int in = 0, out = 0;
  const auto keep = [&](int first, int last) {
    const Contact& c = found.data[first];
    const auto is_in = [&](const ContactList& list, int& at) {
      while (at < list.count && precedes(list.data[at], c)) ++at;
      return at < list.count && !precedes(c, list.data[at]);
    };
    if (is_in(aside, out)) return;
    const bool is_known = is_in(contacts, in);
    if (is_known && contacts.data[in].standing != Standing::certain) {
      for (; in < contacts.count && !precedes(c, contacts.data[in]); ++in) append(contacts.data[in], room);
      return;
    }
    const bool is_new = !is_known && !is_half_space(scene, c);
    some |= is_new;
    for (int k = first; k < last; ++k) {
      append(found.data[k], room);
      if (is_new) room.data[room.count - 1].standing = Standing::doubtful;
    }
  };
  for_pairs(found, [&](int first, int last) {
    const Contact& c = found.data[first];
    if (!is_of_field(scene, c) || !is_split(c, contacts, aside)) return keep(first, last);
    const int middle = put_beside(carried_normals(contacts, c), first, last, found);
    if (middle > first) keep(first, middle);
    bool is_judged = false;
    const auto judged = [&](const Contact& o) { is_judged |= o.is_beside; };
    for_shapes_of(c, contacts, judged), for_shapes_of(c, aside, judged);
    if (is_judged)
      for_shapes_of(c, contacts, [&](const Contact& o) {
        if (o.is_beside) append(o, room);
      });
    else if (middle < last)
      keep(middle, last);
  });
  swap(found, room);
  return some;
}

}  // namespace featherweight::FW_ISA
