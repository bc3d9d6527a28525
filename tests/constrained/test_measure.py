"""Constrained methods can be timed and counted from Python; nonsense is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.instruction_sets import PLAINEST

import featherweight as fw
from benchmarks.solvers import METHODS
from featherweight import _testing


@pytest.fixture(scope="module")
def held() -> tuple[fw.Model, fw.ConstraintSet]:
    model = fw.models.arm()
    return model, fw.ConstraintSet(model, [fw.FrameConstraint("flange")])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_timed_and_counted(held: tuple[fw.Model, fw.ConstraintSet], method: str) -> None:
    model, _ = held
    soft = fw.ConstraintSet(model, [fw.FrameConstraint("flange", compliance=0.1)])  # which all methods know
    q = model.random(np.random.default_rng(0), batch=5)
    v = np.ones((5, model.nv))
    for single, isa in ((False, ""), (True, PLAINEST)):
        timing = _testing.benchmark(model, method, q, v, v, constraints=soft, repeats=2, single=single, isa=isa)
        assert 0 < timing["seconds_min"] <= timing["seconds_median"]
    counts = _testing.operation_counts(model, method, q=q[0], constraints=soft, targets=soft.targets)
    assert sum(counts.values()) > sum(_testing.operation_counts(model, "aba").values())


def test_counts_are_of_the_posture_given(held: tuple[fw.Model, fw.ConstraintSet]) -> None:
    """The straight arm is singular, and takes more proximal steps."""
    model, rigid = held
    bent = model.random(np.random.default_rng(0))
    straight, regular = (_testing.operation_counts(model, "prox_pv", q=q, constraints=rigid) for q in (None, bent))
    assert straight["mul"] > regular["mul"]


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("magic", {}, "method: unknown 'magic'"),
        ("aba", {}, "method: unknown 'aba'"),
        ("pv", {"constraints": None}, "algorithm: unknown 'pv'"),
        ("pv", {"targets": np.zeros(5)}, "targets: expected shape"),
        ("pv", {"targets": np.zeros((2, 6))}, "targets: expected one number per row"),
        ("pv", {"q": np.zeros(3)}, "q: expected shape"),
        ("pv", {"q": np.full(7, np.nan)}, "not valid"),
    ],
)
def test_nonsense_is_not_counted(
    held: tuple[fw.Model, fw.ConstraintSet], name: str, change: dict[str, Any], complaint: str
) -> None:
    model, rigid = held
    with pytest.raises(ValueError, match=complaint):
        _testing.operation_counts(model, name, **{"constraints": rigid, **change})


def test_nonsense_is_not_timed(held: tuple[fw.Model, fw.ConstraintSet]) -> None:
    model, rigid = held
    q = np.zeros((2, 7))
    with pytest.raises(ValueError, match="float64 only"):
        _testing.benchmark(model, "pv", q, q, q, constraints=rigid, dtype="float32")
    with pytest.raises(ValueError, match="compiled for another model"):
        _testing.benchmark(fw.models.arm(), "pv", q, q, q, constraints=rigid)
