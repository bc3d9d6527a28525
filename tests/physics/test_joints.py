"""Joints stop at their limits and by dry friction."""

import pytest

from physics.joints import dry_friction, pendulum_at_limit


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_pendulum_rests_on_its_stop(dt: float) -> None:
    """It touches at the end of a step and stays, at rest to the tolerance, 1e-9 of what gravity adds in a step.
    Its speed at the impact has the first-order error of the steps."""
    pendulum = pendulum_at_limit(dt=dt)
    assert pendulum.beyond < 1e-12
    assert pendulum.at < 1e-12
    assert pendulum.speed < 1e-9 * 9.81 * dt
    assert abs(pendulum.impact - pendulum.exact_impact) < 9.81 * dt


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_dry_friction_slows_a_wheel_and_holds_it(dt: float) -> None:
    """Constant torque: rounding only. Held to the tolerance, 1e-9 of dt rad/s where there is no gravity."""
    wheel = dry_friction(dt=dt)
    assert abs(wheel.rate / wheel.exact - 1.0) < 1e-12
    assert wheel.rest <= 1e-9 * dt
