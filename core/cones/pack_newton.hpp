// cones/pack_newton.hpp -- cone problems of all environments of a pack at once: frictional points on lanes.
//
// What touches differs from environment to environment, but where all that touches are the same few points, problems
// differ only by which of them are there. Newton's method suits lanes: sweeps would go on until the last environment is
// done, while it takes one or two steps in most, each the same linear algebra. A point of a lane is
//   not there, or open   lambda = 0
//   sticking             sigma = 0
//   sliding along e      across e sigma + beta lambda = 0;  along e lambda = mu lambda_N;  sigma_N = 0
// by the natural map, as in newton_rows.hpp. Three rows of joints may take the place of a point; each is
//   inside its bounds    sigma = 0
//   at one of them       lambda is the bound; of a row that is not there both are zero
// A step solves these for lambda + d and sigma + G d, with the proximal eps of newton.hpp. Rows are eliminated in their
// order: what loses its pivot by that does not converge, and is, like all that needs more than a few steps, for the
// solvers of one environment. Few environments of a pack, the last that are not done, and those of a pack with too many
// points go on by themselves, with rows on lanes (own_matrix.hpp). Bits are the same: absent points add zeros, and
// products are fused by name (lanes/fused.hpp). Cost: (3 n)^3 / 3 multiply-adds a step for n points. Oracle: solvers of
// one environment.
#pragma once
#include "cones/tile.hpp"
#include "lanes/native.hpp"
#include "memory/arena.hpp"

namespace featherweight::FW_ISA {

inline constexpr int most_pack_points = 10;  // more, and matrices leave the cache

template <class S>
struct PackPoint {
  bool are_joints;       // three of their rows, otherwise a frictional point: t1, t2, n
  S is_there;            // positive in lanes that have it, or one of them
  S mu;                  // coefficient of friction
  S lower[3], upper[3];  // bounds of joints
  S g[3];                // velocity without impulses, with the shift of the law
  S lambda[3];           // impulses: the start, then the solution
  S sigma[3];            // their velocities
  S D[3];                // mean diagonal of a point, three times; diagonal of joints
  // a step: rows  L (G d) + K d = step,  L = [L00 L01 0; L01 L11 0; 0 0 Ln],  K = [K00 K01 K02; K01 K11 K12; 0 0 Kn]
  S L00, L01, L11, Ln, K00, K01, K11, K02, K12, Kn;
  S step[3];  // right-hand side, then d
};

template <class S>
struct PackFigures {
  S residual, primal, dual, complementarity;  // of SolverReport
  S steps;
};

template <class S>
struct PointProblem {
  int n = 0;
  PackPoint<S>* points;
  S scale;            // of velocities
  S smallest;         // scratch: what is added to the diagonal of a step's matrix
  PackFigures<S> of;  // the solution; where there is none, its residual is above the tolerance
};

template <class S>
struct PackProblem : PointProblem<S> {
  const S** G;  // of points i and j <= i, at [i * n + j]: row r of i and column c of j at [3 * c + r]
  Tile<S>* A;   // scratch: the matrix of a step

  void make_room(int most, Arena& arena) {
    this->points = arena.take<PackPoint<S>>(most);
    G = arena.take<const S*>(most * most);
    A = arena.take<Tile<S>>(most * most);
  }
};

// Registers that the rows of the most points fill.
inline constexpr int most_own_registers =
    (3 * most_pack_points + width_of<Native<double>> - 1) / width_of<Native<double>>;

// Of one environment, on the points that it has: rows on lanes.
struct OwnProblem : PointProblem<double> {
  typedef double Loose __attribute__((may_alias));
  Native<double>* G;  // by columns, each of whole registers; rows that do not exist are zero
  Native<double>* A;  // scratch: the matrix of a step

  void make_room(int most, Arena& arena) {
    points = arena.take<PackPoint<double>>(most);
    const int columns = most > 0 ? 3 * most : 0;
    G = arena.take<Native<double>>(columns * most_own_registers);
    A = arena.take<Native<double>>(columns * most_own_registers);
  }
  FW_INLINE int registers() const { return (3 * n + width_of<Native<double>> - 1) / width_of<Native<double>>; }
  FW_INLINE Loose& coupling(int row, int column) const {
    return reinterpret_cast<Loose*>(G + column * registers())[row];
  }
};

// alone: room for the problem of one environment.
void solve_pack(PackProblem<Native<double>>& problem, double tolerance, int most_steps, OwnProblem& alone);
// The same for a single one.
void solve_own(OwnProblem& problem, double tolerance, int most_steps);

}  // namespace featherweight::FW_ISA
