"""Overlaps leave by half in a step where something can move, and nothing moves far where it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight import Geometry, pose

#: The largest speed of a link over that at which its overlap leaves.
DETOUR = 1.1 * 16


def overlap_of_box(scene: fw.Scene, depth: float, **options: Any) -> float:
    """What is left of it after a step [m]."""
    scene.add(fw.box((0.3, 0.3, 0.3), mass=50.0), name="box", pose=(0, 0, 0.15 - depth))
    sim = fw.Simulator(scene, dt=1e-3, **options)
    after = sim.step(sim.state())
    z = sim.model.joint("box").q_slice.start + 2
    return 0.15 - float(after.q[z])


def wrist(mass: float) -> fw.Model:
    """An arm whose last hinge carries next to nothing and rubs."""
    builder = fw.ModelBuilder("arm").link("base").joint("stand", "fixed", "world", "base")
    builder.solid("hand", "sphere", (0.01,), mass=mass)
    builder.joint("wrist", "revolute", "base", "hand", axis="z", friction=0.01, placement=(0, 0, 1.0))
    return builder.build()


@pytest.mark.parametrize("mass", [2e-2, 1e-6])
@pytest.mark.parametrize("solver", [fw.Automatic(), fw.ADMM(matrix_free=True)], ids=["auto", "matrix_free"])
def test_half_of_an_overlap_leaves_whatever_else_there_is(mass: float, solver: Any) -> None:
    """A box of 50 kg in the ground, beside a wrist of little inertia and a spinning top that rubs about its normal."""
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(wrist(mass), pose=(5, 0, 0))
    scene.add(fw.sphere(0.01, mass=mass, torsional=0.01), name="top", pose=(-5, 0, 0.01))
    assert overlap_of_box(scene, 1e-4, solver=solver) == pytest.approx(5e-5, rel=1e-3)  # Gauss-Seidel ends at 1e-3


def test_light_links_on_heavy_arms_leave_as_fast() -> None:
    """A fingertip of a gram, on an arm of 10 kg that comes down on it: all of it moves up together."""
    builder = fw.ModelBuilder("press")
    builder.solid("arm", "box", (0.1, 0.1, 0.5), mass=10.0, placement=(0, 0, 0.4))
    builder.joint("rail", "prismatic", "world", "arm", axis="z")
    builder.solid("tip", "sphere", (0.02,), mass=1e-3)
    builder.joint("hinge", "revolute", "arm", "tip", axis="y")
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(builder.build(), name="press", pose=(0, 0, 0.02 - 1e-4))
    sim = fw.Simulator(scene, dt=1e-3)
    after = sim.step(sim.state())
    assert after.q[0] == pytest.approx(5e-5, rel=2e-3)


def slider(slope: float, depth: float, friction: float, dt: float) -> fw.Simulator:
    builder = fw.ModelBuilder("rail")
    ball = Geometry("ball", "collision", "sphere", (0.1,), material=fw.Material(friction=friction))
    builder.link("ball", mass=1.0, geometries=[ball])
    builder.joint("rail", "prismatic", "world", "ball", axis=(1.0, 0.0, slope))
    scene = fw.Scene(ground=fw.Plane(friction=friction))
    scene.add(builder.build(), name="rail", pose=(0, 0, 0.1 - depth))
    return fw.Simulator(scene, dt=dt)


@pytest.mark.parametrize("friction", [0.0, 1.0])
@pytest.mark.parametrize("slope", [0.0, 1e-12, 1e-6, 1e-3, 0.03])
def test_a_slider_on_a_rail_along_the_ground_hardly_moves(slope: float, friction: float) -> None:
    """And not at all where it rises by less than a degree: it would go on for ever, in vain."""
    sim = slider(slope, 0.02, friction, dt=1e-3)
    after = sim.step(sim.state())
    assert np.abs(after.q).max() <= DETOUR * 0.5 * 1e-3
    if slope < 1e-2:
        assert np.abs(after.q).max() < 1e-9
    assert after.penetration == pytest.approx(0.02)


def test_a_slider_on_a_steep_rail_leaves_by_half() -> None:
    """Ten degrees: six times as far along the rail as up, no reason to yield."""
    slope, depth = np.tan(np.radians(10.0)), 1e-5
    sim = slider(float(slope), depth, 0.0, dt=1e-3)
    after = sim.step(sim.state())
    assert depth - after.q[0] * np.sin(np.radians(10.0)) == pytest.approx(0.5 * depth, rel=1e-3)


@pytest.mark.parametrize("friction", [0.0, 0.7])
@pytest.mark.parametrize("lever", [0.0, 1e-16, 1e-9, 0.3])
def test_a_hinge_on_the_normal_does_not_turn(lever: float, friction: float) -> None:
    """A wheel whose axle is right above where it touches: no turning takes it out, and the report says it is in."""
    builder = fw.ModelBuilder("wheel")
    shape = Geometry(
        "tyre", "collision", "sphere", (0.1,), pose((lever, 0, 0)), material=fw.Material(friction=friction)
    )
    builder.link("wheel", mass=1.0, com=(0.01, 0, 0), geometries=[shape])
    builder.joint("axle", "revolute", "world", "wheel", axis="y", placement=(0, 0, 0.09))
    scene = fw.Scene(ground=fw.Plane(friction=friction), gravity=(0, 0, 0))
    scene.add(builder.build(), name="wheel")
    sim = fw.Simulator(scene, dt=1e-3)
    state = sim.state()
    for _ in range(60):
        after = sim.step(state)
        assert np.abs(after.q - state.q).max() <= DETOUR * 0.5 * 1e-3 / 0.1
        state = after
    if lever < 1e-3:
        assert not state.failed and np.abs(state.q).max() < 1e-3 and state.penetration == pytest.approx(0.01)
    else:
        assert state.penetration < 1e-6


def test_a_joint_centred_on_the_contact_does_not_turn() -> None:
    """No direction of the point can move: nothing says how far a turn would go but the size of the shape."""
    builder = fw.ModelBuilder("pin")
    builder.solid("pin", "sphere", (0.05,), mass=1.0, placement=(0, 0, 0.04))
    builder.joint("ball", "spherical", "world", "pin")
    scene = fw.Scene(ground=fw.Plane(friction=1.0), gravity=(0, 0, 0))
    scene.add(builder.build(), name="pin")
    sim = fw.Simulator(scene, dt=1e-3)
    after = sim.step(sim.state())
    assert np.abs(after.q - sim.state().q).max() <= DETOUR * 0.5 * 1e-3 / 0.05
    assert after.penetration == pytest.approx(0.01)
