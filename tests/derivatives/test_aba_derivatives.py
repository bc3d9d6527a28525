"""Derivatives of forward dynamics against central differences, those of inverse dynamics and dense algebra."""

import numpy as np
import pytest
from helpers.compare import assert_close, condition, solve_tolerance
from helpers.derivatives import DIFFERENCES, check_derivatives
from helpers.forests import Forest, forests, random_forest
from hypothesis import given, settings

import featherweight as fw
from featherweight import reference


def tame(forest: Forest) -> bool:
    """Whether differences can tell: a mass matrix that magnifies what they lose by little."""
    return condition(fw.crba(fw.Model(forest.description), forest.state().q)) < 1e3


@settings(max_examples=20)
@given(forests(max_links=6).filter(tame))
def test_every_joint_type_agrees_with_differences(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    d = fw.aba_derivatives(model, s.q, s.v, s.tau, s.f_ext)
    assert_close(d.a, fw.aba(model, s.q, s.v, s.tau, s.f_ext), solve_tolerance(d.dtau))
    check_derivatives(
        model,
        lambda q, v, tau: fw.aba(model, q, v, tau, s.f_ext),
        {"q": s.q, "v": s.v, "tau": s.tau},
        {"q": d.dq, "v": d.dv, "tau": d.dtau},
        1e3 * DIFFERENCES,
        step=3e-4,
    )


@settings(max_examples=25)
@given(forests())
def test_matches_dense_algebra(forest: Forest) -> None:
    """-H^-1 times the derivatives of inverse dynamics, from the twins."""
    model, s = fw.Model(forest.description), forest.state()
    d = fw.aba_derivatives(model, s.q, s.v, s.tau, s.f_ext)
    _, dq, dv, H = reference.rnea_derivatives(forest.description, s.q, s.v, d.a, s.f_ext)
    tolerance = 10 * solve_tolerance(H)
    assert_close(d.dq, -np.linalg.solve(H, dq), tolerance, "by q")
    assert_close(d.dv, -np.linalg.solve(H, dv), tolerance, "by v")
    assert_close(d.dtau, fw.minverse(model, s.q), tolerance, "by tau")
    assert np.array_equal(d.dtau, d.dtau.T)


@settings(max_examples=15)
@given(forests())
def test_matches_its_twin(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    d = fw.aba_derivatives(model, s.q, s.v, s.tau, s.f_ext)
    a, dq, dv, dtau = reference.aba_derivatives(forest.description, s.q, s.v, s.tau, s.f_ext)
    tolerance = 10 * solve_tolerance(fw.crba(model, s.q)) * (1 + np.abs(d.dtau).max())
    for found, expected in ((d.a, a), (d.dq, dq), (d.dv, dv), (d.dtau, dtau)):
        assert_close(found, expected, tolerance)


@pytest.mark.parametrize("seed", range(3))
def test_large_forests(seed: int) -> None:
    forest = random_forest(seed, 40)
    model, s = fw.Model(forest.description), forest.state()
    d = fw.aba_derivatives(model, s.q, s.v, s.tau, s.f_ext)
    inverse = fw.rnea_derivatives(model, s.q, s.v, d.a, s.f_ext)
    for forward, backward in ((d.dq, inverse.dq), (d.dv, inverse.dv), (d.dtau, -np.eye(model.nv))):
        residual = inverse.da @ forward + backward
        assert np.max(np.abs(residual)) <= 1e-12 * (1 + np.max(np.abs(inverse.da) @ np.abs(forward)))


@pytest.mark.parametrize("family", ["chain", "tree"])
def test_long_segments_and_many_branches(family: str) -> None:
    model = getattr(fw.models, family)(70)
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, model.nv))
    d = fw.aba_derivatives(model, q, v, tau)
    inverse = fw.rnea_derivatives(model, q, v, d.a)
    residual = inverse.da @ d.dq + inverse.dq
    assert np.max(np.abs(residual)) <= 1e-12 * (1 + np.max(np.abs(inverse.da) @ np.abs(d.dq)))


@settings(max_examples=25)
@given(forests())
def test_products_are_those_with_the_matrices(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    d = fw.aba_derivatives(model, s.q, s.v, s.tau, s.f_ext)
    by_q, by_v, by_tau = fw.aba_vjp(model, s.q, s.v, s.tau, s.a, s.f_ext)
    tolerance = 10 * solve_tolerance(fw.crba(model, s.q))
    scale = 1 + max(np.max(np.abs(x), initial=0.0) for x in (d.dq, d.dv, d.dtau))  # the sums may cancel
    assert_close(by_q / scale, s.a @ d.dq / scale, tolerance, what="by q")
    assert_close(by_v / scale, s.a @ d.dv / scale, tolerance, what="by v")
    assert_close(by_tau / scale, s.a @ d.dtau / scale, tolerance, what="by tau")


def test_several_trees_do_not_feel_each_other() -> None:
    model = fw.Model(random_forest(6, 12, ("revolute", "spherical", "free")).description)
    rng = np.random.default_rng(0)
    d = fw.aba_derivatives(model, model.random(rng), *rng.normal(size=(2, model.nv)))
    H = fw.crba(model, model.random(rng))
    reach = H != 0
    for _ in range(5):
        reach = reach @ reach
    assert not reach.all()  # there are several
    for matrix in (d.dq, d.dv, d.dtau):
        assert np.all(matrix[~reach] == 0)
