// scene/medium.hpp -- the fluid around everything, as constants of its laws of drag. They are MuJoCo's: Stokes' force
// and moment of a sphere of like size, and squares of velocities, along the edges of a box or for an ellipsoid.
#pragma once
#include <array>

#include "model/mount.hpp"

namespace featherweight {

// What both kinds have: a frame on a link, its origin the centre, and what grows with velocity.
struct Drag : Mount<double> {
  double stokes_force;   // per velocity [N s/m]
  double stokes_moment;  // per angular velocity [N m s]
};
// Of a box, axis by axis.
struct BoxDrag : Drag {
  double force[3];   // per square of velocity [N s^2/m^2]
  double moment[3];  // per square of angular velocity [N m s^2]
};
// Of an ellipsoid: drag, lift, and the momentum of the fluid that it pushes about.
struct EllipsoidDrag : Drag {
  double normal[3];           // times v: normal to the section seen along v, whatever its length [1]
  double area;                // the largest section [m^2]
  double blunt, slender;      // drag per projected area and speed [kg/m^3], and for all of it [kg/m]
  double kutta, magnus;       // lift [kg/m^3], [kg]
  double angular[3];          // drag of turning [N m s^2]
  double virtual_mass[3];     // [kg]
  double virtual_inertia[3];  // [kg m^2]
};

struct Medium {
  double density;    // [kg/m^3]
  double viscosity;  // [Pa s]
  double wind[3];    // its velocity, world axes [m/s]
};

// Links are the user's.
struct BoxInMedium {
  int link;
  PoseArray placement;
  std::array<double, 3> edges;  // full [m]
};
struct EllipsoidInMedium {
  int link;
  PoseArray placement;
  std::array<double, 3> radii;          // [m]
  std::array<double, 5> coefficients;   // blunt, slender and angular drag, Kutta and Magnus lift
  std::array<double, 3> mass, inertia;  // virtual, over the density [m^3], [m^5]
};

BoxDrag compile_drag(const Tree<double>& tree, const Medium& medium, const BoxInMedium& box);
EllipsoidDrag compile_drag(const Tree<double>& tree, const Medium& medium, const EllipsoidInMedium& ellipsoid);

}  // namespace featherweight
