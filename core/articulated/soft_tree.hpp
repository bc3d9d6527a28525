// articulated/soft_tree.hpp -- the eliminated tree with dampers on its links, freedom by freedom.
//
// A damper K on a link (6 x 6, force for velocity) acts through the link's joint like an inertia. From the triples of
// freedoms.hpp, with d = 1 / weight^2, motions minimise over the rates x of a joint
//   sum d (x + carry . parent)^2 + m^T K m + e x^2,   m = parent + sum axis x,   e: dampers on the freedoms themselves
// so that the freedoms of the damped tree are, before they are made conjugate,
//   D = diag(d + e) + axis^T K axis,   U = d carry + K axis,
// and its parent feels  K + sum d carry carry^T - U D^-1 U^T.  No inertia is asked for: joints look alike again, and
// what walks one tree walks the other. Cost: O(n).
// Source: the rows as springs of A. S. Sathya and J. Carpentier, "Constrained articulated body dynamics algorithms";
// that they join a tree already eliminated is ours. Oracle: (J H^-1 J^T + rho)^-1, dense: fw.ADMM with the matrix.
#pragma once
#include "articulated/freedoms.hpp"

namespace featherweight::FW_ISA {

// Symmetric, linear rows first.
struct Damper {
  double e[6][6];

  FW_INLINE void clear() {
    for (auto& row : e)
      for (double& x : row) x = 0;
  }
  FW_INLINE void operator+=(const Damper& other) {
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) e[i][j] += other.e[i][j];
  }
  // += scale u u^T
  FW_INLINE void add_square(const Force<double>& u, double scale) {
    const double v[6] = {u.lin[0], u.lin[1], u.lin[2], u.ang[0], u.ang[1], u.ang[2]};
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) e[i][j] += v[i] * v[j] * scale;
  }
  FW_INLINE Force<double> operator*(const Motion<double>& m) const {
    double f[6];
    for (int i = 0; i < 6; ++i)
      f[i] = e[i][0] * m.lin[0] + e[i][1] * m.lin[1] + e[i][2] * m.lin[2] + e[i][3] * m.ang[0] + e[i][4] * m.ang[1] +
             e[i][5] * m.ang[2];
    return {{f[0], f[1], f[2]}, {f[3], f[4], f[5]}};
  }
};

FW_INLINE double power(const Motion<double>& m, const Force<double>& f) {
  return dot(m.lin, f.lin) + dot(m.ang, f.ang);
}

// The n freedoms of a joint, damped; K: on its link and what it carries, on exit what its parent feels.
inline void soften_joint(int n, const Freedom<double>* hard, const double* along, Damper& K, Freedom<double>* soft) {
  Force<double> U[6];
  double D[6][6];
  for (int k = 0; k < n; ++k) {
    const double d = 1 / (hard[k].weight * hard[k].weight);
    soft[k].axis = hard[k].axis;
    U[k] = K * hard[k].axis;
    for (int i = 0; i <= k; ++i) D[k][i] = power(hard[i].axis, U[k]);
    D[k][k] += d + along[k];
  }
  for (int k = 0; k < n; ++k) {
    const double d = 1 / (hard[k].weight * hard[k].weight);
    add_scaled(U[k].lin, hard[k].carry.lin, d);
    add_scaled(U[k].ang, hard[k].carry.ang, d);
    K.add_square(hard[k].carry, d);
  }
  for (int j = 0; j < n; ++j) {
    const double inverse = 1 / D[j][j];
    for (int i = j + 1; i < n; ++i) {
      const double l = D[i][j] * inverse;
      add_scaled(soft[i].axis.lin, soft[j].axis.lin, -l);
      add_scaled(soft[i].axis.ang, soft[j].axis.ang, -l);
      add_scaled(U[i].lin, U[j].lin, -l);
      add_scaled(U[i].ang, U[j].ang, -l);
      for (int k = i; k < n; ++k) D[k][i] -= l * D[k][j];
    }
    soft[j].carry = {U[j].lin * inverse, U[j].ang * inverse};
    soft[j].weight = __builtin_sqrt(inverse);
    K.add_square(U[j], -inverse);
  }
}

}  // namespace featherweight::FW_ISA
