"""Pairs of simple shapes in positions where the answer is plain to see."""

import numpy as np
import numpy.typing as npt
import pytest
from helpers.shapes import Contacts, Placed, collide, placed, random_rotation

GROUND = placed("plane", [])
CUBE_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
X_UP = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # the z axis of the shape along the world's x


def about(axis: int, angle: float) -> npt.NDArray[np.float64]:
    c, s, R = np.cos(angle), np.sin(angle), np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def assert_points(contacts: Contacts, position: npt.ArrayLike, normal: npt.ArrayLike, gap: npt.ArrayLike) -> None:
    """In any order."""
    position, gap = np.atleast_2d(position), np.broadcast_to(gap, len(np.atleast_2d(position)))
    assert len(contacts) == len(position)
    np.testing.assert_allclose(contacts.normal, np.broadcast_to(normal, position.shape), atol=1e-14)
    for p, g in zip(position, gap, strict=True):
        k = int(np.argmin(np.linalg.norm(contacts.position - p, axis=1)))
        np.testing.assert_allclose(contacts.position[k], p, atol=1e-13)
        np.testing.assert_allclose(contacts.gap[k], g, atol=1e-14)


def test_sphere_on_plane() -> None:
    ball = placed("sphere", [0.5], p=(1, 2, 0.4))
    assert_points(collide(ball, GROUND, 0.01), [1, 2, -0.05], [0, 0, 1], -0.1)
    assert len(collide(ball.shifted(np.array([0, 0, 0.12])), GROUND, 0.01)) == 0


def test_capsule_lying_and_standing_on_plane() -> None:
    lying = placed("capsule", [0.1, 0.5], X_UP, (0, 0, 0.1))
    assert_points(collide(lying, GROUND, 0.01), [[0.5, 0, 0], [-0.5, 0, 0]], [0, 0, 1], 0)
    standing = placed("capsule", [0.1, 0.5], p=(0, 0, 0.59))
    assert_points(collide(standing, GROUND, 0.01), [0, 0, -0.005], [0, 0, 1], -0.01)


def test_box_on_plane_by_face_edge_and_corner() -> None:
    half = np.array([0.1, 0.2, 0.3])
    flat = placed("box", half, p=(0, 0, 0.29))
    corners = [[x, y, -0.005] for x in (-0.1, 0.1) for y in (-0.2, 0.2)]
    assert_points(collide(flat, GROUND, 0.01), corners, [0, 0, 1], -0.01)
    edge = placed(
        "box", [0.1, 0.1, 0.3], about(1, np.pi / 4), (0, 0, np.hypot(0.1, 0.3) * np.cos(np.arctan(3) - np.pi / 4))
    )
    assert len(collide(edge, GROUND, 0.01)) == 2


def assert_seated(contacts: Contacts, center: npt.ArrayLike, radius: float) -> None:
    """A level cap: three points at two thirds of its radius, and four on its rim, a hundred millionth of it higher."""
    arms = contacts.position - np.asarray(center)
    radii = np.linalg.norm(arms, axis=1)
    inside = radii < 0.9 * radius
    assert inside.sum() == 3 and len(contacts) == 7
    np.testing.assert_allclose(radii, np.where(inside, radius / 1.5, radius), rtol=1e-7)
    np.testing.assert_allclose(arms[inside].sum(axis=0), 0, atol=1e-7 * radius)
    np.testing.assert_allclose(arms[~inside].sum(axis=0), 0, atol=1e-7 * radius)
    np.testing.assert_allclose(contacts.gap, np.where(inside, 0, 1e-8 * radius), atol=1e-15)
    np.testing.assert_allclose(contacts.normal, np.broadcast_to([0, 0, 1], (7, 3)), atol=1e-15)


def test_cylinder_on_plane_stands_on_its_cap_and_lies_on_two_points() -> None:
    standing = collide(placed("cylinder", [0.2, 0.5], p=(0, 0, 0.5)), GROUND, 0.01)
    assert_seated(standing, (0, 0, 0), 0.2)
    lying = collide(placed("cylinder", [0.2, 0.5], X_UP, (0, 0, 0.2)), GROUND, 0.01)
    assert_points(lying, [[0.5, 0, 0], [-0.5, 0, 0]], [0, 0, 1], 0)


def test_tilted_cylinder_touches_plane_with_the_lowest_point_of_its_rim() -> None:
    R = about(2, 0.3) @ about(1, 0.2)
    cylinder = placed("cylinder", [0.2, 0.5], R, (0, 0, 0.5))
    contacts = collide(cylinder, GROUND, 1.0)
    np.testing.assert_allclose(contacts.gap.min(), 0.5 - 0.5 * np.cos(0.2) - 0.2 * np.sin(0.2), atol=1e-15)


def test_ellipsoid_on_plane() -> None:
    assert_points(collide(placed("ellipsoid", [0.1, 0.2, 0.3], p=(0, 0, 0.3)), GROUND, 0.1), [0, 0, 0], [0, 0, 1], 0)


