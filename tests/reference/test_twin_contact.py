"""The contact twins against the laws by dense formulas, each other, and the core."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cones import Cones, boxes, point, random_mixture, random_points, robot

from featherweight.arrays import Array
from featherweight.reference import ConeBlock, admm, gauss_seidel, natural_residual, newton, solve_block


def blocks_of(problem: Cones) -> list[ConeBlock]:
    return [
        ConeBlock(law, rows, mu, normal, lower, upper)  # type: ignore[arg-type]
        for law, rows, normal, mu, lower, upper in problem.blocks
    ]


def few_problems() -> list[Cones]:
    rng = np.random.default_rng(0)
    random = [random_points(rng, int(rng.integers(1, 5))) for _ in range(8)]
    robots = [robot(rng, kind) for kind in ("quadruped", "quadruped_joints") for _ in range(2)]
    return [*random, *[random_mixture(rng) for _ in range(8)], *robots]


def test_a_point_obeys_coulomb() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        A, mu = rng.normal(size=(3, 3)), 10.0 ** rng.uniform(-1, 1)
        problem = Cones(A @ A.T + 1e-3 * np.eye(3), rng.normal(size=3), [point(mu)], 1.0)
        assert problem.residual(solve_block(problem.G, problem.g, ConeBlock("point", 3, mu))) <= 1e-11


def test_gauss_seidel_and_newton_obey_the_laws() -> None:
    solved = 0
    for problem in few_problems():
        blocks, tolerance = blocks_of(problem), 1e-9 * problem.scale
        near, _ = gauss_seidel(problem.G, problem.g, blocks, tolerance=1e-3 * problem.scale, max_iterations=200)
        impulses, _ = newton(problem.G, problem.g, blocks, near, tolerance=tolerance)
        if natural_residual(problem.G, problem.g, blocks, impulses) <= tolerance:
            solved += 1
            assert problem.residual(impulses) <= 5e-9
    assert solved >= 0.95 * len(few_problems())


def test_admm_obeys_the_laws() -> None:
    for problem in few_problems()[:8]:
        impulses, _ = admm(problem.G, problem.g, blocks_of(problem), tolerance=1e-7 * problem.scale)
        assert problem.residual(impulses) <= 5e-7


def velocity_by(solver: str, problem: Cones) -> Array:
    blocks, tolerance = blocks_of(problem), 1e-9 * problem.scale
    if solver == "gauss_seidel":
        impulses = gauss_seidel(problem.G, problem.g, blocks, tolerance=tolerance)[0]
    elif solver == "newton":
        near = gauss_seidel(problem.G, problem.g, blocks, tolerance=1e-3 * problem.scale)[0]
        impulses = newton(problem.G, problem.g, blocks, near, tolerance=tolerance)[0]
    else:
        impulses = admm(problem.G, problem.g, blocks, tolerance=tolerance)[0]
    velocity: Array = problem.G @ impulses + problem.g
    return velocity


@pytest.mark.parametrize("solver", ["gauss_seidel", "newton", "admm"])
def test_the_core_finds_the_same_velocities(solver: str) -> None:
    """Where they are unique: contacts without much coupling of normals and tangents, and boxes at rest."""
    rng = np.random.default_rng(2)
    problems = [random_points(rng, 2) for _ in range(4)]
    gentle = [Cones(p.G + 3 * np.trace(p.G) / 6 * np.eye(6), p.g, [point(0.2)] * 2, p.scale) for p in problems]
    for problem in [*gentle, boxes(rng, 2)]:
        expected = velocity_by(solver, problem)
        impulses, report = problem.solve(solver=solver, max_gauss_seidel=20000)
        assert report["converged"]
        assert np.abs(problem.G @ impulses + problem.g - expected).max() <= 1e-7 * problem.scale
