"""Jacobian, bias, velocity, residual and position error of constraint rows, against their twins and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close, assert_same_bits
from helpers.constraints import bare_rows, free_frames, random_constraints, twin_rows, with_gains
from helpers.finite_differences import time_derivative
from helpers.forests import Forest, forests, random_forest
from helpers.instruction_sets import AVAILABLE
from helpers.motion import motion_through
from hypothesis import given
from hypothesis import strategies as st

import featherweight as fw
from featherweight import _testing, reference
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import ROWS, Constraint
from featherweight.model.poses import rotation_about
from featherweight.reference.kkt import equations


@given(forests(), st.integers(1, 4))
def test_rows_match_their_twins(forest: Forest, number: int) -> None:
    model, s = fw.Model(forest.description), forest.state()
    constraints = with_gains(random_constraints(forest, model, number), stiffness=30.0, damping=2.0)
    _, _, J, b = equations(forest.description, s.q, s.v, twin_rows(forest.description, s.q, s.v, constraints))
    minus_gamma = equations(forest.description, s.q, s.v, bare_rows(forest.description, s.q, s.v, constraints))[3]
    compiled = fw.ConstraintSet(model, constraints)
    assert_close(fw.constraint_jacobian(model, s.q, compiled), J)
    assert_close(fw.constraint_velocity(model, s.q, s.v, compiled), J @ s.v)
    assert_close(fw.constraint_bias(model, s.q, s.v, compiled), -minus_gamma)
    assert_close(fw.constraint_residual(model, s.q, s.v, s.a, compiled), J @ s.a - b)


@given(forests(max_links=6))
def test_rows_are_those_of_the_frame_functions(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    for frame in free_frames(forest, model):
        weld, point = [fw.FrameConstraint(frame)], [fw.PointConstraint(frame)]
        J = fw.jacobian(model, s.q, frame)
        assert_close(fw.constraint_jacobian(model, s.q, weld), J)
        assert_close(fw.constraint_jacobian(model, s.q, point), J[:3])
        spatial = fw.frame_acceleration(model, s.q, s.v, s.a, frame)
        classical = fw.frame_acceleration(model, s.q, s.v, s.a, frame, classical=True)
        assert_close(fw.constraint_residual(model, s.q, s.v, s.a, weld), spatial)
        assert_close(fw.constraint_residual(model, s.q, s.v, s.a, point), classical[:3])


@given(forests(max_links=6))
def test_an_offset_is_a_frame_of_its_own(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    for frame in forest.description.frames:
        if frame.name not in free_frames(forest, model):
            continue
        J = fw.constraint_jacobian(model, s.q, [fw.FrameConstraint(frame.name)])
        assert_close(fw.constraint_jacobian(model, s.q, [fw.FrameConstraint(frame.link, offset=frame.placement)]), J)
        shifted = [fw.PointConstraint(frame.link, offset=frame.placement[:3, 3])]
        assert_close(fw.constraint_jacobian(model, s.q, shifted), frame.placement[:3, :3] @ J[:3])


@given(forests(max_links=6))
def test_a_points_error_changes_by_its_velocity_and_that_by_its_acceleration(forest: Forest) -> None:
    """In the world's axes, which do not turn: derivatives along a motion."""
    model, s = fw.Model(forest.description), forest.state()
    at = motion_through(forest.description, s)
    for frame in free_frames(forest, model):
        point = [fw.PointConstraint(frame, position=(0.3, -0.2, 0.1))]

        def turned(q: Array, rows: Array, frame: str = frame) -> Array:
            return np.asarray(fw.frame_placement(model, q, frame)[:3, :3] @ rows)

        def error(t: float, point: Any = point, turned: Any = turned) -> Array:
            return np.asarray(turned(at(t)[0], fw.constraint_position_error(model, at(t)[0], point)))

        def velocity(t: float, point: Any = point, turned: Any = turned) -> Array:
            return np.asarray(turned(at(t)[0], fw.constraint_velocity(model, *at(t), point)))

        J, gamma = fw.constraint_jacobian(model, s.q, point), fw.constraint_bias(model, s.q, s.v, point)
        assert_close(time_derivative(error), velocity(0.0), 1e-9)
        assert_close(time_derivative(velocity), turned(s.q, J @ s.a + gamma), 1e-9)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 1e-3, 0.01, 1.0, 2.5, 3.1, np.pi - 1e-6, np.pi - 1e-10])
def test_the_angular_error_is_the_rotation_vector(angle: float) -> None:
    """Of the turn from the wanted pose to the actual one, to rounding at any angle."""
    model = fw.models.arm()
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, axis = model.random(rng), rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        wanted = fw.frame_placement(model, q, "flange")
        wanted[:3, :3] = wanted[:3, :3] @ rotation_about(axis, -angle)
        wanted[:3, 3] += 0.1 * axis
        error = fw.constraint_position_error(model, q, [fw.FrameConstraint("flange", position=wanted)])
        np.testing.assert_allclose(error[3:], angle * axis, rtol=0, atol=1e-15 + 4e-15 * angle)
        np.testing.assert_allclose(wanted[:3, 3] - 0.1 * axis, fw.frame_placement(model, q, "flange")[:3, 3])
        expected = -0.1 * fw.frame_placement(model, q, "flange")[:3, :3].T @ axis
        np.testing.assert_allclose(error[:3], expected, atol=1e-15)


