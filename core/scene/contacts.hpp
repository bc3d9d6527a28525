// scene/contacts.hpp -- which shapes touch, of one environment.
#pragma once
#include "collision/broadphase.hpp"
#include "scene/contact_list.hpp"
#include "scene/scene.hpp"

namespace featherweight {

// Rows t1, t2, n. The first tangent is as near to the world's x axis as it can be, so that it hardly turns from step to
// step.
void set_frame(const double* n, double* frame);

// Contacts of shapes a and b of an environment, at their placements in the world, appended to the list.
void find_contacts(const Scene& scene, std::size_t environment, int a, int b, int material,
                   const Placement<double>& X_Wa, const Placement<double>& X_Wb, double margin, ContactList& list);

// Contacts are looked for this far beyond the way of a step [m], for what other contacts may add to it.
inline constexpr double look_ahead = 0.005;

// All contacts of an environment by a sweep over the bounds of its shapes, at their placements; ways: how far each goes
// in the step; bounds: room for theirs.
void find_all_contacts(const Scene& scene, std::size_t environment, const Placement<double>* placements,
                       const double* travels, Broadphase& broadphase, Memory& bounds, ContactList& list);

// Impulses of the contacts that were there before, seen in the frames of now.
void warm_start(const ContactList& before, ContactList& now);

}  // namespace featherweight
