// articulated/supporting.hpp -- sweeps between the rows and the root, over the links that have rows outboard only.
//   inward:   u = -S^T f,   f_parent += X^T (f + U D^-1 u)                (dynamics/affine.hpp)
//   outward:  a' = X a_parent,   rate' = D^-1 u - D^-1 U^T a',   a = a' + S rate'
// A joint's step is so light that finding its data would double the cost: it is looked up once, in advance.
#pragma once
#include "dynamics/aba.hpp"
#include "dynamics/affine.hpp"
#include "rows/link_rows.hpp"

namespace featherweight::FW_ISA {

// One link of these sweeps.
template <class S, class C>
struct SupportingStep {
  JointKind kind;
  int begin, end;     // its own rows
  int is_tip;         // 1: no rows further outboard
  int arrives_first;  // 1: clears f_parent
  const Link<C>* link;
  const S* state;
  S* factor;
  S* u;
  Force<S>*f, *f_parent;  // the latter null at a root
  const Motion<S>* velocity;
  Motion<S>* a;
  const Motion<S>* a_parent;

  template <class J>
  FW_INLINE Factor<J, S>& factor_as(J) const {
    return *reinterpret_cast<Factor<J, S>*>(factor);
  }
};

template <class J, class S, class C>
[[gnu::noinline]] void spread(J, const SupportingStep<S, C>& step) {
  S u[J::nv];
  for (int k = 0; k < J::nv; ++k) u[k] = S(0);
  Force<S> f = *step.f;
  pass_inward(J{}, *step.link, step.state, step.factor_as(J{}), u, f);
  for (int k = 0; k < J::nv; ++k) step.u[k] = u[k];
  if (!step.f_parent) return;
  if (step.arrives_first)
    *step.f_parent = f;
  else
    *step.f_parent += f;
}
template <class J, class S, class C>
[[gnu::noinline]] void respond(J, const SupportingStep<S, C>& step) {
  S unused[J::nv];
  Motion<S> a = J::to_child(*step.link, step.state, *step.a_parent);
  solve_joint(J{}, *step.link, step.factor_as(J{}), step.u, a, unused);
  *step.a = a;
}
template <class J, class S, class C>
[[gnu::noinline]] void accelerate(J, const SupportingStep<S, C>& step, const S* v) {
  S unused[J::nv];
  Motion<S> a = J::to_child(*step.link, step.state, *step.a_parent);
  J::add_velocity_product(*step.link, *step.velocity, v + step.link->v, a);
  solve_joint(J{}, *step.link, step.factor_as(J{}), right_hand_side(step.factor_as(J{})), a, unused);
  *step.a = a;
}

template <class S>
class SupportingSweeps {
 public:
  using T = ElementOf<S>;
  Motion<S>* a;  // of each link that has rows, after an outward sweep

  SupportingSweeps(const Tree<T>& tree, const ConstraintRows<T>& constraints, Arena& arena)
      : a(arena.take<Motion<S>>(tree.n_links)),
        n_(constraints.n_supporting),
        steps_(arena.take<SupportingStep<S, T>>(n_)),
        world_(arena.take<Motion<S>>(1)),
        f_(arena.take<Force<S>>(tree.n_links)),
        u_(arena.take<S>(tree.nv)) {}

  // Once, before the first pack. motion: of each link, for accelerate_outward.
  void prepare(const Tree<T>& tree, const ConstraintRows<T>& constraints, const S* state, S* factors,
               const Motion<S>* motion = nullptr) {
    *world_ = zero_motion<S>();
    for (int s = 0; s < n_; ++s) {
      const auto [i, is_tip, arrives_first] = constraints.supporting[s];
      const Link<T>& l = tree.links[i];
      const int begin = constraints.of_link[i].begin;
      int end = begin;
      while (end < constraints.n_ends && constraints.ends[end].link == i) ++end;
      steps_[s] = {.kind = l.kind,
                   .begin = begin,
                   .end = end,
                   .is_tip = is_tip,
                   .arrives_first = arrives_first,
                   .link = &l,
                   .state = state + l.state,
                   .factor = factors + l.factor,
                   .u = u_ + l.v,
                   .f = f_ + i,
                   .f_parent = l.parent < 0 ? nullptr : f_ + l.parent,
                   .velocity = motion ? motion + i : nullptr,
                   .a = a + i,
                   .a_parent = l.parent < 0 ? world_ : a + l.parent};
    }
  }

  // Accelerations, less gravity, as the joints are driven now. v: joint rates.
  void accelerate_outward(const Tree<T>& tree, const S* v) {
    *world_ = minus_gravity<S>(tree);
    for (int s = 0; s < n_; ++s) visit(steps_[s].kind, [&](auto joint) { accelerate(joint, steps_[s], v); });
    *world_ = zero_motion<S>();
  }

  // The forces of the rows, joint by joint to the root: leaves u.
  void spread_inward(const ConstraintRows<T>& constraints, const S* forces) {
    for (int s = n_ - 1; s >= 0; --s) {
      const SupportingStep<S, T>& step = steps_[s];
      if (step.begin < step.end) {
        Force<S> f = step.is_tip ? zero_force<S>() : *step.f;
        for (int r = step.begin; r < step.end; ++r) {
          const Force<T> K = row_direction(constraints.ends[r]);
          f.lin = f.lin - K.lin * forces[r];
          f.ang = f.ang - K.ang * forces[r];
        }
        *step.f = f;
      }
      visit(step.kind, [&](auto joint) { spread(joint, step); });
    }
  }
  // Accelerations by u.
  void respond_outward() {
    for (int s = 0; s < n_; ++s) visit(steps_[s].kind, [&](auto joint) { respond(joint, steps_[s]); });
  }
  // u joins what drives the joints.
  void drive_joints() {
    for (int s = 0; s < n_; ++s)
      visit(steps_[s].kind, [&](auto joint) { drive(steps_[s].factor_as(joint), steps_[s].u); });
  }

 private:
  int n_;
  SupportingStep<S, T>* steps_;
  Motion<S>* world_;
  Force<S>* f_;
  S* u_;
};

}  // namespace featherweight::FW_ISA
