"""What does not touch each other is solved each by itself."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cones import Block, Cones, boxes, pile, random_mixture, random_points, robot

from featherweight.arrays import Array

#: The natural residual of the oracle has De Saxce's term; ours has not. They vanish together.
BETWEEN_RESIDUALS = 5.0


def side_by_side(rng: np.random.Generator, problems: list[Cones]) -> tuple[Cones, list[Array]]:
    """One problem of all, blocks shuffled but for the order of each one's own; and the rows of each."""
    turns = rng.permutation(np.repeat(np.arange(len(problems)), [len(problem.blocks) for problem in problems]))
    blocks: list[Block] = []
    rows: list[list[int]] = [[] for _ in problems]
    done, m = [0] * len(problems), 0
    for k in turns:
        law, n, normal, *numbers = problems[k].blocks[done[k]]
        blocks.append((law, n, rows[k][normal] if law == "disc" else normal, *numbers))
        rows[k] += range(m, m + n)
        done[k] += 1
        m += n
    G, g = np.zeros((m, m)), np.zeros(m)
    for problem, own in zip(problems, rows, strict=True):
        G[np.ix_(own, own)], g[own] = problem.G, problem.g
    return Cones(G, g, blocks, 1.0), [np.array(own) for own in rows]


def of_unit_scale(problem: Cones) -> Cones:
    return Cones(problem.G, problem.g, problem.blocks, 1.0)


@pytest.mark.parametrize("seed", range(6))
def test_islands_do_not_know_of_each_other(seed: int) -> None:
    """To the bit. (Discs and the normals that bound them may be coupled by nothing else.)"""
    rng = np.random.default_rng(seed)
    alone = [
        robot(rng, "quadruped"),
        robot(rng, "humanoid"),
        robot(rng, "quadruped_joints"),
        boxes(rng, int(rng.integers(1, 9))),
        *(random_mixture(rng) for _ in range(5)),
        *(random_points(rng, int(rng.integers(1, 9)), dependent=True) for _ in range(5)),
    ]
    alone = [of_unit_scale(problem) for problem in alone]
    whole, rows = side_by_side(rng, alone)
    impulses, report = whole.solve(sparse=True)
    most = {"gauss_seidel": 0, "newton": 0, "admm": 0}
    for problem, own in zip(alone, rows, strict=True):
        expected, of_one = problem.solve()
        assert np.array_equal(impulses[own], expected)
        most = {name: max(count, of_one[name]) for name, count in most.items()}
    assert {name: report[name] for name in most} == most
    assert report["converged"] and whole.residual(impulses) <= BETWEEN_RESIDUALS * 1e-9


def test_what_lies_beside_a_pile_is_solved_as_if_it_were_alone() -> None:
    rng = np.random.default_rng(1)
    beside = [of_unit_scale(robot(rng, "humanoid")) for _ in range(4)]
    whole, rows = side_by_side(rng, [*beside, of_unit_scale(pile(rng, 100))])
    impulses, report = whole.solve(sparse=True, max_pile=5)
    assert not report["converged"]
    for problem, own in zip(beside, rows, strict=False):
        assert problem.residual(impulses[own]) <= BETWEEN_RESIDUALS * 1e-9
    impulses, report = whole.solve(sparse=True, max_pile=2000)
    assert report["converged"] and whole.residual(impulses) <= BETWEEN_RESIDUALS * 1e-9
