// rows/link_rows.hpp -- rows K a = k of a link, in its coordinates, before any joint is passed.
//
// Sweeps work with a - g (the world accelerates by -g), so a row's target is reduced by what gravity contributes to it;
// for that the direction of gravity is needed in the axes of every link with rows.
#pragma once
#include "model/joints.hpp"
#include "rows/rows.hpp"

namespace featherweight::FW_ISA {

template <class S>
struct Row {
  Force<S> K;
  S k;
};

template <class C, class S>
FW_INLINE S operator*(const Force<C>& f, const Motion<S>& m) {
  return dot(f.lin, m.lin) + dot(f.ang, m.ang);
}

// Gravity in the axes of link i, from that of its parent, if it has rows outboard.
template <class J, class S, class C>
FW_INLINE void rotate_gravity(J, const Tree<C>& tree, const ConstraintRows<C>& constraints, int i, const S* state,
                              Vec3<S>* gravity) {
  if (constraints.of_link[i].begin == constraints.of_link[i].end) return;
  const Link<C>& l = tree.links[i];
  const Vec3<S> world{S(tree.gravity[0]), S(tree.gravity[1]), S(tree.gravity[2])};
  gravity[i] = J::axes_to_child(l, state + l.state, l.parent < 0 ? world : gravity[l.parent]);
}

// What the rows of a constraint have before any sweep: gravity and, for a material point, w x v.
template <class S, class C>
FW_INLINE Vec3<S> given_acceleration(const RowEnd<C>& row, const Motion<S>& v, const Vec3<S>& gravity) {
  Vec3<S> given = gravity;
  if (row.of_point) {
    Vec3<S> v_point = v.lin;
    add_cross(v_point, v.ang, vec3(row.p));
    add_cross(given, v.ang, v_point);
  }
  return given;
}

template <class C>
FW_INLINE Force<C> row_direction(const RowEnd<C>& constraint) {
  return {{constraint.K[0], constraint.K[1], constraint.K[2]}, {constraint.K[3], constraint.K[4], constraint.K[5]}};
}

// An inactive row is all zeros.
template <class S, class C>
FW_INLINE Force<S> active_row(const RowEnd<C>& constraint, const S& active) {
  const Force<C> K = row_direction(constraint);
  return {Vec3<S>{active * K.lin[0], active * K.lin[1], active * K.lin[2]},
          Vec3<S>{active * K.ang[0], active * K.ang[1], active * K.ang[2]}};
}

// What a row yields to its own force; one that is inactive yields as usual, to no force.
template <class S, class C>
FW_INLINE S own_compliance(const RowEnd<C>& constraint, const S& active) {
  return constraint.compliance * active + (S(1) - active) * constraint.mobility;
}

}  // namespace featherweight::FW_ISA
