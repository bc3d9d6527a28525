// cones/problem.hpp -- the cone problem of one step of one environment. Plain data, shared by all instruction sets.
//
//   sigma = G lambda + g        sigma: velocity along each row at the end of the step, lambda: impulse along it
//
// G is the Delassus matrix with the compliance on its diagonal, g the velocity without impulses plus what the law of
// the row allows for (gap / step, bounce). Rows come in blocks, and each block has its law.
#pragma once
#include <cstddef>

namespace featherweight {

enum class Law : int {
  equality,    // sigma = 0
  unilateral,  // 0 <= lambda, 0 <= sigma, lambda sigma = 0: contacts without friction, joint limits
  interval,    // lower <= lambda <= upper, sigma <= 0 at the upper bound and >= 0 at the lower: dry friction of joints
  point,       // rows t1, t2, n: n as unilateral; |lambda_t| <= mu lambda_n, opposite to sigma_t at the bound (Coulomb)
  disc,        // 1 or 2 rows: |lambda| <= mu lambda_n of the row `normal`, opposite to sigma at the bound: spin, roll
};

// What a block of a solved problem does.
enum class Mode : int {
  open,      // no impulse
  sticking,  // no motion along its rows: closed contacts and limits, what friction holds, equalities
  sliding,   // friction at its bound
  at_lower,  // an interval at its lower bound
  at_upper,
};

struct Block {
  Law law;
  int first, rows;      // rows [first, first + rows) of the problem
  int normal;           // disc: the row of the normal impulse that bounds it; it comes before the disc
  double mu;            // point: coefficient of friction; disc: the same in metres
  double lower, upper;  // interval [N s] or [N m s]
};

// A matrix that is not formed. Those who use it know whether it is for ADMM, which shifts, or for Gauss-Seidel, which
// goes block by block; what the other needs may be null.
struct MatrixProducts {
  const void* context;
  void (*multiply)(const void* context, const double* x, double* y);       // y = G x
  void (*shift)(const void* context, const double* rho);                   // prepares solve_shifted; rho: of each row
  void (*solve_shifted)(const void* context, const double* b, double* x);  // x = (G + rho)^-1 b
  bool exact;                                                              // or else x only approximates it
  // Block by block, for impulses that change one after the other: start with all of them, then add G lambda of a block
  // to its velocity, and change its impulse.
  void (*start_impulses)(const void* context, const double* lambda);
  void (*add_velocity)(const void* context, int block, const double* lambda, double* velocity);
  void (*change_impulse)(const void* context, int block, const double* change);
};

// Rows [first, end).
struct RowSpan {
  int first, end;
};
// Symmetric, by columns. Dense: element (i, j) is at values[j * stride + i], stride a multiple of 8, rows beyond m are
// zero up to a multiple of 4. Sparse (start not null): column block j couples to the blocks neighbour[start[j] ..
// start[j + 1]), in rising order and including itself; its element (row r of block neighbour[k], column c) is at
// values[at[k] + c * rows + r]. One number after the last may be read.
// Dense ones may be bands: where spans is not null, block j couples with rows in spans[j] only. There its columns have
// numbers, and zeros up to the multiples of four around them; elsewhere nothing.
// Not formed (products not null): only the elements of the diagonal blocks exist, block j at values[at[j]]. ADMM and
// Gauss-Seidel need no more.
struct ContactMatrix {
  const double* values;
  int stride;
  const int* start = nullptr;
  const int* neighbour = nullptr;
  const std::size_t* at = nullptr;
  const MatrixProducts* products = nullptr;
  const RowSpan* spans = nullptr;
};

struct ConeProblem {
  int m, n_blocks;
  const Block* blocks;
  ContactMatrix G;
  const double* g;
  double scale;  // [m/s] typical velocity, to which tolerances are relative
};

enum class Solver : int { automatic, gauss_seidel, newton, admm };

struct SolverOptions {
  Solver solver = Solver::automatic;
  double tolerance = 1e-9;  // of the natural residual, relative to the scale of the problem
  int max_gauss_seidel_iterations = 2000;
  int max_pile_iterations = 200;    // of Gauss-Seidel in piles, by the automatic solver
  int max_newton_iterations = 120;  // one factorisation each
  int max_admm_iterations = 2000;
  bool matrix_free = false;  // the matrix is not formed: admm only
};

struct SolverReport {
  double residual;                 // natural map [m/s]: how far the worst block is from its law, as a velocity
  double primal;                   // distance of lambda from its set [N s]
  double dual;                     // distance of sigma from its set [m/s]: approaching contacts, moving equalities
  double complementarity;          // largest |lambda . (sigma with De Saxce's correction)| [J]
  int gauss_seidel, newton, admm;  // iterations of each solver
  bool converged;
};

}  // namespace featherweight
