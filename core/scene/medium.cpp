#include "scene/medium.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace featherweight {
namespace {

constexpr double pi = std::numbers::pi;

double fourth_power(double x) { return x * x * x * x; }

// diameter: of the sphere that stands for it
Drag stokes(const Tree<double>& tree, const Medium& medium, int link, const PoseArray& placement, double diameter) {
  return {mount_on_link(tree, link, placement), 3 * pi * diameter * medium.viscosity,
          pi * diameter * diameter * diameter * medium.viscosity};
}

}  // namespace

BoxDrag compile_drag(const Tree<double>& tree, const Medium& medium, const BoxInMedium& box) {
  const auto& e = box.edges;
  BoxDrag drag{stokes(tree, medium, box.link, box.placement, (e[0] + e[1] + e[2]) / 3), {}, {}};
  for (std::size_t k = 0; k < 3; ++k) {
    const double a = e[(k + 1) % 3], b = e[(k + 2) % 3];
    drag.force[k] = medium.density * a * b / 2;
    drag.moment[k] = medium.density * e[k] * (fourth_power(a) + fourth_power(b)) / 64;
  }
  return drag;
}

EllipsoidDrag compile_drag(const Tree<double>& tree, const Medium& medium, const EllipsoidInMedium& ellipsoid) {
  const auto& r = ellipsoid.radii;
  const auto& [blunt, slender, angular, kutta, magnus] = ellipsoid.coefficients;
  const double sum = r[0] + r[1] + r[2], most = std::max({r[0], r[1], r[2]}), least = std::min({r[0], r[1], r[2]}),
               middle = sum - most - least, rho = medium.density, largest_section = most * middle;
  const double largest_moment = 8.0 / 15 * pi * middle * fourth_power(most);
  EllipsoidDrag drag{
      stokes(tree, medium, ellipsoid.link, ellipsoid.placement, 2 * sum / 3), {}, {}, {}, {}, {}, {}, {}, {}, {}};
  drag.blunt = rho * (blunt - slender);
  drag.area = pi * largest_section;
  drag.slender = rho * slender * drag.area;
  drag.kutta = rho * kutta;
  drag.magnus = rho * magnus * 4 / 3 * pi * r[0] * r[1] * r[2];
  for (std::size_t k = 0; k < 3; ++k) {
    const double a = r[(k + 1) % 3], b = r[(k + 2) % 3];
    const double moment = 8.0 / 15 * pi * r[k] * fourth_power(std::max(a, b));
    const double across = largest_section > 0 ? a * b / largest_section : 0;
    drag.normal[k] = across * across;
    drag.angular[k] = rho * (angular * moment + slender * (largest_moment - moment));
    drag.virtual_mass[k] = rho * ellipsoid.mass[k];
    drag.virtual_inertia[k] = rho * ellipsoid.inertia[k];
  }
  return drag;
}

}  // namespace featherweight
