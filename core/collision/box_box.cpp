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
};

}  // namespace

double separating_axis(const Convex& a, const Convex& b, Vec& n) {
  // C: axes of B in A; t: centre of A seen from B's centre, in both frames
  double C[3][3], absolute[3][3];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      C[i][j] = dot(axis(a.frame, i), axis(b.frame, j));
      absolute[i][j] = std::fabs(C[i][j]);
    }
  const Vec d = a.frame.p - b.frame.p, ta = unrotate(a.frame, d), tb = unrotate(b.frame, d);
  const Vec &A = a.size, &B = b.size;
  double best = -INFINITY;
  // A's faces, then B's, then edges
  const double slack = BoxBoxTuning::better * std::fmin(a.extent, b.extent);
  for (int i = 0; i < 3; ++i) {
    const double reach = A[i] + B[0] * absolute[i][0] + B[1] * absolute[i][1] + B[2] * absolute[i][2];
    const double s = std::fabs(ta[i]) - reach;
    if (s > best + slack) best = s, n = (ta[i] < 0 ? -1.0 : 1.0) * axis(a.frame, i);
  }
  for (int j = 0; j < 3; ++j) {
    const double reach = B[j] + A[0] * absolute[0][j] + A[1] * absolute[1][j] + A[2] * absolute[2][j];
    const double s = std::fabs(tb[j]) - reach;
    if (s > best + slack) best = s, n = (tb[j] < 0 ? -1.0 : 1.0) * axis(b.frame, j);
  }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      const double sine2 = C[i1][j] * C[i1][j] + C[i2][j] * C[i2][j];
      if (!(sine2 > BoxBoxTuning::parallel)) continue;
      const double scale = 1 / std::sqrt(sine2);
      const double along = scale * (ta[i2] * C[i1][j] - ta[i1] * C[i2][j]);
      const double reach = scale * (A[i1] * absolute[i2][j] + A[i2] * absolute[i1][j] + B[j1] * absolute[i][j2] +
                                    B[j2] * absolute[i][j1]);
      const double s = std::fabs(along) - reach;
      if (s > best + slack) {
        best = s;
        n = unit((along < 0 ? -1.0 : 1.0) * cross(axis(a.frame, i), axis(b.frame, j)));
      }
    }
  return best;
}

}  // namespace featherweight::geometry
