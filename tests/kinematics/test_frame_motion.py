"""Velocities, accelerations and Jacobians of frames, in all three references."""

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.finite_differences import time_derivative
from helpers.forests import Forest, LinkPlan, forests, random_forest
from helpers.motion import motion_through
from hypothesis import given

import featherweight as fw
from featherweight import reference
from featherweight.reference.kinematics import Reference

REFERENCES: tuple[Reference, ...] = ("local", "world", "local_world_aligned")


@given(forests(max_links=6))
def test_jacobians_match_the_twin(forest: Forest) -> None:
    model, q = fw.Model(forest.description), forest.state().q
    for frame in forest.frame_names:
        for ref in REFERENCES:
            expected = reference.jacobian(forest.description, q, frame, ref)
            assert_close(fw.jacobian(model, q, frame, reference=ref), expected, what=f"{frame}, {ref}")


@given(forests(max_links=6))
def test_frame_velocities_match_the_twin(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    for frame in forest.frame_names:
        for ref in REFERENCES:
            expected = reference.frame_velocity(forest.description, s.q, s.v, frame, ref)
            assert_close(fw.frame_velocity(model, s.q, s.v, frame, reference=ref), expected, what=f"{frame}, {ref}")


@given(forests(max_links=6))
def test_frame_accelerations_match_the_twin(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    for frame in forest.frame_names:
        for ref in REFERENCES:
            for classical in (False, True):
                expected = reference.frame_acceleration(forest.description, s.q, s.v, s.a, frame, ref, classical)
                actual = fw.frame_acceleration(model, s.q, s.v, s.a, frame, reference=ref, classical=classical)
                assert_close(actual, expected, what=f"{frame}, {ref}, classical={classical}")


@pytest.mark.parametrize("seed", range(5))
def test_jacobian_times_velocity_is_the_frame_velocity(seed: int) -> None:
    forest = random_forest(seed, 30)
    model, s = fw.Model(forest.description), forest.state()
    for frame in forest.frame_names:
        for ref in REFERENCES:
            J = fw.jacobian(model, s.q, frame, reference=ref)
            assert_close(J @ s.v, fw.frame_velocity(model, s.q, s.v, frame, reference=ref), what=f"{frame}, {ref}")


@pytest.mark.parametrize("seed", range(5))
def test_classical_acceleration_is_the_rate_of_the_point_velocity(seed: int) -> None:
    forest = random_forest(seed)
    model, s = fw.Model(forest.description), forest.state()
    along = motion_through(forest.description, s)
    aligned: Reference = "local_world_aligned"
    for frame in forest.user_frames:
        rate = time_derivative(lambda t, f=frame: fw.frame_velocity(model, *along(t), f, reference=aligned))  # type: ignore[misc]
        actual = fw.frame_acceleration(model, s.q, s.v, s.a, frame, reference=aligned, classical=True)
        assert_close(actual, rate, 1e-8)


def test_local_is_the_default_reference() -> None:
    forest = random_forest(seed=1)
    model, s = fw.Model(forest.description), forest.state()
    frame = "frame_2"
    assert np.array_equal(fw.jacobian(model, s.q, frame), fw.jacobian(model, s.q, frame, reference="local"))
    assert np.array_equal(
        fw.frame_velocity(model, s.q, s.v, frame), fw.frame_velocity(model, s.q, s.v, frame, reference="local")
    )


def test_frame_in_the_world_does_not_move() -> None:
    forest = random_forest(seed=2)
    model, s = fw.Model(forest.description), forest.state()
    assert not fw.jacobian(model, s.q, "frame_0").any()
    assert not fw.frame_velocity(model, s.q, s.v, "frame_0").any()
    assert not fw.frame_acceleration(model, s.q, s.v, s.a, "frame_0").any()


def test_point_on_a_turntable_accelerates_towards_the_axis() -> None:
    """At rate w and radius r: classical acceleration w^2 r inwards, spatial acceleration zero."""
    forest = Forest((LinkPlan("revolute", axis="+z"), LinkPlan("fixed", placement="shifted")), seed=3)
    model = fw.Model(forest.description)
    r = forest.description.joints[1].placement[:3, 3] * [1, 1, 0]
    state = [0.0], [2.0], [0.0], "link_1"
    assert_close(
        fw.frame_acceleration(model, *state, reference="local_world_aligned", classical=True)[:3], -4 * r, 1e-15
    )
    assert_close(fw.frame_acceleration(model, *state, reference="world"), np.zeros(6), 1e-15)
