// cones/tuning.hpp -- the numbers that steer the contact solvers, one struct per solver.
//
// None of them changes what a solution is: they decide which solver looks for it, how long, and what counts as
// rounding. Each has a unit ([1]: a ratio), a reason, and a test that fails when the number is badly wrong; "x 100"
// says by how much that was tried, where one direction only shows.
#pragma once
#include "lanes/config.hpp"

namespace featherweight::FW_ISA {

// Which problems are small [rows]. Shared by the solvers and by whoever stores the matrix for them.
struct ProblemSizes {
  // The largest problem that is stored densely, solved by the automatic solver as a whole, and gathered as a part of a
  // larger one. Beyond, a dense factorisation costs more than it gains.
  // Tests: test_islands_do_not_know_of_each_other (32), test_effort_is_bounded (1000).
  static constexpr int most_dense_rows = 320;
  // A problem that falls apart into islands is stored sparsely from here on; with fewer rows one dense matrix is
  // faster. Only time depends on it: crowds of the benchmark.
  static constexpr int least_island_rows = 96;
  // The largest system that Newton's method and ADMM factorise when asked for by name: n^2 numbers of scratch.
  // Test: test_newton_factorises_up_to_600_rows.
  static constexpr int most_factorised_rows = 600;
  // Numbers of a sparse matrix beyond which it is not formed where [1] it would have so many more than the paths of its
  // rows: hundreds of contacts on one tree all couple to each other, and both the matrix and every iteration would grow
  // with their square. Piles of bodies have five times as many. Test: test_many_contacts_on_one_tree_take_linear_time.
  static constexpr double most_sparse_values = 2e6;
  static constexpr double crowded = 16;
};
static_assert(ProblemSizes::most_dense_rows <= ProblemSizes::most_factorised_rows);
static_assert(ProblemSizes::most_sparse_values >
                  4.0 * ProblemSizes::most_factorised_rows * ProblemSizes::most_factorised_rows,
              "what is factorised is formed; rows between two trees count for both");

// How long Newton's method and ADMM go on in large problems, whatever iterations are allowed (matrix.hpp).
struct EffortTuning {
  // [operations] of a solve, a second or two; or as many products with the matrix, if those are more. What is left then
  // is reported. Test: test_newton_and_admm_take_bounded_time_on_large_problems (x 100).
  static constexpr double most_operations = 4e9;
  static constexpr double most_products = 2000;
};

// Points that share a load and slide (level.hpp).
struct LevelTuning {
  // Points that are looked at, as many as a pair has; more share their load as the solver left it. Only time depends on
  // it: crowds of the benchmark.
  static constexpr int most_points = 8;
  // Projections of a solve, and iterations that Gauss-Seidel has to solve again after each.
  // Test: test_a_box_slides_alike_whichever_side_is_in_front (1).
  static constexpr int most_rounds = 30, most_iterations = 20;
  // Columns of mobilities that are a combination of others to this share of the largest [1].
  // Test: test_a_box_slides_alike_whichever_side_is_in_front (1e-20).
  static constexpr double dependent = 1e-9;
  // Friction within this share of its bound is at it [1].
  // Test: test_a_box_slides_alike_whichever_side_is_in_front (0).
  static constexpr double at_bound = 1e-9;
};

// Rows that impulses can hardly move (workspace.hpp).
struct MobilityTuning {
  // [1] of the largest mean diagonal: mobility below it is rounding of a Delassus matrix, and counts as none.
  // Test: test_a_block_that_hardly_moves_in_some_direction.
  static constexpr double immobile = 1e-15;
  // [m/s per N s] keeps the floor positive where nothing moves at all; close to the smallest normal number.
  // Test: test_newton_takes_few_steps (x 1e290).
  static constexpr double tiny = 1e-300;
  // [1] floors that are added to the weights of ADMM, so that rows without mobility of their own have one: 1e-9 of the
  // largest mobility. Newton's method adds to each row in its own unit. Test: test_solutions_obey_the_laws (x 100).
  static constexpr double regularisation = 1e6;
};

// One block solved exactly (block.hpp).
struct BlockTuning {
  // [1] of the product of the diagonals: tangents with a smaller determinant depend on each other, since what is left
  // of it is rounding. Test: test_a_block_that_hardly_moves_in_some_direction (/ 100).
  static constexpr double dependent = 1e-12;
  // [1] of the same diagonals: tangents that move less than this beside the normal do not move at all.
  // Test: test_a_contact_of_a_link_on_a_hinge_pushes_no_more_than_it_must.
  static constexpr double idle = 1e-9;
  // [1] excess of the squared impulse over the squared cone below which Newton's step needs no square root.
  // Test: test_a_block_that_hardly_moves_in_some_direction (x 100).
  static constexpr double near_root = 0.5;
  // [1] the same excess below which one more step is exact to rounding: convergence is quadratic, 1e-7 becomes 1e-14.
  // Test: test_a_frictional_point_obeys_coulomb_to_rounding (x 100).
  static constexpr double solved = 1e-7;
  // [N s] a cone that is narrower, with the normal it has, holds nothing: Newton's step multiplies five such numbers,
  // and what is left of that has to be a number still. Test: test_impulses_of_no_size_stay_numbers (/ 1e20).
  static constexpr double least_radius = 1e-50;
  // Newton's method takes one to three; bisection, which takes over where a step leaves the bracket, ends in about 60.
  // Test: test_a_block_that_hardly_moves_in_some_direction (/ 10).
  static constexpr int most_steps = 100;
};

// Gauss-Seidel (gauss_seidel.hpp).
struct GaussSeidelTuning {
  // [m/s] stands for a block that is off its law but stays as it is: positive, and negligible beside any velocity.
  // Test: test_the_automatic_choice_wastes_little (x 1e297).
  static constexpr double least_change = 1e-300;
  // Iterations after which velocities that are updated by increments are computed anew, since rounding accumulates.
  // Test: test_velocities_forget_a_wild_warm_start (x 100).
  static constexpr int between_refreshes = 64;
  // [1] of all changes since velocities were computed anew: the rounding they may have left, with room for rows of
  // other units and for many of them. Where that is above the tolerance, velocities are computed anew before they count
  // as solved. Test: test_reports_are_true_whatever_the_start (/ 1e4).
  static constexpr double rounding = 1e-12;
  // Iterations before the ratio of two successive changes says something about the pace.
  // Test: test_the_automatic_choice_wastes_little (x 10).
  static constexpr int before_pace = 2;
};

// Newton's method (newton.hpp).
struct NewtonTuning {
  // [1] eps over the relative residual, in turn. The first is fastest where it works; the others give new starts.
  // Test: test_newton_takes_few_steps (x 100).
  static constexpr double ratios[] = {0.03, 0.3, 3, 0.03, 1, 10, 0.1};
  static constexpr int n_ratios = sizeof(ratios) / sizeof(ratios[0]);
  // [1] bounds of eps, relative to the diagonal: above rounding, and not so large that convergence becomes linear.
  // Tests: test_newton_converges_quadratically (least x 1e8), test_newton_takes_few_steps (largest / 1e4).
  static constexpr double least_eps = 1e-12;
  static constexpr double largest_eps = 1e-2;
  // [1] a step that multiplies the residual by more is cut. Large, since paths to the solution lead over worse points.
  // Test: test_newton_takes_few_steps (/ 100).
  static constexpr double much_worse = 100;
  // [1] what counts as progress: a residual below this share of the one at the last progress.
  // Test: test_newton_takes_few_steps (always, x 100).
  static constexpr double progress = 0.5;
  // Steps without progress before the next ratio. The first ratio shows early whether it works.
  // Tests: test_newton_takes_few_steps (first x 10), test_the_automatic_choice_wastes_little (both / 10).
  static constexpr int patience_at_first = 6;
  static constexpr int patience = 25;
  // Iterations of Gauss-Seidel that give the next ratio another start.
  // Test: test_the_automatic_choice_wastes_little (x 10).
  static constexpr int restart_iterations = 4;
};

// Newton's method for all environments of a pack (pack_newton.hpp).
struct PackTuning {
  // Steps: what needs more is left to the solvers of one environment.
  // Test: test_velocities_are_those_of_environments_that_are_solved_alone (/ 6).
  static constexpr int most_steps = 6;
  // [1] of the tolerance, the aim. Test: test_velocities_are_those_of_environments_that_are_solved_alone (x 100).
  static constexpr double aim = 0.3;
  // [1] eps over the relative residual, smaller than that of NewtonTuning: where modes stay, one step is enough, and
  // where they change the solvers of one environment are at hand.
  // Test: test_standing_robots_take_one_step (x 1e4).
  static constexpr double eps_ratio = 1e-6;
  // [1] of the lanes: when no more are left, those go on in plain numbers. Only time depends on it: the benchmark.
  static constexpr double few = 0.25;
};

// Alternating directions (admm.hpp).
struct AdmmTuning {
  // [1] rho over the mean diagonal of a block, at first and within bounds.
  // Test: test_alternating_directions_take_bounded_effort (first x and / 100, least x 1e4, largest / 1e6).
  static constexpr double first_r = 0.3;
  static constexpr double least_r = 1e-5;
  static constexpr double largest_r = 1e5;
  // [1] the same of equalities, relative to that of other blocks: without bounds the method is proximal, and the
  // smaller rho, the faster. Tests: test_equalities_take_alternating_directions_few_iterations (x 100),
  // test_contradictory_equalities_stay_finite (/ 100).
  static constexpr double equality_weight = 1e-3;
  // [1] where one residual exceeds the other by `unbalanced`, r changes by `change_of_r`.
  // Test: test_alternating_directions_take_bounded_effort (x and / 100; x 5 and / 2).
  static constexpr double unbalanced = 5;
  static constexpr double change_of_r = 2;
  // Iterations between changes of r, and how many changes there may be: each costs a factorisation, and convergence is
  // certain only with a constant r.
  // Test: test_alternating_directions_take_bounded_effort (between x 10, most / 10).
  static constexpr int between_changes = 20;
  static constexpr int most_changes = 30;
  // Iterations between looks at the natural residual, each of which costs as much as an iteration.
  // Test: test_alternating_directions_cut_short_return_the_best_so_far (x 10).
  static constexpr int between_looks = 10;
  // [1] how exactly conjugate gradients solve: of the residual wanted, and of the present error.
  // Test: test_conjugate_gradients_replace_the_factor (x 100, x 1e4).
  static constexpr double share_of_wanted = 0.1;
  static constexpr double share_of_error = 1e-3;
  // Conjugate gradients per iteration; they start at the last solution, so few are needed.
  // Test: test_conjugate_gradients_replace_the_factor (/ 60).
  static constexpr int most_conjugate_gradients = 60;
};

// Which solver takes over when (automatic.hpp).
struct AutomaticTuning {
  // [1] of the tolerance: Gauss-Seidel that gets there at all gets there fast, and goes on to this share.
  // Test: test_the_automatic_choice_wastes_little (x and / 100).
  static constexpr double aim = 0.3;
  // Iterations of Gauss-Seidel, at least and per row, within which its pace must promise an end: a step of Newton's
  // method costs about as much as m / 6 of them. Test: test_the_automatic_choice_wastes_little (x and / 10).
  static constexpr int hopeful = 6;
  static constexpr int rows_per_hopeful = 4;
  // Turns of Newton's method and ADMM. In each but the last ADMM has so many iterations to find another start,
  // or [1] stops where the residual has fallen to this share.
  // Test: test_alternating_directions_end_what_newton_may_not (turns x and / 10, iterations / 10, gain x 100).
  static constexpr int turns = 4;
  static constexpr int admm_per_turn = 150;
  static constexpr double admm_gain = 1e-3;
  // [1] tolerances: a smaller residual is not worth all iterations of ADMM in the last turn.
  // Test: test_alternating_directions_do_not_polish_for_ever (x and / 100).
  static constexpr double nearly_solved = 1e3;
  // Rows of a problem, as of the feet of a robot, that are worth all iterations of ADMM from no impulses in the end.
  // Test: test_a_robot_on_stiff_legs_lands (0).
  static constexpr int cheap_rows = 48;
  // Iterations of Gauss-Seidel in the end, kept if they help.
  // Test: test_gauss_seidel_ends_what_others_may_not (x and / 10).
  static constexpr int last_iterations = 100;
};

// Extrapolation of Gauss-Seidel (anderson.hpp).
struct AndersonTuning {
  // Iterations remembered. From 2 to 20 the residual reached hardly differs (docs/adr/0016), and tests see none from 1
  // to 70; without extrapolation piles are not solved: test_gauss_seidel_alone_does_not.
  static constexpr int memory = 7;
};

// Piles: more than most_dense_rows coupled rows (pile.hpp).
struct PileTuning {
  // Iterations of plain Gauss-Seidel at first: contacts that are still closing and opening would mislead the
  // extrapolation. Test: test_piles_take_few_iterations_and_few_patches (x 30).
  static constexpr int plain_iterations = 10;
  // Iterations between looks at the natural residual.
  // Test: test_piles_take_few_iterations_and_few_patches (x and / 10).
  static constexpr int between_looks = 40;
  // [1] a residual above this share of that of the last look calls for a patch. Test: test_piles_obey_the_laws (x 100).
  static constexpr double stuck = 0.3;
  // [1] of the tolerance, where a block is left alone: blocks that do not move distort what is learnt from the others.
  // Test: test_piles_obey_the_laws (x 100).
  static constexpr double aim = 0.04;
  // [1] what counts as progress: a residual below this share of the one at the last progress; and the iterations
  // without any after which it ends. Test: test_piles_obey_the_laws (progress / 1e8, patience / 10).
  static constexpr double progress = 0.5;
  static constexpr int patience = 400;
};

// The worst blocks of a pile and their surroundings, solved as a small problem (patch.hpp).
struct PatchTuning {
  // [rows] larger patches gain a little more and cost far more (docs/adr/0016). Test: test_piles_obey_the_laws (/ 10).
  static constexpr int most_rows = 192;
  // [rows] of the worst blocks; the rest is for what surrounds them. How many there are hardly matters (docs/adr/0016);
  // test_piles_obey_the_laws fails only without any.
  static constexpr int most_worst_rows = 48;
  // How often the residual that counts as bad is halved to find them. Test: test_piles_obey_the_laws (/ 10).
  static constexpr int halvings = 3;
  // Steps of Newton's method: a patch that needs more is not worth it. Test: test_piles_obey_the_laws (/ 10).
  static constexpr int most_newton = 60;
};

}  // namespace featherweight::FW_ISA
