"""How deep polytopes are in each other, against all axes along which they could part: the normals of faces and what is
across two edges. Boxes are measured by their axes, hulls by GJK and EPA: the answers are the same.
"""

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from helpers.shapes import IDENTITY, Array, Placed, collide, placed, pose_of, random_rotation

CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
KINDS = ("box", "convex")


def block(kind: str, half: npt.ArrayLike, R: npt.ArrayLike = IDENTITY, p: npt.ArrayLike = (0, 0, 0)) -> Placed:
    """A box, or the hull of its corners."""
    return placed(kind, half if kind == "box" else CORNERS * np.asarray(half), R, p)


def about(axis: int, angle: float) -> Array:
    c, s, R = np.cos(angle), np.sin(angle), np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def depth(a: Placed, half_a: Array, b: Placed, half_b: Array) -> float:
    """Signed separation of two blocks that overlap: the largest over all fifteen axes."""
    A, B = a.pose[:3, :3], b.pose[:3, :3]
    # of edges that are parallel to 1e-9 the faces say the same
    across = np.cross(A.T[:, None], B.T[None]).reshape(-1, 3)
    length = np.linalg.norm(across, axis=1)
    axes = np.concatenate([A.T, B.T, across[length > 1e-9] / length[length > 1e-9, None]])
    reach = np.abs(axes @ A) @ half_a + np.abs(axes @ B) @ half_b
    return float((np.abs(axes @ (a.pose[:3, 3] - b.pose[:3, 3])) - reach).max())


Pair = tuple[Array, Array, Array]  # half edges of both, and how the first is turned in the axes of the second


def any_blocks(rng: np.random.Generator) -> Pair:
    return rng.uniform(0.2, 1, 3), rng.uniform(0.2, 1, 3), random_rotation(rng)


def almost_parallel(rng: np.random.Generator) -> Pair:
    tilt = about(int(rng.integers(3)), 10 ** rng.uniform(-15, -2)) @ about(2, 10 ** rng.uniform(-15, -2))
    return rng.uniform(0.2, 1, 3), rng.uniform(0.2, 1, 3), tilt


def rolled(rng: np.random.Generator) -> Pair:
    """About an edge, which stays parallel but for little."""
    tilt = about(2, 10 ** rng.uniform(-15, -2)) @ about(0, rng.uniform(0.2, 1.4))
    return rng.uniform(0.2, 1, 3), rng.uniform(0.2, 1, 3), tilt


def plates(rng: np.random.Generator) -> Pair:
    return np.array([1, 1, 1e-5]), np.array([1, 1e-5, 0.5]), random_rotation(rng)


def rods(rng: np.random.Generator) -> Pair:
    """Ten thousand times as long as thick, at angles at which they cross, or almost lie beside each other."""
    turn = about(2, 10 ** rng.uniform(-9, 0)) @ about(0, rng.uniform(0, 1))
    return np.array([1, 1e-4, 1e-4]), np.array([1, 1e-4, 2e-4]), turn


