"""A block alone is solved exactly, at once, whatever its coupling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.compare import EPS
from helpers.cones import UNILATERAL, Block, Cones, disc, equality, interval, point

from featherweight.arrays import Array

#: One visit of the block; the tolerance is too tight to be met by chance.
ONCE: dict[str, Any] = {"solver": "gauss_seidel", "max_gauss_seidel": 1, "tolerance": 1e-16}


def coupled(rng: np.random.Generator, n: int) -> Array:
    A = rng.normal(size=(n, n))
    G: Array = A @ A.T + 10.0 ** rng.uniform(-4, 0) * np.eye(n)
    return G


def test_a_frictional_point_obeys_coulomb_to_rounding() -> None:
    """Also where an impulse along friction presses the contact on, and the angle of sliding has a pole (Painleve)."""
    rng = np.random.default_rng(0)
    worst, painleve, slides, sticks = 0.0, 0, 0, 0
    for _ in range(4000):
        G, mu = coupled(rng, 3), 10.0 ** rng.uniform(-1, 1)
        g = rng.normal(size=3) * 10.0 ** rng.uniform(-2, 1, 3)
        problem = Cones(G, g, [point(mu)], float(np.abs(g).max()))
        impulse, report = problem.solve(**ONCE)
        size = max(1.0, np.abs(G).max() * np.abs(impulse).max() / problem.scale)  # of the numbers that cancel
        worst = max(worst, problem.residual(impulse) / size, report["residual"] / problem.scale / size)
        tangent = np.hypot(*impulse[:2])
        slides += bool(impulse[2] > 0 and tangent > 0.999999 * mu * impulse[2])
        sticks += bool(tangent < 0.999999 * mu * impulse[2])
        painleve += bool(mu * np.hypot(*G[:2, 2]) > G[2, 2])
        assert impulse[2] >= 0
    assert worst <= 1e-12
    assert min(slides, sticks, painleve) > 300


@pytest.mark.parametrize("tilt", [0.0, 1e-8, 1e-4])
def test_a_block_that_hardly_moves_in_some_direction(tilt: float) -> None:
    """As a rule it is solved, and at worst a visit loses what the condition of its tangents makes of rounding: that is
    tilt^-2, or 1e12 where the solver bounds it by a proximal step."""
    rng, residuals = np.random.default_rng(1), []
    for _ in range(300):
        A = rng.normal(size=(3, 3))
        A[:, 2] *= tilt
        g = A @ rng.normal(size=3)
        problem = Cones(A @ A.T, g, [point(rng.uniform(0.1, 2.0))], float(np.abs(g).max()))
        impulse, _ = problem.solve(**ONCE | {"max_gauss_seidel": 3})
        assert np.isfinite(impulse).all()
        residuals.append(problem.residual(impulse))
    condition = 1e12 if tilt < 1e-6 else tilt**-2
    assert max(residuals) <= EPS * condition
    assert np.quantile(residuals, 0.75) <= 1e-10


@pytest.mark.parametrize("hinges", [1, 2])
def test_a_contact_of_a_link_on_a_hinge_pushes_no_more_than_it_must(hinges: int) -> None:
    """It can be driven in like a door stopper, with any impulse without effect: such a one does not stay, wherever its
    normal passes the hinge. On two hinges those with the same effect are a line, of which the least is taken; on one a
    plane, and what is taken is about as small."""
    rng, seen, mu = np.random.default_rng(5), 0, 0.8
    for _ in range(400):
        A = rng.normal(size=(3, hinges)) * 10.0 ** rng.uniform(-1, 0, hinges)
        A[2] *= 10.0 ** rng.uniform(-3, -1)  # the normal passes near the hinge
        g = A @ rng.normal(size=hinges)
        problem = Cones(A @ A.T, g, [point(mu)], float(np.abs(g).max()))
        cold, _ = problem.solve(**ONCE | {"max_gauss_seidel": 3})
        without = np.array([0.0, 0.0, 1.0]) - A @ np.linalg.pinv(A)[:, 2]  # effect
        if np.hypot(*cold[:2]) > 0.999 * mu * cold[2] or np.hypot(*without[:2]) > 0.9 * mu * without[2]:
            continue
        driven, _ = problem.solve(lambda0=cold + 1e4 * without, **ONCE)
        assert problem.residual(driven) < 1e-6
        assert np.linalg.norm(driven) < (1 + 1e-4 if hinges == 2 else 10) * np.linalg.norm(cold) + 1e-6
        seen += 1
    assert seen > 40


@pytest.mark.parametrize(
    "block", [UNILATERAL, interval(-0.3, 0.5), interval(0.2, 0.2), equality(1), equality(3), equality(6)]
)
def test_simple_blocks(block: Block) -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        n = block[1]
        problem = Cones(coupled(rng, n), rng.normal(size=n), [block], 1.0)
        impulse, _ = problem.solve(**ONCE)
        assert problem.residual(impulse) <= 1e-11


@pytest.mark.parametrize("rows", [1, 2])
def test_a_disc_is_bounded_by_its_normal(rows: int) -> None:
    rng = np.random.default_rng(3)
    for _ in range(500):
        G = np.zeros((1 + rows, 1 + rows))
        G[0, 0], G[1:, 1:] = rng.uniform(0.1, 2.0), coupled(rng, rows)
        problem = Cones(G, rng.normal(size=1 + rows), [UNILATERAL, disc(rng.uniform(0.01, 1.0), 0, rows)], 1.0)
        impulse, _ = problem.solve(**ONCE)
        assert problem.residual(impulse) <= 1e-12


def test_a_slope_steeper_than_friction_is_slid_down() -> None:
    """A 2 kg block on an incline: acceleration g (sin - mu cos), and none if mu is large enough."""
    step, mass, angle = 1e-3, 2.0, 0.5
    g = step * 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    for mu in (0.1, 0.4, 0.6):
        problem = Cones(np.eye(3) / mass, g, [point(mu)], 1e-2)
        impulse, _ = problem.solve()
        slid = (g + impulse / mass)[0]
        expected = step * 9.81 * max(np.sin(angle) - mu * np.cos(angle), 0.0)
        assert abs(slid - expected) <= 1e-15
