// cones/solve.cpp -- which solver when, and the table by which the solvers are reached.
#include "cones/admm.hpp"
#include "cones/anderson.hpp"
#include "cones/gauss_seidel.hpp"
#include "cones/islands.hpp"
#include "cones/kernels.hpp"
#include "cones/newton.hpp"
#include "cones/patch.hpp"

namespace featherweight::FW_ISA {

// Beyond, a dense factorisation costs more than it brings.
constexpr int largest_automatic = Part::most_rows;

// Whether it may fall into islands, or is a heap.
bool is_large(const ConeProblem& problem, const SolverOptions& options) {
  return options.solver == Solver::automatic && (problem.G.start || problem.m > largest_automatic);
}

// What the solvers of a part of so many rows need at most: as if each were friction, and in an equality of three as
// well.
std::size_t most_part_bytes(int m) {
  Block blocks[Part::most_rows];
  for (Block& b : blocks) b = {Law::disc, 0, 1, 0, 0, 0, 0};
  const ConeProblem problem{m, m, blocks, {}, nullptr, 1};
  Arena scratch;
  ContactWorkspace w(problem, scratch);
  scratch.take<double>(3 * static_cast<std::size_t>(m) + 3);
  Arena of_newton = scratch, of_admm = scratch;
  NewtonWorkspace newton(problem, of_newton);
  AdmmWorkspace admm(problem, of_admm);
  return of_newton.used() > of_admm.used() ? of_newton.used() : of_admm.used();
}

// Newton and alternating directions take turns in the same scratch.
std::size_t contact_scratch_bytes(const ConeProblem& problem, const SolverOptions& options) {
  Arena scratch;
  ContactWorkspace w(problem, scratch);
  if (options.solver == Solver::gauss_seidel) return scratch.used();
  if (is_large(problem, options)) {
    Islands islands(problem, scratch);
    Part part(problem, scratch);
    if (problem.m > largest_automatic) Anderson v(problem, scratch);
    return scratch.used() + most_part_bytes(problem.m < largest_automatic ? problem.m : largest_automatic);
  }
  Arena of_newton = scratch, of_admm = scratch;
  if (problem.m <= largest_dense && options.solver != Solver::admm) NewtonWorkspace v(problem, of_newton);
  AdmmWorkspace v(problem, of_admm);
  return of_newton.used() > of_admm.used() ? of_newton.used() : of_admm.used();
}

// Of a padded vector.
bool all_finite(int n, const double* x) {
  Four sum = {0, 0, 0, 0};
  for (int i = 0; i < n; i += 4) sum += 0 * four(x + i);
  return sum_of(sum) == 0;
}

// Sweeps that get there at all get there fast, and go on to this share of the tolerance.
constexpr double aim = 0.3;

// Iterations of whichever took most.
void keep_most(const SolverReport& other, SolverReport& report) {
  const auto raise = [](int& most, int n) { most = most > n ? most : n; };
  raise(report.sweeps, other.sweeps);
  raise(report.newton, other.newton);
  raise(report.admm, other.admm);
}

// What sweeps still can do; residual: the one so far.
void sweep_at_last(const ConeProblem& problem, const SolverOptions& options, double residual, ContactWorkspace& w,
                   double* lambda, SolverReport& report) {
  copy(problem.m, lambda, w.best);
  const int left = options.max_sweeps - report.sweeps;
  gauss_seidel(problem, left > 100 ? 100 : left, options.max_sweeps, w, lambda, report);
  if (natural_residual(problem, w, lambda, w.sigma) <= residual) return;
  copy(problem.m, w.best, lambda);
  set_velocities(problem, lambda, w.sigma);
}

// Sweeps while their pace promises an end, then Newton; where that ends, alternating directions bring it to another
// start; at last sweeps. True if it is solved and reported.
bool solve_automatically(const ConeProblem& problem, const SolverOptions& options, ContactWorkspace& w,
                         const Arena& scratch, double* lambda, SolverReport& report) {
  const int hopeful = 6 + problem.m / 4;  // a step of Newton's method costs about as much as m / 6 sweeps
  w.aim = aim * w.tolerance;
  if (gauss_seidel(problem, options.max_sweeps, hopeful, w, lambda, report)) return true;
  w.aim = w.tolerance;
  double residual = natural_residual(problem, w, lambda, w.sigma);
  constexpr int turns = 4;
  for (int turn = 0; turn < turns && !(residual <= w.tolerance); ++turn) {
    if (report.newton < options.max_newton) {
      Arena own = scratch;
      NewtonWorkspace v(problem, own);
      residual = newton(problem, options.max_newton - report.newton, w, v, lambda, report);
    }
    if (!(residual <= w.tolerance) && report.admm < options.max_admm) {
      Arena own = scratch;
      AdmmWorkspace v(problem, own);
      // the last turn goes on as long as it may, unless what is left is next to nothing
      const bool to_the_end = turn == turns - 1 && residual > 1e3 * w.tolerance;
      const int left = options.max_admm - report.admm, share = !to_the_end && left > 150 ? 150 : left;
      residual = admm(problem, share, max_of(w.tolerance, 1e-3 * residual), w, v, lambda, report);
    }
  }
  if (!(residual <= w.tolerance)) sweep_at_last(problem, options, residual, w, lambda, report);
  return false;
}

// A part that has been filled, with whatever is needed.
void solve_part(Part& part, const SolverOptions& options, ContactWorkspace& w, const Arena& scratch,
                SolverReport& report) {
  w.start(part.problem, options);
  set_velocities(part.problem, part.lambda, w.sigma);
  solve_automatically(part.problem, options, w, scratch, part.lambda, report);
}

// The few blocks of a heap that are furthest off their laws, with what is around them. False if that failed: sweeps
// then go on as if nothing had been.
bool solve_patch(const ConeProblem& problem, SolverOptions options, ContactWorkspace& w, Part& patch, Arena scratch,
                 double* lambda, SolverReport& report) {
  patch.clear();
  choose_patch(problem, w, lambda, patch);
  patch.fill(problem, lambda);
  patch.hold_others(problem, w.sigma);
  SolverReport of_patch{};
  options.max_newton = options.max_newton < 60 ? options.max_newton : 60;
  options.max_admm = 0;
  ContactWorkspace own(patch.problem, scratch);
  solve_part(patch, options, own, scratch, of_patch);
  report.newton += of_patch.newton;
  if (!(natural_residual(patch.problem, own, patch.lambda, own.sigma) <= own.tolerance)) return false;
  patch.put_back(problem, patch.lambda, lambda);
  set_velocities(problem, lambda, w.sigma);
  return true;
}

// Heaps: sweeps that are accelerated, and patches where those hardly get on, as many as are worth their time. The next
// step starts from there, solved or not.
void solve_heap(const ConeProblem& problem, const SolverOptions& options, ContactWorkspace& w, Part& part,
                Arena scratch, double* lambda, SolverReport& report) {
  constexpr int plain = 10, between_looks = 40, patience = 400;
  constexpr double hardly = 0.3, fine = 0.04;
  const int most = options.max_heap_sweeps;
  if (gauss_seidel(problem, most < plain ? most : plain, most, w, lambda, report)) return;
  double best = natural_residual(problem, w, lambda, w.sigma), last = best, mark = best;
  copy(problem.m, lambda, w.best);
  Anderson ahead(problem, scratch);
  ahead.start(problem, w);
  w.aim = fine * w.tolerance;  // blocks that are left alone spoil what is learnt from the others
  for (int since = 0; report.sweeps < most && since < patience; ++since) {
    ahead.before_sweep(lambda);
    const double change = gauss_seidel_sweep(problem, w, lambda);
    const bool look = ++report.sweeps % between_looks == 0;
    if (look || change <= w.tolerance) {
      catch_up(problem, lambda, w);
      const double residual = natural_residual(problem, w, lambda, w.sigma);
      if (residual < best) {
        best = residual;
        copy(problem.m, lambda, w.best);
      }
      if (best <= w.tolerance || change <= least_change) break;
      if (best < 0.5 * mark) mark = best, since = 0;
      const bool stuck = look && problem.G.start && residual > hardly * last;
      if (look) last = residual;
      if (stuck && solve_patch(problem, options, w, part, scratch, lambda, report)) {
        ahead.forget();
        continue;
      }
    }
    if (ahead.after_sweep(lambda) && !problem.G.start) set_velocities(problem, lambda, w.sigma);
  }
  copy(problem.m, w.best, lambda);
  set_velocities(problem, lambda, w.sigma);
}

// Each island by itself: as a small problem, or left alone where nothing has to change. Heaps are left.
// True if there are any.
bool solve_small_islands(const ConeProblem& problem, const SolverOptions& options, ContactWorkspace& w, Part& part,
                         Arena scratch, double* lambda, SolverReport& report) {
  Islands islands(problem, scratch);
  islands.find(problem);
  bool any_heap = false;
  for (int island = 0; island < islands.count(); ++island) {
    bool fits = true, solved = true;
    part.clear();
    for (const int* j = islands.begin(island); fits && j < islands.end(island); ++j) {
      fits = part.add(problem, *j);
      solved = solved && (!w.moves(*j) || within(problem.blocks[*j], w.D[*j], aim * w.tolerance, lambda, w.sigma));
    }
    any_heap |= !fits;
    if (!fits || solved) continue;
    part.fill(problem, lambda);
    Arena rest = scratch;
    ContactWorkspace own(part.problem, rest);
    SolverReport of_part{};
    solve_part(part, options, own, rest, of_part);
    part.put_back(problem, part.lambda, lambda);
    part.put_back(problem, own.sigma, w.sigma);
    keep_most(of_part, report);
  }
  return any_heap;
}

void solve_large(const ConeProblem& problem, const SolverOptions& options, ContactWorkspace& w, Arena scratch,
                 double* lambda, SolverReport& report) {
  Part part(problem, scratch);
  part.start(problem);
  SolverReport of_islands{};
  const bool any_heap = !problem.G.start || solve_small_islands(problem, options, w, part, scratch, lambda, of_islands);
  if (any_heap) solve_heap(problem, options, w, part, scratch, lambda, report);
  keep_most(of_islands, report);
}

SolverReport solve_contacts(const ConeProblem& problem, const SolverOptions& options, double* lambda, void* memory) {
  SolverReport report{};
  report.converged = true;
  if (problem.m == 0) return report;
  bool reported = false;
  Arena scratch(memory);
  ContactWorkspace w(problem, scratch);
  w.start(problem, options);
  set_velocities(problem, lambda, w.sigma);
  bool finite = all_finite(problem.m, w.sigma);
  if (!finite) {  // a bad warm start, or a bad problem
    fill(problem.m, 0, lambda);
    set_velocities(problem, lambda, w.sigma);
    finite = all_finite(problem.m, w.sigma);
  }
  if (finite) {
    if (is_large(problem, options)) {
      solve_large(problem, options, w, scratch, lambda, report);
    } else if (options.solver == Solver::automatic) {
      reported = solve_automatically(problem, options, w, scratch, lambda, report);
    } else if (options.solver == Solver::gauss_seidel) {
      reported = gauss_seidel(problem, options.max_sweeps, options.max_sweeps, w, lambda, report);
    } else if (options.solver == Solver::newton && problem.m <= largest_dense) {
      NewtonWorkspace v(problem, scratch);
      newton(problem, options.max_newton, w, v, lambda, report);
    } else {
      AdmmWorkspace v(problem, scratch);
      admm(problem, options.max_admm, w.tolerance, w, v, lambda, report);
    }
  }
  if (!reported) report_residuals(problem, w.D, lambda, w.sigma, report);
  report.converged = report.residual <= options.tolerance * problem.scale;
  return report;
}

extern const ContactKernels contact_kernels;
constinit const ContactKernels contact_kernels = {contact_scratch_bytes, solve_contacts};

}  // namespace featherweight::FW_ISA