def cubes(rng: np.random.Generator) -> Pair:
    """Whose faces are all parallel to each other: differences have faces of many corners."""
    return np.ones(3), np.ones(3), np.eye(3)[rng.permutation(3)] * [1, 1, -1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pair", [any_blocks, almost_parallel, rolled, plates, rods, cubes])
@pytest.mark.parametrize("size", [1e-4, 1.0, 100.0])
def test_depth_is_that_of_the_best_axis(kind: str, pair: Callable[[np.random.Generator], Pair], size: float) -> None:
    rng = np.random.default_rng(31)
    n_deep = 0
    for _ in range(150):
        half_a, half_b, R = pair(rng)
        half_a, half_b = size * half_a, size * half_b
        W = random_rotation(rng)
        p = rng.normal(size=3) * 0.5 * (half_a + half_b) * np.array([1, 1, 0.5])
        a, b = block(kind, half_a, W @ R, W @ p), block(kind, half_b, W)
        expected = depth(a, half_a, b, half_b)
        if expected > 0:
            continue
        n_deep += 1
        # axes compete to 1e-10 of the extents; edges at an angle x are known to 1e-15 / x of them, or left out, which
        # costs x times their length; where they lie side by side they are round by a hundredth of the thickness
        extent = float(np.linalg.norm(half_a) + np.linalg.norm(half_b))
        bound = 2e-10 * extent if pair in (any_blocks, plates, cubes) else 1e-7 * extent
        if pair is rods and kind == "box":
            bound = 0.02 * min(half_a.min(), half_b.min())
        np.testing.assert_allclose(collide(a, b, 0).gap.min(), expected, atol=bound)
    assert n_deep > 40


@pytest.mark.parametrize("kind", KINDS)
def test_nearly_equal_thicknesses(kind: str) -> None:
    """The thinnest direction is found where the others are thicker by a hundred millionth of the size or less."""
    rng = np.random.default_rng(32)
    for difference in (1e-3, 1e-6, 1e-8, 1e-9):
        half = 1 + difference * np.array([2.0, 0.0, 1.0])
        for _ in range(20):
            R = random_rotation(rng)
            contacts = collide(block(kind, half, R), block(kind, half, R), 0)
            np.testing.assert_allclose(contacts.gap.min(), -2, atol=3e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_shared_depths_part_along_a_face(kind: str) -> None:
    """Cubes deep in each other along two axes by the same amount, the one turned by a right angle: either axis parts
    them, and no direction between."""
    for R in (np.eye(3), about(2, np.pi / 2), about(2, np.pi / 2) @ about(0, np.pi)):
        contacts = collide(block(kind, [1, 1, 1], R, (1.7, 1.7, 0)), block(kind, [1, 1, 1]), 0)
        np.testing.assert_allclose(contacts.gap.min(), -0.3, atol=1e-12)


@pytest.mark.parametrize("angle", [0.02, 0.17, 0.5])
def test_crossed_plates_part_along_the_thin_way(angle: float) -> None:
    """Each lies across the other, and their faces say opposite directions."""
    half = np.array([0.01, 1, 1])
    a, b = block("box", half, about(2, angle / 2), (0, 0.05, 0)), block("box", half, about(2, -angle / 2))
    np.testing.assert_allclose(collide(a, b, 0).gap.min(), depth(a, half, b, half), atol=1e-12)


def trembling(rng: np.random.Generator, size: float) -> Array:
    w, X = size * rng.normal(size=3), np.eye(4)
    X[:3, :3] += [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
    X[:3, 3] = size * rng.normal(size=3)
    return X


@pytest.mark.parametrize("small", [1e-4, 1.0])
def test_equally_deep_boxes_keep_their_normal(small: float) -> None:
    """A cube as deep in one face of another as in the next, and one that is turned about the normal on a block a
    million times as large: the normal does not follow rounding."""
    rng = np.random.default_rng(33)
    corner = block("box", [small] * 3, p=[1.7 * small] * 3), block("box", [small] * 3)
    foot = (30.0, -40.0, 100 + small)
    turned = block("box", [small] * 3, about(2, 1e-3), foot), block("box", [100.0] * 3)
    for a, b in (corner, turned):
        world = pose_of(random_rotation(rng), (0, 0, 0))
        expected = collide(a.moved(world), b.moved(world), 1e-3 * small)
        for _ in range(50):
            moved = collide(a.moved(trembling(rng, 1e-13 * small)).moved(world), b.moved(world), 1e-3 * small)
            np.testing.assert_allclose(moved.normal, expected.normal, atol=1e-8)


@pytest.mark.parametrize("swapped", [False, True])
def test_the_normal_turns_from_face_to_face_as_edges_pass_each_other(swapped: bool) -> None:
    """Bars edge on edge, mirrored: in no step of a hundred thousandth of the size by more than a third, and within a
    thousandth altogether."""
    top = np.cos(0.6) + np.sin(0.6)
    low = block("box", [1, 1, 1], about(1, 0.6))
    normals = []
    for shift in np.arange(-100, 101) * 1e-5:
        high = block("box", [1, 1, 1], about(1, -0.6), (shift, 0, 2 * top))
        contacts = collide(low, high, 1e-2) if swapped else collide(high, low, 1e-2)
        assert len(contacts) >= 1
        normals.append(contacts.normal[0] * (-1 if swapped else 1))
    turn = np.arctan2(np.array(normals)[:, 0], np.array(normals)[:, 2])
    np.testing.assert_allclose([turn[0], turn[100], turn[-1]], [-0.6, 0, 0.6], atol=1e-9)
    assert np.abs(np.diff(turn)).max() < 0.4
