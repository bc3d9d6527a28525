"""Scenes, compiled scenes and simulators arrive elsewhere as they left, without a mesh being looked at again."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits
from helpers.travel import JOURNEYS, crowded

import featherweight as fw
from featherweight.scene import hulls

every_journey = pytest.mark.parametrize("travel", JOURNEYS.values(), ids=JOURNEYS.keys())
Travel = Callable[[Any], Any]


@every_journey
def test_scenes_are_the_same_and_go_on(travel: Travel) -> None:
    scene = crowded()
    back = travel(scene)
    assert back == scene and back is not scene and back.compile() == scene.compile()
    for each in (scene, back):
        ball = each.add(fw.sphere(0.1), name="ball", pose=(0, 0, 2))
        each.exclude(ball, "robot")
        each.constrain(fw.PointConstraint("ball", rows=("y",)))
        each.pair("ball", "ground", restitution=0.5)
    assert back == scene
    a, b = (fw.Simulator(each, dt=2e-3) for each in (scene, back))
    assert a == b
    assert_same_bits(a.rollout(a.state(), n_steps=50).q, b.rollout(b.state(), n_steps=50).q)


@every_journey
def test_a_copy_changes_by_itself(travel: Travel) -> None:
    scene = crowded()
    back = travel(scene)
    back.add(fw.sphere(0.1), name="ball")
    assert back != scene and scene == crowded()
    changes: list[Callable[[fw.Scene], None]] = [
        lambda each: each.exclude("robot", "load"),
        lambda each: each.pair("robot", "ground", friction=0.1),
        lambda each: each.constrain(fw.FrameConstraint("load")),
    ]
    for change in changes:
        other = travel(scene)
        change(other)
        assert other != scene and scene == crowded()


def test_order_and_details_matter() -> None:
    def scene(*sizes: float, friction: float = 1.0, gravity: float = -9.81) -> fw.Scene:
        built = fw.Scene(ground=fw.Plane(friction=friction), gravity=(0, 0, gravity))
        for size in sizes:
            built.add(fw.sphere(size), name=f"ball_{size}")
        return built

    assert scene(0.1, 0.2) == scene(0.1, 0.2)
    for other in (scene(0.2, 0.1), scene(0.1), scene(0.1, 0.2, friction=0.5), scene(0.1, 0.2, gravity=-1.6), 0):
        assert other != scene(0.1, 0.2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(scene())


@every_journey
def test_handles_are_good_for_copies(travel: Travel) -> None:
    scene = crowded()
    first = scene.add(fw.sphere(0.1), name="first")
    second = scene.add(fw.models.arm(), name="second", pose=(3, 0, 0))
    back, handle = travel((scene, second))
    back = travel(scene) if back is scene else back
    assert handle == second and hash(handle) == hash(second) and handle != first
    back.exclude(first, handle)
    back.servo(second, kp=1.0)
    assert handle.link("link_7") == second.link("link_7")
    with pytest.raises(ValueError, match="belongs to another scene"):
        back.exclude("load", fw.Scene().add(fw.sphere(0.2), name="first"))


@every_journey
def test_compiled_scenes(travel: Travel, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = crowded().compile()
    assert scene.limits is not None and scene.shapes[0].for_core  # what is kept from now on does not travel

    def refuse(*_: object) -> Any:
        raise AssertionError("a hull was made anew")

    monkeypatch.setattr(hulls, "convex_hull", refuse)
    back = travel(scene)
    assert back == scene and hash(back) == hash(scene)
    kinds = {shape.kind for shape in scene.shapes}
    assert {"convex", "heightfield", "box", "sphere"} <= kinds
    for shape, expected in zip(back.shapes, scene.shapes, strict=True):
        for name in ("vertices", "faces", "heights", "placement"):
            mine, theirs = getattr(shape, name), getattr(expected, name)
            assert (mine is None) == (theirs is None)
            if mine is not None:
                assert_same_bits(mine, theirs, f"{name} of {shape.name}")
                assert not mine.flags.writeable
    assert not back.q0.flags.writeable
    assert (back.excluded, back.overrides, back.parts) == (scene.excluded, scene.overrides, scene.parts)


def test_compiled_scenes_need_no_files(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    path = tmp_path / "rock.stl"
    trimesh.creation.icosphere(subdivisions=1, radius=0.1).export(path)
    rock = fw.Geometry("rock", "collision", "mesh", (1.0, 2.0, 1.0), mesh=str(path))
    builder = fw.ModelBuilder("rock").link("rock", inertia=fw.solid_inertia("sphere", (0.1,), 1.0), geometries=(rock,))
    scene = fw.Scene(ground=fw.Plane())
    scene.add(builder.joint("free", "free", "world", "rock").build(), pose=(0, 0, 0.5))
    sim = fw.Simulator(scene)
    data = pickle.dumps(sim)
    path.unlink()
    back = pickle.loads(data)
    assert back == sim
    assert_same_bits(back.rollout(back.state(), n_steps=200).q, sim.rollout(sim.state(), n_steps=200).q)


SETTINGS: dict[str, Any] = {
    "dt": 1e-3,
    "solver": fw.Newton(tolerance=1e-8),
    "integrator": "implicit",
    "num_threads": 1,
}


@every_journey
@pytest.mark.parametrize("settings", [{}, SETTINGS])
def test_simulators(travel: Travel, settings: dict[str, Any]) -> None:
    sim = fw.Simulator(crowded(), **settings)
    back = travel(sim)
    assert back == sim and hash(back) == hash(sim) and repr(back) == repr(sim)
    for name in ("dt", "solver", "integrator", "num_threads", "actuators", "nu"):
        assert getattr(back, name) == getattr(sim, name)
    control = np.full(sim.nu, 0.1)
    expected = sim.rollout(sim.state(3), control=control, n_steps=60)
    assert_same_bits(back.rollout(back.state(3), control=control, n_steps=60).q, expected.q)


@pytest.mark.parametrize("name", SETTINGS)
def test_simulators_that_differ_in_a_setting(name: str) -> None:
    scene = crowded().compile()
    sim = fw.Simulator(scene, dt=2e-3)
    assert sim == fw.Simulator(crowded(), dt=2e-3)
    assert sim != fw.Simulator(scene, **{"dt": 2e-3, name: SETTINGS[name]})
    assert sim != scene


def test_simulators_of_other_scenes() -> None:
    scene = crowded()
    sim = fw.Simulator(scene)
    scene.add(fw.sphere(0.1))
    assert sim != fw.Simulator(scene)
