"""Which piece of a shape faces another: the points of contact are those of the piece that a small turn would touch."""

import itertools

import numpy as np
import pytest
from helpers.shapes import Array, Placed, collide, placed, pose_of, random_rotation

CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
SIZES = pytest.mark.parametrize("size", [1e-4, 1.0, 100.0])


def about(axis: int, angle: float) -> Array:
    c, s, R = np.cos(angle), np.sin(angle), np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def inside_capsule(capsule: Placed, x: Array) -> float:
    """How deep a point is inside of it."""
    p = capsule.pose[:3, :3].T @ (x - capsule.pose[:3, 3])
    radius, half = capsule.size
    return float(radius - np.hypot(np.hypot(p[0], p[1]), max(abs(p[2]) - half, 0)))


@SIZES
@pytest.mark.parametrize("kind", ["box", "convex"])
def test_a_tilted_capsule_touches_where_its_surface_is(kind: str, size: float) -> None:
    """At both ends while it almost lies, and nowhere deeper inside it than half a hundredth of its radius."""
    half = np.array([2.0, 2.0, 0.5]) * size
    base = placed(kind, half if kind == "box" else CORNERS * half)
    radius = 0.1 * size
    for tilt in (0.0, 1e-6, 0.01, 0.05, 0.09, 0.12, 0.3, 0.7, 1.2):
        lowest = 0.5 * size + size * np.sin(tilt) + radius
        capsule = placed("capsule", [radius, size], about(1, np.pi / 2 - tilt), (0, 0, lowest))
        contacts = collide(capsule, base, 3 * size)
        np.testing.assert_allclose(contacts.gap.min(), 0, atol=1e-12 * size)
        assert tilt > 0.1 or len(contacts) == 2
        for position, normal, gap in zip(contacts.position, contacts.normal, contacts.gap, strict=True):
            assert inside_capsule(capsule, position + gap / 2 * normal) < 0.0051 * radius


@SIZES
@pytest.mark.parametrize("tilt", [0.0, 0.1, 0.2, 0.29])
def test_a_blade_touches_with_both_ends_of_its_edge(size: float, tilt: float) -> None:
    """A wedge too steep for its sides to face down."""
    wedge = np.array([(-1, 0, 0), (1, 0, 0), (-1, -0.1, 1), (-1, 0.1, 1), (1, -0.1, 1), (1, 0.1, 1)]) * size
    blade = placed("convex", wedge, about(1, -tilt), (0, 0, size * (1 + np.sin(tilt))))
    contacts = collide(blade, placed("box", [3 * size, 3 * size, size]), 2.5 * size)
    np.testing.assert_allclose(np.sort(contacts.gap), [0, 2 * size * np.sin(tilt)], atol=1e-12 * size)


@SIZES
@pytest.mark.parametrize("facet", [3e-1, 1e-3, 2e-5])
def test_a_body_rests_on_the_facet_it_lies_on(facet: float, size: float) -> None:
    """A roller with facets that differ little in direction: the four corners of the lowest touch, whichever it is."""
    angles = facet * (np.arange(7) - 3)
    vertices = np.cumsum([[np.cos(a), np.sin(a)] for a in angles], axis=0)
    vertices = np.concatenate([[[0.0, 0.0]], vertices])
    middle = vertices.mean(axis=0)
    profile = np.concatenate([vertices, [[middle[0], middle[1] + 4]]])
    points = np.array([(x, y, z) for y in (-1.0, 1.0) for x, z in profile]) * size
    base = placed("box", [20 * size, 20 * size, size], p=(0, 0, -size))
    for k in range(1, 6):
        R = about(1, angles[k])  # which turns that facet level
        low = points @ R.T
        roller = placed("convex", points, R, (-low[:, 0].mean(), 0, -low[:, 2].min()))
        contacts = collide(roller, base, 0.1 * np.sin(facet) * size)
        np.testing.assert_allclose(contacts.gap, 0, atol=1e-13 * size)
        assert len(contacts) == 4
        assert np.ptp(contacts.position[:, 0]) == pytest.approx(size, rel=1e-6)


@pytest.mark.parametrize("kind", ["box", "convex"])
def test_edges_that_cross_keep_their_features(kind: str) -> None:
    """Each as far from one of its faces as from the other, while the poses tremble."""
    rng = np.random.default_rng(41)

    def bar(R: Array, z: float) -> Placed:
        return placed(kind, [1, 0.1, 0.1] if kind == "box" else CORNERS * [1, 0.1, 0.1], R, (0, 0, z))

    low = bar(about(0, np.pi / 4), 0)
    high = bar(about(2, np.pi / 2) @ about(0, np.pi / 4), 0.2 * np.sqrt(2) + 1e-4)
    world = pose_of(random_rotation(rng), rng.normal(size=3))
    expected = collide(high.moved(world), low.moved(world), 1e-3)
    assert len(expected) >= 1
    for size in (1e-14, 1e-12, 1e-10):
        for _ in range(30):
            w, X = size * rng.normal(size=3), np.eye(4)
            X[:3, :3] += [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
            actual = collide(high.moved(X).moved(world), low.moved(world), 1e-3)
            np.testing.assert_array_equal(actual.feature, expected.feature)
            np.testing.assert_allclose(actual.position, expected.position, atol=1e-7)
