"""Candidate pairs against looking at all of them; boxes against the support functions."""

import numpy as np
import pytest
from helpers.shapes import CONVEX, Array, collide, placed, pose_of, random_shape

from featherweight import _testing


def all_pairs(boxes: Array, contype: list[int], conaffinity: list[int], group: list[int]) -> list[tuple[int, int]]:
    def allowed(i: int, j: int) -> bool:
        apart = (boxes[i, 0] > boxes[j, 1]).any() or (boxes[j, 0] > boxes[i, 1]).any()
        bits = contype[i] & conaffinity[j] or contype[j] & conaffinity[i]
        return not apart and bool(bits) and not (group[i] >= 0 and group[i] == group[j])

    return [(i, j) for i in range(len(boxes)) for j in range(i + 1, len(boxes)) if allowed(i, j)]


@pytest.mark.parametrize("n", [1, 2, 10, 100])
@pytest.mark.parametrize("spread", [(1, 1, 1), (10, 1, 0.1), (0.1, 1, 10)])
def test_pairs_are_those_of_an_exhaustive_search(n: int, spread: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(n)
    middle, half = rng.normal(size=(n, 3)) * spread, rng.uniform(0, 0.5, (n, 3))
    boxes = np.stack([middle - half, middle + half], axis=1)
    boxes[rng.random(n) < 0.1] = [[-np.inf] * 3, [np.inf, np.inf, 0]]  # planes
    contype, conaffinity = rng.integers(0, 4, n).tolist(), rng.integers(0, 4, n).tolist()
    group = rng.integers(-1, max(1, n // 3), n).tolist()
    expected = all_pairs(boxes, contype, conaffinity, group)
    assert _testing.broadphase(boxes, contype, conaffinity, group) == expected


@pytest.mark.parametrize("kind", CONVEX)
def test_bounds_hold_the_shape(kind: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        shape = random_shape(rng, kind)
        lower, upper = _testing.shape_bounds(kind, shape.size, shape.pose, 0.1)
        reach_up = np.array([shape.support(axis) for axis in np.eye(3)])
        reach_down = np.array([shape.support(-axis) for axis in np.eye(3)])
        if kind == "convex":  # the box of a turned box: no smaller than needed
            assert (upper >= reach_up + 0.1 - 1e-12).all() and (lower <= -reach_down - 0.1 + 1e-12).all()
        else:
            np.testing.assert_allclose(upper, reach_up + 0.1, atol=1e-14)
            np.testing.assert_allclose(lower, -reach_down - 0.1, atol=1e-14)


def test_bounds_of_planes_are_infinite_on_the_solid_side() -> None:
    lower, upper = _testing.shape_bounds("plane", [], pose_of(np.eye(3), (1, 2, 3)), 0.5)
    np.testing.assert_array_equal(lower, [-np.inf] * 3)
    np.testing.assert_array_equal(upper, [np.inf, np.inf, 3.5])


def test_what_touches_is_a_candidate() -> None:
    rng = np.random.default_rng(1)
    shapes = [random_shape(rng, kind) for kind in CONVEX * 5] + [placed("plane", [])]
    boxes = np.array([_testing.shape_bounds(s.kind, s.size, s.pose, 0.05) for s in shapes])
    n = len(shapes)
    pairs = set(_testing.broadphase(boxes, [1] * n, [1] * n, [-1] * n))
    touching = {(i, j) for i in range(n) for j in range(i + 1, n) if len(collide(shapes[i], shapes[j], 0.1))}
    assert touching and touching <= pairs


def test_wrong_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one for each of the 2 boxes, got 1"):
        _testing.broadphase(np.zeros((2, 2, 3)), [1, 1], [1], [-1, -1])
