// scene/scene.hpp -- everything that moves and touches, compiled: what the step reads. Plain data, shared by all
// instruction sets.
#pragma once
#include <cstddef>
#include <cstdint>

#include "collision/shape.hpp"
#include "rows/rows.hpp"
#include "scene/actuation.hpp"
#include "scene/held.hpp"
#include "scene/medium.hpp"
#include "scene/strut.hpp"

namespace featherweight {

// A shape and where it sits.
struct PlacedShape : Mount<double> {
  Shape shape;
  double center[3];  // of its bounding sphere, on the link
  double half[3];    // and of its bounding capsule, half of whose segment this is; zero: that is the sphere
  double girth;      // radius of the capsule, if it is not the sphere
  BoundingBox box;   // along the axes of the shape

  bool is_long() const { return half[0] != 0 || half[1] != 0 || half[2] != 0; }
  bool has_faces() const {
    return shape.kind == ShapeKind::box || shape.kind == ShapeKind::cylinder || shape.kind == ShapeKind::convex;
  }
  double capsule_radius() const { return is_long() ? girth : shape.radius; }
  double frame[9];  // planes of the world: rows t1, t2, normal
  int is_alone;     // on its link
  int of;           // the user's link; -1: the world
};

// How two shapes behave when they touch.
struct PairMaterial {
  double friction;                // coefficient of Coulomb friction
  double torsional, rolling;      // radii of friction about the normal and about the tangents [m]
  double restitution;             // Newton's, along the normal
  double compliance;              // 1 / stiffness [m/N], 0: rigid
  double damping;                 // of a compliant contact [N s/m]
  double margin;                  // distance at which they already touch [m]
  int dim;                        // 1 without friction, 3 sliding, 4 and spinning, 6 and rolling
  double tangential_restitution;  // the same along the tangents, as far as friction goes

  bool is_elastic() const { return restitution > 0 || tangential_restitution > 0; }
};
// Shape a may touch shape b.
struct ScenePair {
  int a, b;
  int material;
  int is_ball_on_plane;  // a is a sphere, b a plane of the world: then the bounds of a are all it takes
  int ball;              // the place of such a pair among those that slide and do no more, or -1 (ball_points.hpp)
  enum Side : int { body, ground, moving_plane } side;  // what b is; ground: a plane of the world
  double margin;  // distance at which they are looked at beside what they travel in a step [m]
  double reach;   // the same between the centers of their bounding spheres [m]
};

// A row of the cone problem along one joint, along the joints of a tendon, or along a strut. An upper limit pushes
// backwards.
struct JointRow {
  enum Kind : int { lower_limit, upper_limit, dry_friction, servo } kind;
  JointTerm<double> term;
  double bound;        // limit [m or rad], or largest friction [N or N m]
  int actuator;        // servo: whose law it is
  double restitution;  // of a limit
  // Of a tendon: more terms of scene.tendon_terms, on two branches at most. The first `n_beside` are inboard of the
  // link of `term`; of the others, all are inboard of the first one's. Its bound has the sign of its limit.
  int first_more, n_more, n_beside;  // the first is -1 along a joint
  // Of limits and dry friction of a strut: which, or -1. They have no other terms; that of the row is on its first tip,
  // and has the sign of its limit.
  int strut = -1;

