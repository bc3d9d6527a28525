"""The inverse mass matrix against its twin and against the mass matrix."""

import numpy as np
import pytest
from helpers.compare import assert_close, solve_tolerance
from helpers.forests import Forest, forests, random_forest
from hypothesis import given

import featherweight as fw
from featherweight import reference


@given(forests())
def test_minverse_matches_the_twin(forest: Forest) -> None:
    q = forest.state().q
    expected = reference.minverse(forest.description, q)
    tolerance = solve_tolerance(reference.crba(forest.description, q))
    assert_close(fw.minverse(fw.Model(forest.description), q), expected, tolerance)


@given(forests())
def test_minverse_inverts_crba(forest: Forest) -> None:
    model, q = fw.Model(forest.description), forest.state().q
    H = fw.crba(model, q)
    assert_close(fw.minverse(model, q) @ H, np.eye(model.nv), solve_tolerance(H))


@given(forests())
def test_minverse_is_symmetric(forest: Forest) -> None:
    inverse = fw.minverse(fw.Model(forest.description), forest.state().q)
    assert np.array_equal(inverse, inverse.T)


@given(forests())
def test_columns_are_responses_to_unit_forces(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    free = fw.aba(model, s.q, s.v, np.zeros(model.nv))
    pushed = fw.aba(model, s.q, s.v, np.eye(model.nv))
    assert_close(
        fw.minverse(model, s.q),
        (pushed - free).T,
        10 * solve_tolerance(fw.crba(model, s.q)) * (1 + np.max(np.abs(free))),
    )


@pytest.mark.parametrize("seed", range(5))
def test_large_forests(seed: int) -> None:
    forest = random_forest(seed, 40)
    q = forest.state().q
    tolerance = solve_tolerance(reference.crba(forest.description, q))
    assert_close(fw.minverse(fw.Model(forest.description), q), reference.minverse(forest.description, q), tolerance)
