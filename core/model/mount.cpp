#include "model/mount.hpp"

namespace featherweight {

Mount<double> mount_on_link(const Tree<double>& tree, int frame, const PoseArray& X) {
  static constexpr Mount<double> world{{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}}, -1};
  const Mount<double>& on = frame < 0 ? world : tree.mounts[frame];
  Mount<double> out{{}, on.link};
  for (int r = 0; r < 3; ++r) {
    const double* const R = on.R + 3 * r;
    for (int c = 0; c < 3; ++c) out.R[3 * r + c] = R[0] * X[c] + R[1] * X[4 + c] + R[2] * X[8 + c];
    out.p[r] = R[0] * X[3] + R[1] * X[7] + R[2] * X[11] + on.p[r];
  }
  return out;
}

}  // namespace featherweight
