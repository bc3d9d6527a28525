"""Saved motions: shown again from their file alone, with the robot and what stands around it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.model.model import Model
from featherweight.viewer.motion_file import saved_motion


def dropped(batch: int | None = None) -> fw.Trajectory:
    scene = fw.Scene(ground=fw.Plane(offset=-0.1))
    scene.add(fw.box((0.4, 0.4, 0.1), static=True), name="table", pose=(0.5, 0.0, 0.05))
    scene.add(fw.box((0.2, 0.2, 0.2)), name="crate", pose=(0.0, 0.0, 0.2))
    sim = fw.Simulator(scene, 2e-3)
    return sim.rollout(sim.state() if batch is None else sim.state(batch=batch), n_steps=20)


def unneeded(name: str) -> Model:
    raise AssertionError(f"the file says what moves, not {name}")


@pytest.mark.parametrize("batch", [None, 3])
def test_what_was_saved_is_what_was_shown(tmp_path: Path, batch: int | None) -> None:
    motion = dropped(batch)
    motion.save(tmp_path / "crate.npz")
    shown, expected = saved_motion(tmp_path / "crate.npz", unneeded, None).animation(), motion.animation()
    assert np.array_equal(shown.q, expected.q) and np.array_equal(shown.time, expected.time)
    assert list(shown.curves) == ["residual"]
    assert [(item.name, item.role, item.colour) for item in shown.world.items] == [
        (item.name, item.role, item.colour) for item in expected.world.items
    ]
    for ours, theirs in zip(shown.world.items, expected.world.items, strict=True):
        corners = (
            expected.world.surfaces[theirs.surface].vertices @ theirs.placement[:3, :3].T + theirs.placement[:3, 3]
        )
        X = ours.placement
        np.testing.assert_allclose(
            shown.world.surfaces[ours.surface].vertices @ X[:3, :3].T + X[:3, 3], corners, atol=1e-12
        )


def test_another_robot_may_be_asked_for(tmp_path: Path) -> None:
    dropped().save(tmp_path / "crate.npz")
    shown = saved_motion(tmp_path / "crate.npz", lambda name: fw.models.box(name=name), "cube").animation()
    assert shown.world.model.name == "cube"


@pytest.mark.parametrize(
    "damage, message",
    [
        ({"still_faces": np.full((14, 3), 99)}, "what stands around the robot is damaged"),
        ({"still_sizes": np.full((2, 2), 1)}, "what stands around the robot is damaged"),
        ({"still_vertices": np.full((28, 3), np.nan)}, "what stands around the robot is damaged"),
        ({"model": "{}"}, "crate.npz"),
        ({"q": np.zeros((20, 3))}, "q is"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, damage: dict[str, Any], message: str) -> None:
    path = tmp_path / "crate.npz"
    dropped().save(path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **(arrays | damage))
    with pytest.raises(ValueError, match=message):
        saved_motion(path, unneeded, None)


def test_motions_of_others_are_shown_with_a_robot_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "swing.npz"
    np.savez(path, time=np.linspace(0.0, 1.0, 5), q=np.zeros((5, 1)))
    with pytest.raises(ValueError, match=r"swing\.npz: the file does not say which robot moves: name it with --robot"):
        saved_motion(path, unneeded, None)
    assert len(saved_motion(path, lambda _: fw.models.pendulum(), "pendulum").animation().time) == 5
