"""Plates, phones, coins and rods: bodies much thinner than wide, whose upper corners are as near to the ground as the
lower ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featherweight import Body, Plane, Scene, box
from featherweight.arrays import Array
from featherweight.model.poses import rotation_from_quaternion
from physics.motion import GRAVITY, run, simulated, steps


@dataclass(frozen=True)
class Fall:
    """A body that was dropped flat."""

    depth: float  # of its lowest point below the ground, at most [m]
    turning: float  # angular velocity, at most [rad/s]
    speed: float  # at the end, of its centre [m/s]
    height: float  # at the end, of its lowest point [m]
    missed: int  # steps that missed the tolerance of the solver


def fallen(
    size: tuple[float, float, float],
    height: float,
    *,
    body: Body | None = None,
    ground: Body | None = None,
    dt: float = 2e-3,
    seconds: float = 1.0,
) -> Fall:
    """A plate of ``size`` [m], or a ``body`` with that bounding box, dropped flat from ``height`` [m]."""
    scene = Scene(ground=ground or Plane(friction=0.5))
    scene.add(body or box(size, friction=0.5), name="plate", pose=(0.0, 0.0, 0.5 * size[2] + height))
    motion = run(scene, dt, seconds, record=True)
    low = lowest(motion.q, size)
    return Fall(
        float(np.max(-low)),
        float(np.abs(motion.v[:, 3:]).max()),
        float(np.linalg.norm(motion.v[-1, :3])),
        float(low[-1]),
        int(motion.unconverged),
    )


def lowest(q: Array, size: Sequence[float]) -> Array:
    """Height of the lowest corner of a box at q (..., 7) [m]."""
    up = rotation_from_quaternion(q[..., 3:])[..., 2, :]
    return np.asarray(q[..., 2] - np.abs(up) @ (0.5 * np.asarray(size)))


@dataclass(frozen=True)
class Tumble:
    """Boxes dropped in all attitudes, the worst of them in every respect."""

    depth: float  # below the ground, over what the arcs of a step explain: at most 1
    gain: float  # of energy in a step, over what the step explains [J / (m g size)]
    speed: float  # of any corner at the end [m/s]
    missed: int  # steps that missed the tolerance of the solver


def tumbled(
    size: tuple[float, float, float],
    *,
    body: Body | None = None,
    count: int = 32,
    dt: float = 1e-3,
    seconds: float = 1.0,
    seed: int = 0,
) -> Tumble:
    """Boxes of ``size`` [m] and 1000 kg/m3, or a ``body`` with these corners and mass, dropped from twice their length.

    A corner moves on an arc and is held on its tangent, (w dt)^2 r / 2 apart; half of an overlap goes per step, so that
    the overlap is (w dt)^2 r at most. The energy of a step grows by the gyroscopic moment, which is explicit, and by
    lifting what overlaps.
    """
    rng = np.random.default_rng(seed)
    scene = Scene(ground=Plane(friction=0.5))
    scene.add(body or box(size, density=1000.0, friction=0.5), name="box")
    simulator = simulated(scene, dt)
    attitude = rng.normal(size=(count, 4))
    q = np.zeros((count, 7))
    q[:, 2] = 2.0 * max(size)
    q[:, 3:] = attitude / np.linalg.norm(attitude, axis=1, keepdims=True)
    motion = simulator.rollout(simulator.state(count, q=q), n_steps=steps(seconds, dt))
    low, w = lowest(motion.q, size), motion.v[..., 3:]
    radius = 0.5 * float(np.linalg.norm(size))
    overlap = np.maximum(-low, 0.0)
    arc = (np.linalg.norm(w, axis=-1).max(axis=-1) * dt) ** 2 * radius

    mass = 1000.0 * float(np.prod(size))
    inertia = mass / 12.0 * (np.sum(np.square(size)) - np.square(size))
    energy = 0.5 * mass * (motion.v[..., :3] ** 2).sum(-1) + 0.5 * (inertia * w**2).sum(-1)
    energy = energy + mass * GRAVITY * motion.q[..., 2]
    explicit = 0.5 * dt**2 * (np.cross(w, inertia * w) ** 2 / inertia).sum(-1)
    explained = explicit[:, :-1] + mass * GRAVITY * overlap[:, :-1]
    end = np.linalg.norm(motion.v[:, -1, :3], axis=-1) + radius * np.linalg.norm(w[:, -1], axis=-1)
    return Tumble(
        float((overlap.max(axis=-1) / (arc + 1e-9 * radius)).max()),
        float((np.diff(energy, axis=-1) - explained).max()) / (mass * GRAVITY * max(size)),
        float(end.max()),
        int(np.sum(motion.unconverged)),
    )
