"""Boxes on inclines stick or slide as Coulomb says.

Velocities of a constant acceleration have no error from time steps, so what is asserted is the tolerance of the contact
solver, 1e-10 of the velocities of a step (g dt), and what it adds up to.
"""

import math

import numpy as np
import pytest

from physics.incline import ANGLES, FRICTIONS, creep, sliding_errors, stopping, threshold

STICKING = {angle: [mu for mu in FRICTIONS if math.tan(math.radians(angle)) <= mu] for angle in ANGLES}
SLIDING = {angle: [mu for mu in FRICTIONS if math.tan(math.radians(angle)) > mu] for angle in ANGLES}


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("angle", ANGLES)
def test_a_box_that_sticks_does_not_creep(angle: float, dt: float) -> None:
    """1e-9 m/s over 10 s: a thousandth of the thickness of a hair."""
    assert (creep(math.radians(angle), STICKING[angle], dt=dt) < 1e-9).all()


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("angle", [angle for angle in ANGLES if SLIDING[angle]])
def test_a_box_slides_with_the_exact_acceleration(angle: float, dt: float) -> None:
    """3000 steps, each solved to 1e-12 of g dt, cannot add up to more than 1e-12 g / a of the speed."""
    errors = sliding_errors(math.radians(angle), SLIDING[angle], dt=dt, tolerance=1e-12)
    assert (errors < 1e-10).all()


@pytest.mark.parametrize("angle", [angle for angle in ANGLES if SLIDING[angle]])
def test_sliding_with_the_default_tolerance(angle: float) -> None:
    """Steps solved to 1e-9 of g dt, most to 1e-10: g / a times as much of the speed, at most 20 in this grid."""
    assert (sliding_errors(math.radians(angle), SLIDING[angle]) < 2e-9).all()


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
