"""Stage 3, solve: impulses that obey the laws, with restitution reduced where it would add energy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featherweight.arrays import Array
from featherweight.reference.contact.admm import admm
from featherweight.reference.contact.gauss_seidel import gauss_seidel
from featherweight.reference.contact.newton import newton
from featherweight.reference.contact.residuals import natural_residual
from featherweight.reference.stages.assemble import StepProblem


def solve(problem: StepProblem, *, start: Array | None = None, tolerance: float = 1e-9) -> Array:
    """(m,) impulses. tolerance: of the natural residual, relative to the scale of the problem."""
    impulses = _solve(problem, problem.g, start, tolerance)
    bounces = problem.where([block.bounces for block in problem.blocks])
    if not bounces.any() or not _brings_energy(problem, impulses):
        return impulses
    low, high = 0.0, 1.0  # the largest share of restitution that adds no energy
    while high - low > 0.01:
        share = (low + high) / 2
        impulses = _solve(problem, _with_share(problem, bounces, share), impulses, tolerance)
        low, high = (low, share) if _brings_energy(problem, impulses) else (share, high)
    return _solve(problem, _with_share(problem, bounces, low), impulses, tolerance)


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


def _with_share(problem: StepProblem, bounces: NDArray[np.bool_], share: float) -> Array:
    """g with that share of restitution."""
    return np.where(bounces, problem.velocity + share * (problem.g - problem.velocity), problem.g)


def _brings_energy(problem: StepProblem, impulses: Array) -> bool:
    """Whether passive impulses, those not of servos or of springs in contacts, do work [J] beyond rounding."""
    G = problem.G - np.diag(problem.compliance)
    passive = np.where(problem.compliance == 0, impulses, 0.0)
    work = passive * (problem.velocity + G @ (impulses - 0.5 * passive))
    return bool(work.sum() > 1e-9 * np.abs(work).sum())
