"""Balls and cylinders roll, slide and spin with constant accelerations: exact in time steps but for rounding."""

import math

import pytest

from physics.rolling import cylinder_error, rolling_error, rolling_friction, slide_to_roll, spinning_friction


@pytest.mark.parametrize("angle", [10.0, 30.0, 60.0])
@pytest.mark.parametrize("above", [0.5, 0.999, 1.001, 3.0])
def test_a_ball_rolls_from_two_sevenths_of_the_tangent_on(angle: float, above: float) -> None:
    """Friction a thousandth below the threshold already makes it slide. One contact is solved to rounding."""
    theta = math.radians(angle)
    assert rolling_error(theta, above * 2.0 / 7.0 * math.tan(theta)) < 1e-11


def test_a_cylinder_rolls_with_two_thirds() -> None:
    """Two contact points share the load; their solution meets 1e-9 of g dt in every step."""
    assert cylinder_error(0.3) < 1e-9


@pytest.mark.parametrize("mu", [0.1, 0.5])
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_thrown_ball_ends_with_five_sevenths_of_its_speed(mu: float, dt: float) -> None:
    """Its angular momentum about the line of contact does not depend on friction, so the speed is exact.

    When it starts to roll is known to a step, and where to the way of a step.
    """
    v0 = 2.0
    ball = slide_to_roll(v0, mu, dt=dt)
    assert abs(ball.speed / ball.exact_speed - 1.0) < 1e-11
    assert abs(ball.time - ball.exact_time) <= 1.01 * dt
    assert abs(ball.distance - ball.exact_distance) <= v0 * dt


@pytest.mark.parametrize("radius", [1e-3, 5e-3])
def test_torsional_friction_stops_a_spinning_ball(radius: float) -> None:
    """Constant deceleration, so only rounding; then rest."""
    slowing = spinning_friction(radius)
    assert abs(slowing.rate / slowing.exact - 1.0) < 1e-11
    assert slowing.rest < 1e-11


@pytest.mark.parametrize("radius", [1e-3, 5e-3])
def test_rolling_friction_stops_a_rolling_ball(radius: float) -> None:
    """Sliding and rolling friction act at once; each step is solved to 1e-9 of g dt = 1e-11 m/s."""
    slowing = rolling_friction(radius)
    assert abs(slowing.rate / slowing.exact - 1.0) < 1e-9
    assert slowing.rest < 1e-9
