// articulated/damped_tree.hpp -- the eliminated tree with dampers on its links, degree of freedom by degree of freedom.
//
// A damper K on a link (6 x 6, force for velocity) acts through the link's joint like an inertia. From the triples of
// dofs.hpp, with d = 1 / weight^2 and dampers e along the joint, motions minimise over its rates x
//   sum d (x + carry . parent)^2 + m^T K m + e x^2,   m = parent + sum axis x,
// so that the degrees of freedom of the damped tree are, before they are made conjugate,
//   D = diag(d + e) + axis^T K axis,   U = d carry + K axis,
// and its parent feels  K + sum d carry carry^T - U D^-1 U^T.  No inertia is asked for: joints look alike again, and
// what walks one tree walks the other. Cost: O(n).
// Source: the rows as springs of A. S. Sathya and J. Carpentier, "Constrained articulated body dynamics algorithms";
// that they join a tree already eliminated is ours. Oracle: (J H^-1 J^T + rho)^-1, dense: fw.ADMM with the matrix.
#pragma once
#include "articulated/dofs.hpp"

namespace featherweight::FW_ISA {

// Symmetric, linear rows first.
template <class S>
struct Damper {
  S e[6][6];

  FW_INLINE void clear() {
    for (auto& row : e)
      for (S& x : row) x = S(0);
  }
  FW_INLINE void operator+=(const Damper& other) {
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) e[i][j] = e[i][j] + other.e[i][j];
  }
  // += scale u u^T
  FW_INLINE void add_square(const Force<S>& u, const S& scale) {
    const S v[6] = {u.lin[0], u.lin[1], u.lin[2], u.ang[0], u.ang[1], u.ang[2]};
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) e[i][j] = e[i][j] + v[i] * v[j] * scale;
  }
  FW_INLINE Force<S> operator*(const Motion<S>& m) const {
    S f[6];
    for (int i = 0; i < 6; ++i)
      f[i] = e[i][0] * m.lin[0] + e[i][1] * m.lin[1] + e[i][2] * m.lin[2] + e[i][3] * m.ang[0] + e[i][4] * m.ang[1] +
             e[i][5] * m.ang[2];
    return {{f[0], f[1], f[2]}, {f[3], f[4], f[5]}};
  }
};

template <class S>
FW_INLINE S power(const Motion<S>& m, const Force<S>& f) {
  return dot(m.lin, f.lin) + dot(m.ang, f.ang);
}

// The n degrees of freedom of a joint, damped; K: on its link and what it carries, on exit what its parent feels.
template <class S>
void damp_joint(int n, const Dof<S>* free, const S* along, Damper<S>& K, Dof<S>* damped) {
  Force<S> U[6];
  S D[6][6];
  for (int k = 0; k < n; ++k) {
    const S d = S(1) / (free[k].weight * free[k].weight);
    damped[k].axis = free[k].axis;
    U[k] = K * free[k].axis;
    for (int i = 0; i <= k; ++i) D[k][i] = power(free[i].axis, U[k]);
    D[k][k] = D[k][k] + d + along[k];
  }
  for (int k = 0; k < n; ++k) {
    const S d = S(1) / (free[k].weight * free[k].weight);
    add_scaled(U[k].lin, free[k].carry.lin, d);
    add_scaled(U[k].ang, free[k].carry.ang, d);
    K.add_square(free[k].carry, d);
  }
  for (int j = 0; j < n; ++j) {
    const S inverse = S(1) / D[j][j];
    for (int i = j + 1; i < n; ++i) {
      const S l = D[i][j] * inverse;
      add_scaled(damped[i].axis.lin, damped[j].axis.lin, -l);
      add_scaled(damped[i].axis.ang, damped[j].axis.ang, -l);
      add_scaled(U[i].lin, U[j].lin, -l);
      add_scaled(U[i].ang, U[j].ang, -l);
      for (int k = i; k < n; ++k) D[k][i] = D[k][i] - l * D[k][j];
    }
    damped[j].carry = {U[j].lin * inverse, U[j].ang * inverse};
    damped[j].weight = square_root(inverse);
    K.add_square(U[j], -inverse);
  }
}

}  // namespace featherweight::FW_ISA
