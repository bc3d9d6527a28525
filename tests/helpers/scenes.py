"""Random scenes for the simulator: bodies on the ground, robots, robots among bodies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import featherweight as fw
from featherweight import Geometry, ModelDescription
from featherweight.arrays import Array
from featherweight.model import poses
from helpers.forests import Forest

GRAVITY = 9.81


def tumbled(rng: np.random.Generator, p: Any) -> Array:
    """A pose at p, turned at random."""
    q = rng.normal(size=4)
    return np.asarray(poses.pose(p, xyzw=q / np.linalg.norm(q)))


def random_body(rng: np.random.Generator, kind: str, **options: Any) -> fw.Body:
    """A few centimetres to a few decimetres large."""
    a, b, c = rng.uniform(0.05, 0.2, 3).tolist()
    if kind == "box":
        return fw.box((a, b, c), **options)
    if kind == "sphere":
        return fw.sphere(a, **options)
    if kind == "capsule":
        return fw.capsule(0.5 * a, b, **options)
    if kind == "cylinder":
        return fw.cylinder(a, b, **options)
    if kind == "ellipsoid":
        return fw.ellipsoid((a, b, c), **options)
    assert kind == "convex"
    return fw.convex(rng.uniform(-1, 1, size=(12, 3)) * (a, b, c), **options)


KINDS = ("box", "sphere", "capsule", "cylinder", "ellipsoid", "convex")


def drop(
    rng: np.random.Generator, kinds: tuple[str, ...] = KINDS, *, ground: fw.Body | None = None, **options: Any
) -> fw.Scene:
    """Bodies side by side near the ground, apart at first."""
    scene = fw.Scene(ground=ground or fw.Plane(friction=0.6))
    for k, kind in enumerate(kinds):
        place = (0.7 * (k % 3), 0.7 * (k // 3 % 2), 0.5 + rng.uniform(0, 0.1))
        scene.add(random_body(rng, kind, **options), name=f"{kind}_{k}", pose=tumbled(rng, place))
    return scene


def energy(model: fw.Model, q: Array, v: Array) -> Array:
    """Kinetic and potential [J], over all leading axes."""
    rows = q.reshape(-1, model.nq), v.reshape(-1, model.nv)
    return np.asarray(fw.kinetic_energy(model, *rows) + fw.potential_energy(model, rows[0])).reshape(q.shape[:-1])


def spiky(forest: Forest, radius: float = 0.08) -> ModelDescription:
    """The forest with a ball on every link, rigid, so that it can touch, limits, friction and damping on its axes."""
    rng = np.random.default_rng([forest.seed, 99])
    description = forest.description
    links = tuple(
        replace(
            link,
            geometries=(
                Geometry(f"ball_{i}", "collision", "sphere", (radius,), poses.pose(rng.uniform(-0.2, 0.2, 3))),
            ),
        )
        for i, link in enumerate(description.links)
    )
    joints = tuple(
        replace(joint, armature=None)  # ball joints with armature have a test of their own
        if joint.type in ("free", "spherical", "fixed")
        else replace(
            joint,
            damping=rng.uniform(0, 0.3, joint.nv),
            friction=rng.uniform(0, 0.5, joint.nv),
            lower=np.full(joint.nq, -0.5) if joint.type != "continuous" else joint.lower,
            upper=np.full(joint.nq, 0.4) if joint.type != "continuous" else joint.upper,
        )
        for joint in description.joints
    )
    return replace(description, links=links, joints=joints, gravity=np.array([0.0, 0.0, -GRAVITY]))
