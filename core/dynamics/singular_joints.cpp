#include "dynamics/singular_joints.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "dynamics/aba.hpp"
#include "model/configurations.hpp"

namespace featherweight {
namespace {

using namespace host;

// D must be a real fraction of the inertia it was computed from; below this it is rounding of a zero.
constexpr double smallest_fraction = 1e-12;

// Sizes of the articulated inertia at a joint: its traces.
struct Scale {
  double linear, angular;
};
Scale scale_of(const Link<double>& l, const ArticulatedInertia<double>& I) {
  return {I.A(0, 0) + I.A(1, 1) + I.A(2, 2) + 3 * l.mass,
          I.C(0, 0) + I.C(1, 1) + I.C(2, 2) + l.inertia[0] + l.inertia[3] + l.inertia[5]};
}

bool positive(double D_inverse, double scale) {
  return std::isfinite(D_inverse) && D_inverse > 0 && D_inverse * smallest_fraction * scale < 1;
}
template <class J>
bool regular(J, const Link<double>& l, const AxisFactor<double>& f, const Scale& scale) {
  const double pitch = J::travels ? J::pitch(l) : 0;
  return positive(f.D_inverse, (J::rotates ? scale.angular : 0) + pitch * pitch * scale.linear);
}
bool regular(Spherical, const Link<double>&, const SphericalFactor<double>& f, const Scale& scale) {
  return positive(f.D_inverse(0, 0), scale.angular) && positive(f.D_inverse(1, 1), scale.angular) &&
         positive(f.D_inverse(2, 2), scale.angular);
}
bool regular(Free, const Link<double>&, const FreeFactor<double>& f, const Scale& scale) {
  bool all = true;
  for (int k = 0; k < 6; ++k) all = all && positive(f.D.e[f.D.at(k, k)], k < 3 ? scale.linear : scale.angular);
  return all;
}

// A compiled link whose joint is singular, or -1; whether what it moves is beyond numbers rather than too little.
struct Singular {
  int link;
  bool is_beyond_numbers;
};

// The first from the tips.
Singular find_singular_joint(const Tree<double>& tree) {
  Arena measure;
  AbaWorkspace<double> sized(tree, measure);
  std::vector<double> numbers(measure.used() / sizeof(double));
  Arena arena(numbers.data());
  AbaWorkspace<double> w(tree, arena);
  const std::vector<double> none(static_cast<std::size_t>(tree.nv), 0.0);

  std::vector<Scale> scales(static_cast<std::size_t>(tree.n_links));

  int found = -1;
  for (int which = 0; which < 2; ++which) {
    const std::vector<double> q = sample_configuration(tree, which);
    move_outward(tree, q.data(), none.data(), w);
    project_inward(tree, none.data(), none.data(), static_cast<const Force<double>*>(nullptr), w,
                   [&](int i, const Outboard<double>& outboard) {
                     scales[static_cast<std::size_t>(i)] = scale_of(tree.links[i], outboard.I);
                   });
    found = -1;
    for (int i = tree.n_links - 1; i >= 0 && found < 0; --i) {
      const Link<double>& l = tree.links[i];
      visit(l.kind, [&](auto joint) {
        if (!regular(joint, l, factor_of(joint, l, w.factors), scales[static_cast<std::size_t>(i)])) found = i;
      });
    }
    if (found < 0) return {-1, false};  // regular at one configuration: singular ones are the user's to avoid
  }
  const Scale& scale = scales[static_cast<std::size_t>(found)];
  return {found, !std::isfinite(scale.linear + scale.angular)};
}

}  // namespace

void require_regular_joints(const Model& model) {
  const Singular singular = find_singular_joint(model.tree<double>());
  if (singular.link < 0) return;
  const std::size_t k = model.joint_of(singular.link);
  const std::string what = "joint '" + model.spec().joints[k].name + "': ";
  if (singular.is_beyond_numbers)
    throw std::invalid_argument(what +
                                "what it moves is so heavy or so far away that its inertia is beyond all numbers");
  throw std::invalid_argument(what + "nothing it moves has inertia along its degree" +
                              (model.joint_ranges()[k].nv > 1 ? "s" : "") +
                              " of freedom, so the mass matrix is singular; give link '" + model.spec().links[k].name +
                              "' a positive mass and inertia, or the joint an armature");
}

}  // namespace featherweight
