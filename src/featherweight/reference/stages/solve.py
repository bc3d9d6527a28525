"""Stage 3, solve: impulses that obey the laws; impacts in rounds, none of which brings energy."""

from __future__ import annotations

from featherweight.arrays import Array
from featherweight.reference.contact.admm import admm
from featherweight.reference.contact.gauss_seidel import gauss_seidel
from featherweight.reference.contact.newton import newton
from featherweight.reference.contact.residuals import natural_residual
from featherweight.reference.stages.assemble import StepProblem
from featherweight.reference.stages.impacts import Rounds


def solve(problem: StepProblem, *, start: Array | None = None, tolerance: float = 1e-9) -> Array:
    """(m,) impulses. tolerance: of the natural residual, relative to the scale of the problem."""
    return solve_exactly(problem, start, tolerance)[0]


def solve_exactly(problem: StepProblem, start: Array | None = None, tolerance: float = 1e-9) -> tuple[Array, float]:
    """Impulses, and the natural residual [m/s]: of the last round, where there are several."""
    impulses = _solve(problem, problem.g, start, tolerance)
    if not any(block.bounces for block in problem.blocks):
        return impulses, natural_residual(problem.G, problem.g, problem.laws, impulses)
    rounds = Rounds(problem, impulses, lambda g, at: _solve(problem, g, at, tolerance), tolerance)
    return rounds.impulses, rounds.residual


def _solve(problem: StepProblem, g: Array, start: Array | None, tolerance: float) -> Array:
    """Gauss-Seidel, then Newton from where it led, then alternating directions; the best of them."""
    G, laws, enough = problem.G, problem.laws, tolerance * problem.scale
    best, _ = gauss_seidel(G, g, laws, start=start, tolerance=enough, max_iterations=200)
    for method in (newton, admm):
        if natural_residual(G, g, laws, best) <= enough:
            break
        impulses, _ = method(G, g, laws, start=best, tolerance=enough)
        best = min(best, impulses, key=lambda x: natural_residual(G, g, laws, x))
    return best
