#include "collision/box_box.hpp"

#include <cmath>

namespace featherweight::geometry {
namespace {

struct BoxBoxTuning {
  // [1] of the smaller box: how much better a later axis must be. Faces win over edges, and the normal of boxes at rest
  // does not follow rounding.
  static constexpr double better = 1e-10;
  // [1] squared sine of the angle of two edges below which they are parallel, and say nothing that the faces do not.
  static constexpr double parallel = 1e-10;
  // [1] cosines of the angle between the normals of two faces: above the first they face each other, and one of them is
  // the normal; between them edges meet; below the second the boxes are inside each other.
  static constexpr double facing = 0.95, opposed = -0.5;
  // [1] of the smaller box: the difference of overlaps along two such faces up to which both have a say, as if edges
  // were that round.
  // tests/physics/test_edges.py.
  static constexpr double alike = 1e-4;
};

// The face of a box along which the other is farthest away: how far, and the direction from B to A.
struct Face {
  double s = -INFINITY;
  Vec n{};
};

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
  // A's faces, then B's, then edges
  const double smaller = std::fmin(a.extent, b.extent), slack = BoxBoxTuning::better * smaller;
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
  double best = of_b.s > of_a.s + slack ? of_b.s : of_a.s;
  Vec n = of_b.s > of_a.s + slack ? of_b.n : of_a.n;
  bool between_edges = false, some_parallel = false;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      const double sine2 = C[i1][j] * C[i1][j] + C[i2][j] * C[i2][j];
      if (!(sine2 > BoxBoxTuning::parallel)) {
        some_parallel = true;
        continue;
      }
      const double scale = 1 / std::sqrt(sine2);
      const double along = scale * (ta[i2] * C[i1][j] - ta[i1] * C[i2][j]);
      const double reach = scale * (A[i1] * absolute[i2][j] + A[i2] * absolute[i1][j] + B[j1] * absolute[i][j2] +
                                    B[j2] * absolute[i][j1]);
      const double s = std::fabs(along) - reach;
      if (s > best + slack) {
        best = s, between_edges = true;
        n = unit((along < 0 ? -1.0 : 1.0) * cross(axis(a.frame, i), axis(b.frame, j)));
      }
    }
  // Edges side by side, as close as touching: each face says half of it, whichever box is called the first.
  const double alike = BoxBoxTuning::alike * smaller, share = 0.5 + 0.5 * (of_a.s - of_b.s) / alike;
  const double cosine = dot(of_a.n, of_b.n);
  const bool are_parallel = some_parallel && !between_edges && best < alike && share > 0 && share < 1 &&
                            cosine < BoxBoxTuning::facing && cosine > BoxBoxTuning::opposed;
  if (!are_parallel) return {n, best, false};
  n = unit(share * of_a.n + (1 - share) * of_b.n);
  return {n, separation(a, b, n), true};
}

}  // namespace featherweight::geometry