def test_hull_on_plane_keeps_corners_all_around() -> None:
    """Of a base with more corners than there is room for eight remain, whatever the height of the hull."""
    angles = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = np.concatenate([np.c_[ring, np.zeros(32)], np.c_[ring, 1e-3 * np.ones(32)]])
    contacts = collide(placed("convex", points), GROUND, 0.01)
    x, y = contacts.position[:, 0], contacts.position[:, 1]
    order = np.argsort(np.arctan2(y, x))
    x, y = x[order], y[order]
    assert len(contacts) == 8
    np.testing.assert_allclose(contacts.gap, 0, atol=1e-15)
    assert 0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1)) > 2.7  # 2.83 is the largest octagon in the circle


def test_spheres() -> None:
    a, b = placed("sphere", [0.5], p=(0, 0, 1)), placed("sphere", [0.25])
    assert_points(collide(a, b, 1), [0, 0, 0.375], [0, 0, 1], 0.25)
    assert_points(collide(b, a, 1), [0, 0, 0.375], [0, 0, -1], 0.25)


def test_spheres_at_the_same_place_get_some_normal() -> None:
    a = placed("sphere", [0.5])
    contacts = collide(a, placed("sphere", [0.25]), 0)
    np.testing.assert_allclose(contacts.gap, -0.75)
    np.testing.assert_allclose(np.linalg.norm(contacts.normal), 1)


def test_sphere_beside_capsule_and_beyond_its_end() -> None:
    capsule = placed("capsule", [0.1, 0.5])
    beside = collide(placed("sphere", [0.2], p=(0.5, 0, 0.3)), capsule, 1)
    assert_points(beside, [0.2, 0, 0.3], [1, 0, 0], 0.2)
    beyond = collide(placed("sphere", [0.2], p=(0, 0, 1)), capsule, 1)
    assert_points(beyond, [0, 0, 0.7], [0, 0, 1], 0.2)


def test_capsules_crossed_and_parallel() -> None:
    low = placed("capsule", [0.1, 0.5], X_UP)
    crossed = placed("capsule", [0.2, 0.5], about(0, np.pi / 2), (0.1, 0, 0.25))
    assert_points(collide(crossed, low, 1), [0.1, 0, 0.075], [0, 0, 1], -0.05)
    parallel = placed("capsule", [0.2, 0.5], X_UP, (0.3, 0, 0.3))
    assert_points(collide(parallel, low, 1), [[-0.2, 0, 0.1], [0.5, 0, 0.1]], [0, 0, 1], 0)


def test_capsules_nearly_parallel_touch_at_the_ends_and_where_they_cross() -> None:
    low, high = placed("capsule", [0.1, 0.5], X_UP), placed("capsule", [0.1, 0.5], about(2, 0.02) @ X_UP, (0, 0, 0.2))
    contacts = collide(high, low, 0.01)
    assert sorted(contacts.feature.tolist()) == [0, 1, 2]
    np.testing.assert_allclose(contacts.gap.min(), 0, atol=1e-15)
    np.testing.assert_allclose(np.sort(contacts.position[:, 0]), [-0.5, 0, 0.5], atol=1e-3)


def test_capsules_on_one_line() -> None:
    a, b = placed("capsule", [0.1, 0.5]), placed("capsule", [0.1, 0.5], p=(0, 0, 1.3))
    assert_points(collide(b, a, 1), [0, 0, 0.65], [0, 0, 1], 0.1)


@pytest.mark.parametrize("kind,size", [("box", [1, 1, 1]), ("convex", CUBE_CORNERS)])
def test_sphere_at_a_cube_by_face_edge_corner_and_inside(kind: str, size: npt.ArrayLike) -> None:
    cube = placed(kind, size)
    s2, s3 = np.sqrt(0.5), np.sqrt(1 / 3)
    assert_points(collide(placed("sphere", [0.5], p=(0.3, 0.2, 1.4)), cube, 1), [0.3, 0.2, 0.95], [0, 0, 1], -0.1)
    assert_points(
        collide(placed("sphere", [0.5], p=(1.5, 0.2, 1.5)), cube, 1),
        [1 + (s2 - 0.5) / 2 * s2, 0.2, 1 + (s2 - 0.5) / 2 * s2],
        [s2, 0, s2],
        s2 - 0.5,
    )
    assert_points(
        collide(placed("sphere", [0.5], p=(2, 2, 2)), cube, 2),
        np.full(3, 1 + (1 / s3 - 0.5) / 2 * s3),
        [s3] * 3,
        1 / s3 - 0.5,
    )
    assert_points(collide(placed("sphere", [0.5], p=(0.1, 0.7, -0.2)), cube, 0), [0.1, 0.6, -0.2], [0, 1, 0], -0.8)


@pytest.mark.parametrize("kind,size", [("box", [1, 1, 1]), ("convex", CUBE_CORNERS)])
def test_capsule_on_a_cube_lies_on_two_points(kind: str, size: npt.ArrayLike) -> None:
    cube = placed(kind, size)
    inside = placed("capsule", [0.1, 0.5], X_UP, (0, 0, 1.1))
    assert_points(collide(inside, cube, 0.01), [[0.5, 0, 1], [-0.5, 0, 1]], [0, 0, 1], 0)
    overhanging = placed("capsule", [0.1, 0.5], X_UP, (0.8, 0, 1.1))
    assert_points(collide(overhanging, cube, 0.01), [[1.0, 0.0, 1.0], [0.3, 0.0, 1.0]], [0, 0, 1], 0)


