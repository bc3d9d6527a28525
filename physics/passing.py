"""Bodies that pass each other closely, slide over seams, or hit at an angle: what touches, and what must not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from featherweight import Body, Plane, Scene, box, capsule, convex, cylinder, ellipsoid, sphere
from featherweight.arrays import Array
from featherweight.simulation.core_arguments import Integrator
from physics.motion import position, run

EDGE = 0.2  # [m] of the bodies
TILE = 0.5  # [m] edge of the tiles

BODIES: dict[str, Callable[[float], Body]] = {
    "box": lambda mu: box((EDGE, EDGE, EDGE), friction=mu),
    "ball": lambda mu: sphere(EDGE / 2, friction=mu),
    "cylinder": lambda mu: cylinder(EDGE / 2, EDGE, friction=mu),
    "capsule": lambda mu: capsule(EDGE / 2, EDGE, friction=mu),
    "ellipsoid": lambda mu: ellipsoid((EDGE / 2, EDGE / 2, EDGE / 2), friction=mu),
    "hull": lambda mu: convex(_corners(EDGE, EDGE, EDGE), friction=mu),
}
LYING = np.array(((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)))  # z of the body along -y


def _corners(x: float, y: float, z: float) -> Array:
    return 0.5 * np.array([(i * x, j * y, k * z) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])


def fly_by(
    kind: str, speed: float, *, gap: float = 1e-3, dt: float = 2e-3, start: float = -0.5037, spin: float = 0.0
) -> float:
    """Largest change of any velocity [m/s or rad/s] while a body flies past one at rest, ``gap`` [m] beside it."""
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(BODIES[kind](0.5), name="thrown", pose=(start, EDGE + gap, 0.01))
    scene.add(BODIES[kind](0.5), name="resting", pose=(0.0, 0.0, 0.0))
    thrown = (speed, 0.0, 0.0, spin, 0.0, 0.0)
    motion = run(scene, dt, math.ceil(2 * abs(start) / speed / dt) * dt, v={"thrown": thrown}, record=True)
    return float(np.abs(motion.v - (*thrown, *np.zeros(6))).max())


def tiles(scene: Scene, kind: str, count: int, mu: float) -> None:
    """A row of tiles along x, their upper faces at z = 0: static "boxes", "hulls", or "loose" boxes on the ground."""
    size = (TILE, 1.0, 0.2)
    for k in range(count):
        if kind == "loose":
            tile = box(size, friction=mu, density=2000.0)
        elif kind == "hulls":
            tile = convex(_corners(*size), friction=mu, static=True)
        else:
            tile = box(size, friction=mu, static=True)
        scene.add(tile, name=f"tile_{k}", pose=((k + 0.5) * TILE, 0.0, -0.1))
    if kind == "loose":
        scene.add(Plane(offset=-0.2, friction=0.9), name="floor")


def over_tiles(
    kind: str,
    speed: float,
    *,
    on: str = "boxes",
    lying: bool = False,
    mu: float = 0.0,
    dt: float = 2e-3,
    count: int = 6,
    integrator: Integrator = "semi_implicit",
    start: float = 0.11,
) -> Array:
    """Speeds [m/s] of a body on a row of tiles, after each step; it slides, or rolls if it is round and ``mu`` > 0."""
    scene = Scene()
    tiles(scene, on, count, mu)
    X = np.eye(4)
    X[:3, :3] = LYING if lying else np.eye(3)
    X[:3, 3] = start, 0.0, EDGE / 2 + (EDGE / 2 if kind == "capsule" and not lying else 0.0)
    scene.add(BODIES[kind](mu), name="body", pose=X)
    rolls = mu > 0.0 and (kind == "ball" or lying)
    v = np.concatenate((X[:3, :3].T @ (speed, 0.0, 0.0), X[:3, :3].T @ (0.0, 2 * speed / EDGE * rolls, 0.0)))
    n = math.floor((count * TILE - 0.35) / speed / dt)
    motion = run(scene, dt, n * dt, v={"body": tuple(v)}, record=True, integrator=integrator)
    x = np.concatenate(([start], position(motion, "body")[:, 0]))
    return np.diff(x) / dt


def loss(speeds: Array, speed: float) -> float:
    """Share of ``speed`` that is missing at the end."""
    return abs(float(1.0 - speeds[-1] / speed))


def deflection_error(
    speed: float,
    offset: float,
    *,
    restitution: float = 1.0,
    dt: float = 2e-3,
    radius: float = 0.05,
    start: float = -0.4,
) -> float:
    """By how much the direction of a ball is off [rad] after it hits a fixed one of the same size without friction.

    ``offset`` [m]: of its path from the other's centre. The normal is at asin(offset / 2 radius) to the path.
    """
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(sphere(radius, friction=0.0, restitution=restitution), name="thrown", pose=(start, offset, 0.0))
    scene.add(sphere(radius, friction=0.0, restitution=restitution, static=True), name="fixed")
    motion = run(scene, dt, math.ceil(2 * abs(start) / speed / dt) * dt, v={"thrown": (speed, 0, 0, 0, 0, 0)})
    v = motion.final.v[:3]  # it does not turn
    angle = math.asin(offset / (2 * radius))
    n = np.array((-math.cos(angle), math.sin(angle), 0.0))
    exact = np.array((1.0, 0.0, 0.0)) - (1.0 + restitution) * n[0] * n
    return float(math.acos(np.clip(v @ exact / np.linalg.norm(v) / np.linalg.norm(exact), -1.0, 1.0)))


def shot(
    kind: str, speed: float, *, size: float = 0.01, thickness: float = 1e-3, dt: float = 2e-3, angle: float = 0.0
) -> float:
    """How far a small body gets beyond the face of a thin wall [m]; it is shot at ``angle`` [rad] to the normal."""
    bodies = {
        "ball": sphere(size / 2),
        "box": box((size, size, size)),
        "capsule": capsule(size / 2, size),
        "cylinder": cylinder(size / 2, size),
        "hull": convex(_corners(size, size, size)),
    }
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(box((thickness, 20.0, 20.0), static=True), name="wall", pose=(thickness / 2, 0.0, 0.0))
    scene.add(bodies[kind], name="bullet", pose=(-0.7137, 0.0, 0.0))
    v = (speed * math.cos(angle), speed * math.sin(angle), 0.0, 0.0, 0.0, 0.0)
    motion = run(scene, dt, math.ceil(2.0 / v[0] / dt + 3) * dt, v={"bullet": v}, record=True)
    return float(position(motion, "bullet")[:, 0].max())
