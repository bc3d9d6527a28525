"""Forward dynamics against its twin, inverse dynamics and a dense solve."""

import numpy as np
import pytest
from helpers.compare import assert_close, solve_tolerance
from helpers.forests import Forest, forests, random_forest
from hypothesis import given

import featherweight as fw
from featherweight import reference
from featherweight.reference import dense


@given(forests())
def test_aba_matches_the_twin(forest: Forest) -> None:
    s, tolerance = forest.state(), solve_tolerance(reference.crba(forest.description, forest.state().q))
    model = fw.Model(forest.description)
    for f_ext in (None, s.f_ext):
        expected = reference.aba(forest.description, s.q, s.v, s.tau, f_ext)
        assert_close(fw.aba(model, s.q, s.v, s.tau, f_ext), expected, tolerance)


@given(forests(max_links=6))
def test_aba_matches_a_dense_solve(forest: Forest) -> None:
    description, s = forest.description, forest.state()
    H = dense.mass_matrix(description, s.q)
    expected = np.linalg.solve(H, s.tau - dense.bias_forces(description, s.q, s.v, s.f_ext))
    assert_close(fw.aba(fw.Model(description), s.q, s.v, s.tau, s.f_ext), expected, solve_tolerance(H))


@given(forests())
def test_rnea_undoes_aba(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    a = fw.aba(model, s.q, s.v, s.tau, s.f_ext)
    assert_close(fw.rnea(model, s.q, s.v, a, s.f_ext), s.tau, solve_tolerance(fw.crba(model, s.q)))


@given(forests())
def test_aba_undoes_rnea(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    tau = fw.rnea(model, s.q, s.v, s.a, s.f_ext)
    assert_close(fw.aba(model, s.q, s.v, tau, s.f_ext), s.a, solve_tolerance(fw.crba(model, s.q)))


@pytest.mark.parametrize("seed", range(5))
def test_large_forests(seed: int) -> None:
    forest = random_forest(seed, 40)
    model, s = fw.Model(forest.description), forest.state()
    expected = reference.aba(forest.description, s.q, s.v, s.tau, s.f_ext)
    actual = fw.aba(model, s.q, s.v, s.tau, s.f_ext)
    assert_close(actual, expected, solve_tolerance(reference.crba(forest.description, s.q)))


@pytest.mark.parametrize("seed", range(5))
def test_random_tree_models(seed: int) -> None:
    """The built-in generator reaches the same joints by another way: the model's own description is evaluated."""
    model = fw.models.random_tree(seed, 15)
    rng = np.random.default_rng(seed)
    q, (v, tau) = model.random(rng), rng.normal(size=(2, model.nv))
    expected = reference.aba(model.description, q, v, tau)
    assert_close(fw.aba(model, q, v, tau), expected, solve_tolerance(reference.crba(model.description, q)))
