"""Drag: terminal velocities, decay, wind, and that a medium is the same for all environments and files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw

WATER = fw.Medium(density=1000.0, viscosity=9e-4)


def falling(medium: fw.Medium | None, **options: Any) -> fw.Simulator:
    scene = fw.Scene(medium=medium)
    scene.add(fw.box((0.1, 0.2, 0.3), mass=2.0))
    return fw.Simulator(scene, **options)


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "rk4"])
def test_terminal_velocity_in_a_thin_fluid(integrator: Any) -> None:
    """Weight is density times area times speed squared over two."""
    sim = falling(fw.Medium(density=50.0), dt=2e-3, integrator=integrator)
    speed = np.sqrt(2 * 2.0 * 9.81 / (50.0 * 0.1 * 0.2))
    v = sim.rollout(sim.state(), n_steps=5000).final.v
    assert v[2] == pytest.approx(-speed, rel=1e-9)
    assert np.abs(np.delete(v, 2)).max() < 1e-12


def test_terminal_velocity_in_a_thick_fluid() -> None:
    """Stokes: 3 pi times diameter times viscosity times speed, here of a ball that the medium sees as a ball."""
    builder = fw.ModelBuilder("ball", medium=fw.Medium(viscosity=5.0))
    builder.link("ball", mass=1.0, inertia=(1e-2, 1e-2, 1e-2), fluid_shapes=[fw.FluidShape("ellipsoid", (0.1,) * 3)])
    builder.joint("free", "free", "world", "ball")
    sim = fw.Simulator(builder.build(), dt=1e-3)
    v = sim.rollout(sim.state(), n_steps=3000).final.v
    assert v[2] == pytest.approx(-9.81 / (3 * np.pi * 0.2 * 5.0), rel=1e-9)


def test_decay_against_the_solution() -> None:
    """v' = -c v^2 gives v = v0 / (1 + c v0 t), which the fourth-order method finds."""
    scene = fw.Scene(gravity=(0, 0, 0), medium=fw.Medium(density=20.0))
    scene.add(fw.box((0.1, 0.2, 0.3), mass=2.0))
    sim = fw.Simulator(scene, dt=1e-2, integrator="rk4")
    v0, c = 3.0, 20.0 * 0.2 * 0.3 / 2 / 2.0
    end = sim.rollout(sim.state(v=[v0, 0, 0, 0, 0, 0]), n_steps=100).final
    assert end.v[0] == pytest.approx(v0 / (1 + c * v0), rel=1e-8)
    assert end.q[0] == pytest.approx(np.log(1 + c * v0) / c, rel=1e-8)


def test_wind_is_motion_of_the_world() -> None:
    """What drifts in wind moves as in a calm, seen by one who drifts along."""
    wind = np.array([1.0, -2.0, 0.5])
    calm, windy = falling(fw.Medium(100.0, 0.1)), falling(fw.Medium(100.0, 0.1, tuple(wind)))
    q = np.array([0.0, 0, 0, *fw.quaternion_from_rotation(fw.pose(rpy=(0.3, 0.5, -0.2))[:3, :3])])
    R, v = fw.pose(rpy=(0.3, 0.5, -0.2))[:3, :3], np.array([0.3, 0.2, -0.1, 0.5, 1.0, -0.7])
    still = calm.rollout(calm.state(q=q, v=v), n_steps=300).final
    drifting = windy.rollout(windy.state(q=q, v=v + np.r_[R.T @ wind, 0, 0, 0]), n_steps=300).final
    assert np.abs(drifting.q - still.q - np.r_[0.3 * wind, 0, 0, 0, 0]).max() < 1e-6
    assert np.abs(drifting.v[3:] - still.v[3:]).max() < 1e-6


def test_fixed_links_are_dragged_like_links() -> None:
    """A paddle on a hinge, in one piece or welded to it at an offset."""
    speeds = []
    for welded in (False, True):
        builder = fw.ModelBuilder("paddle", gravity=(0, 0, 0), medium=WATER)
        at = (0, 0, 0) if welded else (0.5, 0, 0)
        if welded:
            builder.link("arm").joint("hinge", "revolute", "world", "arm", axis="z")
            builder.solid("paddle", "box", (0.02, 0.2, 0.3), mass=1.0)
            builder.joint("weld", "fixed", "arm", "paddle", placement=(0.5, 0, 0))
        else:
            builder.solid("paddle", "box", (0.02, 0.2, 0.3), mass=1.0, placement=at)
            builder.joint("hinge", "revolute", "world", "paddle", axis="z")
        sim = fw.Simulator(builder.build())
        speeds.append(sim.rollout(sim.state(v=[2.0]), n_steps=200).final.v[0])
    assert 0 < speeds[0] < 1.9
    assert speeds[0] == pytest.approx(speeds[1], rel=1e-12)


