"""A box on an incline: it sticks if tan(theta) <= mu, else it slides with g (sin(theta) - mu cos(theta)).

Both are exact in time steps too: without sliding every velocity is zero, and a constant acceleration is integrated
without error in the velocity. What is left is rounding and the tolerance of the contact solver, which is relative to
the largest velocity among the contacts of a scene.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from featherweight import Automatic, Plane, Scene, Simulator, box, pose
from featherweight.arrays import Array
from physics.motion import GRAVITY, position, run, steps, velocity

FRICTIONS = (0.1, 0.3, 0.5, 0.7, 1.0)
ANGLES = (3.0, 10.0, 20.0, 30.0, 40.0)  # [deg]
EDGE = 0.2  # of the boxes [m]


def incline(theta: float, frictions: Sequence[float], shape: Any = None) -> Scene:
    """A plane that falls towards +x by ``theta`` [rad], and a body resting on it for each friction, side by side."""
    scene = Scene(ground=Plane(normal=(math.sin(theta), 0.0, math.cos(theta))))
    for k, mu in enumerate(frictions):
        body = box((EDGE, EDGE, EDGE), friction=mu) if shape is None else shape(mu)
        scene.add(body, name=f"body_{k}", pose=pose(rpy=(0.0, theta, 0.0)) @ pose((0.0, 3.0 * EDGE * k, 0.5 * EDGE)))
    return scene


def downhill(theta: float) -> Array:
    return np.array([math.cos(theta), 0.0, -math.sin(theta)])


def sliding_acceleration(theta: float, mu: float) -> float:
    """Of a body that does not roll [m/s^2]; zero where it sticks."""
    return max(0.0, GRAVITY * (math.sin(theta) - mu * math.cos(theta)))


def creep(theta: float, frictions: Sequence[float], *, dt: float = 1e-3, seconds: float = 10.0) -> Array:
    """Mean speed [m/s] of boxes over ``seconds``, (frictions,): zero where they stick."""
    scene = incline(theta, frictions)
    final = run(scene, dt, seconds).final
    start = final.simulator.state()
    moved = [position(final, f"body_{k}") - position(start, f"body_{k}") for k in range(len(frictions))]
    return np.asarray(np.linalg.norm(np.array(moved), axis=1) / seconds)


def sliding_errors(
    theta: float,
    frictions: Sequence[float],
    *,
    dt: float = 1e-3,
    seconds: float = 3.0,
    tolerance: float | None = None,
) -> Array:
    """Relative errors of the speed downhill after ``seconds``, (frictions,), for boxes that slide."""
    final = run(incline(theta, frictions), dt, seconds, tolerance=tolerance).final
    speeds = np.array([velocity(final, f"body_{k}") @ downhill(theta) for k in range(len(frictions))])
    exact = seconds * np.array([sliding_acceleration(theta, mu) for mu in frictions])
    return np.asarray(np.abs(speeds / exact - 1.0))


def sliding_promise(theta: float, frictions: Sequence[float], tolerance: float | None = None) -> Array:
    """What a solver's tolerance, None for the default, leaves of :func:`sliding_errors` at any time, (frictions,).

    A step may leave a contact a normal velocity of the tolerance times the speed of the fastest box. The next step
    takes it up, and friction is in proportion to the normal impulse: what is left does not add up over the steps, and
    in relation to a box's own speed it is the larger the slower that box is.
    """
    speeds = np.array([sliding_acceleration(theta, mu) for mu in frictions])
    return np.asarray((Automatic().tolerance if tolerance is None else tolerance) * speeds.max() / speeds)


def threshold(mu: float, *, resolution: float = 1e-7, dt: float = 1e-3, seconds: float = 0.2) -> float:
    """The angle [rad] at which a box begins to slide, by bisection; atan(mu) is exact.

    A box that is ``d`` too steep has sqrt(1 + mu^2) g d seconds of speed at the end. It counts as sliding from half of
    what ``resolution`` gives.
    """
    low, high = math.atan(mu) - 0.01, math.atan(mu) + 0.01
    slow = 0.5 * math.hypot(1.0, mu) * GRAVITY * resolution * seconds
    while high - low > resolution:
        middle = 0.5 * (low + high)
        final = run(incline(middle, (mu,)), dt, seconds).final
        slides = velocity(final, "body_0") @ downhill(middle) > slow
        low, high = (low, middle) if slides else (middle, high)
    return 0.5 * (low + high)


@dataclass(frozen=True)
class Stop:
    """How far boxes slid on the flat, thrown in several directions."""

    distances: Array  # [m], (directions,)
    turned: float  # largest angle between the path and the throw [rad]
    exact: float  # v0^2 / (2 mu g) [m]
    stepped: float  # the same with velocities that are constant over a step [m]


def stopping(
    mu: float, v0: float, *, directions: Sequence[float] = (0.0, 0.3, math.pi / 4, 1.2), dt: float = 1e-3
) -> Stop:
    """Boxes thrown over the flat at ``v0`` along ``directions`` [rad] until they rest.

    Coulomb's cone is round: all go straight and equally far. A step moves by the velocity at its end, which makes the
    path v0 dt / 2 shorter to first order: v_k = v0 - k mu g dt until it would change sign.
    """
    scene = Scene(ground=Plane())
    scene.add(box((EDGE, EDGE, EDGE), friction=mu), name="box", pose=(0.0, 0.0, 0.5 * EDGE))
    simulator = Simulator(scene, dt)
    headings = np.array([[math.cos(phi), math.sin(phi)] for phi in directions])
    start = np.zeros((len(headings), 6))
    start[:, :2] = v0 * headings
    lost = mu * GRAVITY * dt  # of speed in a step
    sliding = math.floor(v0 / lost)
    n = sliding + steps(0.1, dt)
    final = simulator.rollout(simulator.state(len(headings), v=start), n_steps=n, record=False).final
    path = position(final, "box")[:, :2]
    distances = np.linalg.norm(path, axis=1)
    across = np.abs(path[:, 0] * headings[:, 1] - path[:, 1] * headings[:, 0])
    stepped = dt * (sliding * v0 - 0.5 * lost * sliding * (sliding + 1))
    return Stop(distances, float((across / distances).max()), v0 * v0 / (2.0 * mu * GRAVITY), stepped)