@pytest.mark.parametrize("upper", ["box", "convex"])
@pytest.mark.parametrize("lower", ["box", "convex"])
def test_cube_on_cube(upper: str, lower: str) -> None:
    def cube(kind: str, p: npt.ArrayLike) -> Placed:
        return placed(kind, [1, 1, 1] if kind == "box" else CUBE_CORNERS, p=p)

    base = cube(lower, (0, 0, 0))
    same = [[x, y, 1] for x in (-1, 1) for y in (-1, 1)]
    assert_points(collide(cube(upper, (0, 0, 2)), base, 0.01), same, [0, 0, 1], 0)
    shifted = [[x, y, 1.1] for x in (-0.5, 1) for y in (-0.6, 1)]
    assert_points(collide(cube(upper, (0.5, 0.4, 2.2)), base, 0.5), shifted, [0, 0, 1], 0.2)
    sunk = [[x, y, 0.9] for x in (-0.5, 1) for y in (-0.6, 1)]
    assert_points(collide(cube(upper, (0.5, 0.4, 1.8)), base, 0.5), sunk, [0, 0, 1], -0.2)


def test_boxes_touching_by_crossed_edges() -> None:
    low = placed("box", [0.5, 0.1, 0.1], about(0, np.pi / 4))
    high = placed("box", [0.1, 0.5, 0.1], about(1, np.pi / 4), (0, 0, 0.3))
    contacts = collide(high, low, 0.1)
    assert_points(collide(high, low, 0.05), [0, 0, 0.15], [0, 0, 1], 0.3 - 0.2 * np.sqrt(2))
    assert contacts.gap.min() == pytest.approx(0.3 - 0.2 * np.sqrt(2))


def test_boxes_corner_to_corner() -> None:
    a, b = placed("box", [1, 1, 1]), placed("box", [1, 1, 1], p=(2.1, 2.2, 2.3))
    contacts = collide(b, a, 1)
    np.testing.assert_allclose(contacts.gap.min(), np.linalg.norm([0.1, 0.2, 0.3]), rtol=1e-14)
    np.testing.assert_allclose(contacts.normal[0], np.array([1, 2, 3]) / np.sqrt(14), rtol=1e-14)


@pytest.mark.parametrize("kind,size", [("box", [1, 1, 1]), ("convex", CUBE_CORNERS)])
def test_cylinder_stands_on_a_cube(kind: str, size: npt.ArrayLike) -> None:
    cylinder, cube = placed("cylinder", [0.2, 0.5], p=(0.3, 0, 1.5)), placed(kind, size)
    assert_seated(collide(cylinder, cube, 0.01), (0.3, 0, 1), 0.2)


def test_cylinders_on_each_other_and_side_by_side() -> None:
    low, high = placed("cylinder", [0.5, 0.2]), placed("cylinder", [0.2, 0.5], p=(0, 0, 0.7))
    assert_seated(collide(high, low, 0.01), (0, 0, 0.2), 0.2)
    beside = placed("cylinder", [0.2, 0.5], p=(0.7, 0, 0.1))
    assert_points(collide(beside, low, 0.01), [[0.5, 0, -0.2], [0.5, 0, 0.2]], [1, 0, 0], 0)


def test_cylinder_against_cylinder_across() -> None:
    low, high = placed("cylinder", [0.5, 2], X_UP), placed("cylinder", [0.2, 2], about(0, np.pi / 2), (0.3, 0.1, 0.8))
    assert_points(collide(high, low, 0.2), [0.3, 0, 0.55], [0, 0, 1], 0.1)


def test_ellipsoids_along_their_axes() -> None:
    a, b = placed("ellipsoid", [0.3, 0.2, 0.1]), placed("ellipsoid", [0.1, 0.2, 0.3], p=(0.5, 0, 0))
    assert_points(collide(b, a, 1), [0.35, 0, 0], [1, 0, 0], 0.1)


@pytest.mark.parametrize(
    "kind,size,depth",
    [
        ("cylinder", [0.3, 0.5], 0.6),
        ("ellipsoid", [0.3, 0.4, 0.5], 0.6),
        ("box", [0.3, 0.4, 0.5], 0.6),
        ("convex", CUBE_CORNERS * [0.3, 0.4, 0.5], 0.6),
    ],
)
def test_equal_shapes_at_the_same_place_part_along_their_thinnest_direction(
    kind: str, size: npt.ArrayLike, depth: float
) -> None:
    R = random_rotation(np.random.default_rng(0))
    contacts = collide(placed(kind, size, R), placed(kind, size, R), 0)
    np.testing.assert_allclose(contacts.gap.min(), -depth, rtol=1e-9)


def test_planes_and_fields_do_not_touch_each_other() -> None:
    assert len(collide(GROUND, GROUND, 1)) == 0
