"""All solvers on random problems, robots and stacks, against the laws by dense formulas."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from helpers.cones import Cones, boxes, equality, random_mixture, random_points, robot

Maker = Callable[[np.random.Generator], Cones]

MAKERS: dict[str, tuple[Maker, int]] = {
    "random": (lambda rng: random_points(rng, int(rng.integers(1, 9))), 150),
    "dependent": (lambda rng: random_points(rng, int(rng.integers(1, 9)), dependent=True), 100),
    "mixture": (random_mixture, 200),
    "quadruped": (lambda rng: robot(rng, "quadruped"), 150),
    "quadruped_joints": (lambda rng: robot(rng, "quadruped_joints"), 100),
    "humanoid": (lambda rng: robot(rng, "humanoid"), 150),
    "boxes": (lambda rng: boxes(rng, 10), 4),
    "sliding_boxes": (lambda rng: boxes(rng, 6, sliding=True), 4),
    "heavy_on_light": (lambda rng: boxes(rng, 4, ratio=1000.0), 60),
    "light_on_heavy": (lambda rng: boxes(rng, 10, ratio=1e-3), 4),
}

#: The natural residual of the oracle has De Saxce's term; ours has not. They vanish together.
BETWEEN_RESIDUALS = 5.0


@cache
def problems(name: str) -> list[Cones]:
    make, n = MAKERS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    return [make(rng) for _ in range(n)]


def missed(name: str, **options: object) -> int:
    """How many did not converge; those that did obey the laws."""
    count = 0
    for problem in problems(name):
        impulses, report = problem.solve(**options)
        assert np.isfinite(impulses).all()
        if report["converged"]:
            assert problem.residual(impulses) <= BETWEEN_RESIDUALS * 1e-9
            assert report["residual"] <= 1e-9 * problem.scale
        count += not report["converged"]
    return count


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_solutions_obey_the_laws(name: str, solver: str) -> None:
    share = {"auto": 0.01, "newton": 0.05}[solver]  # hyperstatic soles from nothing are not always Newton's
    assert missed(name, solver=solver) <= share * len(problems(name))


@pytest.mark.parametrize("name", ["random", "quadruped", "quadruped_joints"])
def test_gauss_seidel_solves_what_is_not_hyperstatic(name: str) -> None:
    assert missed(name, solver="gauss_seidel", max_gauss_seidel=20000) <= len(problems(name)) // 50


@pytest.mark.parametrize("name", [name for name in MAKERS if "boxes" not in name])
def test_alternating_directions_are_slow_and_sure(name: str) -> None:
    assert missed(name, solver="admm", max_admm=20000) <= len(problems(name)) // 50


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("solver", ["auto", "gauss_seidel", "newton", "admm"])
def test_sparse_is_dense(name: str, solver: str) -> None:
    """The same operations in another order: velocities agree, impulses may differ where they are not unique."""
    for problem in problems(name)[:20]:
        dense, of_dense = problem.solve(solver=solver, max_gauss_seidel=50)
        sparse, of_sparse = problem.solve(solver=solver, max_gauss_seidel=50, sparse=True)
        if of_dense["converged"] and of_sparse["converged"]:
            assert problem.residual(sparse) <= BETWEEN_RESIDUALS * 1e-9
            if solver == "gauss_seidel":
                assert np.abs(problem.G @ (dense - sparse)).max() <= 1e-7 * problem.scale


@pytest.mark.parametrize("name", ["quadruped", "humanoid", "boxes"])
def test_solvers_agree_on_the_velocities_where_all_stick(name: str) -> None:
    """Without sliding the problem is convex in kinetic energy, and the velocity is its minimiser, unique."""
    compared = 0
    for problem in problems(name):
        answers = [problem.solve(solver=solver, tolerance=1e-10) for solver in ("auto", "newton")]
        moving = [problem.G @ impulses + problem.g for impulses, report in answers if report["converged"]]
        closed = answers[0][0][2::3] > 0
        sticks = all(
            np.hypot(s[0::3], s[1::3])[closed[: len(s) // 3]].max(initial=0) < 1e-6 * problem.scale for s in moving
        )
        if len(moving) == 2 and sticks:
            compared += 1
            assert np.abs(moving[0] - moving[1]).max() <= 1e-6 * problem.scale
    assert compared > 0


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_warm_start_at_the_solution_returns_it(name: str, sparse: bool) -> None:
    for problem in problems(name)[:30]:
        impulses, report = problem.solve(tolerance=1e-11)  # iterations aim at a tenth of the tolerance
        if report["converged"]:
            again, report = problem.solve(lambda0=impulses, sparse=sparse)
            assert report["gauss_seidel"] == report["newton"] == report["admm"] == 0
            assert np.array_equal(again, impulses)


@pytest.mark.parametrize("solver", ["auto", "gauss_seidel", "newton", "admm"])
def test_called_twice_gives_the_same_bits(solver: str) -> None:
    for name in ("mixture", "humanoid", "dependent"):
        for problem in problems(name)[:20]:
            once, _ = problem.solve(solver=solver, max_gauss_seidel=20)
            twice, _ = problem.solve(solver=solver, max_gauss_seidel=20)
            assert np.array_equal(once, twice)


@pytest.mark.parametrize("solver", ["auto", "gauss_seidel", "admm"])
def test_problems_too_large_to_factorise(solver: str) -> None:
    """Many short stacks side by side, tied in a chain by equalities: sparse, and larger than a dense factor takes."""
    rng = np.random.default_rng(7)
    stacks = [boxes(rng, 2) for _ in range(26)]
    m = sum(len(stack.g) for stack in stacks)
    ties = np.zeros((25, m))
    for k in range(25):
        ties[k, 24 * k + 21], ties[k, 24 * k + 24] = 0.3, -0.3
    G, g = np.zeros((m + 25, m + 25)), np.zeros(m + 25)
    for k, stack in enumerate(stacks):
        own = slice(24 * k, 24 * k + 24)
        G[own, own], g[own] = stack.G, stack.g
    G[m:, :m] = ties @ G[:m, :m]
    G[:m, m:] = G[m:, :m].T
    G[m:, m:] = ties @ G[:m, :m] @ ties.T + np.eye(25)
    blocks = [block for stack in stacks for block in stack.blocks] + [equality(1)] * 25
    problem = Cones(G, g, blocks, stacks[0].scale)
    most = {"max_gauss_seidel": 5000, "max_pile": 5000, "max_admm": 5000}
    impulses, report = problem.solve(solver=solver, sparse=True, **most)
    assert report["converged"] and (report["newton"] == 0 or solver == "auto")
    assert problem.residual(impulses) <= BETWEEN_RESIDUALS * 1e-9


def test_what_is_reported_is_so() -> None:
    for problem in problems("quadruped")[:50]:
        impulses, report = problem.solve(solver="gauss_seidel", max_gauss_seidel=2)
        sigma = problem.G @ impulses + problem.g
        normal, tangent = impulses[2::3], np.hypot(impulses[0::3], impulses[1::3])
        mu = problem.blocks[0][3]
        corrected = sigma.copy()
        corrected[2::3] += mu * np.hypot(sigma[0::3], sigma[1::3])
        power = np.abs((impulses * corrected).reshape(-1, 3).sum(1))
        rounding = 1e-14
        assert abs(report["primal"] - max(0.0, (tangent - mu * normal).max(), (-normal).max())) <= rounding
        assert abs(report["dual"] - max(0.0, (-sigma[2::3]).max())) <= rounding
        assert abs(report["complementarity"] - power.max()) <= rounding
