"""Euler's disc: a coin that rolls around on its rim while its centre stays where it is.

With the axis of the disc at an angle to the vertical, c from the centre to the lowest point of the rim, and the angular
velocity w along c, that point is at rest. The disc keeps this up where gravity turns its angular momentum L as fast as
the point goes around, Omega z x L = c x m g z. Nothing slides, so nothing is lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from featherweight import Plane, Scene, cylinder
from featherweight.arrays import Array
from featherweight.simulation.core_arguments import Integrator
from physics.motion import GRAVITY, position, rotation, run, spin, velocity

RADIUS, THICKNESS, MASS = 0.1, 0.01, 1.0  # [m], [m], [kg]


@dataclass(frozen=True)
class Disc:
    """What should stay as it is, at its worst."""

    tilt: float  # error of the angle of its axis [rad]
    path: float  # of its centre, from where it was [m]
    energy: float  # relative


def start(tilt: float) -> tuple[Array, Array, Array]:
    """Orientation, place of the centre [m] and angular velocity [rad/s], world axes."""
    s, c = math.sin(tilt), math.cos(tilt)
    R = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    arm = R @ (RADIUS, 0.0, -0.5 * THICKNESS)
    along = arm / np.linalg.norm(arm)
    momentum = R @ (inertia() * (R.T @ along))
    around = along[2] - c * along[0] / s  # of the point of contact, per speed: what is not a turn about the axis
    speed = math.sqrt(np.cross(arm, (0.0, 0.0, MASS * GRAVITY))[1] / (around * momentum[0]))
    return R, np.array((0.0, 0.0, -arm[2])), speed * along


def inertia() -> Array:
    """Along the axes of the disc [kg m^2]."""
    across = MASS * (RADIUS**2 / 4 + THICKNESS**2 / 12)
    return np.array([across, across, MASS * RADIUS**2 / 2])


def change(tilts: Array, places: Array, energies: Array, tilt: float) -> Disc:
    moved = np.linalg.norm(places - start(tilt)[1], axis=1)
    return Disc(
        float(np.abs(tilts - tilt).max()), float(moved.max()), float(np.abs(energies / energy_at(tilt) - 1).max())
    )


def energy_at(tilt: float) -> float:
    R, place, w = start(tilt)
    return float(0.5 * (inertia() * (R.T @ w)) @ (R.T @ w) + MASS * GRAVITY * place[2])


def rolling_disc(
    tilt: float,
    *,
    dt: float = 1e-3,
    seconds: float = 0.25,
    restitution: float = 0.0,
    integrator: Integrator = "semi_implicit",
) -> Disc:
    """Its axis at an angle [rad] to the vertical."""
    R, place, w = start(tilt)
    scene, X = Scene(ground=Plane(friction=1.0)), np.eye(4)
    X[:3, :3], X[:3, 3] = R, place
    scene.add(cylinder(RADIUS, THICKNESS, mass=MASS, restitution=restitution), name="disc", pose=X)
    motion = run(scene, dt, seconds, v={"disc": (0, 0, 0, *(R.T @ w))}, record=True, integrator=integrator)
    axis = rotation(motion, "disc")[:, :, 2]
    turns = np.einsum("nij,ni->nj", rotation(motion, "disc"), spin(motion, "disc"))
    places = position(motion, "disc")
    energies = 0.5 * (inertia() * turns**2).sum(axis=1) + MASS * (
        0.5 * (velocity(motion, "disc") ** 2).sum(axis=1) + GRAVITY * places[:, 2]
    )
    return change(np.arccos(axis[:, 2]), places, energies, tilt)
