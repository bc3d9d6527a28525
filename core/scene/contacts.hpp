// scene/contacts.hpp -- which shapes of one environment touch.
#pragma once
#include "collision/broadphase.hpp"
#include "scene/contact_list.hpp"
#include "scene/scene.hpp"

namespace featherweight {

// Shape k of the scene, or what an environment has in its place.
const Shape& shape_of(const Scene& scene, std::size_t environment, int k);

// Rows t1, t2, n. The first tangent is as near to the world's x axis as it can be, so that it hardly turns from step to
// step.
void set_frame(const double* n, double* frame);

// Contacts of shapes a and b of an environment, at their placements in the world, appended to the list.
void find_contacts(const Scene& scene, std::size_t environment, int a, int b, int material,
                   const Placement<double>& X_Wa, const Placement<double>& X_Wb, double margin, ContactList& list);

// Contacts are looked for this far beyond the travel of a step [m], to which other contacts may add.
inline constexpr double look_ahead = 0.005;

// All contacts of an environment, by sweep and prune of the bounds of its shapes; travels: how far each moves in the
// step; bounds: room for theirs.
void find_all_contacts(const Scene& scene, std::size_t environment, const Placement<double>* placements,
                       const double* travels, Broadphase& broadphase, Memory& bounds, ContactList& list);

// Contacts take over the impulses they had before, in their present frames: in the last step, or earlier in this one.
void warm_start(const ContactList& before, bool is_same_step, ContactList& now);

}  // namespace featherweight
