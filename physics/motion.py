"""What all cases share: gravity, a run, and where bodies are and how they move."""

from __future__ import annotations

from typing import Any

import numpy as np

from featherweight import Automatic, Scene, Simulator, State, Trajectory
from featherweight.arrays import Array
from featherweight.model.poses import rotation_from_quaternion
from featherweight.simulation.core_arguments import Integrator

GRAVITY = 9.81  # [m/s^2]


def steps(seconds: float, dt: float) -> int:
    """Steps in a time that is a whole number of them."""
    n = round(seconds / dt)
    if n < 1 or abs(n * dt - seconds) > 1e-9 * seconds:
        raise ValueError(f"seconds must be a whole number of steps of {dt:g} s, got {seconds:g}")
    return n


def run(
    scene: Scene,
    dt: float,
    seconds: float,
    *,
    v: dict[str, Any] | None = None,
    f_ext: Any = None,
    tau: Any = None,
    record: bool = False,
    tolerance: float | None = None,
    integrator: Integrator = "semi_implicit",
) -> Trajectory:
    """The scene under constant forces; ``v``: velocities to start with, by part; tolerance: None for the default."""
    simulator = simulated(scene, dt, tolerance, integrator)
    start = np.zeros(simulator.model.nv)
    for name, rate in (v or {}).items():
        start[simulator.scene.parts[name].v] = rate
    state = simulator.state(v=start)
    return simulator.rollout(state, tau, f_ext=f_ext, n_steps=steps(seconds, dt), record=record)


def simulated(
    scene: Scene, dt: float, tolerance: float | None = None, integrator: Integrator = "semi_implicit"
) -> Simulator:
    solver: Any = "auto" if tolerance is None else Automatic(tolerance=tolerance)
    return Simulator(scene, dt, solver=solver, integrator=integrator)


def rotation(state: State | Trajectory, name: str) -> Array:
    """Of a body, world from body axes, (..., 3, 3)."""
    return rotation_from_quaternion(state.q[..., state.simulator.scene.parts[name].q][..., 3:])


def position(state: State | Trajectory, name: str) -> Array:
    """Of a body's origin [m], (..., 3), world."""
    return state.q[..., state.simulator.scene.parts[name].q][..., :3]


def velocity(state: State | Trajectory, name: str) -> Array:
    """Of a body's origin [m/s], (..., 3), world axes."""
    return _in_world(state, name, slice(0, 3))


def spin(state: State | Trajectory, name: str) -> Array:
    """Angular velocity of a body [rad/s], (..., 3), world axes."""
    return _in_world(state, name, slice(3, 6))


def _in_world(state: State | Trajectory, name: str, which: slice) -> Array:
    v = state.v[..., state.simulator.scene.parts[name].v][..., which]
    return np.asarray(np.einsum("...ij,...j->...i", rotation(state, name), v))
