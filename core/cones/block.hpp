// cones/block.hpp -- one block solved exactly, with the impulses of all others as they are.
//
// Sliding friction is viscous, sigma_T = -beta lambda_T, with the coefficient beta that puts lambda on its cone. With
// the normal eliminated (Ghat = G_TT - G_TN G_NT / G_NN, w = G_TN / G_NN),
//   lambda_T(beta) = -(Ghat + beta)^-1 bhat,   lambda_N = n0 - w . lambda_T,   mu lambda_N = |lambda_T|:
// one equation in beta, negative at 0 when sticking would leave the cone and positive at |bhat| (1 + mu |w|) / (mu n0).
// A root always exists and each is an exact solution, however strong the coupling; no angle is searched and there is no
// pole. mu lambda_N / |lambda_T| is nearly linear in beta, so Newton takes one to three steps.
//
// Everything is written in changes: sigma is the velocity with the present impulses. Rows without mobility keep theirs.
//
// A contact of a link that turns on one or two hinges has impulses without effect. Those in its cone may be of any size
// (a door stopper), and what has been driven in by chance would never come out, from step to step: so of all impulses
// that stick, the least is taken. A normal that cannot move at all pushes nothing.
// Oracle: the natural map, dense.
#pragma once
#include "cones/residuals.hpp"
#include "cones/tuning.hpp"
#include "linalg/semidefinite_ldl.hpp"

