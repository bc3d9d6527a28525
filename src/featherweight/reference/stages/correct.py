"""Stage 5, correct: overlaps and open closures are removed from the coordinates, and velocities stay as they are.

Impulses nu that are forgotten, 0 <= nu _|_ sigma + G nu + slack >= 0 of contacts and limits and with equality of
closures, move the coordinates in this step. Half of an overlap leaves, at no more than half a metre per second, and so
does what was apart of closures. Newton's iteration with the matrix of the step then closes these to rounding.
"""

from __future__ import annotations

import numpy as np

from featherweight.arrays import Array
from featherweight.reference.stages.assemble import StepProblem
from featherweight.reference.stages.bodies import advance, place
from featherweight.reference.stages.closure_rows import allowed_errors, closure_errors
from featherweight.reference.stages.guide_rows import aims, guided, yielding
from featherweight.reference.stages.predict import FreeMotion
from featherweight.reference.stages.rows import TouchingEnd
from featherweight.reference.stages.scene import StepScene

FASTEST = 0.5  # [m/s] at which overlaps leave
FASTEST_TURN = 2.0  # [rad/s or m/s] at which limits of what is held return
VAIN_DETOUR = 64.0  # from which on nothing moves
DETOUR = 16.0  # speed of a link over what its overlap asks for, from which on the overlap yields instead


def correct(scene: StepScene, free: FreeMotion, problem: StepProblem, impulses: Array, v: Array) -> tuple[Array, Array]:
    """Coordinates at the end of the step, and v in the axes there."""
    separating = free.response(problem.J) @ separation(scene, free, problem, impulses)
    if scene.closures and any(block.kind == "limit" and block.gap < -1e-10 for block in problem.blocks):
        separating *= FASTEST_TURN / max(float(np.abs(separating).max(initial=0.0)), FASTEST_TURN)
    moved = v + free.bend + separating
    q, v = advance(scene.model, free.q, v, scene.dt * moved)
    return close(scene, free, problem, impulses, q, v)


def separation(scene: StepScene, free: FreeMotion, problem: StepProblem, impulses: Array) -> Array:
    """(m,) impulses nu, by at most 50 iterations of Gauss-Seidel; zero where nothing overlaps or is open."""
    nu, G, gap = np.zeros(len(problem.g)), problem.G - np.diag(problem.compliance), problem.gap
    closure = problem.where([block.kind == "closure" for block in problem.blocks])
    closes = closure & np.isfinite(gap)
    one_sided = ~closure & np.isfinite(gap)
    drifts = (np.abs(gap[closes]) > 1e-9).any() and not closure.all()  # alone they are left to `close`
    if not ((-gap[one_sided] > 1e-10).any() or drifts):
        return nu
    slack = np.where(gap > 0, gap, np.maximum(gap / 2, -FASTEST * scene.dt)) / scene.dt
    errors = closure_errors(scene.model, free.bodies, scene.closures)
    slack[closure] = (problem.g - problem.velocity)[closure] + (errors - allowed_errors(scene, errors)) / scene.dt
    slack[closure] += (problem.compliance * impulses)[closure]
    give, sigma = _give(free, problem), problem.velocity + G @ impulses
    first = 0.0
    for iteration in range(50):
        before = nu.copy()
        for i in np.flatnonzero(closes | one_sided):
            if G[i, i] + give[i] > 0:
                x = nu[i] - (sigma[i] + G[i] @ nu + give[i] * nu[i] + slack[i]) / (G[i, i] + give[i])
                nu[i] = max(x, 0.0) if one_sided[i] else x
        change = float(np.max(np.abs(nu - before) * (np.diag(G) + give)))
        first = change if iteration == 0 else first
        if change <= 1e-3 * first:
            break
    return nu


def _give(free: FreeMotion, problem: StepProblem) -> Array:
    """(m,) compliance of the rows that separate: of closures next to none, of contacts where links would go far."""
    give, row = list[float](), 0
    for block in problem.blocks:
        mobility = np.diag(problem.G)[row : row + block.law.rows] - problem.compliance[row : row + block.law.rows]
        own = [0.0] * block.law.rows
        if block.kind == "closure":
            own = (problem.compliance[row : row + block.law.rows] + 1e-12 * float(mobility.max())).tolist()
        gap = problem.gap[row + block.law.rows - 1]
        if block.ends and gap < 0:
            own[-1] = _yielding(block.ends, free.response(block.J[-1:]), float(mobility[-1]))
        give, row = give + own, row + block.law.rows
    return np.array(give)


def _yielding(ends: tuple[TouchingEnd, ...], response: Array, G: float) -> float:
    """What is added to the mobility G of a normal, from the motion by a unit impulse along it."""
    detour = 0.0
    for end in ends:
        if G > 0 and end.mass * G * DETOUR**2 < 1:
            speeds = np.linalg.norm(end.point @ response), end.radius * np.linalg.norm(end.turn @ response)
            detour = max(detour, float(max(speeds)) / G)
    share = min(max((VAIN_DETOUR - detour) / (VAIN_DETOUR - DETOUR), 1e-50), 1.0)
    return G * (share**-2 - 1.0)


def close(
    scene: StepScene, free: FreeMotion, problem: StepProblem, impulses: Array, q: Array, v: Array
) -> tuple[Array, Array]:
    """Newton's iteration on the errors of closures beyond those allowed, as long as it halves them."""
    m = sum(block.law.rows for block in problem.blocks if block.kind == "closure")
    J, G, last = problem.J[:m], problem.G[:m, :m], np.inf
    allowed = allowed_errors(scene, closure_errors(scene.model, free.bodies, scene.closures))
    if guided(scene).any():
        allowed += scene.dt * (aims(scene, free) - problem.compliance[:m] * impulses[:m]) * guided(scene)
    left = np.isnan(problem.gap[:m]) | yielding(scene)  # rows that depend on others do nothing
    for _ in range(10 if m else 0):
        error = closure_errors(scene.model, place(scene.model, q), scene.closures) - allowed
        error[left] = 0.0
        largest = float(np.abs(error).max())
        if not (largest > 1e-12 and largest < 0.5 * last):
            break
        last = largest
        path = free.response(J) @ np.linalg.solve(G, -error)
        q, v = advance(scene.model, q, v, path)
    return q, v
