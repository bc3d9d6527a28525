// step_diff/smooth_diff.hpp -- all forces but those of contacts and joint rows, and their derivatives at one posture.
//
//   tau' - ID(q, v, a):  joint forces, drag and given forces less inverse dynamics
#pragma once
#include "step_diff/drag_diff.hpp"
#include "step_diff/inverse_dynamics.hpp"
#include "step_diff/joint_forces.hpp"
#include "step_diff/start_forces.hpp"

namespace featherweight::FW_ISA {

class SmoothDiff {
 public:
  WorldTree world;
  InverseDynamics dynamics;
  JointForces joints;
  DragDiff drag;
  StartForces start_forces;
  Wrench* f;  // on links: those given
  Twist* V;   // of links
  const double *control = nullptr, *gains = nullptr;
  const double* inertias = nullptr;    // of the environment, or null: those of the scene
  Twist base = zero_motion<double>();  // what stands in for gravity
  double fall = 0;                     // its size [m/s^2]

  SmoothDiff(const StepDiffJob& job, Arena& arena)
      : world(*job.scene, arena),
        dynamics(world, arena),
        joints(*job.scene, arena),
        drag(*job.scene, arena),
        start_forces(job, arena),
        f(arena.take<Wrench>(job.scene->tree.n_links)),
        V(arena.take<Twist>(job.scene->tree.n_links)),
        job_(job),
        scene_(*job.scene),
        tree_(job.scene->tree),
        sum_(arena.take<Wrench>(job.scene->tree.n_links)),
        shared_(arena.take<LaneInertia<double>>(job.scene->tree.n_links)) {}

  void start(std::size_t e) {
    const auto row = [&](const Input<double>& in) {
      return in.data ? in.data + static_cast<std::ptrdiff_t>(e) * in.stride : nullptr;
    };
    control = row(job_.control), tau_ = row(job_.tau), f_ext_ = row(job_.f_ext);
    gains = job_.gain_scale ? job_.gain_scale + e * static_cast<std::size_t>(scene_.n_laws()) : nullptr;
    masses_ = job_.masses ? job_.masses + e * static_cast<std::size_t>(tree_.n_user_links) : nullptr;
    inertias = job_.inertias ? job_.inertias + e * inertia_numbers * tree_.n_links : nullptr;
    const double* const g = job_.gravity ? job_.gravity + 3 * e : tree_.gravity;
    base = {{-g[0], -g[1], -g[2]}, zero3<double>()};
    fall = __builtin_sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
  }
  const LaneInertia<double>* link_inertias() {
    if (inertias) return reinterpret_cast<const LaneInertia<double>*>(inertias);
    if (!is_shared_) share_inertias(tree_, shared_), is_shared_ = true;
    return shared_;
  }
  void place(const double* q, const double* v) {
    world.place(q, link_inertias());
    world.twists(v, V);
    joints.differentiate(scene_, job_.dt, q, v, control, gains);
    drag.find(world, V);
    start_forces.find(world, V, q, v, control, gains, masses_, base.lin);
    for (int i = 0; i < tree_.n_links; ++i) f[i] = zero_force<double>();
    for (int k = 0; f_ext_ && k < tree_.n_user_links; ++k) {
      const double* const given = f_ext_ + 6 * k;
      if (tree_.mounts[k].link >= 0)
        f[tree_.mounts[k].link] += placed_force(k, {{given[0], given[1], given[2]}, {given[3], given[4], given[5]}});
    }
  }
  // H^-1 (tau' - ID(q, v, 0)) without the products of velocities of others than v; H: factorised.
  template <class Inertia>
  void accelerate(const double* v, const double* zero, Inertia& H, double* a) {
    for (int i = 0; i < tree_.n_links; ++i) sum_[i] = f[i];
    drag.add_to(sum_);
    dynamics.differentiate(v, zero, base, sum_, nullptr);
    H.factorise(dynamics.H, nullptr);
    for (int k = 0; k < tree_.nv; ++k) a[k] = joints.value[k] + (tau_ ? tau_[k] : 0) - dynamics.tau[k];
    start_forces.add_to(a);
    H.solve(a);
  }

