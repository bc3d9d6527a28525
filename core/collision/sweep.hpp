// collision/sweep.hpp -- whether two shapes that move meet within a step.
//   Conservative advancement: no two points of shapes a distance apart along n meet before they have come as much
//   closer along n. What is asked for is not the first touch but an overlap that grows: shapes that slide over each
//   other's edges, flush to rounding, touch without meeting. Cost: one or two calls of collide for most pairs. Oracle:
//   distances at many times; balls in closed form.
#pragma once
#include "collision/collide.hpp"

namespace featherweight {

// A shape in motion. Its centre (of the ball around it) moves with `straight` and with `turning`, which turns with the
// shape: a free body moves straight and turns about its centre of mass, a link about its joint.
struct Moving {
  const Shape* shape;
  Placement<double> start;
  double center[3];                            // at the start [m]
  double straight[3], turning[3], angular[3];  // world axes at the start [m/s, rad/s]
};

// Where it is after some time [s].
Placement<double> placed(const Moving& m, double time);
// Velocity of its point at `position`, at the start.
void velocity_at(const Moving& m, const double* position, double* velocity);

// How an overlap is told from a touch [m]: up to `none` it is a touch; one that reaches `least` is a hit, and none
// deeper than `most` is overlooked.
struct Depths {
  double none, least, most;
};

// Normals along which a height field carries a shape that moves over it. Points along these are no news.
struct Carried {
  // [1] Normals are alike if the cosine of their angle is less than one by no more than this (20 mrad).
  // tests/physics/test_fields.py.
  static constexpr double alike = 2e-4;
  double normal[max_points][3];
  int count = 0;
  bool has(const double* n) const {
    for (int k = 0; k < count; ++k)
      if (normal[k][0] * n[0] + normal[k][1] * n[1] + normal[k][2] * n[2] > 1 - alike) return true;
    return false;
  }
  void add(const double* n) {
    if (count == max_points || has(n)) return;
    for (int k = 0; k < 3; ++k) normal[count][k] = n[k];
    ++count;
  }
};

enum class Passage : int {
  misses,
  grazes,  // overlaps at the end, less than `most`
  hits,
};
struct Meeting {
  Passage passage;
  double time;       // [s] when they touch, or the end; not if they miss
  double normal[3];  // from B to A, then
};

// How two shapes pass each other within `duration` [s]; they touch at `margin` [m]. normal, gap: theirs at the start,
// if they are known; else null. carried: what is not looked at.
Meeting sweep(const Moving& a, const Moving& b, double duration, double margin, const Depths& depths,
              const double* normal = nullptr, double gap = 0, const Carried& carried = {});

}  // namespace featherweight