namespace featherweight::FW_ISA {

struct BlockFactor {
  DiagonalBlock G;
  bool ready;         // what follows has been computed
  double inverse;     // of one row, or of the normal; 0 without mobility
  double w0, w1;      // G_TN / G_NN
  double a, b, c;     // Ghat = [a b; b c]
  double ia, ib, ic;  // its inverse
  int rank;           // of the block, of a point: 3, or the directions in which impulses have an effect
  double u, v;        // of rank 2: tangents of a unit impulse, normal aside, without one
  double* F;          // equality: factor of G (semidefinite_ldl.hpp)
};

// Numbers that F of a block takes.
constexpr int factor_size(const Block& block) { return block.law == Law::equality ? block.rows * block.rows : 0; }

// Which tangents have no effect: the eigenvector of the smaller eigenvalue of Ghat, or all of them. What Ghat has along
// them is rounding, of any sign, and goes.
inline void find_idle_tangent(double shift, BlockFactor& f) {
  const double trace = f.a + f.c;
  const bool first = f.a < f.c;
  const double x = first ? f.c : -f.b, y = first ? -f.b : f.a, length = root(x * x + y * y);
  f.rank = trace > shift / BlockTuning::dependent * BlockTuning::idle ? 2 : 1;
  const double moves = f.rank == 2 ? trace : 0;
  f.u = moves > 0 ? x / length : 0, f.v = moves > 0 ? y / length : 0;
  f.a = moves * f.v * f.v, f.b = -moves * f.u * f.v, f.c = moves * f.u * f.u;
}

// floor: mobility below this counts as none.
inline void prepare_block(const Block& block, double floor, BlockFactor& f) {
  const DiagonalBlock& G = f.G;
  f.ready = true;
  f.w0 = f.w1 = 0;
  if (block.law == Law::equality) {
    factorise_semidefinite(block.rows, G.values, G.stride, floor, f.F);
  } else if (block.rows == 1) {
    f.inverse = inverse_or_zero(G(0, 0), floor);
  } else {
    f.a = G(0, 0), f.b = G(0, 1), f.c = G(1, 1), f.rank = 3;
    if (block.law == Law::point) {
      f.inverse = inverse_or_zero(G(2, 2), floor);
      f.w0 = G(0, 2) * f.inverse, f.w1 = G(1, 2) * f.inverse;
      f.a -= G(0, 2) * f.w0, f.b -= G(0, 2) * f.w1, f.c -= G(1, 2) * f.w1;
    }
    double determinant = f.a * f.c - f.b * f.b;
    // what the normal takes of the diagonals leaves their rounding
    if (!(determinant > BlockTuning::dependent * (G(0, 0) * f.c + G(1, 1) * f.a)) || !(f.a > floor)) {
      // tangents that depend on each other or on the normal: the shift is proximal and changes no solution
      const double shift = floor + BlockTuning::dependent * (G(0, 0) + G(1, 1));
      find_idle_tangent(shift, f);
      f.a += shift, f.c += shift;
      determinant = f.a * f.c - f.b * f.b;
    }
    const double i = 1 / determinant;
    f.ia = f.c * i, f.ib = -f.b * i, f.ic = f.a * i;
  }
}

// Tangents of a sliding contact: t with mu (n0 - w . t) = |t| and (Ghat + beta) t = -bhat for some beta > 0; beta: a
// guess. A disc of radius R has mu n0 = R and w = 0.
inline void slide(const BlockFactor& f, double mu, double n0, double bx, double by, double beta, double* t) {
  double low = 0, high = 0;  // 0: not yet known
  double x = 0, y = 0;
  for (int step = 0; step < BlockTuning::most_steps; ++step) {
    const double a = f.a + beta, c = f.c + beta, i = 1 / (a * c - f.b * f.b);
    x = (f.b * by - c * bx) * i, y = (f.b * bx - a * by) * i;
    const double dx = (f.b * y - c * x) * i, dy = (f.b * x - a * y) * i;  // d/dbeta
    const double length2 = x * x + y * y, n = n0 - f.w0 * x - f.w1 * y, excess = mu * mu * n * max_of(n, 0) - length2;
    // Newton's step for mu n / |t| = 1; near the solution without a square root, expanded to second order in the excess
    const double slope = -mu * ((f.w0 * dx + f.w1 * dy) * length2 + n * (x * dx + y * dy));
    const double change = magnitude(excess) < BlockTuning::near_root * length2
                              ? -excess * (length2 + 0.25 * excess) / (2 * mu * n * slope)
                              : (root(length2) - mu * n) * length2 / slope;
    if (magnitude(excess) <= BlockTuning::solved * length2) {
      // the last step, along the derivative: what it leaves is of second order
      x += change * dx, y += change * dy;
      break;
    }
    (excess < 0 ? low : high) = beta;
    double next = beta + change;
    if (!(next > low && (high == 0 || next < high))) {
      if (high == 0) high = root(bx * bx + by * by) * (1 + mu * root(f.w0 * f.w0 + f.w1 * f.w1)) / (mu * n0);
      next = 0.5 * (low + high);
    }
    if (next == beta) break;
    beta = next;
  }
  t[0] = x, t[1] = y;
}

// A guess of beta from impulses and velocities.
FW_INLINE double viscosity(double lx, double ly, double sx, double sy) {
  const double power = -(lx * sx + ly * sy);
  return power > 0 ? power / (lx * lx + ly * ly) : 0;
}

struct PointImpulse {
  double x, y, z;
};

// Of impulses that stick, the least with the same effect, or as near to it as the cone lets one come straight.
inline PointImpulse least_sticking(double mu, const BlockFactor& f, const PointImpulse& p) {
  PointImpulse idle;
  if (f.rank == 2) {
    const double w = -(f.w0 * f.u + f.w1 * f.v), share = (p.x * f.u + p.y * f.v + p.z * w) / (1 + w * w);
    idle = {share * f.u, share * f.v, share * w};
  } else {
    const double share = (p.x * f.w0 + p.y * f.w1 + p.z) / (f.w0 * f.w0 + f.w1 * f.w1 + 1);
    idle = {p.x - share * f.w0, p.y - share * f.w1, p.z - share};
  }
  // (mu n)^2 - |t|^2 = c - 2 b s + d s^2 with a share s of it gone
  const double m2 = mu * mu, c = m2 * p.z * p.z - p.x * p.x - p.y * p.y;
  const double b = m2 * p.z * idle.z - p.x * idle.x - p.y * idle.y;
  const double d = m2 * idle.z * idle.z - idle.x * idle.x - idle.y * idle.y;
  const double discriminant = b * b - c * d, divisor = b + (discriminant > 0 ? root(discriminant) : 0);
  const double share = !(c > 0) ? 0 : discriminant > 0 && divisor > c ? c / divisor : 1;
  return {p.x - share * idle.x, p.y - share * idle.y, p.z - share * idle.z};
}

// The impulse of a frictional point: open, sticking or sliding.
FW_INLINE PointImpulse solve_point(double mu, BlockFactor& f, const double* l, const double* s) {
  if (!(f.inverse > 0)) return {0, 0, 0};
  const double n0 = l[2] + f.w0 * l[0] + f.w1 * l[1] - s[2] * f.inverse;  // the normal without friction
  if (!(n0 > 0)) return {0, 0, 0};
  const double sx = s[0] - f.w0 * s[2], sy = s[1] - f.w1 * s[2];
  const double x = l[0] - (f.ia * sx + f.ib * sy), y = l[1] - (f.ib * sx + f.ic * sy);
  const double z = n0 - f.w0 * x - f.w1 * y, cone = mu * max_of(z, 0);
  if (x * x + y * y <= cone * cone) return f.rank == 3 ? PointImpulse{x, y, z} : least_sticking(mu, f, {x, y, z});
  if (!(mu * n0 > BlockTuning::least_radius)) return {0, 0, n0};
  double t[2];
  slide(f, mu, n0, sx - f.a * l[0] - f.b * l[1], sy - f.b * l[0] - f.c * l[1], viscosity(l[0], l[1], s[0], s[1]), t);
  return {t[0], t[1], n0 - f.w0 * t[0] - f.w1 * t[1]};
}

// Impulses of a disc of radius R.
inline void solve_disc(double R, int rows, BlockFactor& f, const double* l, const double* s, double* x) {
  if (rows == 1) {
    x[0] = clamp(l[0] - s[0] * f.inverse, -R, R);
    return;
  }
  x[0] = l[0] - (f.ia * s[0] + f.ib * s[1]), x[1] = l[1] - (f.ib * s[0] + f.ic * s[1]);
  if (x[0] * x[0] + x[1] * x[1] <= R * R) return;
  x[0] = x[1] = 0;
  if (!(R > BlockTuning::least_radius)) return;
  slide(f, 1, R, s[0] - f.a * l[0] - f.b * l[1], s[1] - f.b * l[0] - f.c * l[1], viscosity(l[0], l[1], s[0], s[1]), x);
}

// Impulses of rows that must not move: l - G^-1 s. Rows that depend on earlier ones keep theirs.
inline void solve_equality(int n, const double* F, const double* l, const double* s, double* x) {
  for (int i = 0; i < n; ++i) x[i] = -s[i];
  solve_semidefinite(n, F, x);
  for (int i = 0; i < n; ++i) x[i] += l[i];
}

// x: the impulses of a block that obey its law.
FW_INLINE void solve_block(const Block& block, BlockFactor& f, const double* lambda, const double* sigma, double* x) {
  const double *l = lambda + block.first, *s = sigma + block.first;
  switch (block.law) {
    case Law::unilateral: x[0] = max_of(0, l[0] - s[0] * f.inverse); return;
    case Law::interval: x[0] = clamp(l[0] - s[0] * f.inverse, block.lower, block.upper); return;
    case Law::disc: return solve_disc(block.mu * max_of(lambda[block.normal], 0), block.rows, f, l, s, x);
    case Law::point: {
      const PointImpulse to = solve_point(block.mu, f, l, s);
      x[0] = to.x, x[1] = to.y, x[2] = to.z;
      return;
    }
    default: return solve_equality(block.rows, f.F, l, s, x);
  }
}

}  // namespace featherweight::FW_ISA
