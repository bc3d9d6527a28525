"""Bodies at rest: points and features stay the same while the poses tremble."""

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from helpers.shapes import Placed, collide, placed, pose_of, random_rotation

from featherweight import _core

CUBE = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))


def trembling(rng: np.random.Generator, size: float) -> npt.NDArray[np.float64]:
    w = size * rng.normal(size=3)
    R = np.eye(3) + np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    return pose_of(R, size * rng.normal(size=3))


def standing(kind: str, height: float, shift: npt.ArrayLike = (0, 0)) -> Placed:
    """A cube of edge 1, or the cylinder in it, its bottom at a height."""
    size = {"box": [0.5, 0.5, 0.5], "convex": CUBE, "cylinder": [0.5, 0.5]}[kind]
    return placed(kind, size, p=(*np.asarray(shift, dtype=float), height + 0.5))


@pytest.mark.parametrize("lower", ["plane", "box", "convex", "cylinder"])
@pytest.mark.parametrize("upper", ["box", "convex", "cylinder"])
@pytest.mark.parametrize("shift", [(0, 0), (0.2, 0), (0.3, 0.1)])
def test_stacks_keep_their_points(upper: str, lower: str, shift: tuple[float, float]) -> None:
    rng = np.random.default_rng(21)
    base = placed("plane", []) if lower == "plane" else standing(lower, -1)
    top = standing(upper, 0, shift)
    world = pose_of(random_rotation(rng), rng.normal(size=3))
    expected = collide(top.moved(world), base.moved(world), 1e-3)
    # caps sit inside their rim, and rims that are cut or cross each other have more corners
    assert len(expected) == 4 or ("cylinder" in (upper, lower) and 4 < len(expected) <= 8)
    for size in (1e-14, 1e-12, 1e-10):
        for _ in range(30):
            actual = collide(
                top.moved(trembling(rng, size)).moved(world), base.moved(trembling(rng, size)).moved(world), 1e-3
            )
            np.testing.assert_array_equal(actual.feature, expected.feature)
            np.testing.assert_allclose(actual.position, expected.position, atol=1e-6)
            np.testing.assert_allclose(actual.normal, expected.normal, atol=1e-8)
            np.testing.assert_allclose(actual.gap, expected.gap, atol=10 * size + 1e-14)
    assert np.abs(expected.gap).max() < 1.1e-8 * 0.5  # how much higher the rim of a cap begins


def test_tilting_box_keeps_the_points_that_stay_near() -> None:
    """A box lifted on one side by a few degrees still has its four points within a generous margin."""
    base = standing("box", -1)
    for angle in np.linspace(0, 0.05, 20):
        c, s = np.cos(angle), np.sin(angle)
        R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
        top = placed("box", [0.4, 0.4, 0.5], R, (0, 0, 0.5))
        contacts = collide(top, base, 0.1)
        assert len(contacts) == 4
        assert sorted(contacts.feature.tolist()) == [0, 1, 2, 3]


def test_points_span_the_overlap_of_turned_boxes() -> None:
    """A square turned by 45 degrees on a square overlaps in an octagon, and can tip over each of its edges."""
    c = np.sqrt(0.5)
    turned = placed("box", [0.5, 0.5, 0.5], [[c, -c, 0], [c, c, 0], [0, 0, 1]], (0, 0, 1))
    contacts = collide(turned, placed("box", [0.5, 0.5, 0.5]), 1e-3)
    x, y = contacts.position[:, :2].T
    order = np.argsort(np.arctan2(y, x))
    x, y = x[order], y[order]
    assert len(contacts) == 8
    assert 0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1)) == pytest.approx(2 * (np.sqrt(2) - 1))


@pytest.mark.parametrize("upper", ["box", "convex", "cylinder"])
def test_features_on_a_height_field_stay_the_same(upper: str) -> None:
    rng = np.random.default_rng(22)
    ground = Placed("height_field", _core.HeightField(np.zeros((31, 31)), (2, 2, 1)), np.eye(4))
    for _ in range(10):
        top = standing(upper, 0, rng.uniform(-1, 1, 2))
        expected = collide(top, ground, 1e-3)
        for size in (1e-14, 1e-12, 1e-10):
            actual = collide(top.moved(trembling(rng, size)), ground, 1e-3)
            np.testing.assert_array_equal(np.sort(actual.feature), np.sort(expected.feature))
