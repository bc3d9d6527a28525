#include "collision/box_box.hpp"

#include <cmath>

namespace featherweight::geometry {
namespace {

struct BoxBoxTuning {
  // [1] of the smaller box: how much a later axis must be better. Faces win over edges, and the normal of boxes at rest
  // does not follow rounding. tests/collision/test_depths.py.
  static constexpr double better = 1e-10;
  // [1] of the lengths that make up a separation: their rounding, to be divided by the sine of the angle of two edges.
  // tests/collision/test_depths.py.
  static constexpr double rounding = 1e-15;
  // [1] of the smaller box, but no more than so much of the shortest half edge: how round edges are where they lie side
  // by side, parallel over their length to as much, so that from one face to the other the normal turns, and does not
  // jump. tests/collision/test_depths.py, tests/physics/test_edges.py.
  static constexpr double roundness = 1e-4, of_thickness = 1e-2;
};

// The face of a box along which the other is farthest away: how far, and the direction from B to A.
struct Face {
  double s = -INFINITY;
  Vec n{};
};

double thickness(const Vec& half) { return std::fmin(half[0], std::fmin(half[1], half[2])); }

// What a round edge of each of two boxes says where these lie side by side: the normal turns from one face to the other
// as the edges pass each other, and is the same whichever box is called the first. Where the boxes are deeper in each
// other than edges are round, it is one of the faces. Faces that lie on each other meet along no edge: the larger the
// angle between them, the longer the way.
void meet_along_edges(const Convex& a, const Convex& b, const Face& of_a, const Face& of_b, double round,
                      SeparatingAxis& found) {
  const double turn = norm2(cross(of_a.n, of_b.n)), share = 0.5 + 0.5 * (of_a.s - of_b.s) / (round * turn);
  if (!(share > 0 && share < 1)) return;
  const Vec n = unit(share * of_a.n + (1 - share) * of_b.n);
  const double s = separation(a, b, n);
  if (s > found.s - round) found = {n, s, true};
}

}  // namespace

SeparatingAxis separating_axis(const Convex& a, const Convex& b) {
  // C: axes of B in A; t: centre of A seen from B's centre, in both frames
  double C[3][3], absolute[3][3];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      C[i][j] = dot(axis(a.frame, i), axis(b.frame, j));
      absolute[i][j] = std::fabs(C[i][j]);
    }
  const Vec d = a.frame.p - b.frame.p, ta = unrotate(a.frame, d), tb = unrotate(b.frame, d);
  const Vec &A = a.size, &B = b.size;
  const double smaller = std::fmin(a.extent, b.extent), rounding = BoxBoxTuning::rounding * (a.extent + b.extent);
  const double slack = BoxBoxTuning::better * smaller + rounding;
  const double round =
      std::fmin(BoxBoxTuning::roundness * smaller, BoxBoxTuning::of_thickness * std::fmin(thickness(A), thickness(B)));
  // A's faces, then B's, then edges
  Face of_a, of_b;
  for (int i = 0; i < 3; ++i) {
    const double reach = A[i] + B[0] * absolute[i][0] + B[1] * absolute[i][1] + B[2] * absolute[i][2];
    const double s = std::fabs(ta[i]) - reach;
    if (s > of_a.s + slack) of_a = {s, (ta[i] < 0 ? -1.0 : 1.0) * axis(a.frame, i)};
  }
  for (int j = 0; j < 3; ++j) {
    const double reach = B[j] + A[0] * absolute[0][j] + A[1] * absolute[1][j] + A[2] * absolute[2][j];
    const double s = std::fabs(tb[j]) - reach;
    if (s > of_b.s + slack) of_b = {s, (tb[j] < 0 ? -1.0 : 1.0) * axis(b.frame, j)};
  }
  const Face& first = of_b.s > of_a.s + slack ? of_b : of_a;
  SeparatingAxis best{first.n, first.s, false};
  bool crossing = false, side_by_side = false;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      const double sine2 = C[i1][j] * C[i1][j] + C[i2][j] * C[i2][j];
      // what rounding alone can add; parallel edges: infinite
      const double sine = std::sqrt(sine2), scale = 1 / sine, doubt = slack + rounding * scale;
      side_by_side = side_by_side || sine * smaller < round;
      const double along = scale * (ta[i2] * C[i1][j] - ta[i1] * C[i2][j]);
      const double reach = scale * (A[i1] * absolute[i2][j] + A[i2] * absolute[i1][j] + B[j1] * absolute[i][j2] +
                                    B[j2] * absolute[i][j1]);
      const double s = std::fabs(along) - reach;
      if (s > best.s + doubt) {
        best.s = s, crossing = sine * smaller >= round;
        best.n = unit((along < 0 ? -1.0 : 1.0) * cross(axis(a.frame, i), axis(b.frame, j)));
      }
    }
  if (side_by_side && !crossing && best.s < round) meet_along_edges(a, b, of_a, of_b, round, best);
  return best;
}

}  // namespace featherweight::geometry
