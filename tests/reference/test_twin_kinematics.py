"""The kinematic twins against the dense oracle and against finite differences of themselves."""

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.finite_differences import time_derivative
from helpers.forests import Forest, LinkPlan, forests
from helpers.motion import motion_through
from hypothesis import given

from featherweight import reference
from featherweight.reference import dense
from featherweight.reference.kinematics import Reference
from featherweight.reference.spatial import inverse, motion_transform

REFERENCES: tuple[Reference, ...] = ("local", "world", "local_world_aligned")


@given(forests(max_links=6))
def test_poses_match_the_dense_oracle(forest: Forest) -> None:
    description, state = forest.description, forest.state()
    expected = [body.pose for body in dense.motions(description, state.q, state.v, state.a)]
    assert_close(reference.forward_kinematics(description, state.q), np.array(expected))


@given(forests(max_links=6))
def test_jacobian_times_velocity_is_the_frame_velocity(forest: Forest) -> None:
    description, state = forest.description, forest.state()
    for frame in forest.frame_names:
        for ref in REFERENCES:
            J = reference.jacobian(description, state.q, frame, ref)
            assert_close(J @ state.v, reference.frame_velocity(description, state.q, state.v, frame, ref), 1e-13)


@given(forests(max_links=6))
def test_frame_velocity_is_the_rate_of_the_placement(forest: Forest) -> None:
    description, state = forest.description, forest.state()
    along = motion_through(description, state)
    for frame in forest.user_frames:
        X = reference.frame_placement(description, state.q, frame)
        dX = time_derivative(lambda t, frame=frame: reference.frame_placement(description, along(t)[0], frame))  # type: ignore[misc]
        V_W = dX @ np.linalg.inv(X)
        expected = [*V_W[:3, 3], V_W[2, 1], V_W[0, 2], V_W[1, 0]]
        assert_close(reference.frame_velocity(description, state.q, state.v, frame, "world"), expected, 1e-9)


@given(forests(max_links=6))
def test_spatial_acceleration_is_the_rate_of_the_world_velocity(forest: Forest) -> None:
    description, state = forest.description, forest.state()
    along = motion_through(description, state)
    for frame in forest.user_frames:
        rate = time_derivative(lambda t, f=frame: reference.frame_velocity(description, *along(t), f, "world"))  # type: ignore[misc]
        X_FW = motion_transform(inverse(reference.frame_placement(description, state.q, frame)))
        q, v, a = state.q, state.v, state.a
        assert_close(reference.frame_acceleration(description, q, v, a, frame, "world"), rate, 1e-8)
        assert_close(reference.frame_acceleration(description, q, v, a, frame, "local"), X_FW @ rate, 1e-8)


@given(forests(max_links=6))
def test_classical_acceleration_is_the_rate_of_the_point_velocity(forest: Forest) -> None:
    description, state = forest.description, forest.state()
    along = motion_through(description, state)
    for frame in forest.user_frames:
        rate = time_derivative(
            lambda t, f=frame: reference.frame_velocity(description, *along(t), f, "local_world_aligned")  # type: ignore[misc]
        )
        actual = reference.frame_acceleration(
            description, state.q, state.v, state.a, frame, "local_world_aligned", classical=True
        )
        assert_close(actual, rate, 1e-8)


@given(forests(max_links=6))
def test_center_of_mass_accelerations_match_the_dense_oracle(forest: Forest) -> None:
    """The dense oracle differentiates poses twice and knows no spatial vectors."""
    description, s = forest.description, forest.state()
    for link, body in zip(description.links, dense.motions(description, s.q, s.v, s.a), strict=True):
        args = description, s.q, s.v
        acceleration = reference.frame_acceleration(*args, s.a, link.name, "local_world_aligned", classical=True)
        w = reference.frame_velocity(*args, link.name, "local_world_aligned")[3:]
        arm = body.pose[:3, :3] @ (np.zeros(3) if link.inertia is None else link.inertia.com)
        at_com = acceleration[:3] + np.cross(acceleration[3:], arm) + np.cross(w, np.cross(w, arm))
        assert_close(at_com, body.acceleration)
        assert_close(acceleration[3:], body.angular_acceleration)


def test_unknown_frame_is_named() -> None:
    description = Forest((LinkPlan("revolute"),)).description
    with pytest.raises(ValueError, match="no_such_frame"):
        reference.jacobian(description, np.zeros(1), "no_such_frame")
