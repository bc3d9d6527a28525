"""Distances and depths of random pairs against two peers, and against a proof: a plane that parts the shapes and two
points of their surfaces on a line across it leave no room for any other distance.
"""

import itertools

import numpy as np
import pytest
from helpers.shapes import (
    CONVEX,
    collide,
    distance_by_coal,
    distance_by_mujoco,
    outside,
    placed,
    random_rotation,
    random_shape,
    separation,
)

PAIRS = list(itertools.combinations_with_replacement(CONVEX, 2))
FAR = 10.0


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_separated(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(1)
    n_separated, n_denied = 0, 0
    for _ in range(150):
        a, b = (random_shape(rng, kind) for kind in kinds)
        contacts = collide(a, b, FAR)
        k = int(np.argmin(contacts.gap))
        gap, normal, position = contacts.gap[k], contacts.normal[k], contacts.position[k]
        if gap <= 0:
            continue
        n_separated += 1
        np.testing.assert_allclose(separation(a, b, normal), gap, atol=1e-12)
        np.testing.assert_allclose(outside(a, position + gap / 2 * normal), 0, atol=1e-10)
        np.testing.assert_allclose(outside(b, position - gap / 2 * normal), 0, atol=1e-10)
        # the peers stop earlier for curved shapes, on the far side
        tolerance = 1e-3 if "ellipsoid" in kinds or kinds == ("cylinder", "cylinder") else 1e-9
        oracle = distance_by_coal(a, b)
        if oracle > -FAR:  # it sometimes gives up
            n_denied += bool(abs(gap - oracle) > tolerance)
        if "convex" not in kinds:
            tolerance = 1e-7 if {"ellipsoid", "cylinder"} & set(kinds) else 1e-9
            np.testing.assert_allclose(gap, distance_by_mujoco(a, b), atol=tolerance)
    assert n_separated > 20
    # once in some thousand pairs, which ones is a matter of rounding, Coal ends far from what has just been proved
    assert n_denied <= 2


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_overlapping(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(2)
    n_overlapping = 0
    for _ in range(200):
        a, b = (random_shape(rng, kind) for kind in kinds)
        contacts = collide(a, b, 0.0)
        if not len(contacts):
            continue
        n_overlapping += 1
        k = int(np.argmin(contacts.gap))
        gap, normal = contacts.gap[k], contacts.normal[k]
        # the normal leads out, over exactly this way, and there is none much shorter
        np.testing.assert_allclose(separation(a.shifted(-gap * normal), b, normal), 0, atol=1e-8)
        oracle = distance_by_coal(a, b)
        if "convex" not in kinds and kinds != ("capsule", "box"):  # deep capsules: MuJoCo has a shorter way, not out
            oracle = max(oracle, distance_by_mujoco(a, b))
        assert gap >= oracle - 1e-6
    assert n_overlapping > 20


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
@pytest.mark.parametrize("gap", [-1e-3, -1e-6, -1e-9, -1e-12, 0.0, 1e-12, 1e-9, 1e-6, 1e-3])
def test_nearly_touching(kinds: tuple[str, str], gap: float) -> None:
    """Shapes moved to a given small gap along the direction of contact have just that gap."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = (random_shape(rng, kind) for kind in kinds)
        a = a.shifted(np.array([0, 0, 3.0]))
        contacts = collide(a, b, FAR)
        k = int(np.argmin(contacts.gap))
        a = a.shifted((gap - contacts.gap[k]) * contacts.normal[k])
        moved = collide(a, b, 0.01)
        k = int(np.argmin(moved.gap))
        np.testing.assert_allclose(separation(a, b, moved.normal[k]), moved.gap[k], atol=1e-9)
        if gap > 0:
            np.testing.assert_allclose(moved.gap[k], gap, atol=1e-9)
        else:  # where corners met, there is a shorter way out
            assert gap - 1e-9 <= moved.gap[k] <= 1e-9


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
@pytest.mark.parametrize("scale", [1e-4, 1e3])
def test_any_size(kinds: tuple[str, str], scale: float) -> None:
    """Gaps scale with the shapes."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        a, b = (random_shape(rng, kind) for kind in kinds)
        big = [
            placed(
                s.kind,
                scale * (np.asarray(s.size) if s.points is None else s.points),
                s.pose[:3, :3],
                scale * s.pose[:3, 3],
            )
            for s in (a, b)
        ]
        expected, actual = collide(a, b, FAR), collide(big[0], big[1], scale * FAR)
        np.testing.assert_allclose(actual.gap.min(), scale * expected.gap.min(), atol=1e-9 * scale)


@pytest.mark.parametrize("kind", CONVEX)
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 0.0, -1e-9, -1e-6, -1e-4])
def test_tiny_against_huge(kind: str, gap: float) -> None:
    """A pebble of a millimetre on a block of a hundred metres."""
    rng = np.random.default_rng(5)
    block = placed("box", [100, 100, 100], random_rotation(rng))
    top = block.pose[:3, 2]
    for _ in range(20):
        shape = random_shape(rng, kind)
        small = placed(
            kind, 1e-3 * (np.asarray(shape.size) if shape.points is None else shape.points), shape.pose[:3, :3]
        )
        foot = block.pose[:3, :3] @ np.array([*rng.uniform(-90, 90, 2), 100])
        small = small.shifted(foot + (gap + small.support(-top)) * top)
        contacts = collide(small, block, 0.01)
        np.testing.assert_allclose(contacts.gap.min(), gap, atol=1e-12)
        np.testing.assert_allclose(contacts.normal, np.tile(top, (len(contacts), 1)), atol=1e-12)
