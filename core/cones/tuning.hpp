// cones/tuning.hpp -- the numbers that steer the contact solvers, one struct per solver.
//
// None of them changes what a solution is: they decide which solver looks for it, how long, and how closely rounding is
// trusted. Each has a unit ([1]: a ratio), a reason, and the test that fails when it is badly wrong.
#pragma once

namespace featherweight {

// Which problems are small [rows]. Shared by the solvers and by whoever stores the matrix for them.
struct ProblemSizes {
  // The largest problem that is stored densely, solved by the automatic solver as a whole, and gathered as a part of a
  // larger one. Beyond, a dense factorisation costs more than it gains.
  static constexpr int most_dense_rows = 320;
  // A problem that falls apart into islands is stored sparsely from here on; with fewer rows one dense matrix is
  // faster.
  static constexpr int least_island_rows = 96;
  // The largest system that Newton's method and ADMM factorise when asked for by name: n^2 numbers of scratch.
  static constexpr int most_factorised_rows = 600;
};

// Rows that impulses can hardly move (workspace.hpp).
struct MobilityTuning {
  // [1] of the largest mean diagonal: mobility below it is rounding of a Delassus matrix, and counts as none.
  static constexpr double immobile = 1e-15;
  // [m/s per N s] keeps the floor positive where nothing moves at all: just above the smallest normal number.
  static constexpr double tiny = 1e-300;
  // [1] floors added to the diagonals of Newton's method and ADMM, so that dependent rows have a pivot: 1e-9 of the
  // largest mobility.
  static constexpr double regularisation = 1e6;
};

// One block solved exactly (block.hpp).
struct BlockTuning {
  // [1] of the product of the diagonals: tangents with a smaller determinant depend on each other. About the square
  // root of rounding squared, times a margin for the elimination of the normal.
  static constexpr double dependent = 1e-12;
  // [1] excess of the squared impulse over the squared cone below which Newton's step needs no square root.
  static constexpr double near_root = 0.5;
  // [1] the same excess below which one more step is exact to rounding: convergence is quadratic, 1e-7 becomes 1e-14.
  static constexpr double solved = 1e-7;
  // Newton's method takes one to three; bisection, which takes over where it leaves the bracket, ends in about 60.
  static constexpr int most_steps = 100;
};

// Gauss-Seidel (gauss_seidel.hpp).
struct GaussSeidelTuning {
  // [m/s] stands for a block that is off its law but stays as it is: positive, and nothing to any velocity.
  static constexpr double least_change = 1e-300;
  // Iterations: velocities that are updated by increments are computed anew, since increments accumulate rounding.
  static constexpr int between_refreshes = 64;
  // Iterations before the ratio of two successive changes says something about the pace.
  static constexpr int before_pace = 2;
};

// Newton's method (newton.hpp).
struct NewtonTuning {
  // [1] eps over the relative residual, in turn. The first is fastest where it works; the others give new starts.
  static constexpr double ratios[] = {0.03, 0.3, 3, 0.03, 1, 10, 0.1};
  static constexpr int n_ratios = 7;
  // [1] bounds of eps, relative to the diagonal: above rounding, and small enough to leave Newton's convergence.
  static constexpr double least_eps = 1e-12, largest_eps = 1e-2;
  // [1] a step that multiplies the residual by more is cut back. Good paths lead over worse points, so it is large.
  static constexpr double much_worse = 100;
  // [1] what counts as progress: a residual below this share of the one at the last progress.
  static constexpr double progress = 0.5;
  // Steps without progress before the next ratio. The first ratio shows early whether it works.
  static constexpr int patience_at_first = 6, patience = 25;
  // Iterations of Gauss-Seidel that give the next ratio another start.
  static constexpr int restart_iterations = 4;
};

// Alternating directions (admm.hpp).
struct AdmmTuning {
  // [1] rho over the mean diagonal of a block, at first and within bounds.
  static constexpr double first_r = 0.3, least_r = 1e-5, largest_r = 1e5;
  // [1] the same of equalities, relative to that of other blocks: without bounds the method is proximal, and the faster
  // the smaller rho.
  static constexpr double equality_weight = 1e-3;
  // [1] where one residual exceeds the other by `unbalanced`, r changes by `change_of_r`.
  static constexpr double unbalanced = 5, change_of_r = 2;
  // Iterations between changes of r, and how many there may be: each costs a factorisation, and convergence is only
  // certain with a constant r.
  static constexpr int between_changes = 20, most_changes = 30;
  // Iterations between looks at the natural residual, which costs as much as an iteration.
  static constexpr int between_looks = 10;
  // [1] how exactly conjugate gradients solve: of the residual wanted, and of the present error.
  static constexpr double share_of_wanted = 0.1, share_of_error = 1e-3;
  // Conjugate gradients per iteration; they start at the last solution, so few are needed.
  static constexpr int most_conjugate_gradients = 60;
};

// Which solver takes over when (automatic.hpp).
struct AutomaticTuning {
  // [1] of the tolerance: Gauss-Seidel that gets there at all gets there fast, and goes on to this share.
  static constexpr double aim = 0.3;
  // Iterations of Gauss-Seidel whose pace must promise an end: a step of Newton's method costs about m / 6 of them.
  static constexpr int hopeful = 6, rows_per_hopeful = 4;
  // Turns of Newton's method and ADMM. In each but the last ADMM has so many iterations to find another start,
  static constexpr int turns = 4, admm_per_turn = 150;
  // [1] or gets this much closer.
  static constexpr double admm_gain = 1e-3;
  // [1] tolerances: what is left below it is not worth all the iterations of ADMM in the last turn.
  static constexpr double nearly_solved = 1e3;
  // Iterations of Gauss-Seidel in the end, kept if they help.
  static constexpr int last_iterations = 100;
};

// Extrapolation of Gauss-Seidel (anderson.hpp).
struct AndersonTuning {
  // Iterations remembered. From 5 to 20 the residual reached hardly differs (docs/adr/0016).
  static constexpr int memory = 7;
};

// Piles: problems of more than most_dense_rows that hang together (pile.hpp).
struct PileTuning {
  // Iterations of plain Gauss-Seidel at first: what is still closing and opening would mislead the extrapolation.
  static constexpr int plain_iterations = 10;
  // Iterations between looks at the natural residual.
  static constexpr int between_looks = 40;
  // [1] a residual above this share of that of the last look calls for a patch.
  static constexpr double stuck = 0.3;
  // [1] of the tolerance, where a block is left alone: blocks that do not move distort what is learnt from the others.
  static constexpr double aim = 0.04;
  // [1] what counts as progress: a residual below this share of the one at the last progress; and the iterations
  // without any after which it ends.
  static constexpr double progress = 0.5;
  static constexpr int patience = 400;
};

// The worst blocks of a pile and their surroundings, solved as a small problem (patch.hpp).
struct PatchTuning {
  // [rows] larger patches gain a little more and cost far more (docs/adr/0016).
  static constexpr int most_rows = 192;
  // [rows] of the worst blocks; the rest is for what surrounds them.
  static constexpr int most_worst_rows = 48;
  // How often the residual that counts as bad is halved to find them.
  static constexpr int halvings = 3;
  // Steps of Newton's method: a patch that needs more is not worth it.
  static constexpr int most_newton = 60;
};

}  // namespace featherweight
