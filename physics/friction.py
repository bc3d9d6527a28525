"""Friction that holds or gives way: boxes that tip or slide, balls between walls, ladders that lean on walls."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from featherweight import Geometry, Material, ModelBuilder, Plane, Scene, box, capsule, pose, sphere
from physics.motion import GRAVITY, position, rotation, run, spin, velocity


@dataclass(frozen=True)
class Push:
    """A box pushed at its top."""

    slid: float  # [m]
    turned: float  # [rad]
    acceleration: float  # of its centre in the first step [m/s^2]
    turning: float  # angular acceleration in the first step [rad/s^2]


def pushed_box(
    mu: float, force: float, *, width: float = 0.2, height: float = 0.4, mass: float = 3.0, dt: float = 1e-3,
    seconds: float = 0.2, tolerance: float | None = None
) -> Push:  # fmt: skip
    """A horizontal ``force`` [N] at the top of a box on the flat, fixed in its axes.

    It tips over its edge from force = m g width / (2 height) on, and slides from mu m g on.
    """
    scene = Scene(ground=Plane())
    scene.add(box((width, width, height), mass=mass, friction=mu), name="box", pose=(0.0, 0.0, 0.5 * height))
    wrench = np.array([[force, 0.0, 0.0, 0.0, 0.5 * height * force, 0.0]])
    motion = run(scene, dt, seconds, f_ext=wrench, record=True, tolerance=tolerance)
    return Push(
        float(position(motion, "box")[-1, 0]),
        math.acos(min(1.0, float(rotation(motion, "box")[-1, 2, 2]))),
        float(velocity(motion, "box")[0, 0]) / dt,
        float(spin(motion, "box")[0, 1]) / dt,
    )


def tipping_acceleration(force: float, *, width: float = 0.2, height: float = 0.4, mass: float = 3.0) -> float:
    """Angular acceleration of the box as it begins to turn about its edge [rad/s^2]."""
    about_edge = mass * (width**2 + height**2) / 3.0
    return max(0.0, (force * height - 0.5 * mass * GRAVITY * width) / about_edge)


def squeezed_ball(
    mu: float,
    force: float,
    *,
    mass: float = 1.0,
    dt: float = 1e-3,
    seconds: float = 1.0,
    tolerance: float | None = None,
) -> tuple[float, float]:
    """Speed [m/s] of a ball that a plate presses on a wall with ``force`` [N], and what it should be.

    It hangs while 2 mu force >= m g, and falls with g - 2 mu force / m otherwise. A ball, because where a flat face
    carries how much is not determined between rigid walls, and with it the moment of friction.
    """
    radius = 0.1
    plate = ModelBuilder("press")
    surface = Geometry("plate", "collision", "box", (0.1, 1.0, 40.0), material=Material(friction=mu))
    plate.link("plate", mass=2.0, inertia=(1.0, 1.0, 1.0), geometries=[surface])
    plate.joint("slide", "prismatic", "world", "plate", axis="x", placement=(-radius - 0.05, 0.0, 0.0))
    scene = Scene(ground=Plane(normal=(-1.0, 0.0, 0.0), offset=-radius, friction=mu))
    scene.add(plate.build(), name="press")
    scene.add(sphere(radius, mass=mass, friction=mu), name="ball")
    tau = np.zeros(7)
    tau[0] = force
    final = run(scene, dt, seconds, tau=tau, tolerance=tolerance).final
    exact = -max(0.0, GRAVITY - 2.0 * mu * force / mass) * seconds
    return float(velocity(final, "ball")[2]), exact


def ladder(
    mu: float, angle: float, *, length: float = 2.0, radius: float = 0.02, dt: float = 1e-3, seconds: float = 1.0
) -> float:
    """How far the foot of a ladder slides [m] that leans on a smooth wall at ``angle`` [rad] to the ground."""
    scene = Scene(ground=Plane(friction=mu))
    scene.add(Plane(normal=(-1.0, 0.0, 0.0), friction=0.0, dim=1), name="wall")
    rod = capsule(radius, length, friction=0.0)
    middle = (-radius - 0.5 * length * math.cos(angle), 0.0, radius + 0.5 * length * math.sin(angle))
    scene.add(rod, name="rod", pose=pose(middle, rpy=(0.0, 0.5 * math.pi - angle, 0.0)))
    final = run(scene, dt, seconds).final
    start = final.simulator.state()
    return float(np.linalg.norm(position(final, "rod") - position(start, "rod")))


def ladder_threshold(angle: float, *, length: float = 2.0, radius: float = 0.02) -> float:
    """Friction of the ground from which the ladder stands: moments about its foot, with round ends."""
    return length * math.cos(angle) / (2.0 * (radius + length * math.sin(angle)))