def test_half_turns_have_an_error_of_half_a_turn() -> None:
    model = fw.models.arm()
    q = model.random(np.random.default_rng(4))
    for axis in np.vstack([np.eye(3), -np.eye(3)]):
        wanted = fw.frame_placement(model, q, "flange")
        wanted[:3, :3] = wanted[:3, :3] @ rotation_about(axis, np.pi)
        error = fw.constraint_position_error(model, q, [fw.FrameConstraint("flange", position=wanted)])
        np.testing.assert_allclose(np.abs(error[3:] @ axis), np.pi, rtol=1e-14)


# what holds for every function

FOREST = random_forest(seed=21, n_links=14)
MODEL = fw.Model(FOREST.description)
SET = fw.ConstraintSet(MODEL, with_gains(random_constraints(FOREST, MODEL, 6), stiffness=5.0, damping=1.0))
FUNCTIONS: dict[str, tuple[Callable[..., Array], tuple[str, ...]]] = {
    "jacobian": (fw.constraint_jacobian, ("q",)),
    "bias": (fw.constraint_bias, ("q", "v")),
    "velocity": (fw.constraint_velocity, ("q", "v")),
    "residual": (fw.constraint_residual, ("q", "v", "a")),
    "position_error": (fw.constraint_position_error, ("q",)),
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    default = fw.build_info()["isa"]
    yield
    _testing.use_isa(default)


def state(k: int) -> dict[str, Array]:
    s = FOREST.state(k)
    return {"q": s.q, "v": s.v, "a": s.a}


def batch(n: int) -> dict[str, Array]:
    return {name: np.stack([state(k)[name] for k in range(n)]) for name in state(0)}


@every_function
def test_a_batch_is_its_samples_on_every_instruction_set(name: str) -> None:
    function, names = FUNCTIONS[name]
    arrays, expected = batch(77), None
    for isa in AVAILABLE:
        _testing.use_isa(isa)
        together = function(MODEL, *(arrays[n] for n in names), SET)
        assert_same_bits(function(MODEL, *(arrays[n] for n in names), SET, num_threads=1), together, "one thread")
        for k in (0, 7, 76):
            assert_same_bits(function(MODEL, *(arrays[n][k] for n in names), SET), together[k], f"sample {k}")
        expected = together if expected is None else expected
        assert_close(together, expected, 1e-13, f"{name} on {isa}")


@every_function
def test_what_is_not_batched_is_shared(name: str) -> None:
    function, names = FUNCTIONS[name]
    arrays = batch(5)
    for shared in names:
        mixed = [state(0)[n] if n == shared else arrays[n] for n in names]
        result = function(MODEL, *mixed, SET)
        if len(names) > 1:
            assert result.shape == (5, SET.n_rows)
            one = function(MODEL, *(state(0)[n] if n == shared else arrays[n][3] for n in names), SET)
            assert_same_bits(result[3], one, shared)


@every_function
def test_lists_and_sets_are_the_same(name: str) -> None:
    function, names = FUNCTIONS[name]
    arrays = [state(0)[n] for n in names]
    assert_same_bits(function(MODEL, *arrays, SET.constraints), function(MODEL, *arrays, SET), name)


@every_function
@pytest.mark.parametrize("bad", ["short", "nan", "text", "none", "batch"])
def test_bad_arrays_are_refused_by_name(name: str, bad: str) -> None:
    function, names = FUNCTIONS[name]
    for culprit in names:
        arrays: dict[str, Any] = state(0)
        good = arrays[culprit]
        if bad == "batch":
            if len(names) == 1:
                continue
            arrays = {n: np.stack([array] * 3) for n, array in arrays.items()}
        arrays[culprit] = {
            "short": good[:-1],
            "nan": np.full_like(good, np.nan),
            "text": "text",
            "none": None,
            "batch": np.stack([good] * 4),
        }[bad]
        with pytest.raises((ValueError, TypeError), match=rf"\b{culprit}\b"):
            function(MODEL, *(arrays[n] for n in names), SET)


@every_function
def test_other_nonsense_is_refused(name: str) -> None:
    function, names = FUNCTIONS[name]
    arrays = [state(0)[n] for n in names]
    with pytest.raises(ValueError, match="at least one"):
        function(MODEL, *arrays, [])
    with pytest.raises(ValueError, match="num_threads"):
        function(MODEL, *arrays, SET, num_threads=0)
    with pytest.raises(ValueError, match="compiled for another model"):
        function(fw.Model(FOREST.description), *arrays, SET)


# positions and gains

FOOT = "front_left_foot"


def test_positions_may_differ_by_sample() -> None:
    model = fw.models.quadruped()
    rng = np.random.default_rng(5)
    q, p = model.random(rng, batch=6), rng.normal(size=(6, 3))
    pose = fw.frame_placement(model, model.random(rng), "trunk")
    each: list[Constraint] = [fw.PointConstraint(FOOT, position=p), fw.FrameConstraint("trunk", position=pose)]
    errors = fw.constraint_position_error(model, q, each)
    for k in range(6):
        own: list[Constraint] = [fw.PointConstraint(FOOT, position=p[k]), each[1]]
        assert_same_bits(errors[k], fw.constraint_position_error(model, q[k], own), f"sample {k}")
    assert_same_bits(fw.constraint_position_error(model, q[2], each)[2], errors[2], "one q for all positions")
    with pytest.raises(ValueError, match="positions: a batch of 6 does not match the batch of 5"):
        fw.constraint_position_error(model, q[:5], each)


def test_a_set_cannot_be_changed_afterwards() -> None:
    where = np.zeros(3)
    compiled = fw.ConstraintSet(fw.models.quadruped(), [fw.PointConstraint(FOOT, position=where)])
    where[:] = 1.0
    assert compiled.positions is not None
    assert not compiled.positions[0, :3, 3].any()
    for array in (compiled.targets, compiled.stiffness, compiled.damping, compiled.positions):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1.0


@pytest.mark.parametrize(
    ("constraint", "complaint"),
    [
        (fw.PointConstraint(FOOT, position=(0, 0)), "position must be"),
        (fw.PointConstraint(FOOT, position=np.eye(4)), "position must be"),
        (fw.PointConstraint(FOOT, position=np.zeros((0, 3))), "position must be"),
        (fw.PointConstraint(FOOT, position=(0, 0, np.nan)), "position must be"),
        (fw.PointConstraint(FOOT, position="here"), "position must be numbers"),
        (fw.FrameConstraint(FOOT, position=(0, 0, 0)), "position must be"),
        (fw.FrameConstraint(FOOT, position=2 * np.eye(4)), "position must be a rigid motion"),
        (fw.FrameConstraint(FOOT, position=np.diag([1.0, 1, -1, 1])), "position must be a rigid motion"),
        (fw.FrameConstraint(FOOT, position=np.diag([1.0, 1, 1, 2])), "position must be a rigid motion"),
        (fw.FrameConstraint(FOOT, position=np.stack([np.eye(4), 2 * np.eye(4)])), "position must be a rigid motion"),
        (fw.FrameConstraint(FOOT, offset=np.stack([np.eye(4)] * 2)), "offset must be the same for all samples"),
        (fw.PointConstraint(FOOT, offset=np.zeros((2, 3))), "offset must be the same for all samples"),
        (fw.PointConstraint(FOOT, stiffness=1.0), "stiffness draws the frame to a position, which is not given"),
        (fw.PointConstraint(FOOT, position=(0, 0, 0), stiffness=-1.0), "stiffness must not be negative"),
        (fw.PointConstraint(FOOT, position=(0, 0, 0), stiffness=(1.0, 2.0)), "stiffness must be"),
        (fw.PointConstraint(FOOT, damping=-1e-3), "damping must not be negative"),
        (fw.PointConstraint(FOOT, damping=np.inf), "damping must be"),
        (fw.FrameConstraint(FOOT, damping=np.ones(5)), "damping must be"),
    ],
)
def test_nonsensical_feedback_is_refused(constraint: Constraint, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"constraint 0 on '{FOOT}': {complaint}"):
        fw.ConstraintSet(fw.models.quadruped(), [constraint])


def test_positions_of_different_batches_are_refused() -> None:
    model = fw.models.quadruped()
    with pytest.raises(ValueError, match="batches of 2 and of 3 samples"):
        fw.ConstraintSet(model, [fw.PointConstraint(FOOT, position=np.zeros((n, 3))) for n in (3, 2)])


def test_no_error_without_a_position() -> None:
    model = fw.models.quadruped()
    some: list[Constraint] = [fw.PointConstraint(FOOT, position=np.zeros(3)), fw.FrameConstraint("trunk")]
    with pytest.raises(ValueError, match="constraint 1 on 'trunk': has neither a position"):
        fw.constraint_position_error(model, model.neutral(), some)


def test_rows_are_in_the_order_they_were_asked_for() -> None:
    model = fw.models.quadruped()
    q = model.random(np.random.default_rng(6))
    rows = ["rz", "x", "ry"]
    J = fw.constraint_jacobian(model, q, [fw.FrameConstraint(FOOT, rows), fw.PointConstraint("trunk", ["z"])])
    expected = reference.jacobian(model.description, q, FOOT)[[ROWS.index(row) for row in rows]]
    assert_close(J[:3], expected)
    assert_close(J[3], reference.jacobian(model.description, q, "trunk")[2])
