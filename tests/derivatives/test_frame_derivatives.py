"""Derivatives of the motion of frames, of the centre of mass and of momentum against central differences."""

from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.derivatives import DIFFERENCES, check_derivatives
from helpers.finite_differences import time_derivative
from helpers.forests import Forest, forests, random_forest
from hypothesis import given, settings

import featherweight as fw

REFERENCES = ("local", "world", "local_world_aligned")


@pytest.mark.parametrize("reference", REFERENCES)
@settings(max_examples=8)
@given(forest=forests(max_links=6))
def test_velocity_and_acceleration_of_frames(reference: Any, forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    for frame in forest.user_frames:
        velocity = fw.frame_velocity_derivatives(model, s.q, s.v, frame, reference=reference)
        check_derivatives(
            model,
            lambda q, v, frame=frame: fw.frame_velocity(model, q, v, frame, reference=reference),
            {"q": s.q, "v": s.v},
            {"q": velocity.dq, "v": velocity.dv},
        )
        for classical in (False, True):
            d = fw.frame_acceleration_derivatives(model, s.q, s.v, s.a, frame, reference=reference, classical=classical)
            check_derivatives(
                model,
                lambda q, v, a, frame=frame, classical=classical: fw.frame_acceleration(
                    model, q, v, a, frame, reference=reference, classical=classical
                ),
                {"q": s.q, "v": s.v, "a": s.a},
                {"q": d.dq, "v": d.dv, "a": d.da},
            )


@pytest.mark.parametrize("reference", REFERENCES)
@settings(max_examples=8)
@given(forest=forests(max_links=6))
def test_rate_of_the_jacobian(reference: Any, forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    for frame in forest.user_frames:
        rate = fw.jacobian_time_derivative(model, s.q, s.v, frame, reference=reference)

        def jacobian_at(t: float, frame: str = frame) -> np.ndarray:
            return fw.jacobian(model, model.integrate(s.q, t * s.v), frame, reference=reference)

        assert_close(rate, time_derivative(jacobian_at), DIFFERENCES, frame)


@settings(max_examples=15)
@given(forests(max_links=6))
def test_local_acceleration_is_jacobian_and_its_rate(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    frame = forest.user_frames[-1]
    a = fw.jacobian(model, s.q, frame) @ s.a + fw.jacobian_time_derivative(model, s.q, s.v, frame) @ s.v
    assert_close(fw.frame_acceleration(model, s.q, s.v, s.a, frame), a)


@settings(max_examples=15)
@given(forests(max_links=6))
def test_centre_of_mass_and_momentum(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    com = fw.center_of_mass_derivatives(model, s.q)
    check_derivatives(model, lambda q: fw.center_of_mass(model, q), {"q": s.q}, {"q": com.dq})
    d = fw.centroidal_momentum_derivatives(model, s.q, s.v)
    check_derivatives(
        model, lambda q, v: fw.centroidal_momentum(model, q, v), {"q": s.q, "v": s.v}, {"q": d.dq, "v": d.dv}
    )


def test_linear_momentum_is_mass_times_the_velocity_of_the_centre() -> None:
    forest = random_forest(8, 15)
    model, s = fw.Model(forest.description), forest.state()
    moving = fw.centroidal_momentum(model, s.q, s.v)[:3]
    mass = moving / (fw.center_of_mass_derivatives(model, s.q).dq @ s.v)
    assert_close(mass, np.full(3, mass[0]))


def test_frame_of_the_world_does_not_move() -> None:
    forest = random_forest(9, 6)
    model, s = fw.Model(forest.description), forest.state()
    d = fw.frame_acceleration_derivatives(model, s.q, s.v, s.a, "frame_0")
    assert not d.dq.any()
    assert not d.dv.any()
    assert not d.da.any()
