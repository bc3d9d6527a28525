"""Problems without rows, mobility, friction or solution, and numbers that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.cones import UNILATERAL, Cones, equality, point, random_points, robot, with_g

from featherweight import _testing

SOLVERS = ["auto", "gauss_seidel", "newton", "admm"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_to_solve(solver: str) -> None:
    impulses, report = Cones(np.zeros((0, 0)), np.zeros(0), [], 1.0).solve(solver=solver)
    assert impulses.shape == (0,) and report["converged"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_without_friction_points_are_unilateral(solver: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        problem = random_points(rng, 4)
        smooth = Cones(problem.G, problem.g, [point(0.0)] * 4, problem.scale)
        normals = Cones(problem.G[2::3, 2::3], problem.g[2::3], [UNILATERAL] * 4, problem.scale)
        impulses, report = smooth.solve(solver=solver)
        expected, _ = normals.solve(solver=solver)
        assert report["converged"]
        assert not impulses[0::3].any() and not impulses[1::3].any()
        speed = problem.G[2::3, 2::3] @ (impulses[2::3] - expected)
        assert np.abs(speed).max() <= 1e-8 * problem.scale


@pytest.mark.parametrize("solver", SOLVERS)
def test_open_contacts_carry_nothing(solver: str) -> None:
    problem = robot(np.random.default_rng(1), "humanoid")
    rising = np.zeros_like(problem.g)
    rising[2::3] = 1.0
    impulses, report = with_g(problem, rising).solve(solver=solver)
    assert not impulses.any() and report["converged"] and report["gauss_seidel"] == report["newton"] == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_that_nothing_moves(solver: str) -> None:
    """The lateral tangent of a robot in the plane, and a contact between two things that are fixed."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        problem = random_points(rng, 3)
        G, g = problem.G.copy(), problem.g.copy()
        G[1::3] = G[:, 1::3] = 0
        g[1::3] = 0
        G[6:] = G[:, 6:] = 0
        g[6:] = [0.1, 0.0, 0.2]
        impulses, report = Cones(G, g, problem.blocks, problem.scale).solve(solver=solver)
        assert np.isfinite(impulses).all() and report["converged"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_cannot_be_stopped_does_not_spoil_the_rest(solver: str) -> None:
    """Two fixed things that overlap: no impulse helps, and all other contacts are solved as if they were not there."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        problem = random_points(rng, 3)
        G, g = np.zeros((12, 12)), np.array([0.1, 0.0, -1.0, *problem.g])
        G[3:, 3:] = problem.G
        impulses, report = Cones(G, g, [point(0.5), *problem.blocks], problem.scale).solve(solver=solver)
        assert np.isfinite(impulses).all() and not report["converged"] and report["dual"] >= 1.0
        assert problem.residual(impulses[3:]) <= 5e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_contradictory_equalities_stay_finite(solver: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        A = rng.normal(size=(6, 3))
        problem = Cones(A @ A.T, rng.normal(size=6), [equality(4), equality(2)], 1.0)
        impulses, report = problem.solve(solver=solver)
        # iterations go on pushing where there is nothing to be gained, by a little each time
        assert np.isfinite(impulses).all() and (solver == "gauss_seidel" or np.abs(impulses).max() < 1e6)
        assert not report["converged"] and np.isfinite(report["residual"])


@pytest.mark.parametrize("solver", SOLVERS)
def test_equalities_said_twice_are_met(solver: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        A = rng.normal(size=(4, 8))
        A = np.vstack([A, A[:3], A[0] + A[1]])
        problem = Cones(A @ A.T, A @ rng.normal(size=8), [equality(6), equality(2)], 1.0)
        impulses, report = problem.solve(solver=solver)
        assert report["converged"]
        assert np.abs(problem.G @ impulses + problem.g).max() <= 2e-9


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_has_not_converged(solver: str, bad: float) -> None:
    problem = robot(np.random.default_rng(5), "quadruped")
    g = problem.g.copy()
    g[4] = bad
    impulses, report = with_g(problem, g).solve(solver=solver)
    assert not report["converged"] and report["gauss_seidel"] == report["newton"] == 0
    assert np.isfinite(impulses).all()
    G = problem.G.copy()
    G[4, 4] = np.nan
    impulses, report = Cones(G, problem.g, problem.blocks, problem.scale).solve(solver=solver, max_gauss_seidel=100)
    assert not report["converged"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_bad_warm_start_is_forgotten(solver: str) -> None:
    problem = robot(np.random.default_rng(6), "quadruped")
    start = np.full_like(problem.g, np.nan)
    impulses, report = problem.solve(solver=solver, lambda0=start)
    cold, _ = problem.solve(solver=solver)
    assert report["converged"] and np.array_equal(impulses, cold)


def test_bad_arguments_are_named() -> None:
    def raises(match: str, *, size: int = 3, blocks: list[Any] | None = None, **options: Any) -> None:
        with pytest.raises(ValueError, match=match):
            _testing.solve_cone_problem(
                np.eye(size), np.zeros(3), [point(0.5)] if blocks is None else blocks, **options
            )

    raises("G: expected shape", size=2)
    raises("blocks: have 1 rows, but G has 3", blocks=[UNILATERAL])
    raises("blocks: unknown 'cone'", blocks=[("cone", 3, -1, 0.5, 0.0, 0.0)])
    raises("block 0 cannot have 2 rows", blocks=[("point", 2, -1, 0.5, 0.0, 0.0)])
    raises("block 0 has a negative mu", blocks=[point(-1.0)])
    raises("does not come before it", blocks=[("disc", 1, 2, 0.5, 0.0, 0.0)])
    raises("block 0 is not", blocks=[("point", 3)])
    raises("scale: expected a positive velocity", scale=0.0)
    raises("solver: unknown 'magic'", solver="magic")


def nearly_contradictory(seed: int, unit: float) -> Cones:
    """Twelve limits of six degrees of freedom. Six are in a smaller unit, three of these nearly repeat others."""
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((12, 6))
    J[6:9] = J[:3] + 1e-4 * rng.standard_normal((3, 6))
    J[9:] = J[3:6] - 0.5 * J[:3]
    J[:3] *= unit
    J[6:9] *= unit
    return Cones(J @ J.T, J @ rng.standard_normal(6), [UNILATERAL] * 12, 0.02)


@pytest.mark.parametrize("unit", [1.0, 1e-2, 1e-4])
def test_rows_of_small_units_are_solved_as_well(unit: float) -> None:
    """What is proximal in Newton's method is so in the unit of each row."""
    steps = []
    for seed in range(40):
        impulses, report = nearly_contradictory(seed, unit).solve(solver="newton")
        assert report["converged"], (seed, report)
        assert np.isfinite(impulses).all()
        steps.append(report["newton"])
    assert np.mean(steps) <= 20  # of one problem rounding may double them


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("size", [1e-45, 1e-65, 1e-70, 1e-75, 1e-80, 1e-150, 1e-300])
def test_impulses_of_no_size_stay_numbers(solver: str, size: float) -> None:
    """A contact that rests on next to nothing and slides, beside one that carries: as kept from step to step."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        problem = random_points(rng, 2)
        G, g = problem.G.copy(), problem.g.copy()
        G[:2, 2:] = G[2:, :2] = G[:3, 3:] = G[3:, :3] = 0
        g[:3] = *(1e-3 * rng.standard_normal(2)), -size
        cones = Cones(G, g, [point(10 ** rng.uniform(-2, 3)), point(0.5)], problem.scale)
        impulses, report = cones.solve(solver=solver, tolerance=1e-300, lambda0=size * rng.standard_normal(6))
        assert np.isfinite(impulses).all() and np.isfinite(report["residual"])
