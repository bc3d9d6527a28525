"""Convex shapes on ground given by heights."""

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from helpers.shapes import CONVEX, Contacts, Placed, collide, placed, pose_of, random_rotation, random_shape

from featherweight import _core

Array = npt.NDArray[np.float64]
CUBE = np.array(list(itertools.product((-0.3, 0.3), repeat=3)))
SHAPES = {
    "sphere": [0.3],
    "capsule": [0.2, 0.3],
    "cylinder": [0.3, 0.3],
    "ellipsoid": [0.3, 0.2, 0.4],
    "box": [0.3, 0.3, 0.3],
    "convex": CUBE,
}


def field(heights: npt.ArrayLike, size: tuple[float, float, float] = (2, 2, 1), pose: Array | None = None) -> Placed:
    return Placed("height_field", _core.HeightField(heights, size), np.eye(4) if pose is None else pose)


def slope(angle: float, n: int = 21) -> Placed:
    x = np.linspace(-2, 2, n)
    return field(np.tile(np.tan(angle) * x, (n, 1)))


def assert_one(contacts: Contacts, position: npt.ArrayLike, normal: npt.ArrayLike, gap: float) -> None:
    assert len(contacts) == 1
    np.testing.assert_allclose(contacts.position[0], np.asarray(position), atol=1e-12)
    np.testing.assert_allclose(contacts.normal[0], np.asarray(normal), atol=1e-12)
    np.testing.assert_allclose(contacts.gap[0], gap, atol=1e-12)


@pytest.mark.parametrize("kind", CONVEX)
def test_flat_field_is_a_plane(kind: str) -> None:
    """Same depth and normal as on a plane, wherever over the cells."""
    rng = np.random.default_rng(1)
    ground, plane = field(np.zeros((21, 17))), placed("plane", [])
    for k in range(60):
        R = np.eye(3) if k % 3 == 0 else random_rotation(rng)
        shape = placed(kind, SHAPES[kind], R, (*rng.uniform(-1, 1, 2), rng.uniform(0.1, 0.5)))
        on_field, on_plane = collide(shape, ground, 0.02), collide(shape, plane, 0.02)
        assert (len(on_field) > 0) == (len(on_plane) > 0)
        if len(on_plane):
            np.testing.assert_allclose(on_field.gap.min(), on_plane.gap.min(), atol=1e-9)
            np.testing.assert_allclose(on_field.normal, np.tile([0.0, 0, 1], (len(on_field), 1)), atol=1e-9)
            assert len(set(on_field.feature.tolist())) == len(on_field) <= 8


def test_rolling_sphere_never_trips_on_an_edge() -> None:
    """On a slope in many cells, every normal is the slope's and there is one point under the ball, always."""
    angle = 0.3
    ground = slope(angle)
    normal = np.array([-np.sin(angle), 0, np.cos(angle)])
    rng = np.random.default_rng(2)
    for _ in range(300):
        foot = np.array([*rng.uniform(-1.2, 1.2, 2), 0])
        if rng.random() < 0.5:
            foot[:2] = np.round(foot[:2] * 10) / 10  # right over nodes and edges
        foot[2] = np.tan(angle) * foot[0]
        gap = rng.choice([-0.1, -0.01, -1e-12, 0, 1e-3])
        ball = placed("sphere", [0.25], p=foot + (0.25 + gap) * normal)
        assert_one(collide(ball, ground, 0.01), foot + gap / 2 * normal, normal, gap)


def test_ball_on_a_ridge_and_in_a_valley() -> None:
    x = np.linspace(-2, 2, 21)
    ridge = field(np.tile(-np.abs(x), (21, 1)))
    assert_one(collide(placed("sphere", [0.5], p=(0, 0.03, 0.4)), ridge, 0.01), [0, 0.03, -0.05], [0, 0, 1], -0.1)
    valley = field(np.tile(np.abs(x), (21, 1)))
    contacts = collide(placed("sphere", [0.5], p=(0, 0.03, 0.5 * np.sqrt(2))), valley, 0.01)
    s = np.sqrt(0.5)
    np.testing.assert_allclose(sorted(contacts.normal[:, 0]), [-s, s], atol=1e-12)
    np.testing.assert_allclose(contacts.gap, 0, atol=1e-12)


