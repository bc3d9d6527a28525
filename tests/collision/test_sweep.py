"""Shapes in motion: whether and when they meet, by their distances at many times."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from featherweight import _core, _testing

SHAPES = {
    "sphere": [0.1],
    "capsule": [0.05, 0.15],
    "cylinder": [0.1, 0.05],
    "ellipsoid": [0.15, 0.1, 0.05],
    "box": [0.2, 0.1, 0.03],
}


def moved(X: np.ndarray, velocity: np.ndarray, time: float, *, circles: bool) -> np.ndarray:
    """X after some time: the centre goes straight, or along the curve of a velocity that turns."""
    Y = X.copy()
    Y[:3, :3] = Rotation.from_rotvec(velocity[3:] * time).as_matrix() @ X[:3, :3]
    if circles:
        parts = np.linspace(0.0, time, 101)
        turned = Rotation.from_rotvec(velocity[3:] * parts[:, None]).apply(velocity[:3])
        Y[:3, 3] += np.sum(0.5 * (turned[1:] + turned[:-1]), axis=0) * (parts[1] - parts[0])
    else:
        Y[:3, 3] += velocity[:3] * time
    return Y


def distance(kind_a: str, X: np.ndarray, kind_b: str, Y: np.ndarray) -> float:
    gaps = _core.collide(kind_a, SHAPES[kind_a], X, kind_b, SHAPES[kind_b], Y, 10.0)[2]
    return float(gaps.min())


def random_case(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, Y = np.eye(4), np.eye(4)
    X[:3, :3], Y[:3, :3] = Rotation.random(2, rng).as_matrix()
    away = rng.standard_normal(3)
    X[:3, 3] = 0.6 * away / np.linalg.norm(away)
    u, w = np.zeros(6), np.zeros(6)
    u[:3] = -X[:3, 3] * rng.uniform(0.5, 4.0) + rng.uniform(-0.5, 0.5, 3)
    u[3:], w[3:] = rng.uniform(-1.5, 1.5, (2, 3)) * rng.integers(0, 2)
    return X, u, Y, w


@pytest.mark.parametrize("circles", [False, True])
@pytest.mark.parametrize("kind_b", SHAPES)
@pytest.mark.parametrize("kind_a", SHAPES)
def test_shapes_hit_where_their_overlap_grows_beyond_a_graze(kind_a: str, kind_b: str, circles: bool) -> None:
    """Depths in between count as either; before a hit nothing is deeper than a graze."""
    rng, depth, found = np.random.default_rng(1), 4e-3, set[str]()
    times = np.linspace(0.0, 1.0, 25)
    for _ in range(6):
        X, u, Y, w = random_case(rng)
        if distance(kind_a, X, kind_b, Y) < 0.0:
            continue
        passage, time, poses = _testing.sweep(
            kind_a, SHAPES[kind_a], X, u.tolist(), kind_b, SHAPES[kind_b], Y, w.tolist(), 1.0, depth, circles
        )
        found.add(passage)
        gaps = [
            distance(kind_a, moved(X, u, t, circles=circles), kind_b, moved(Y, w, t, circles=circles)) for t in times
        ]
        if passage == "hits":
            assert -depth < distance(kind_a, poses[0], kind_b, poses[1]) < 0.5 * depth
            assert all(gap > -1.01 * depth for gap, t in zip(gaps, times, strict=True) if t < time)
        else:
            assert min(gaps) > -1.01 * depth
            assert (gaps[-1] < 0.0) == (passage == "grazes") or abs(gaps[-1]) < 1e-6
    assert "hits" in found


@pytest.mark.parametrize("offset", [0.0, 0.1, 0.15, 0.199, 0.201])
def test_balls_meet_when_their_centres_are_two_radii_apart(offset: float) -> None:
    X = np.eye(4)
    X[:3, 3] = -1.0, offset, 0.0
    passage, time, _ = _testing.sweep(
        "sphere", [0.1], X, [100.0, 0, 0, 0, 0, 0], "sphere", [0.1], np.eye(4), [0.0] * 6, 0.02, 1e-6
    )
    if offset > 0.2:
        assert passage == "misses"
    else:
        assert passage == "hits"
        assert 100.0 * time == pytest.approx(1.0 - math.sqrt(0.04 - offset**2), abs=2e-5)


def test_what_slides_flush_over_an_edge_does_not_hit() -> None:
    """It starts with the gap in front of its lower edge closed to rounding, and its lower face 1e-12 m too deep."""
    box, tile = [0.1, 0.1, 0.1], [0.5, 0.5, 0.1]
    for ahead in (1e-3, 1e-12, 0.0, -1e-12):
        X, Y = np.eye(4), np.eye(4)
        X[:3, 3] = -0.6 - ahead, 0.0, 0.2 - 1e-12
        still = [0.0] * 6
        passage, _, _ = _testing.sweep("box", box, X, [1.0, 0, 0, 0, 0, 0], "box", tile, Y, still, 2e-3, 2e-5)
        assert passage != "hits"
