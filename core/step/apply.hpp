// step/apply.hpp -- from impulses to velocities.
//   in    impulses of each environment
//   out   w.motion.response, Y^T lambda of all; their response in w.a and w.response; new velocities w.v
#pragma once
#include "step/advance.hpp"
#include "step/assemble.hpp"

namespace featherweight::FW_ISA {

// Y^T lambda, those of balls aside. Impulses are padded by three numbers; beyond the rows of a quartet y is zero.
template <class S>
FW_INLINE void add_impulses(const Scene& scene, const Quartet* quartets, int n_quartets, const double* impulse,
                            LaneOf<S> lane, S* response) {
  for (int i = 0; i < n_quartets; ++i) {
    const Quartet& quartet = quartets[i];
    if (quartet.ball >= 0) continue;
    const Rows x = *reinterpret_cast<const LooseRows*>(impulse + quartet.first);
    for (int e = 0; e < quartet.n_ends; ++e) {
      const QuartetEnd& end = quartet.ends[e];
      for_path(scene, end.link, end.count, [&](int k, int f) FW_LAMBDA_INLINE {
        const Rows y = end.y[k] * x;
        lane.add(response[f], (y[0] + y[1]) + (y[2] + y[3]));
      });
    }
  }
}

// The impulses of one environment join Y^T lambda of its lane; those of balls are handed back to them, in `of_ball`.
template <class S>
FW_INLINE void collect_impulses(const Scene& scene, const ConeRows<S>& rows, const double* impulse, LaneOf<S> lane,
                                S* response, S (BallPoint<S>::*of_ball)[3]) {
  add_impulses(scene, rows.quartets, rows.n_quartets, impulse, lane, response);
  for (int i = 0; i < rows.n_quartets; ++i) {
    const Quartet& quartet = rows.quartets[i];
    if (quartet.ball < 0) continue;
    S* const x = rows.balls().walked(quartet.ball).*of_ball;
    for (int r = 0; r < 3; ++r) lane.set(x[r], impulse[quartet.first + r]);
  }
}

// Of one environment, before it is solved again.
template <class S>
FW_INLINE void forget_impulses(int nv, LaneOf<S> lane, const FreeMotion<S>& motion) {
  for (int f = 0; f < nv; ++f) lane.set(motion.response[f], 0), lane.set(motion.correct[f], 0);
}

// Root to leaf: the change of velocity that impulses cause, from the Y^T lambda they left.
template <class S>
void respond(const Scene& scene, const S* impulse, StepWorkspace<S>& w, S* change) {
  const Tree<double>& tree = scene.tree;
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    if (!scene.touchable[i]) {
      for (int k = l.v; k < l.v + l.nv; ++k) change[k] = S(0);
      continue;
    }
    const Motion<S> parent = l.parent < 0 ? rest : w.response[l.parent];
    const Motion<S> m = carry_outward(l, w.motion.dofs, impulse, parent, [&](int k, const S& x) FW_LAMBDA_INLINE {
      if (l.nv == 1) change[k] = x * l.sign;
    });
    w.response[i] = m;
    if (l.nv == 1) continue;
    // ball joints: what the link moves beyond its parent, in its own axes
    Motion<S> d{m.lin - parent.lin, m.ang - parent.ang};
    if (l.nv == 6) add_cross(d.lin, d.ang, w.motion.pose[i].p - w.motion.pose[scene.root[i]].p);
    const Vec3<S> lin = transposed_times(w.motion.pose[i].R, d.lin), ang = transposed_times(w.motion.pose[i].R, d.ang);
    for (int k = 0; k < 3; ++k) {
      if (l.nv == 6) change[l.v + k] = lin[k];
      change[l.v + l.nv - 3 + k] = ang[k];
    }
  }
}

// The inverse of `respond`: the Y^T lambda that would cause velocities `change`.
template <class S>
void find_cause(const Scene& scene, const S* change, StepWorkspace<S>& w, S* impulse) {
  const Tree<double>& tree = scene.tree;
  const Motion<S> rest = zero_motion<S>();
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    if (!scene.touchable[i]) {
      for (int k = l.v; k < l.v + l.nv; ++k) impulse[k] = S(0);
      continue;
    }
    const Motion<S> parent = l.parent < 0 ? rest : w.response[l.parent];
    const Vec3<S> r = w.motion.pose[i].p - w.motion.pose[scene.root[i]].p;
    const Dof<S>* const dofs = w.motion.dofs + l.v;
    Motion<S> own;
    visit(l.kind, [&](auto joint) { own = joint_motion(joint, l, change + l.v, w.motion.pose[i], r, dofs); });
    w.response[i] = {parent.lin + own.lin, parent.ang + own.ang};
    // along axes of which each is, in the link's axes, a unit vector and some of the ones before
    for (int k = l.nv - 1; k >= 0; --k) {
      S rate = change[l.v] * l.sign;
      if (l.nv > 1) {
        const bool turns = k >= l.nv - 3;
        const Vec3<S> axis = column(w.motion.pose[i].R, turns ? k - (l.nv - 3) : k);
        rate = dot(axis, turns ? own.ang : own.lin - cross(r, own.ang));
        add_scaled(own.lin, dofs[k].axis.lin, -rate);
        add_scaled(own.ang, dofs[k].axis.ang, -rate);
      }
      if (l.parent >= 0) rate = rate + dot(dofs[k].carry.lin, parent.lin) + dot(dofs[k].carry.ang, parent.ang);
      const auto moves = dofs[k].weight > S(0);  // else nothing does
      impulse[l.v + k] = select(moves, rate / select(moves, dofs[k].weight, S(1)), S(0));
    }
  }
}

// New velocities. A zero has no sign, or it would say whether neighbours of the pack touch.
template <class S>
void apply(const RolloutJob& job, bool touched, StepWorkspace<S>& w) {
  const int nv = job.scene->tree.nv;
  for (int f = 0; f < nv; ++f) w.v[f] = w.motion.v_free[f] + S(0);
  if (touched)
    for (int f = 0; f < nv; ++f) w.v[f] = w.v[f] + w.a[f];
}

// Over the step, in w.a.
template <class S>
void find_mean_acceleration(const RolloutJob& job, StepWorkspace<S>& w) {
  const Tree<double>& tree = job.scene->tree;
  for (int f = 0; f < tree.nv; ++f) w.a[f] = (w.v[f] - w.kept_v[f]) * S(1 / job.dt);
  add_turning_of_axes(tree, w.centers, w.kept_v, S(-1), w.a);
}

}  // namespace featherweight::FW_ISA