def test_box_on_a_ridge_lies_on_it() -> None:
    x = np.linspace(-2, 2, 21)
    ridge = field(np.tile(-np.abs(x), (21, 1)))
    contacts = collide(placed("box", [0.3, 0.3, 0.3], p=(0, 0.05, 0.3)), ridge, 0.01)
    np.testing.assert_allclose(contacts.normal, np.tile([0.0, 0, 1], (len(contacts), 1)), atol=1e-9)
    np.testing.assert_allclose(contacts.position[:, [0, 2]], 0, atol=1e-9)
    assert contacts.position[:, 1].min() == pytest.approx(-0.25)
    assert contacts.position[:, 1].max() == pytest.approx(0.35)


def test_peak_under_a_box() -> None:
    heights = np.zeros((21, 21))
    heights[10, 10] = 0.2
    contacts = collide(placed("box", [0.3, 0.3, 0.1], p=(0.02, 0.01, 0.29)), field(heights), 0.0)
    assert_one(contacts, [0, 0, 0.195], [0, 0, 1], -0.01)


def test_box_on_flat_cells_is_held_at_its_corners() -> None:
    rng = np.random.default_rng(3)
    ground = field(np.zeros((41, 41)))
    for _ in range(20):
        shift = rng.uniform(-1, 1, 2)
        contacts = collide(placed("box", [0.3, 0.4, 0.2], p=(*shift, 0.2)), ground, 0.01)
        for corner in itertools.product((-0.3, 0.3), (-0.4, 0.4)):
            nearest = np.linalg.norm(contacts.position[:, :2] - shift - corner, axis=1).min()
            assert nearest < 1e-6


@pytest.mark.parametrize("kind", CONVEX)
def test_nothing_falls_through(kind: str) -> None:
    """However deep a shape has sunk into rough ground, some normal leads up."""
    rng = np.random.default_rng(4)
    ground = field(rng.uniform(-0.2, 0.2, (31, 31)))
    for depth in np.linspace(0, 0.8, 30):
        shape = placed(kind, SHAPES[kind], random_rotation(rng), (*rng.uniform(-1, 1, 2), -depth))
        contacts = collide(shape, ground, 0.01)
        assert len(contacts) > 0
        assert (contacts.normal[:, 2] > 0).all()
        assert contacts.gap.min() < 0


@pytest.mark.parametrize("kind", CONVEX)
def test_contacts_turn_with_the_field_and_with_the_order(kind: str) -> None:
    rng = np.random.default_rng(5)
    heights = rng.uniform(-0.1, 0.1, (31, 31))
    for _ in range(20):
        X = pose_of(random_rotation(rng), rng.normal(size=3))
        shape = placed(kind, SHAPES[kind], random_rotation(rng), (*rng.uniform(-1, 1, 2), 0.2))
        here = collide(shape, field(heights), 0.01)
        there = collide(field(heights, pose=X), shape.moved(X), 0.01)
        np.testing.assert_allclose(np.sort(here.gap), np.sort(there.gap), atol=1e-9)
        np.testing.assert_array_equal(np.sort(here.feature), np.sort(there.feature))
        assert (np.abs(np.linalg.norm(there.normal, axis=1) - 1) < 1e-12).all()


def test_beyond_the_rim_there_is_nothing() -> None:
    ground = field(np.zeros((5, 5)))
    assert len(collide(placed("sphere", [0.3], p=(2.4, 0, 0)), ground, 0.01)) == 0
    wall = collide(placed("sphere", [0.3], p=(2.25, 0.1, -0.5)), ground, 0.01)
    np.testing.assert_allclose(wall.normal[int(np.argmin(wall.gap))], [1, 0, 0], atol=1e-12)


@pytest.mark.parametrize("kind", CONVEX)
def test_random_calls_are_finite(kind: str) -> None:
    rng = np.random.default_rng(6)
    ground = field(np.round(rng.uniform(-1, 1, (9, 9)) * 2) / 2)
    for _ in range(300):
        contacts = collide(random_shape(rng, kind), ground, 0.1)
        assert np.isfinite(contacts.position).all() and np.isfinite(contacts.gap).all()
        assert (np.abs(np.linalg.norm(contacts.normal, axis=1) - 1) < 1e-12).all()
        assert len(set(contacts.feature.tolist())) == len(contacts) <= 8


@pytest.mark.parametrize(
    "heights,size,message",
    [
        (np.zeros((1, 5)), (1, 1, 1), "at least 2 rows"),
        (np.zeros((5, 5)), (1, 0, 1), "positive"),
        (np.full((5, 5), np.nan), (1, 1, 1), "not finite"),
        (np.zeros(5), (1, 1, 1), "rows x columns"),
    ],
)
def test_bad_fields_are_refused(heights: Array, size: tuple[float, float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.HeightField(heights, size)
