"""The default method where others give up: straight limbs, redundant rows, contradictory rows, in extended precision.

Conditions of J H^-1 J^T reach 1e11 before they are infinite. Every answer is held to 1e-9 of its scale, and a hard
sample must not touch its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

import featherweight as fw
from benchmarks import oracle
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import Constraint
from featherweight.constraints.dynamics import Method

FEET = [f"{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]
SOLES = ["left_sole", "right_sole"]
ROBUST: list[Method] = ["limb_pv", "prox_pv", "pv_early", "constrained_aba", "kkt"]  # take any rows
CORNERS = [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.05, 0.05)]


@dataclass(frozen=True, eq=False)
class Hard:
    model: fw.Model
    constraints: Sequence[Constraint]
    bend: float  # joint angles [rad], normally distributed; at 0 limbs are straight


def straight_limbs() -> dict[str, Hard]:
    arm, quadruped, humanoid = fw.models.arm(), fw.models.quadruped(), fw.models.humanoid()
    cases = {}
    for bend in (1e-1, 1e-2, 1e-3, 1e-4, 0.0):
        cases[f"arm bent by {bend:g}"] = Hard(arm, [fw.FrameConstraint("flange")], bend)
        cases[f"legs bent by {bend:g}"] = Hard(quadruped, [fw.PointConstraint(foot) for foot in FEET], bend)
    for bend in (1e-3, 0.0):
        held = [fw.FrameConstraint(sole) for sole in SOLES]
        cases[f"feet, legs bent by {bend:g}"] = Hard(humanoid, held, bend)
        palms = [fw.FrameConstraint(f"{side}_palm") for side in ("left", "right")]
        cases[f"feet and hands, limbs bent by {bend:g}"] = Hard(humanoid, [*held, *palms], bend)
    return cases


def dependent_rows() -> dict[str, Hard]:
    """Velocities are random, so four points of a foot also ask for the impossible."""
    arm, quadruped, humanoid = fw.models.arm(), fw.models.quadruped(), fw.models.humanoid()
    points = [fw.PointConstraint(sole, offset=corner) for sole in SOLES for corner in CORNERS]
    weld, pulled = fw.FrameConstraint("flange"), fw.FrameConstraint("flange", acceleration=1.0)
    elbow = fw.FrameConstraint(arm.link_names[4], acceleration=(0.5, -1.0, 0.3, 2.0, 0.1, -0.4))
    foot_and_shin = [fw.FrameConstraint("left_sole"), fw.FrameConstraint("left_shin", acceleration=1.0)]
    return {
        "four points a foot": Hard(humanoid, points, 0.5),
        "four points a foot, straight legs": Hard(humanoid, points, 0.0),
        "the same weld twice": Hard(arm, [weld, weld], 0.5),
        "two welds that contradict each other": Hard(arm, [weld, pulled], 0.5),
        "flange and elbow, more rows than joints": Hard(arm, [weld, elbow], 0.5),
        "foot and shin": Hard(humanoid, foot_and_shin, 0.5),
        "six rows on three joints": Hard(quadruped, [fw.FrameConstraint(foot) for foot in FEET], 0.5),
        "base and feet": Hard(quadruped, [fw.FrameConstraint("trunk"), *(fw.PointConstraint(f) for f in FEET)], 0.5),
    }


CASES = {**straight_limbs(), **dependent_rows()}


def samples(hard: Hard, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    model = hard.model
    q = np.tile(model.neutral(), (count, 1))
    q[:, model.nq - model.nv + 6 if model.nq > model.nv else 0 :] = hard.bend * rng.normal(
        size=(count, model.nv - 6 if model.nq > model.nv else model.nv)
    )
    return q, rng.normal(size=(count, model.nv)), rng.normal(size=(count, model.nv))


@pytest.mark.parametrize("name", CASES)
def test_default_stays_exact(name: str) -> None:
    hard = CASES[name]
    q, v, tau = samples(hard, 4)
    solution = fw.constrained_dynamics(hard.model, q, v, tau, hard.constraints)
    for k in range(len(q)):
        exact = oracle.solve(hard.model, q[k], v[k], tau[k], list(hard.constraints))
        assert np.abs(solution.a[k] - exact.a).max() <= 1e-9 * (1 + np.abs(exact.a).max())
    assert solution.converged.all()


@pytest.mark.parametrize("method", ROBUST)
@pytest.mark.parametrize("name", dependent_rows())
def test_forces_have_least_norm(name: str, method: Method) -> None:
    hard = CASES[name]
    q, v, tau = samples(hard, 2)
    solution = fw.constrained_dynamics(hard.model, q, v, tau, hard.constraints, method=method)
    for k in range(len(q)):
        exact = oracle.solve(hard.model, q[k], v[k], tau[k], list(hard.constraints))
        assert np.abs(solution.forces[k] - exact.forces).max() <= 1e-8 * (1 + np.abs(exact.forces).max())


@pytest.mark.parametrize("method", ROBUST)
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_ever_not_a_number(name: str, method: Method) -> None:
    hard = CASES[name]
    solution = fw.constrained_dynamics(hard.model, *samples(hard, 16), hard.constraints, method=method)
    for values in (solution.a, solution.forces, solution.residual):
        assert np.isfinite(values).all()


def test_hard_samples_leave_their_neighbours_alone() -> None:
    """Straight, nearly straight and bent legs side by side, one of them with contradictory rows."""
    model = fw.models.quadruped()
    held = fw.ConstraintSet(
        model, [*(fw.PointConstraint(foot) for foot in FEET), fw.PointConstraint(FEET[0], acceleration=1.0)]
    )
    q = np.concatenate([samples(Hard(model, (), bend), 2)[0] for bend in (1.0, 0.0, 1e-3, 1e-4)])
    rng = np.random.default_rng(1)
    v, tau = rng.normal(size=(2, 8, model.nv))
    active = np.ones((8, 5), bool)
    active[::2, 4] = False
    together = fw.constrained_dynamics(model, q, v, tau, held, active=active)
    for k in range(8):
        alone = fw.constrained_dynamics(model, q[k], v[k], tau[k], held, active=active[k])
        np.testing.assert_array_equal(alone.a, together.a[k])
        np.testing.assert_array_equal(alone.forces, together.forces[k])
