"""Hulls with more corners than collision takes are thinned quickly, and deviate by little."""

from __future__ import annotations

import time

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw
from featherweight.arrays import Array
from featherweight.model.thinning import MOST_CORNERS, thinned

scipy_spatial = pytest.importorskip("scipy.spatial")


def ball(n: int, radii: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Array:
    points = np.random.default_rng(0).standard_normal((n, 3))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True) * radii)


@pytest.mark.parametrize("radii", [(1.0, 1.0, 1.0), (1.0, 0.2, 0.05)])
def test_what_is_left_out_is_near(radii: tuple[float, float, float]) -> None:
    points = ball(8_000, radii)
    started = time.process_time()
    kept, deviation = thinned(points)
    assert time.process_time() - started < 20.0  # about a second on an idle core
    assert len(kept) <= MOST_CORNERS
    equations = scipy_spatial.ConvexHull(kept).equations
    farthest = max(float((points[k::50] @ equations[:, :3].T + equations[:, 3]).max()) for k in range(50))
    assert_close(deviation, farthest, tolerance=1e-12)
    assert deviation < 2e-3  # of the radius: random points leave gaps


def test_corners_that_stick_out_are_kept() -> None:
    points = np.concatenate([ball(8_000), [[3.0, 0, 0], [0, 0, -2.5]]])
    kept, _ = thinned(points)
    assert {3.0, -2.5} <= {kept[:, 0].max(), kept[:, 2].min()}


def test_a_finely_tessellated_ball_rolls() -> None:
    scene = fw.Scene(ground=fw.Plane())
    scene.add(fw.convex(0.1 * ball(8_000), mass=1.0), name="ball", pose=(0, 0, 0.1))
    state = fw.Simulator(scene, 2e-3).state()
    end = state.simulator.rollout(state, n_steps=20).final
    assert_close(end.q[2], 0.1, tolerance=1e-3)


def test_mjcf_tells_what_it_thinned() -> None:
    pytest.importorskip("mujoco")
    text = " ".join(f"{x:.9g}" for x in (0.1 * ball(6_000)).ravel())
    model = fw.loads(
        f'<mujoco><asset><mesh name="m" vertex="{text}"/></asset><worldbody><body><freejoint/>'
        '<geom name="g" type="mesh" mesh="m"/></body></worldbody></mujoco>',
        "mjcf",
        strict=True,
    )
    [note] = [note for note in model.import_report if "corners" in note.message]
    assert note.element == "geom 'g'"
    assert note.severity is fw.Severity.NOTHING
