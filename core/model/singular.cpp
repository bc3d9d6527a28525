#include "model/singular.hpp"

#include <cmath>
#include <vector>

#include "dynamics/aba.hpp"

namespace featherweight {
namespace {

using namespace host;

// D must be a real fraction of the inertia it was computed from; below this it is rounding of a zero.
constexpr double smallest_fraction = 1e-13;

bool positive(double D_inverse, double scale) {
  return std::isfinite(D_inverse) && D_inverse > 0 && D_inverse * smallest_fraction * scale < 1;
}
template <class J>
bool regular(J, const AxisFactor<double>& f) {
  // |U| = |I S| is the scale D = S^T I S is to be compared with; UD carries it divided by D
  const double scale = std::sqrt(dot(f.UD.lin, f.UD.lin) + dot(f.UD.ang, f.UD.ang)) / f.D_inverse;
  return positive(f.D_inverse, scale);
}
bool regular(Spherical, const SphericalFactor<double>& f) {
  bool all = true;
  for (int k = 0; k < 3; ++k) all = all && positive(f.D_inverse(k, k), 0);
  return all;
}
bool regular(Free, const FreeFactor<double>& f) {
  double largest = 0;
  for (int k = 0; k < 6; ++k) largest = std::fmax(largest, 1 / f.D.e[f.D.at(k, k)]);
  bool all = true;
  for (int k = 0; k < 6; ++k) all = all && positive(f.D.e[f.D.at(k, k)], largest * 1e-6);
  return all;
}

// Configuration number `which`: 0 is neutral, others are generic.
std::vector<double> configuration(const Tree<double>& tree, int which) {
  std::vector<double> q(static_cast<std::size_t>(tree.nq));
  for (int k = 0; k < tree.nq; ++k) q[static_cast<std::size_t>(k)] = which * std::sin(1.0 + 1.7 * k);
  for (int k = 0; k < tree.n_quaternions; ++k) {
    double* x = q.data() + tree.quaternions[k];
    x[3] += which ? 0 : 1;
    const double norm = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
    for (int c = 0; c < 4; ++c) x[c] /= norm;
  }
  return q;
}

}  // namespace

int find_singular_joint(const Tree<double>& tree) {
  Memory memory;
  {
    Arena measure(memory);
    AbaWorkspace<double> sized(tree, measure);
  }
  std::vector<double> bytes(memory.required / sizeof(double) + 8);
  memory.data = bytes.data();
  memory.size = bytes.size() * sizeof(double);
  Arena arena(memory);
  AbaWorkspace<double> w(tree, arena);
  const std::vector<double> none(static_cast<std::size_t>(tree.nv), 0.0);

  int found = -1;
  for (int which = 0; which < 2; ++which) {
    const std::vector<double> q = configuration(tree, which);
    eliminate_joints(tree, q.data(), none.data(), none.data(), static_cast<const Force<double>*>(nullptr), w);
    found = -1;
    for (int i = tree.n_links - 1; i >= 0 && found < 0; --i) {
      const Link<double>& l = tree.links[i];
      visit(l.kind, [&](auto joint) {
        if (!regular(joint, factor_of(joint, l, w.factors))) found = i;
      });
    }
    if (found < 0) return -1;  // regular at one configuration: singular ones are the user's to avoid
  }
  return found;
}

}  // namespace featherweight