  bool is_limit() const { return kind == lower_limit || kind == upper_limit; }
  bool is_tendon() const { return first_more >= 0; }
};

// A spring along a degree of freedom: force = stiffness * (rest - position).
struct Spring {
  int dof, q;
  double stiffness;  // [N/m] or [N m/rad]
  double rest;       // [m] or [rad]
};

// A motor or servo on a degree of freedom: force = gain * control - kp * position - kd * velocity, within bounds.
struct Actuator {
  int dof, q;
  int is_row;  // 1: implicit and of limited effort, so that it is a row of the cone problem; else it is a force
  double gain, kp, kd;
  double lower, upper;  // bounds of the force [N] or [N m]
  double velocity;      // it does not drive its joint beyond this speed
  int is_limited;       // 1: that is finite, and a row sees to it
  // What of that acts at the end of the kick, where the joint has velocity sigma: the force is
  //   gain * control - kp * (position + ahead * velocity) - kd * velocity + rate * (velocity - sigma)
  double ahead, rate;
  double past;  // rate - kd - kp * ahead: what is left of the velocity at the start
};

class PairRules;

enum class Integrator : int {
  semi_implicit,  // velocities first, coordinates with them; dampers implicit
  implicit,       // springs and servos as well
  rk4,            // fourth order, without contacts
  verlet,         // second order: half a kick, a drift, half a kick; springs, servos and dampers as in Newmark's rule
};

// The share of a damper that acts at the end of a kick, so that what it leaves of a velocity is right to second order
// and never rings. x: the time of the kick over that in which it would stop what it acts on.
inline double damped_share(double x) { return 0.5 + 0.5 * x / (x + 6); }

struct Scene {
  Integrator integrator;
  double kick;            // [s] time for which forces act at once: a step, or half of it
  double ahead;           // [s] after the start of the step at which springs act
  Tree<double> tree;      // with what the integrator adds to the inertia along degrees of freedom
  const double* damping;  // of each degree of freedom [N s/m]
  const int* depth;       // of each degree of freedom: how many are inboard of it
  const int* last_dof;    // of each link: the last one of its joint
  const int* root;        // of each link: the root of its tree
  const int* shared;      // of every two links: degrees of freedom inboard of both; null if there are too many
  const int* touchable;   // of each link: 1 if something acts on its tree, be it contacts, limits or closures
  const int* weighs;      // of each link: 1 if joint rows may be inertia along its joint (step/absorb.hpp)
  const int* limited;     // of each link: 1 if its joint has limits, so that it cannot go on turning
  int n_balls;            // pairs whose rows are found on lanes
  int n_shapes, n_pairs, n_materials, n_joint_rows, n_closures, n_couplings, n_springs, n_actuators;
  const PlacedShape* shapes;
  const Shape* const* own_shapes;  // of each shape: one per environment in its place, or null; null: none
  const ScenePair* pairs;
  const PairRules* rules;  // instead of pairs, where there are too many; else null
  const PairMaterial* materials;
  const JointRow* joint_rows;  // from the tips inward, then those of tendons
  int has_intervals;           // 1: some of them have bounds of their own: see is_interval
  const JointTerm<double>* tendon_terms;
  int has_tendons;                  // 1: some rows are theirs, or of struts
  double most_travel;               // of a joint row per travel of its joints; 1 without tendons
  const Closure<double>* closures;  // axes of each in rising order
  const Coupling* couplings;
  const CouplingTerm<double>* coupling_terms;
  HeldPlan held;  // its parts are the closures, then the couplings
  // Where some closures are switched on and off there is a scene for all that are on together.
  int n_kept;            // impulses kept of an environment: of joint rows, and of rows held with all switches on
  int n_grips;           // closures that are switched, on or off
  const int* grips;      // of each closure: its number among them, or -1; null: there are none
  const int* kept_rows;  // of each part of what is held: its first row with all switches on; null: as it is
  const Spring* springs;
  const Actuator* actuators;
  // The laws of actuators are these and then transmissions; controls are those of laws and then of activations.
  int n_transmissions, n_activations, n_activated_laws, n_lifts;
  const Transmission* transmissions;
  const TransmissionTerm* transmission_terms;
  const Activation* activations;
  const ActivatedLaw* activated_laws;
  const Lift* lifts;
  const int* lifted;  // of each link: 1 if a lift acts on it or outboard of it; null: none does
  int n_struts, most_strut_points, n_strut_links, n_strut_travels;
  const Strut* struts;
  const StrutPoint* strut_points;
  const StrutBend* strut_bends;
  const StrutLink* strut_links;
  const StrutPathLink* strut_paths;
  const int* strutted;  // of each link: 1 if a strut depends on it or on what is outboard of it, or if something
                        // sticks; null: none
  int has_link_forces;  // 1: something in the scene acts on links
  Medium medium;
  int n_boxes, n_ellipsoids;  // that the medium drags at
  const BoxDrag* boxes;
  const EllipsoidDrag* ellipsoids;
  int has_restitution;
  int n_row_dofs;         // degrees of freedom inboard of the links of all joint rows
  int most_contact_dofs;  // of one contact, likewise

  int n_laws() const { return n_actuators + n_transmissions; }
  int n_controls() const { return n_laws() + n_activations; }
  int first_kept(int part) const { return kept_rows ? kept_rows[part] : held.parts[part].first; }
  bool is_verlet() const { return integrator == Integrator::verlet; }
  // Whether forces depend on what impulses do, so that environments are solved again.
  bool iterates() const { return held.n_rows > 0 || is_verlet(); }
  // Whether joint rows may be part of the prediction (step/absorb.hpp).
  bool absorbs() const { return has_intervals && !iterates() && integrator != Integrator::rk4; }
  // Whether the impulse of a joint row lies in an interval between two of its own bounds (step/interval_row.hpp).
  bool is_interval(const JointRow& row) const {
    if (row.is_tendon()) return false;  // it has no joint of its own to be predicted with
    return row.kind == JointRow::dry_friction || (row.kind == JointRow::servo && actuators[row.actuator].is_row);
  }
};

// A link's inertia: mass, mass times centre of mass (3), moments about the link's origin (6), rotor of an axis joint.
inline constexpr int inertia_numbers = 11;
// Where a switched closure took hold: the pose of its second frame on that link, R by rows, then p.
inline constexpr int grip_numbers = 12;

// Of closure k, from those of an environment; null: it is not switched.
template <class T>
const T* grip_of(const Scene& scene, int k, const T* grips) {
  return scene.grips && scene.grips[k] >= 0 ? grips + grip_numbers * scene.grips[k] : nullptr;
}

}  // namespace featherweight
