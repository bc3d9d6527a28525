// scene/ahead.hpp -- contacts as they will be later in the step.
#pragma once
#include "collision/sweep.hpp"
#include "scene/contacts.hpp"

namespace featherweight {

// Contacts of shapes a and b that are closer than `margin` [m] at `time` of a step of `duration` [s], appended to the
// list as rows take them: with the gap that there would be at the start along the same normal, at a point where both
// shapes nearly have it. (It is one point, so that momentum balances, though the shapes have moved against each other
// since; the smaller one has it more nearly.) Shapes that glance off each other, and are apart again at the end of the
// step, have the gap of then: what such a row leaves of their approach would never be stopped.
void find_contacts_ahead(const Scene& scene, std::size_t environment, int a, int b, int material,
                         const Moving& motion_a, const Moving& motion_b, double time, double duration, double margin,
                         ContactList& list);

}  // namespace featherweight
