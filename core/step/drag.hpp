// step/drag.hpp -- forces of the medium on links, with velocities at the start of the step.
//   in    q, v
//   out   w.forces
//   Oracle: MuJoCo's qfrc_fluid; the twin.
#pragma once
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

template <class S>
FW_INLINE Vec3<S> scaled(const double (&a)[3], const Vec3<S>& x) {
  return {x[0] * a[0], x[1] * a[1], x[2] * a[2]};
}
template <class S>
FW_INLINE S length(const Vec3<S>& x) {
  return square_root(dot(x, x));
}

// m: the velocity through the medium. All in the frame of what is dragged.
template <class S>
FW_INLINE Force<S> drag_of(const BoxDrag& d, const Motion<S>& m) {
  Force<S> f;
  for (int k = 0; k < 3; ++k) {
    f.lin[k] = -(m.lin[k] * (abs(m.lin[k]) * d.force[k] + S(d.stokes_force)));
    f.ang[k] = -(m.ang[k] * (abs(m.ang[k]) * d.moment[k] + S(d.stokes_moment)));
  }
  return f;
}
template <class S>
FW_INLINE Force<S> drag_of(const EllipsoidDrag& d, const Motion<S>& m) {
  const S speed = length(m.lin);
  const Vec3<S> normal = scaled(d.normal, m.lin);
  const S across = dot(normal, m.lin), square = dot(normal, normal);
  const auto moves = square > S(0);
  const S ratio = select(moves, square / select(moves, across, S(1)), S(1));  // at most 1
  const S area = select(moves, square_root(ratio), S(0)) * d.area;            // as seen along the velocity
  const S cosine = S(1) / (ratio * select(moves, speed, S(1)));               // over the length of the normal
  const Vec3<S> p = scaled(d.virtual_mass, m.lin), L = scaled(d.virtual_inertia, m.ang);
  const Vec3<S> circulation = cross(normal, m.lin) * (cosine * area * d.kutta);
  Force<S> f{m.lin * -(S(d.stokes_force) + speed * (area * d.blunt + S(d.slender))),
             m.ang * -(S(d.stokes_moment) + length(scaled(d.angular, m.ang)))};
  add_cross(f.lin, circulation, m.lin);
  add_cross(f.lin, m.ang, m.lin * S(d.magnus));
  add_cross(f.lin, p, m.ang);
  add_cross(f.ang, p, m.lin);
  add_cross(f.ang, L, m.ang);
  return f;
}

template <class S, class D>
void add_drag(const D* bodies, int n, const Motion<S>* velocity, Force<S>* forces) {
  for (int k = 0; k < n; ++k) {
    const D& d = bodies[k];
    const Rotation<double> R{mat3(d.R)};
    const Force<S> f = drag_of(d, to_child(R, shift_to_child(velocity[d.link], vec3(d.p))));
    forces[d.link] += shift_to_parent(to_parent(R, f), vec3(d.p));
  }
}

// Velocities through the medium are those of a world that moves against its wind. Joint states are scratch of aba.
template <class S>
void add_medium_forces(const Scene& scene, const S* v, StepWorkspace<S>& w) {
  const Tree<double>& tree = scene.tree;
  if (scene.n_boxes + scene.n_ellipsoids == 0) return;
  const double* const wind = scene.medium.wind;
  const Motion<S> world{{S(-wind[0]), S(-wind[1]), S(-wind[2])}, zero3<S>()};
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      move_outward(joint, l, w.q + l.q, v + l.v, w.aba.state + l.state, l.parent < 0 ? world : w.aba.motion[l.parent],
                   w.aba.motion[i]);
    });
  }
  add_drag(scene.boxes, scene.n_boxes, w.aba.motion, w.forces);
  add_drag(scene.ellipsoids, scene.n_ellipsoids, w.aba.motion, w.forces);
}

}  // namespace featherweight::FW_ISA
