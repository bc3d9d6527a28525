// simulation/contacts.hpp -- which shapes touch, of one environment.
#pragma once
#include "simulation/scene.hpp"

namespace featherweight {

// Contacts of shapes a and b, at their placements in the world, appended to the list.
void find_contacts(const Scene& scene, int a, int b, int material, const Placement& X_Wa, const Placement& X_Wb,
                   double margin, ContactList& list);

// Impulses of the contacts that were there before, seen in the frames of now.
void warm_start(const ContactList& before, ContactList& now);

}  // namespace featherweight
