"""Balls that roll, slide and spin.

Down an incline a ball rolls with 5/7 g sin(theta) if mu >= 2/7 tan(theta), and slides with g (sin - mu cos) otherwise.
All accelerations here are constant between sliding and rolling, so velocities are exact in time steps too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from featherweight import Body, Plane, Scene, cylinder, sphere
from physics.incline import EDGE, downhill, incline, sliding_acceleration
from physics.motion import GRAVITY, position, run, spin, velocity

RADIUS = 0.5 * EDGE


def ball(mu: float) -> Body:
    return sphere(RADIUS, friction=mu)


def ball_acceleration(theta: float, mu: float) -> float:
    """Of a ball down an incline [m/s^2]."""
    if mu >= 2.0 / 7.0 * math.tan(theta):
        return 5.0 / 7.0 * GRAVITY * math.sin(theta)
    return sliding_acceleration(theta, mu)


def rolling_error(
    theta: float, mu: float, *, dt: float = 1e-3, seconds: float = 3.0, tolerance: float | None = None
) -> float:
    """Relative error of a ball's speed down an incline after ``seconds``."""
    final = run(incline(theta, (mu,), ball), dt, seconds, tolerance=tolerance).final
    exact = ball_acceleration(theta, mu) * seconds
    return abs(float(velocity(final, "body_0") @ downhill(theta)) / exact - 1.0)


@dataclass(frozen=True)
class Rolling:
    """A ball thrown over the flat without spin."""

    speed: float  # at the end [m/s]
    exact_speed: float  # 5/7 v0
    time: float  # until it rolls [s]
    exact_time: float  # 2 v0 / (7 mu g)
    distance: float  # until then [m]
    exact_distance: float  # 12 v0^2 / (49 mu g)


def slide_to_roll(v0: float, mu: float, *, dt: float = 1e-3, tolerance: float | None = None) -> Rolling:
    """From sliding to rolling. Time and distance are known to a step, dt and v0 dt; the final speed is exact."""
    exact_time = 2.0 * v0 / (7.0 * mu * GRAVITY)
    scene = Scene(ground=Plane())
    scene.add(ball(mu), name="ball", pose=(0.0, 0.0, RADIUS))
    n = math.ceil(1.5 * exact_time / dt)
    motion = run(scene, dt, n * dt, v={"ball": (v0, 0, 0, 0, 0, 0)}, record=True, tolerance=tolerance)
    slip = velocity(motion, "ball")[:, 0] - RADIUS * spin(motion, "ball")[:, 1]
    rolls = int(np.argmax(slip < 1e-6 * v0))
    return Rolling(
        float(velocity(motion, "ball")[-1, 0]),
        5.0 / 7.0 * v0,
        dt * (rolls + 1),
        exact_time,
        float(position(motion, "ball")[rolls, 0]),
        12.0 * v0 * v0 / (49.0 * mu * GRAVITY),
    )


@dataclass(frozen=True)
class Slowing:
    """A body that friction brings to rest from a constant deceleration."""

    rate: float  # measured while it moves [m/s^2 or rad/s^2]
    exact: float
    rest: float  # largest velocity after it has stopped


def spinning_friction(radius: float, w0: float = 10.0, *, dt: float = 1e-3, tolerance: float | None = None) -> Slowing:
    """A ball spins about the vertical: torsional friction ``radius`` [m] slows it by radius m g / I."""
    exact = radius * GRAVITY / (0.4 * RADIUS * RADIUS)
    return _slowed(sphere(RADIUS, friction=0.8, torsional=radius), (0, 0, 0, 0, 0, w0), 5, w0, exact, dt, tolerance)


def rolling_friction(radius: float, v0: float = 1.0, *, dt: float = 1e-3, tolerance: float | None = None) -> Slowing:
    """A ball rolls over the flat: rolling friction ``radius`` [m] slows it by 5/7 g radius / R."""
    exact = 5.0 / 7.0 * GRAVITY * radius / RADIUS
    return _slowed(
        sphere(RADIUS, friction=0.8, rolling=radius), (v0, 0, 0, 0, v0 / RADIUS, 0), 0, v0, exact, dt, tolerance
    )


def _slowed(
    body: Body,
    start: tuple[float, ...],
    which: int,
    speed: float,
    exact: float,
    dt: float,
    tolerance: float | None,
) -> Slowing:
    scene = Scene(ground=Plane())
    scene.add(body, name="ball", pose=(0.0, 0.0, RADIUS))
    n = math.ceil(1.5 * speed / exact / dt)
    motion = run(scene, dt, n * dt, v={"ball": start}, record=True, tolerance=tolerance)
    v = np.concatenate([velocity(motion, "ball"), spin(motion, "ball")], axis=1)
    moving = math.floor(0.9 * speed / exact / dt)
    rate = (speed - float(v[moving - 1, which])) / (moving * dt)
    return Slowing(rate, exact, float(np.abs(v[math.ceil(speed / exact / dt) + 1 :]).max()))


def cylinder_error(theta: float, *, dt: float = 1e-3, seconds: float = 2.0) -> float:
    """Relative error of the speed of a cylinder that rolls down with 2/3 g sin(theta)."""
    body = cylinder(RADIUS, 2.0 * EDGE, friction=1.0)
    scene = Scene(ground=Plane(normal=(math.sin(theta), 0.0, math.cos(theta))))
    X = np.eye(4)
    X[:3, :3] = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # its axis along y
    X[:3, 3] = RADIUS * np.array([math.sin(theta), 0.0, math.cos(theta)])
    scene.add(body, name="cylinder", pose=X)
    final = run(scene, dt, seconds).final
    exact = 2.0 / 3.0 * GRAVITY * math.sin(theta) * seconds
    return abs(float(velocity(final, "cylinder") @ downhill(theta)) / exact - 1.0)
