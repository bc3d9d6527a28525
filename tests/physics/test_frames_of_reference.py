"""Whoever looks at a collision sees the same one: from another frame, in a mirror, in other units, in any order.

Six bodies fly into each other and bounce off the ground or float on, with friction and restitution. Places are compared
in the units of the first. They are the results of the same steps with other roundings, which a collision multiplies by
lever arms over curvatures, by ten or so; there are about ten of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array
from featherweight.model.poses import rotation_from_quaternion
from physics.motion import position

DT, STEPS = 1e-3, 250
TURNED = rotation_from_quaternion(np.array([0.36, -0.48, 0.64, 0.48]))


@dataclass(frozen=True)
class Frame:
    """How somebody else sees it: turned (a reflection as well), shifted and drifting [m, m/s], in other units."""

    axes: Array = field(default_factory=lambda: np.eye(3))
    origin: Array = field(default_factory=lambda: np.zeros(3))
    drift: Array = field(default_factory=lambda: np.zeros(3))
    size: float = 1.0
    mass: float = 1.0
    time: float = 1.0
    order: tuple[int, ...] = (0, 1, 2, 3, 4, 5)


def body(kind: int, frame: Frame) -> fw.Body:
    s, options = frame.size, dict[str, Any](mass=frame.mass, friction=0.4, restitution=0.3)
    if kind == 0:
        return fw.box((0.2 * s, 0.16 * s, 0.12 * s), **options)
    if kind == 1:
        return fw.sphere(0.1 * s, **options)
    if kind == 2:
        return fw.capsule(0.06 * s, 0.15 * s, **options)
    if kind == 3:
        return fw.cylinder(0.08 * s, 0.16 * s, **options)
    if kind == 4:
        return fw.ellipsoid((0.12 * s, 0.09 * s, 0.07 * s), **options)
    return fw.box((0.15 * s, 0.15 * s, 0.15 * s), **options)


def places(frame: Frame, grounded: bool, **options: Any) -> Array:
    """Of all bodies after every step, as the first observer sees them [m]: (steps, 6, 3)."""
    rng, Q, unit = np.random.default_rng(11), frame.axes, frame.size / frame.time
    pull = tuple(Q @ (0, 0, -9.81 if grounded else 0.0) * (unit / frame.time))
    up = Q @ (0.0, 0.0, 1.0)
    ground = fw.Plane(normal=up, offset=float(up @ frame.origin) - 0.3 * frame.size, friction=0.4, restitution=0.3)
    scene = fw.Scene(gravity=pull, ground=ground) if grounded else fw.Scene(gravity=pull)
    thrown: list[tuple[Array, Array, Array, Array]] = []
    for k in range(6):
        angle = math.pi * k / 3
        p = 0.45 * np.array([math.cos(angle), math.sin(angle), 0]) + rng.uniform(-0.02, 0.02, 3)
        v, w, q = -1.5 * p / np.linalg.norm(p), rng.uniform(-3, 3, 3), rng.normal(size=4)
        thrown.append((p, v, w, rotation_from_quaternion(q / np.linalg.norm(q))))
    mirror = np.diag([1.0, 1.0, np.linalg.det(Q)])  # shapes are symmetric: another corner is where one was
    for k in frame.order:
        p, _, _, R = thrown[k]
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = Q @ R @ mirror, Q @ p * frame.size + frame.origin
        scene.add(body(k, frame), name=f"body_{k}", pose=X)
    sim = fw.Simulator(scene, dt=DT * frame.time, **options)
    velocities = np.zeros(sim.model.nv)
    for k, (_, v, w, R) in enumerate(thrown):
        to_body = (Q @ R @ mirror).T
        linear, angular = Q @ v * unit + frame.drift, np.linalg.det(Q) * (Q @ w) / frame.time
        velocities[sim.scene.parts[f"body_{k}"].v] = np.concatenate((to_body @ linear, to_body @ angular))
    motion = sim.rollout(sim.state(v=velocities), n_steps=STEPS)
    passed = DT * frame.time * np.arange(1, STEPS + 1)[:, None] * frame.drift
    seen = [((position(motion, f"body_{k}") - frame.origin - passed) @ Q) / frame.size for k in range(6)]
    return np.stack(seen, axis=1)


FRAMES = {
    "drifting": Frame(drift=np.array([100.0, 50.0, -30.0])),
    "turned": Frame(axes=TURNED),
    "mirrored": Frame(axes=TURNED @ np.diag([1.0, -1.0, 1.0])),
    "farther away": Frame(origin=np.array([100.0, -200.0, 50.0])),
    "heavier": Frame(mass=1e3),
    "larger": Frame(size=10.0),  # not a hundred: overlaps leave at no more than half a metre per second
    "smaller": Frame(size=0.01),
    "slower": Frame(time=10.0),
    "faster": Frame(time=0.1),
    "in another order": Frame(order=(3, 1, 5, 0, 2, 4)),
}


@pytest.mark.parametrize("grounded", [False, True])
@pytest.mark.parametrize("name", ["turned", "mirrored", "farther away", "heavier", "larger", "slower", "faster"])
def test_steps_in_halves_are_the_same_for_every_observer(name: str, grounded: bool) -> None:
    """Of lasting contacts velocities along the normal are rounding, which must not tell impacts from contacts."""
    first = places(Frame(), grounded, integrator="verlet")
    assert np.abs(places(FRAMES[name], grounded, integrator="verlet") - first).max() < 1e-8


@pytest.mark.parametrize("grounded", [False, True])
def test_a_collision_is_the_same_for_every_observer(grounded: bool) -> None:
    first = places(Frame(), grounded)
    assert np.linalg.norm(first[-1] - first[0], axis=1).min() > 0.02  # they moved, and met
    for name, frame in FRAMES.items():
        if grounded and name == "drifting":
            continue  # the ground does not
        error = np.abs(places(frame, grounded) - first).max()
        assert error < 1e-8, f"{name}: {error:.1e}"
