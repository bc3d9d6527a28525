"""How much work the solvers do. Numbers in core/cones/tuning.hpp that are badly wrong still lead to solutions, mostly,
but late: bounds are half as much again as what it takes, or more."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers.cones import Cones, boxes, equality, pile, point, random_mixture, random_points, robot

from featherweight.reference.contact.laws import ConeBlock
from featherweight.reference.contact.residuals import natural_residual

Maker = Callable[[np.random.Generator], Cones]

MAKERS: dict[str, tuple[Maker, int]] = {
    "random": (lambda rng: random_points(rng, int(rng.integers(1, 9))), 40),
    "dependent": (lambda rng: random_points(rng, int(rng.integers(1, 9)), dependent=True), 40),
    "mixture": (random_mixture, 40),
    "quadruped": (lambda rng: robot(rng, "quadruped"), 60),
    "quadruped_joints": (lambda rng: robot(rng, "quadruped_joints"), 40),
    "humanoid": (lambda rng: robot(rng, "humanoid"), 60),
    "boxes": (lambda rng: boxes(rng, 10), 4),
    "sliding_boxes": (lambda rng: boxes(rng, 6, sliding=True), 4),
    "heavy_on_light": (lambda rng: boxes(rng, 4, ratio=1000.0), 20),
    "light_on_heavy": (lambda rng: boxes(rng, 10, ratio=1e-3), 4),
    "pile": (lambda rng: pile(rng, 80), 4),
}


@cache
def problems(name: str) -> list[Cones]:
    make, n = MAKERS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    return [make(rng) for _ in range(n)]


def effort(name: str, **options: object) -> dict[str, float]:
    """Means of the iterations of each solver, and the share that was missed."""
    reports = [problem.solve(**options)[1] for problem in problems(name)]
    counts = {key: float(np.mean([report[key] for report in reports])) for key in ("gauss_seidel", "newton", "admm")}
    return counts | {"missed": float(np.mean([not report["converged"] for report in reports]))}


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("random", 6),
        ("mixture", 6),
        ("quadruped", 4),
        ("humanoid", 11),
        ("boxes", 20),
        ("sliding_boxes", 30),  # few problems, of which rounding may make one take 46 steps instead of 13
        ("heavy_on_light", 35),
        ("light_on_heavy", 14),
    ],
)
def test_newton_takes_few_steps(name: str, most: float) -> None:
    taken = effort(name, solver="newton")
    assert taken["newton"] <= most and taken["admm"] == 0


def test_newton_converges_quadratically() -> None:
    """Twice the digits cost four steps at most: with the first ratio each of the last gains a factor of 30."""
    for name in ("random", "humanoid"):
        rough, fine = (effort(name, solver="newton", tolerance=tolerance)["newton"] for tolerance in (1e-6, 1e-12))
        assert fine <= rough + 4


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("random", 170),
        ("mixture", 130),
        ("quadruped", 85),
        ("quadruped_joints", 220),
        ("humanoid", 240),
        ("boxes", 340),
        ("heavy_on_light", 540),
        ("light_on_heavy", 220),
    ],
)
def test_alternating_directions_take_bounded_effort(name: str, most: float) -> None:
    assert effort(name, solver="admm", max_admm=5000)["admm"] <= most


def test_alternating_directions_cut_short_return_the_best_so_far() -> None:
    for problem in problems("humanoid")[:20] + problems("boxes"):
        _, start = problem.solve(solver="admm", max_admm=0)
        _, short = problem.solve(solver="admm", max_admm=30)
        assert short["residual"] < 0.5 * start["residual"] or start["converged"]


def test_equalities_take_alternating_directions_few_iterations() -> None:
    """Without bounds the method is proximal."""
    rng, counts = np.random.default_rng(5), []
    for _ in range(20):
        A = rng.normal(size=(12, 18))
        _, report = Cones(A @ A.T, rng.normal(size=12), [equality(6), equality(6)], 1.0).solve(solver="admm")
        counts.append(report["admm"])
        assert report["converged"]
    assert np.mean(counts) <= 60


def side_by_side(n: int) -> Cones:
    """Stacks of two boxes."""
    rng = np.random.default_rng(7)
    stacks = [boxes(rng, 2) for _ in range(n)]
    rows = len(stacks[0].g)
    G = np.zeros((n * rows, n * rows))
    for k, stack in enumerate(stacks):
        G[k * rows : (k + 1) * rows, k * rows : (k + 1) * rows] = stack.G
    blocks = [block for stack in stacks for block in stack.blocks]
    return Cones(G, np.concatenate([stack.g for stack in stacks]), blocks, stacks[0].scale)


def test_newton_factorises_up_to_600_rows() -> None:
    _, below = side_by_side(20).solve(solver="newton", sparse=True)
    _, beyond = side_by_side(26).solve(solver="newton", sparse=True)
    assert below["newton"] > 0 and below["admm"] == 0
    assert beyond["newton"] == 0 and beyond["admm"] > 0 and beyond["converged"]


def test_conjugate_gradients_replace_the_factor() -> None:
    """Beyond 600 rows: as few iterations as below."""
    _, factorised = side_by_side(24).solve(solver="admm", sparse=True)
    _, iterated = side_by_side(26).solve(solver="admm", sparse=True)
    assert factorised["converged"] and iterated["converged"]
    assert iterated["admm"] <= 1.5 * factorised["admm"]


@pytest.mark.parametrize(
    ("name", "most_gauss_seidel", "most_newton"),
    [
        ("random", 4, 3),
        ("mixture", 4, 4),
        ("quadruped", 6, 0.3),
        ("quadruped_joints", 6.5, 5),
        ("humanoid", 3, 9),
        ("boxes", 5, 14),
    ],
)
def test_the_automatic_choice_wastes_little(name: str, most_gauss_seidel: float, most_newton: float) -> None:
    """Gauss-Seidel is given up as soon as its pace is known, and kept where it gets there."""
    taken = effort(name)
    assert taken["gauss_seidel"] <= most_gauss_seidel and taken["newton"] <= most_newton and taken["admm"] == 0


@pytest.mark.parametrize(
    ("name", "most"), [("random", 80), ("mixture", 80), ("quadruped_joints", 150), ("light_on_heavy", 350)]
)
def test_alternating_directions_end_what_newton_may_not(name: str, most: float) -> None:
    taken = effort(name, max_newton=1)
    assert taken["missed"] == 0 and taken["admm"] <= most


def test_alternating_directions_do_not_polish_for_ever() -> None:
    """What is within a thousand tolerances in the end is left to Gauss-Seidel; what is not gets all iterations."""
    assert effort("sliding_boxes", max_newton=1, tolerance=1e-5)["admm"] <= 700
    assert effort("sliding_boxes", max_newton=1, tolerance=1e-7)["admm"] >= 1000


def test_gauss_seidel_ends_what_others_may_not() -> None:
    taken = effort("random", max_newton=0, max_admm=0)
    assert taken["missed"] == 0
    assert effort("boxes", max_newton=0, max_admm=0)["gauss_seidel"] <= 150


def test_velocities_forget_a_wild_warm_start() -> None:
    """They are updated by increments; large ones at first leave rounding, until velocities are computed anew."""
    rng = np.random.default_rng(9)
    for problem in problems("boxes"):
        start = 1e8 * np.abs(rng.normal(size=len(problem.g)))
        impulses, report = problem.solve(solver="gauss_seidel", lambda0=start, max_gauss_seidel=1000, tolerance=1e-14)
        dual = max(0.0, -(problem.G @ impulses + problem.g)[2::3].min())
        assert abs(report["dual"] - dual) <= 2e-9


@pytest.mark.parametrize("solver", ["auto", "gauss_seidel", "newton", "admm"])
@pytest.mark.parametrize("name", ["random", "mixture", "quadruped_joints", "humanoid", "light_on_heavy"])
def test_reports_are_true_whatever_the_start(name: str, solver: str) -> None:
    """The residual is that of the impulses returned, to rounding of their product with G: |G| |lambda| of it."""
    rng = np.random.default_rng(9)
    for problem in problems(name)[:20]:
        laws = [ConeBlock(law, n, mu, normal, low, up) for law, n, normal, mu, low, up in problem.blocks]  # type: ignore[arg-type]
        for size in (1.0, 1e4, 1e8, 1e12):
            start = size * np.abs(rng.normal(size=len(problem.g)))
            impulses, report = problem.solve(solver=solver, lambda0=start)
            rounding = 1e-13 * float((np.abs(problem.G) @ np.abs(impulses) + np.abs(problem.g)).max())
            true = natural_residual(problem.G, problem.g, laws, impulses)
            # a point's part along its tangents is taken as a vector by one and row by row by the other
            assert true <= report["residual"] + rounding + 1e-10 * problem.scale
            assert report["residual"] <= 2.0 * true + rounding + 1e-10 * problem.scale


@pytest.mark.parametrize("seed", [376, 1948, 2418, 3034, 4755, 5332, 7269])
def test_a_robot_on_stiff_legs_lands(seed: int) -> None:
    """Feet that move by modes of very different mobility, from impulses that lead nowhere: solved in the end."""
    rng = np.random.default_rng(seed)
    n_feet, n_modes = int(rng.integers(2, 5)), int(rng.integers(6, 13))
    J = rng.standard_normal((3 * n_feet, n_modes))
    G = J * 10.0 ** rng.uniform(-rng.uniform(0, 8), 0, n_modes) @ J.T
    g = rng.standard_normal(3 * n_feet)
    g[2::3] = -np.abs(g[2::3])
    feet = Cones(G, g, [point(rng.uniform(0.2, 1.5))] * n_feet, 1.0)
    impulses, report = feet.solve(lambda0=np.abs(rng.standard_normal(3 * n_feet)) / np.diag(G).mean())
    assert report["converged"] and feet.residual(impulses) <= 1e-8


def test_piles_take_few_iterations_and_few_patches() -> None:
    taken = effort("pile", sparse=True, max_pile=2000)
    assert taken["missed"] == 0 and taken["gauss_seidel"] <= 95 and taken["newton"] <= 40


#: `static constexpr int name = value;` and the comment above it, of a struct of numbers.
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
CONSTANT = re.compile(r"^  static constexpr \w+ (\w+)(?:\[\])? = [^;]+;$")


def test_every_number_names_the_test_that_notices_it() -> None:
    root = Path(__file__).parents[2]
    tests = {
        name
        for path in root.glob("tests/**/test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    count = 0
    for struct, body in STRUCT.findall((root / "core/cones/tuning.hpp").read_text()):
        comment = ""
        fresh = True
        for line in body.splitlines():
            if line.lstrip().startswith("//"):
                comment = line if fresh else f"{comment} {line}"
                fresh = False
            elif found := CONSTANT.match(line):
                named = re.findall(r"\btest_\w+", comment)
                assert (named or "benchmark" in comment) and set(named) <= tests, f"{struct}::{found[1]} names {named}"
                count, fresh = count + 1, True
    assert count > 40
