"""Delassus matrices of loops and couplings, their inverses and the operator, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.loops import Mechanism, four_bars, random_mechanism

import featherweight as fw
from featherweight.arrays import Array

CASES = [random_mechanism(seed, 1 + seed % 3) for seed in range(4)]


def dense(mechanism: Mechanism) -> Array:
    model, q, constraints = mechanism
    J = fw.constraint_jacobian(model, q, constraints)
    return np.asarray(J @ np.linalg.solve(fw.crba(model, q), J.T))


@pytest.mark.parametrize("mechanism", CASES)
def test_matrices_inverses_and_products(mechanism: Mechanism) -> None:
    model, q, constraints = mechanism
    delta = dense(mechanism)
    m, size = len(delta), np.abs(delta).max()
    for method in ("auto", "ltl", "kjr", "efpa", "pv_osim"):
        found = fw.delassus(model, q, constraints, method=method)
        assert np.abs(found - delta).max() < 1e-12 * size
    damping = np.linspace(0.1, 0.2, m)
    damped = delta + np.diag(damping)
    for method in ("auto", "dense", "ltl"):
        inverse = fw.delassus_inverse(model, q, constraints, damping=damping, method=method)  # type: ignore[arg-type]
        assert np.abs(inverse @ damped - np.eye(m)).max() < 1e-10
    operator = fw.DelassusOperator(model, np.stack([q, q]), constraints, damping=damping)
    x = np.random.default_rng(0).normal(size=(2, m))
    assert np.abs(operator.apply(x) - x @ delta).max() < 1e-11 * size
    assert np.abs(operator.solve(x) @ damped - x).max() < 1e-10


def test_inactive_loops_have_no_forces() -> None:
    model, q, constraints = CASES[2]
    rows = fw.ConstraintSet(model, constraints)
    active = np.ones(rows.n_constraints, dtype=bool)
    active[0] = False
    off, on = rows.slices[0], slice(rows.slices[0].stop, None)
    delta = dense(CASES[2])
    inverse = fw.delassus_inverse(model, q, rows, damping=0.1, active=active)
    assert not inverse[off].any() and not inverse[:, off].any()
    assert (
        np.abs(inverse[on, on] @ (delta[on, on] + 0.1 * np.eye(len(delta[on]))) - np.eye(len(delta[on]))).max() < 1e-10
    )
    operator = fw.DelassusOperator(model, q, rows, damping=0.1, active=active)
    x = operator.solve(np.ones(rows.n_rows))
    assert not x[off].any() and np.abs(x[on] - inverse[on, on].sum(axis=1)).max() < 1e-9


def test_the_inertia_that_independent_loops_feel() -> None:
    mechanism = four_bars(2)
    model, q, _ = mechanism
    pins = [
        fw.PointConstraint(f"rocker_{k}_0", ("x", "y"), offset=(0.4, 0.0, 0.0), to=f"coupler_{k}") for k in range(2)
    ]
    inertia = fw.operational_space_inertia(model, q, pins)
    assert np.abs(inertia @ dense(Mechanism(model, q, [*pins])) - np.eye(4)).max() < 1e-11
    with pytest.raises(ValueError, match="depend on each other"):
        fw.operational_space_inertia(model, q, mechanism.constraints)


@pytest.mark.parametrize("method", ["pv_osim_base", "caba_osim"])
def test_methods_for_anchors_say_so(method: str) -> None:
    model, q, constraints = CASES[0]
    with pytest.raises(ValueError, match=f"'{method}' knows no loops"):
        fw.delassus_inverse(model, q, constraints, method=method)  # type: ignore[arg-type]
