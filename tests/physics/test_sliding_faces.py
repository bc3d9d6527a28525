"""Faces that slide and turn on four points: how these share the load decides how friction slows them.

As if every point were a spring of the same stiffness, pressure is linear in the place. That is what a box does in
equations of its own, whichever way it was turned before it was thrown, and in a mirror.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import featherweight as fw
from featherweight.arrays import Array
from physics.motion import spin, velocity

MU, HALF, HEIGHT, MASS, GRAVITY, SECONDS = 0.3, 0.1, 0.05, 1.0, 9.81, 0.3  # height: of the centre
START = (1.5, 0.7, 3.0)  # [m/s] and, about the vertical, [rad/s]


def thrown(yaw: float, *, dt: float = 1e-3, mirrored: bool = False, **options: Any) -> Array:
    """Velocities along x and y and the rate of turning at the end."""
    sign = -1.0 if mirrored else 1.0
    scene, X = fw.Scene(ground=fw.Plane(friction=MU)), np.eye(4)
    c, s = math.cos(sign * yaw), math.sin(sign * yaw)
    X[:2, :2], X[2, 3] = ((c, -s), (s, c)), HEIGHT
    scene.add(fw.box((2 * HALF, 2 * HALF, 2 * HEIGHT), mass=MASS, friction=MU), name="box", pose=X)
    v = X[:3, :3].T @ (START[0], sign * START[1], 0)
    sim = fw.Simulator(scene, dt=dt, **options)
    end = sim.rollout(sim.state(v=[*v, 0, 0, sign * START[2]]), n_steps=round(SECONDS / dt)).final
    assert end.converged
    return np.array([velocity(end, "box")[0], sign * velocity(end, "box")[1], sign * spin(end, "box")[2]])


def integrated(yaw: float) -> Array:
    """The same of the equations of motion, with a pressure that is linear in the place."""
    corners = HALF * np.array([(-1, -1), (1, -1), (-1, 1), (1, 1)])

    def rate(_: float, y: Array) -> Array:
        c, s = math.cos(y[2]), math.sin(y[2])
        p = corners @ np.array([(c, s), (-s, c)])
        slip = y[3:5] + y[5] * np.stack([-p[:, 1], p[:, 0]], axis=1)
        drag = -MU * slip / np.linalg.norm(slip, axis=1, keepdims=True)
        # weight, and moments about the centre: of forces (drag, 1) at (p, -height)
        effects = np.stack([np.ones(4), p[:, 1] + HEIGHT * drag[:, 1], -p[:, 0] - HEIGHT * drag[:, 0]])
        linear = np.concatenate([np.ones((4, 1)), p], axis=1)
        load = linear @ np.linalg.solve(effects @ linear, (MASS * GRAVITY, 0, 0))
        force = load[:, None] * drag
        inertia = MASS * (2 * HALF) ** 2 / 6
        moment = (p[:, 0] * force[:, 1] - p[:, 1] * force[:, 0]).sum()
        return np.array([*y[3:], *(force.sum(axis=0) / MASS), moment / inertia])

    return np.asarray(solve_ivp(rate, (0, SECONDS), [0, 0, yaw, *START], method="DOP853", rtol=1e-10).y[3:, -1])


SOLVERS = {"auto": "auto", "gauss_seidel": fw.GaussSeidel(), "newton": fw.Newton(), "admm": fw.ADMM()}


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_box_slides_alike_whichever_side_is_in_front(solver: str) -> None:
    first = thrown(0.3, solver=SOLVERS[solver])
    for quarter in (1, 2, 3):
        np.testing.assert_allclose(thrown(0.3 + quarter * math.pi / 2, solver=SOLVERS[solver]), first, atol=1e-6)
    np.testing.assert_allclose(thrown(0.3, mirrored=True, solver=SOLVERS[solver]), first, atol=1e-6)
    np.testing.assert_allclose(thrown(0.3), first, atol=1e-6)


@pytest.mark.parametrize("yaw", [0.0, 0.3, 0.7])
def test_a_box_slides_and_turns_as_on_four_springs(yaw: float) -> None:
    exact = integrated(yaw)
    errors = [np.abs(thrown(yaw, dt=dt) - exact).max() for dt in (1e-3, 2.5e-4)]
    assert errors[0] < 2e-3 and errors[1] < 0.4 * errors[0]
    assert np.abs(thrown(yaw, integrator="verlet") - exact).max() < 1e-4
