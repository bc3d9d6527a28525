"""Problems of a hundred contacts and more, each coupled to a few: solved as exactly as small ones."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from helpers.cones import Cones, pile
from scipy.sparse.csgraph import connected_components

#: The natural residual of the oracle has De Saxce's term; ours has not. They vanish together.
BETWEEN_RESIDUALS = 5.0
#: Iterations, where a pile is to be solved whatever it costs.
PATIENT = {"sparse": True, "max_pile": 2000}


@cache
def piles(spin: bool) -> list[Cones]:
    rng = np.random.default_rng(12)
    return [pile(rng, n, spin=spin) for n in 4 * (80, 100, 120)]


@pytest.mark.parametrize("spin", [False, True])
def test_piles_obey_the_laws(spin: bool) -> None:
    missed = 0
    for problem in piles(spin):
        assert len(problem.g) > 320
        impulses, report = problem.solve(**PATIENT)
        missed += not report["converged"]
        if report["converged"]:
            assert problem.residual(impulses) <= BETWEEN_RESIDUALS * 1e-9
    assert missed == 0


def test_gauss_seidel_alone_does_not() -> None:
    """Otherwise the test above would test nothing."""
    missed = 0
    for problem in piles(False):
        _, report = problem.solve(sparse=True, solver="gauss_seidel", max_gauss_seidel=400)
        missed += not report["converged"]
    assert missed >= 8


def test_accelerated_it_does_with_half_of_the_iterations() -> None:
    iterations = [problem.solve(**PATIENT)[1]["gauss_seidel"] for problem in piles(False)]
    assert np.mean(iterations) < 200


def largest_island(problem: Cones) -> Cones:
    """Of points only."""
    island = connected_components(problem.G != 0)[1]
    rows = np.flatnonzero(island == np.argmax(np.bincount(island)))
    return Cones(problem.G[np.ix_(rows, rows)], problem.g[rows], problem.blocks[: len(rows) // 3], problem.scale)


def test_effort_is_bounded() -> None:
    large = [island for island in map(largest_island, piles(False)) if len(island.g) > 320]
    assert len(large) >= 8
    for problem in large:
        first, report = problem.solve(sparse=True, max_pile=20)
        assert report["gauss_seidel"] <= 20 and not report["converged"]
        # the next step goes on from there, and gets no worse
        _, then = problem.solve(lambda0=first, sparse=True, max_pile=20)
        assert then["gauss_seidel"] <= 20 and then["residual"] <= report["residual"]


def test_a_solved_pile_costs_one_look() -> None:
    for problem in piles(False):
        impulses, report = problem.solve(tolerance=1e-10, **PATIENT)
        if report["converged"]:
            again, report = problem.solve(sparse=True, lambda0=impulses)
            assert report["gauss_seidel"] == report["newton"] == report["admm"] == 0
            assert np.array_equal(again, impulses)


def test_the_same_bits_again() -> None:
    problem = piles(True)[0]
    once, _ = problem.solve(sparse=True)
    twice, _ = problem.solve(sparse=True)
    assert np.array_equal(once, twice)


def test_the_order_of_contacts_does_not_matter() -> None:
    """Velocities of what sticks are unique; which contacts come first changes the iterations, not the answer."""
    rng = np.random.default_rng(3)
    for problem in piles(False)[:3]:
        n = len(problem.blocks)
        order = rng.permutation(n)
        rows = (3 * order[:, None] + np.arange(3)).ravel()
        other = Cones(problem.G[np.ix_(rows, rows)], problem.g[rows], problem.blocks, problem.scale)
        impulses, report = other.solve(**PATIENT)
        assert report["converged"] and other.residual(impulses) <= BETWEEN_RESIDUALS * 1e-9
