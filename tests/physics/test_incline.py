"""Boxes on inclines stick or slide as Coulomb says.

Velocities of a constant acceleration have no error from time steps, so what is asserted is the tolerance of the contact
solver, relative to the largest velocity of a scene: g dt where all of it rests, the fastest box where boxes slide.
"""

import math

import numpy as np
import pytest
from helpers.compare import EPS

from physics.incline import ANGLES, FRICTIONS, creep, sliding_errors, sliding_promise, stopping, threshold

STICKING = {angle: [mu for mu in FRICTIONS if math.tan(math.radians(angle)) <= mu] for angle in ANGLES}
SLIDING = {angle: [mu for mu in FRICTIONS if math.tan(math.radians(angle)) > mu] for angle in ANGLES}


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("angle", ANGLES)
def test_a_box_that_sticks_does_not_creep(angle: float, dt: float) -> None:
    """1e-9 m/s over 10 s: a thousandth of the thickness of a hair."""
    assert (creep(math.radians(angle), STICKING[angle], dt=dt) < 1e-9).all()


sliding_angles = pytest.mark.parametrize("angle", [angle for angle in ANGLES if SLIDING[angle]])


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@sliding_angles
def test_a_box_slides_with_the_exact_acceleration(angle: float, dt: float) -> None:
    """To what the tolerance promises, which does not grow with the steps, and half an ulp of rounding in each."""
    theta, mus, seconds, tolerance = math.radians(angle), SLIDING[angle], 3.0, 1e-12
    errors = sliding_errors(theta, mus, dt=dt, seconds=seconds, tolerance=tolerance)
    assert (errors < sliding_promise(theta, mus, tolerance) + 0.5 * EPS * seconds / dt).all()


@sliding_angles
def test_sliding_with_the_default_tolerance(angle: float) -> None:
    theta, mus = math.radians(angle), SLIDING[angle]
    assert (sliding_errors(theta, mus) < sliding_promise(theta, mus)).all()


def test_sliding_tells_one_tolerance_from_another() -> None:
    """A solver that stops a hundred times too early does not keep the promise."""
    grid = [(math.radians(angle), mus) for angle, mus in SLIDING.items() if mus]
    misses = [(sliding_errors(*case, tolerance=1e-7) / sliding_promise(*case, 1e-9)).max() for case in grid]
    assert max(misses) > 1.0


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("mu", FRICTIONS)
def test_the_angle_of_friction_to_a_microradian(mu: float, dt: float) -> None:
    """Bisection down to 1e-7 rad, which is 2e-7 m/s of speed after 0.2 s, far above creep."""
    assert abs(threshold(mu, dt=dt) - math.atan(mu)) < 2e-7


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("mu", [0.1, 0.3, 0.5, 0.7])
def test_a_thrown_box_goes_straight_and_stops_in_time(mu: float, dt: float) -> None:
    """The same in all directions: to the tolerance where it stops in steps of dt, to v0 dt / 2 where it stops in time.

    The part of a step in which it comes to rest adds at most mu g dt^2 / 8.
    """
    v0 = 2.0
    stop = stopping(mu, v0, dt=dt)
    np.testing.assert_allclose(stop.distances, stop.stepped, rtol=0.0, atol=1e-9)
    assert stop.turned < 1e-9
    assert abs(stop.exact - stop.distances - 0.5 * v0 * dt).max() < 0.125 * mu * 9.81 * dt**2 + 1e-9
