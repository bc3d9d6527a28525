// scene/strut.hpp -- lines through points of links. Plain data, shared by all instruction sets.
#pragma once
#include "model/tree.hpp"

namespace featherweight {

struct StrutPoint {
  int link;      // compiled; -1: the world
  double p[3];   // in its coordinates
  int slot;      // where what pulls at the link is added up; -1: the world
  double share;  // of the span that ends here: how much of its length counts
  int bend;      // and what it bends around; -1: nothing
};
// A ball or a cylinder, endless along z, around which a span runs where it is in the way.
struct StrutBend {
  Mount<double> at;
  int slot;
  int is_ball;
  double radius;
  int has_side;  // 1: it runs past it on the side of a point, or through it if that is inside
  StrutPoint side;
};
// A link that some of the points move with, and others do not.
struct StrutPathLink {
  int link;
  int slot;      // -1: none of the points is on it
  int travel;    // where the changes of the length with its velocities are
  int hands_on;  // 1: its parent is on the path as well
};
// A link that some of the points are on. As many slots as these.
struct StrutLink {
  int link;
  int end;  // of the tips of the strut, the first that it is inboard of
};
// A spring and a damper along such a line: force = stiffness stretch + damping rate, which pulls its ends together. The
// stretch is what of the length is beyond the slack range.
struct Strut {
  int first_point, n_points;
  int first_link, n_links;
  int first_path, n_path;  // from the tips inward
  int n_tips, tips[2];     // links on the path that carry no other of it; no more than two are listed
  double stiffness;        // [N/m]
  double damping;          // [N s/m]
  double slack[2];         // from, to [m]
};

}  // namespace featherweight
