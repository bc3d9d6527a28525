"""Inverse dynamics under constraints: against dense algebra, forward dynamics and the weight of robots that stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close, assert_same_bits
from helpers.constraints import random_constraints, twin_rows
from helpers.forests import Forest, forests
from helpers.instruction_sets import AVAILABLE
from hypothesis import assume, given
from hypothesis import strategies as st

import featherweight as fw
from featherweight import _testing
from featherweight.arrays import Array
from featherweight.reference.constrained_inverse import constrained_inverse_dynamics
from featherweight.reference.kkt import equations

FEET = [f"{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]


@given(forests(), st.integers(1, 4), st.integers(0, 9))
def test_forces_match_the_pseudo_inverse(forest: Forest, number: int, seed: int) -> None:
    """For any choice of motors, those that leave nothing to explain and those that leave everything included."""
    model, s, description = fw.Model(forest.description), forest.state(), forest.description
    constraints = random_constraints(forest, model, number)
    rng = np.random.default_rng(seed)
    actuated = rng.random(model.nv) < rng.choice([0.0, 0.3, 0.7, 1.0])
    rows = twin_rows(description, s.q, s.v, constraints)
    values = np.linalg.svd(equations(description, s.q, s.v, rows)[2][:, ~actuated], compute_uv=False)
    assume(not ((values > 1e-13 * values.max(initial=0)) & (values < 1e-3 * values.max(initial=0))).any())
    tau, forces, residual = constrained_inverse_dynamics(description, s.q, s.v, s.a, rows, actuated, s.f_ext)
    solution = fw.constrained_inverse_dynamics(model, s.q, s.v, s.a, constraints, actuated=actuated, f_ext=s.f_ext)
    assert solution.converged
    assert not solution.tau[~actuated].any()
    assert_close(solution.tau, tau, 1e-8)
    assert_close(solution.residual, residual, 1e-9)
    for k, force in enumerate(forces):
        assert_close(solution.force(k), force, 1e-8)


@given(forests(), st.integers(1, 3))
def test_the_forces_found_give_the_accelerations_back(forest: Forest, number: int) -> None:
    """Forward with any joint forces; the inverse finds others; forward with those moves the same way."""
    model, s = fw.Model(forest.description), forest.state()
    constraints = random_constraints(forest, model, number)
    H, J = fw.crba(model, s.q), fw.constraint_jacobian(model, s.q, constraints)
    values = np.linalg.eigvalsh(J @ np.linalg.solve(H, J.T))
    assume(np.linalg.cond(H) < 1e6 and values[0] > 1e-5 * values[-1])
    actuated = np.ones(model.nv, bool)
    for joint in model.joints:
        actuated[joint.v_slice] = joint.type != "free"
    a = fw.constrained_dynamics(model, s.q, s.v, np.where(actuated, s.tau, 0.0), constraints).a
    inverse = fw.constrained_inverse_dynamics(model, s.q, s.v, a, constraints)
    again = fw.constrained_dynamics(model, s.q, s.v, inverse.tau, constraints)
    scale = 1 + np.abs(H).max() * np.abs(a).max()
    assert inverse.residual < 1e-9 * scale
    assert_close(again.a, a, 1e-7)
    assert np.abs(J.T @ (again.forces - inverse.forces)).max() < 1e-8 * scale


def standing_posture(model: fw.Model) -> Array:
    q = model.neutral()
    for joint in model.joints:
        if joint.name.endswith("thigh_joint"):
            q[joint.q_slice] = 0.7
        if joint.name.endswith("calf_joint"):
            q[joint.q_slice] = -1.4
    return q


def in_the_world(model: fw.Model, q: Array, solution: fw.InverseSolution) -> Array:
    """(n_feet, 3) forces of point constraints."""
    frames = [c.frame for c in solution.constraints.constraints if isinstance(c, fw.PointConstraint)]
    return np.stack([fw.frame_placement(model, q, f)[:3, :3] @ solution.force(k) for k, f in enumerate(frames)])


def test_a_standing_quadruped_carries_its_weight() -> None:
    model = fw.models.quadruped()
    q, rest = standing_posture(model), np.zeros(model.nv)
    feet = [fw.PointConstraint(foot) for foot in FEET]
    stand = fw.constrained_inverse_dynamics(model, q, rest, rest, feet)
    assert stand.residual < 1e-9 and not stand.tau[:6].any()
    forces = in_the_world(model, q, stand)
    np.testing.assert_allclose(forces.sum(axis=0), [0, 0, model.mass * 9.81], atol=1e-9)
    points = np.stack([fw.frame_placement(model, q, foot)[:3, 3] for foot in FEET])
    moment = np.cross(points - fw.center_of_mass(model, q), forces).sum(axis=0)
    np.testing.assert_allclose(moment, 0, atol=1e-9)
    np.testing.assert_allclose(fw.constrained_dynamics(model, q, rest, stand.tau, feet).a, 0, atol=1e-9)


def test_what_no_foot_can_carry_is_the_residual() -> None:
    model = fw.models.quadruped()
    q, rest = standing_posture(model), np.zeros(model.nv)
    feet = [fw.PointConstraint(foot) for foot in FEET]
    flying = fw.constrained_inverse_dynamics(model, q, rest, rest, feet, active=np.zeros(4, bool))
    np.testing.assert_allclose(flying.residual, model.mass * 9.81, rtol=1e-12)
    assert not flying.forces.any() and flying.converged
    one_leg = fw.constrained_inverse_dynamics(model, q, rest, rest, feet[:1])
    assert one_leg.residual > 1.0  # it would tip over
    freely_falling = fw.constrained_inverse_dynamics(model, q, rest, fw.aba(model, q, rest, rest), feet)
    assert freely_falling.residual < 1e-9
    np.testing.assert_allclose(freely_falling.forces, 0, atol=1e-9)


def test_with_a_motor_everywhere_it_is_plain_inverse_dynamics() -> None:
    model = fw.models.arm()
    rng = np.random.default_rng(0)
    q, v, a = model.random(rng, batch=7), rng.normal(size=(7, model.nv)), rng.normal(size=(7, model.nv))
    solution = fw.constrained_inverse_dynamics(model, q, v, a, [fw.FrameConstraint("flange")])
    assert_same_bits(solution.tau, fw.rnea(model, q, v, a), "tau")
    assert not solution.forces.any() and not solution.residual.any() and solution.converged.all()


def test_accelerations_asked_for_and_compliance_play_no_part() -> None:
    model = fw.models.quadruped()
    rng = np.random.default_rng(1)
    q, v, a = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    plain = [fw.PointConstraint(foot) for foot in FEET]
    busy = [
        fw.PointConstraint(foot, acceleration=2.0, compliance=0.3, position=(0, 0, 0), stiffness=9.0, damping=1.0)
        for foot in FEET
    ]
    expected = fw.constrained_inverse_dynamics(model, q, v, a, plain)
    assert_same_bits(fw.constrained_inverse_dynamics(model, q, v, a, busy).tau, expected.tau, "tau")


@pytest.fixture
def restored() -> Iterator[None]:
    default = fw.build_info()["isa"]
    yield
    _testing.use_isa(default)


@pytest.mark.usefixtures("restored")
def test_a_sample_keeps_its_bits_whatever_its_neighbours_do() -> None:
    """Feet of its own, and neighbours that cannot stand, on every instruction set."""
    model = fw.models.quadruped()
    rng = np.random.default_rng(2)
    q, v, a = model.random(rng, batch=70), rng.normal(size=(70, model.nv)), rng.normal(size=(70, model.nv))
    feet = fw.ConstraintSet(model, [fw.PointConstraint(foot) for foot in FEET])
    active = rng.random((70, 4)) > 0.4
    expected = None
    for isa in AVAILABLE:
        _testing.use_isa(isa)
        together = fw.constrained_inverse_dynamics(model, q, v, a, feet, active=active)
        one_thread = fw.constrained_inverse_dynamics(model, q, v, a, feet, active=active, num_threads=1)
        assert_same_bits(one_thread.tau, together.tau, "one thread")
        for k in (0, 33, 69):
            alone = fw.constrained_inverse_dynamics(model, q[k], v[k], a[k], feet, active=active[k])
            assert_same_bits(alone.tau, together.tau[k], f"sample {k}")
            assert_same_bits(alone.forces, together.forces[k], f"sample {k}")
        expected = together.tau if expected is None else expected
        assert_close(together.tau, expected, 1e-9, isa)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"actuated": np.ones(18)}, r"actuated: expected bool of shape \(18,\), got float64"),
        ({"actuated": np.ones(12, bool)}, r"actuated: expected bool of shape \(18,\), got bool of shape \(12,\)"),
        ({"actuated": "all"}, "actuated"),
        ({"constraints": []}, "at least one"),
        ({"constraints": [fw.PointConstraint("nose")]}, "unknown frame 'nose'"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"active": np.ones(1)}, "active: expected an array of bool"),
        ({"q": np.full(19, np.nan)}, "q: entry 0"),
        ({"v": np.full(18, np.nan)}, "v: entry 0"),
        ({"a": np.full(18, np.nan)}, "a: entry 0"),
        ({"a": np.zeros((2, 18)), "v": np.zeros((3, 18))}, "a: a batch of 2 does not match"),
        ({"a": None}, "a: expected"),
        ({"f_ext": np.zeros((2, 6))}, "f_ext: expected shape"),
        ({"num_threads": 0}, "num_threads"),
    ],
)
def test_nonsense_is_refused(change: dict[str, Any], complaint: str) -> None:
    model = fw.models.quadruped()
    rest = np.zeros(model.nv)
    arguments = {"q": model.neutral(), "v": rest, "a": rest, "constraints": [fw.PointConstraint(FEET[0])]}
    with pytest.raises(ValueError, match=complaint):
        fw.constrained_inverse_dynamics(model, **{**arguments, **change})
