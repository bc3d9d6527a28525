"""What holds for the contact points of every pair of shapes."""

import itertools
import math

import numpy as np
import pytest
from helpers.shapes import (
    CONVEX,
    Array,
    Contacts,
    Placed,
    collide,
    outside,
    placed,
    pose_of,
    random_rotation,
    random_shape,
)

from featherweight import _core

PAIRS = [*itertools.combinations_with_replacement(CONVEX, 2), *((kind, "plane") for kind in CONVEX)]
MARGIN = 0.3


def random_pair(rng: np.random.Generator, kinds: tuple[str, str]) -> tuple[Placed, Placed]:
    """Often near each other."""
    a, b = (random_shape(rng, kind) for kind in kinds)
    return (a, b) if rng.random() < 0.5 else (a.shifted(rng.normal(size=3) * 0.5), b)


def by_feature(contacts: Contacts) -> Contacts:
    order = np.argsort(contacts.feature)
    return Contacts(contacts.position[order], contacts.normal[order], contacts.gap[order], contacts.feature[order])


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_points_are_well_formed(kinds: tuple[str, str]) -> None:
    """Unit normals, gaps below the margin, features that differ; both ends of a gap are on the surfaces."""
    rng = np.random.default_rng(11)
    for _ in range(100):
        a, b = random_pair(rng, kinds)
        contacts = collide(a, b, MARGIN)
        assert len(contacts) <= 8
        assert len(set(contacts.feature.tolist())) == len(contacts)
        assert (contacts.gap < MARGIN).all()
        np.testing.assert_allclose(np.linalg.norm(contacts.normal, axis=1), 1, atol=1e-14)
        for k in range(len(contacts)):
            half = contacts.gap[k] / 2 * contacts.normal[k]
            for shape, end in ((a, contacts.position[k] + half), (b, contacts.position[k] - half)):
                assert outside(shape, end) < 1e-7
                # the far end of a tilted capsule is measured at its rounding, a little inside the straight side
                if shape.kind != "capsule" or k == int(np.argmin(contacts.gap)):
                    assert outside(shape, end) > -1e-7


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_order_of_the_shapes_only_turns_the_normal(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(12)
    for _ in range(100):
        a, b = random_pair(rng, kinds)
        one, other = collide(a, b, MARGIN), collide(b, a, MARGIN)
        assert len(one) == len(other)
        np.testing.assert_allclose(np.sort(one.gap), np.sort(other.gap), atol=1e-10)
        for k in range(len(one)):
            j = int(np.argmin(np.linalg.norm(other.position - one.position[k], axis=1)))
            np.testing.assert_allclose(one.position[k], other.position[j], atol=1e-10)
            np.testing.assert_allclose(one.normal[k], -other.normal[j], atol=1e-10)


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_contacts_move_with_the_shapes(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(13)
    for _ in range(100):
        a, b = random_pair(rng, kinds)
        X = pose_of(random_rotation(rng), rng.normal(size=3))
        here, there = by_feature(collide(a, b, MARGIN)), by_feature(collide(a.moved(X), b.moved(X), MARGIN))
        np.testing.assert_array_equal(here.feature, there.feature)
        np.testing.assert_allclose(here.gap, there.gap, atol=1e-10)
        np.testing.assert_allclose(here.normal @ X[:3, :3].T, there.normal, atol=1e-10)
        np.testing.assert_allclose(here.position @ X[:3, :3].T + X[:3, 3], there.position, atol=1e-10)


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_small_motions_change_little(kinds: tuple[str, str]) -> None:
    """Points and normals move by about as much as the shapes, and keep their features."""
    rng = np.random.default_rng(14)
    kept = total = 0
    for _ in range(100):
        a, b = random_pair(rng, kinds)
        before, after = (
            by_feature(collide(a, b, MARGIN)),
            by_feature(collide(a.shifted(rng.normal(size=3) * 1e-9), b, MARGIN)),
        )
        total += 1
        if len(before) != len(after) or (before.feature != after.feature).any():
            continue  # on the border between two ways to touch
        kept += 1
        np.testing.assert_allclose(before.gap, after.gap, atol=1e-7)
        np.testing.assert_allclose(before.position, after.position, atol=1e-5)
    assert kept >= total - 2


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_same_bits_when_called_twice(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(15)
    for _ in range(30):
        a, b = random_pair(rng, kinds)
        one = collide(a, b, MARGIN)
        random = random_pair(rng, kinds)
        collide(random[0], random[1], MARGIN)
        two = collide(a, b, MARGIN)
        for x, y in zip(vars(one).values(), vars(two).values(), strict=True):
            assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_degenerate_positions_give_finite_points(kinds: tuple[str, str]) -> None:
    """Coincident centres, equal or axis-aligned rotations, round sizes that touch exactly, thin and flat shapes."""
    rng = np.random.default_rng(16)
    n_sizes = {"plane": 0, "sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
    grid = np.array([-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0])
    cube = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
    hulls = [placed("convex", cube), placed("convex", cube * [1, 1, 0.001]), placed("convex", cube[[0, 1, 2, 4]])]

    def rotation() -> Array:
        choice = rng.integers(4)
        if choice == 0:
            return np.eye(3)
        if choice == 1:
            return np.eye(3)[[1, 2, 0]]
        if choice == 2:
            angle = np.pi / 4 * rng.integers(8)
            c, s = np.cos(angle), np.sin(angle)
            return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        return random_rotation(rng)

    def shape(kind: str) -> Placed:
        pose = pose_of(rotation(), rng.choice(grid, 3))
        if kind == "convex":
            return hulls[rng.integers(3)].moved(pose)
        return Placed(kind, rng.choice([0.25, 0.5, 0.5, 1.0, 1e-4], n_sizes[kind]).tolist(), pose)

    pool = [[shape(kind) for _ in range(200)] for kind in kinds]
    margins = (0.0, 1e-3, 1.0)
    for k, (i, j) in enumerate(rng.integers(200, size=(3700, 2)).tolist()):
        a, b = pool[0][i], pool[1][j]
        if k % 5 == 0:
            b = Placed(b.kind, b.size, a.pose, b.points)
        position, normal, gap, feature = _core.collide(a.kind, a.size, a.pose, b.kind, b.size, b.pose, margins[k % 3])
        assert math.isfinite(position.sum() + gap.sum())
        for n in normal.tolist():
            assert abs(math.hypot(*n) - 1) < 1e-12
        assert len(set(feature.tolist())) == len(gap)