def test_bits_do_not_depend_on_the_batch() -> None:
    sim, rng = falling(WATER, num_threads=2), np.random.default_rng(1)
    v = rng.normal(size=(13, 6))
    v[4] = 0.0
    many = sim.rollout(sim.state(13, v=v), n_steps=50).final
    for k in (0, 4, 12):
        assert np.array_equal(sim.rollout(sim.state(v=v[k]), n_steps=50).final.q, many.q[k])


def test_an_empty_medium_changes_no_bit() -> None:
    a, b = falling(None), falling(fw.Medium(wind=(1, 2, 3)))
    v = np.arange(6.0)
    assert np.array_equal(a.rollout(a.state(v=v), n_steps=50).final.q, b.rollout(b.state(v=v), n_steps=50).final.q)


def test_forces_on_links_add_to_drag() -> None:
    """Held against the stream by the force of it."""
    sim = falling(fw.Medium(density=100.0, wind=(2, 0, 0)))
    push = np.array([[-0.5 * 100.0 * 0.2 * 0.3 * 4, 0, 2.0 * 9.81, 0, 0, 0]])
    assert np.abs(sim.step(sim.state(), f_ext=push).v).max() < 1e-14


def test_a_load_cell_feels_the_medium_as_a_force() -> None:
    builder = fw.ModelBuilder("kite", gravity=(0, 0, 0), medium=fw.Medium(density=2.0, wind=(3, 0, 0)))
    builder.solid("kite", "box", (0.1, 0.2, 0.3), mass=1.0)
    builder.joint("rail", "prismatic", "world", "kite", axis="z")
    sim = fw.Simulator(builder.build())
    reading = fw.ForceTorque("rail" if "rail" in sim.model.joint_names else "kite/rail").read(sim.step(sim.state()))
    assert np.allclose(reading.force, [-0.5 * 2.0 * 0.2 * 0.3 * 9, 0, 0], atol=1e-12)


def test_media_and_fluid_shapes_are_saved_and_travel(tmp_path: Path) -> None:
    egg = fw.FluidShape(
        "ellipsoid", (0.1, 0.2, 0.3), fw.pose((0.1, 0, 0)), virtual_mass=(1.0, 2.0, 3.0), kutta_lift=0.5
    )
    builder = fw.ModelBuilder("egg", medium=WATER)
    builder.link("egg", mass=1.0, inertia=(1.0, 1.0, 1.0), fluid_shapes=[egg]).joint("j", "free", "world", "egg")
    model = builder.build()
    model.save(tmp_path / "egg.json")
    for other in (fw.load(tmp_path / "egg.json"), pickle.loads(pickle.dumps(model))):
        assert other.description == model.description
        assert other.description.medium == WATER
    scene = fw.Scene(medium=WATER)
    assert pickle.loads(pickle.dumps(scene)) == scene != fw.Scene()


def test_a_medium_that_a_scene_replaces_is_noted() -> None:
    builder = fw.ModelBuilder("fish", medium=WATER)
    builder.solid("fish", "sphere", (0.1,), mass=1.0).joint("j", "free", "world", "fish")
    scene = fw.Scene()
    scene.add(builder.build())
    assert any("Medium" in note.message for note in scene.compile().model.import_report)
    assert scene.compile().model.description.medium is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: fw.Medium(density=-1.0),
        lambda: fw.Medium(viscosity=float("nan")),
        lambda: fw.Medium(wind=(1.0, 2.0)),  # type: ignore[arg-type]
        lambda: fw.Scene(medium=1.2),  # type: ignore[arg-type]
        lambda: fw.FluidShape("ball", (1.0, 1.0, 1.0)),  # type: ignore[arg-type]
        lambda: fw.FluidShape("box", (1.0, -1.0, 1.0)),
        lambda: fw.ModelBuilder().link("a", mass=1.0, fluid_shapes=["egg"]),  # type: ignore[list-item]
    ],
)
def test_what_is_no_medium_is_refused(call: Any) -> None:
    with pytest.raises(fw.ModelError):
        call()