  // R += s times derivatives by all but q and v, at the acceleration that dynamics was differentiated at.
  void add_columns(const Matrix& R, double s, const double* a) const {
    const ColumnLayout& at = job_.columns;
    start_forces.add_columns(s, -1, -1, true, R);
    for (int k = 0; at.has(Wrt::tau) && k < tree_.nv; ++k) R(k, at.of(Wrt::tau) + k) += s;
    for (int k = 0; k < scene_.n_actuators; ++k) {
      const int d = scene_.actuators[k].dof;
      if (at.has(Wrt::control)) R(d, at.of(Wrt::control) + k) += s * joints.force[k].by_control;
      if (at.has(Wrt::gains)) R(d, at.of(Wrt::gains) + k) += s * (joints.force[k].by_gain - joints.inertia[k] * a[d]);
    }
    for (int k = 0; at.has(Wrt::gravity) && k < tree_.nv; ++k)
      for (int r = 0; r < 3; ++r) R(k, at.of(Wrt::gravity) + r) += s * dynamics.IS[k].lin[r];
    if (at.has(Wrt::f_ext)) add_force_columns(R, s);
    if (at.has(Wrt::masses)) add_mass_columns(R, -s, dynamics.accelerations(), dynamics.velocities());
  }
  // g += s times what given forces do along twists X of links.
  void pull_forces(const Twist* X, double s, double* g) const {
    for_given_forces([&](int link, int column, const Wrench& w) { g[column] += s * dot(X[link], w); });
  }
  // s J^T (I A + V x* I V) of the share of each of the user's links; V: null if nothing moves.
  void add_mass_columns(const Matrix& to, double s, const Twist* A, const Twist* velocities) const {
    const int first = job_.columns.of(Wrt::masses);
    for (int u = 0; u < tree_.n_user_links; ++u) {
      const int link = tree_.mounts[u].link;
      if (link < 0) continue;
      const double* const x = job_.shares + 10 * u;
      const RigidInertia<double> I =
          world.in_world({x[0], {x[1], x[2], x[3]}, {x[4], x[5], x[6], x[7], x[8], x[9]}}, link);
      Wrench w = I * A[link];
      if (velocities) w += cross(velocities[link], I * velocities[link]);
      world.for_path(link, [&](int j) FW_LAMBDA_INLINE { to(j, first + u) += s * dot(world.axis[j], w); });
    }
  }

 private:
  const StepDiffJob& job_;
  const Scene& scene_;
  const Tree<double>& tree_;
  const double *tau_ = nullptr, *f_ext_ = nullptr, *masses_ = nullptr;
  Wrench* sum_;
  LaneInertia<double>* shared_;  // those of the scene
  bool is_shared_ = false;

  // A force in the axes of one of the user's links, on its compiled link and about its root.
  Wrench placed_force(int user_link, const Wrench& local) const {
    const Mount<double>& mount = tree_.mounts[user_link];
    const Wrench on_link = shift_to_parent(to_parent(Rotation<double>{mat3(mount.R)}, local), vec3(mount.p));
    return shift_to_parent(to_parent(Rotation<double>{world.pose[mount.link].R}, on_link), world.from_root(mount.link));
  }
  void add_force_columns(const Matrix& R, double s) const {
    for_given_forces([&](int link, int column, const Wrench& w) {
      world.for_path(link, [&](int j) FW_LAMBDA_INLINE {
        R(j, job_.columns.of(Wrt::f_ext) + column) += s * dot(world.axis[j], w);
      });
    });
  }
  // use(link, column, wrench) of unit forces and moments on each of the user's links.
  template <class Use>
  void for_given_forces(const Use& use) const {
    for (int u = 0; u < tree_.n_user_links; ++u) {
      const int link = tree_.mounts[u].link;
      for (int k = 0; link >= 0 && k < 6; ++k) {
        Wrench e = zero_force<double>();
        (k < 3 ? e.lin[k] : e.ang[k - 3]) = 1;
        use(link, 6 * u + k, placed_force(u, e));
      }
    }
  }
};

}  // namespace featherweight::FW_ISA
