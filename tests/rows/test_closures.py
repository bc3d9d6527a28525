"""Rows between two links: Jacobians, velocities, biases and position errors, against what they mean."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.forests import Forest, forests
from hypothesis import assume, given
from hypothesis import strategies as st

import featherweight as fw
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import ROWS, Constraint
from featherweight.model.poses import rotation_about
from featherweight.reference.constraints import turn_error

AXES = np.eye(3)


def two_frames(forest: Forest, model: fw.Model, seed: int) -> tuple[str, str]:
    """Two links that move and are not one body, in any order: siblings, ancestors, of other trees."""
    names = [link for link in model.link_names if np.any(fw.jacobian(model, forest.state().q, link))]
    rng = np.random.default_rng(seed)
    assume(len(names) > 1)
    a, b = rng.permutation(names)[:2].tolist()
    try:
        fw.ConstraintSet(model, [fw.FrameConstraint(a, to=b)])
    except ValueError as error:
        assert "is on the same link" in str(error)
        assume(False)
    return a, b


def relative(model: fw.Model, q: Array, a: str, b: str) -> tuple[Array, Array]:
    return fw.frame_placement(model, q, a), fw.frame_placement(model, q, b)


@given(forests(max_links=7), st.integers(0, 99))
def test_velocities_are_those_of_one_frame_as_seen_from_the_other(forest: Forest, seed: int) -> None:
    model, s = fw.Model(forest.description), forest.state()
    a, b = two_frames(forest, model, seed)
    X_a, X_b = relative(model, s.q, a, b)
    R, apart = X_a[:3, :3], X_a[:3, 3] - X_b[:3, 3]
    V_a, V_b = (fw.frame_velocity(model, s.q, s.v, frame, reference="local_world_aligned") for frame in (a, b))
    linear = R.T @ (V_a[:3] - V_b[:3] - np.cross(V_b[3:], apart))  # as if b were extended to the origin of a
    weld, point = [fw.FrameConstraint(a, to=b)], [fw.PointConstraint(a, to=b)]
    assert_close(fw.constraint_velocity(model, s.q, s.v, point), linear)
    assert_close(fw.constraint_velocity(model, s.q, s.v, weld), np.concatenate([linear, R.T @ (V_a[3:] - V_b[3:])]))
    for rows in (weld, point):
        J = fw.constraint_jacobian(model, s.q, rows)
        assert_close(J @ s.v, fw.constraint_velocity(model, s.q, s.v, rows))


@given(forests(max_links=6), st.integers(0, 99))
def test_biases_are_the_accelerations_of_a_motion_at_constant_rates(forest: Forest, seed: int) -> None:
    model, s = fw.Model(forest.description), forest.state()
    a, b = two_frames(forest, model, seed)
    h = 1e-5

    def along(rows: list[fw.FrameConstraint] | list[fw.PointConstraint], t: float) -> Array:
        return fw.constraint_velocity(model, model.integrate(s.q, t * s.v), s.v, rows)

    size = 1.0 + float(np.abs(s.v).max()) ** 3
    weld, point = [fw.FrameConstraint(a, to=b)], [fw.PointConstraint(a, to=b)]
    rate = (along(weld, h) - along(weld, -h)) / (2 * h)
    assert np.abs(fw.constraint_bias(model, s.q, s.v, weld) - rate).max() < 1e-7 * size * (1 + np.abs(rate).max())
    # a point's rows are of its acceleration, seen along axes that turn
    turn = fw.frame_velocity(model, s.q, s.v, a)[3:]
    rate = (along(point, h) - along(point, -h)) / (2 * h) + np.cross(turn, along(point, 0.0))
    assert np.abs(fw.constraint_bias(model, s.q, s.v, point) - rate).max() < 1e-7 * size * (1 + np.abs(rate).max())


@given(forests(max_links=6), st.integers(0, 99))
def test_residuals_are_jacobian_times_acceleration_and_bias(forest: Forest, seed: int) -> None:
    model, s = fw.Model(forest.description), forest.state()
    a, b = two_frames(forest, model, seed)
    rows: list[Constraint] = [
        fw.FrameConstraint(a, rows=("z", "rx", "y"), to=b),
        fw.PointConstraint(b, to=a, to_offset=(0.1, 0.2, 0.3)),
    ]
    J, bias = fw.constraint_jacobian(model, s.q, rows), fw.constraint_bias(model, s.q, s.v, rows)
    assert_close(fw.constraint_residual(model, s.q, s.v, s.a, rows), J @ s.a + bias)


@given(forests(max_links=6), st.integers(0, 99))
def test_forces_of_closures_are_explained_by_inverse_dynamics(forest: Forest, seed: int) -> None:
    model, s = fw.Model(forest.description), forest.state()
    a, b = two_frames(forest, model, seed)
    rows, half = [fw.PointConstraint(a, to=b)], np.arange(model.nv) % 2 == 0
    found = fw.constrained_inverse_dynamics(model, s.q, s.v, s.a, rows, actuated=half)
    J, needed = fw.constraint_jacobian(model, s.q, rows), fw.rnea(model, s.q, s.v, s.a)
    missing, size = needed - found.tau - J.T @ found.forces, 1 + np.abs(needed).max()
    assert np.abs(missing[half]).max(initial=0.0) < 1e-12 * (size + np.abs(J.T @ found.forces).max())
    # no forces explain more of what the joints without a motor need
    best, *_ = np.linalg.lstsq(J.T[~half], needed[~half], rcond=1e-9)
    left = needed[~half] - J.T[~half] @ best
    assert np.linalg.norm(missing) <= np.linalg.norm(left) + 1e-7 * size


@given(forests(max_links=6), st.integers(0, 99))
def test_position_errors_are_between_the_frames(forest: Forest, seed: int) -> None:
    model, s = fw.Model(forest.description), forest.state()
    a, b = two_frames(forest, model, seed)
    point, weld = fw.PointConstraint(a, to=b, to_offset=(0.1, 0.2, 0.3)), fw.FrameConstraint(a, to=b)
    error = fw.constraint_position_error(model, s.q, [point, weld])
    X_a, X_b = (fw.frame_placement(model, s.q, frame) for frame in (a, b))
    assert_close(error[:3], X_a[:3, :3].T @ (X_a[:3, 3] - (X_b @ (0.1, 0.2, 0.3, 1.0))[:3]))
    assert_close(error[3:6], X_a[:3, :3].T @ (X_a[:3, 3] - X_b[:3, 3]))
    R = X_b[:3, :3].T @ X_a[:3, :3]
    angle = float(np.linalg.norm(error[6:]))
    assert_close(rotation_about(error[6:] / max(angle, 1e-300), angle), R, 1e-7)


def free_body() -> fw.Model:
    builder = fw.ModelBuilder("body").link("body", mass=1.0, inertia=(1.0, 2.0, 2.5))
    return builder.joint("root", "free", "world", "body").build()


def turned(model: fw.Model, R: Array) -> Array:
    q = model.neutral()
    q[3:] = quaternion(R)
    return q


def quaternion(R: Array) -> Array:
    values, vectors = np.linalg.eigh(
        np.block(
            [
                [
                    R + R.T - np.trace(R) * np.eye(3),
                    np.array([[R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]]).T,
                ],
                [np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]), np.trace(R)],
            ]
        )
    )
    assert values[-1] > 2.9
    return vectors[:, -1]


SUBSETS = [rows for n in range(8) if (rows := tuple(ROWS[3 + k] for k in range(3) if n >> k & 1))]


@pytest.mark.parametrize("rows", SUBSETS)
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-6, np.pi])
def test_turns_are_seen_up_to_half_a_turn(rows: tuple[str, ...], angle: float) -> None:
    model, axis = free_body(), np.array([0.36, 0.48, -0.8])
    R = rotation_about(axis, angle)
    frame = [fw.FrameConstraint("body", rows=rows, position=np.eye(4))]
    held = [ROWS.index(row) - 3 for row in rows]
    error = fw.constraint_position_error(model, turned(model, R), frame)
    expected = turn_error(R, held)[held]
    if len(held) == 3 and angle > 3.1:  # either way round will do
        assert min(np.abs(error - expected).max(), np.abs(error + expected).max()) < 1e-7
        assert np.linalg.norm(error) == pytest.approx(angle, abs=1e-7)
    else:
        assert np.abs(error - expected).max() < 2e-8


@pytest.mark.parametrize("rows", SUBSETS)
@pytest.mark.parametrize("free_turn", [0.0, 1.0, 2.5, np.pi, -3.0])
def test_small_errors_change_with_the_velocity_of_the_rows(rows: tuple[str, ...], free_turn: float) -> None:
    """Also of a hinge that has turned far about the axis that it leaves free."""
    model = free_body()
    held = [ROWS.index(row) - 3 for row in rows]
    free = [k for k in range(3) if k not in held]
    R = rotation_about(AXES[free[0]], free_turn) if len(free) == 1 else np.eye(3)
    frame = [fw.FrameConstraint("body", rows=rows, position=np.eye(4))]
    q, h = turned(model, R), 1e-5
    assert np.abs(fw.constraint_position_error(model, q, frame)).max() < 1e-12
    for w in np.eye(3):
        v = np.concatenate([np.zeros(3), w])
        ahead, behind = (
            fw.constraint_position_error(model, model.integrate(q, side * h * v), frame) for side in (1, -1)
        )
        assert np.abs((ahead - behind) / (2 * h) - fw.constraint_velocity(model, q, v, frame)).max() < 1e-8
