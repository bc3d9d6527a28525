"""No bound around shapes hides a contact: pairs that overlap a little, wherever and however they lie."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.shapes import CONVEX, Array, Placed, collide, placed, random_rotation

import featherweight as fw

PAIRS = list(itertools.combinations_with_replacement(CONVEX, 2))
OVERLAP = 1e-4
#: Long, flat and round ones: half edges, radius and half length, radii.
SIZES = {
    "sphere": (0.2,),
    "capsule": (0.05, 0.4),
    "cylinder": (0.3, 0.05),
    "ellipsoid": (0.3, 0.1, 0.05),
    "box": (0.5, 0.2, 0.03),
}
POINTS = np.random.default_rng(5).normal(size=(20, 3)) * (0.3, 0.1, 0.05) + (0.1, 0.0, 0.0)


def shape_of(kind: str) -> Placed:
    return placed(kind, POINTS if kind == "convex" else SIZES[kind])


def body_of(kind: str, *, static: bool = False) -> fw.Body:
    size = SIZES.get(kind, ())
    bodies = {
        "sphere": lambda: fw.sphere(*size, static=static),
        "capsule": lambda: fw.capsule(size[0], 2 * size[1], static=static),
        "cylinder": lambda: fw.cylinder(size[0], 2 * size[1], static=static),
        "ellipsoid": lambda: fw.ellipsoid(size, static=static),
        "box": lambda: fw.box(2 * np.array(size), static=static),
        "convex": lambda: fw.convex(POINTS, static=static),
    }
    return bodies[kind]()


def against(a: Placed, b: Placed, direction: Array) -> Array:
    """Where a has to go so that it overlaps b by a little, seen along the direction: by bisection."""
    apart, inside = 3.0, 0.0
    for _ in range(60):
        middle = 0.5 * (apart + inside)
        gaps = collide(a.shifted(middle * direction), b, 2.0).gap
        apart, inside = (middle, inside) if len(gaps) == 0 or gaps.min() > -OVERLAP else (apart, middle)
    return np.asarray(apart * direction)


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_bounds_hide_no_contact(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(21)
    scene = fw.Scene(gravity=(0, 0, 0))
    turned = fw.pose((0.3, -0.2, 0.1), xyzw=(0.5, 0.5, 0.5, 0.5))
    scene.add(body_of(kinds[1], static=True), name="fixed", pose=turned)
    scene.add(body_of(kinds[0]), name="free", pose=(0, 0, 3))
    sim = fw.Simulator(scene, dt=1e-3)
    b = shape_of(kinds[1]).moved(turned)
    q = []
    for _ in range(24):
        R, direction = random_rotation(rng), rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = R, turned[:3, 3]
        a = shape_of(kinds[0]).moved(X)
        X[:3, 3] += against(a, b, direction)
        q.append(np.concatenate([X[:3, 3], fw.quaternion_from_rotation(X[:3, :3])]))
    state = sim.state(len(q), q=np.array(q))
    state = sim.step(state)
    np.testing.assert_allclose(state.penetration, OVERLAP, rtol=1e-3)
