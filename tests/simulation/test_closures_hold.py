"""Anchors and closures hold, however fast the rest swings."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.loops import parallelograms

import featherweight as fw


def swing(links: int = 4) -> fw.Model:
    """A chain in the plane, its tip to be anchored."""
    builder = fw.ModelBuilder("swing")
    parent = "world"
    for k in range(links):
        builder.solid(f"link_{k}", "capsule", (0.02, 0.3), mass=1.0, placement=(0, 0, -0.2))
        place = (0, 0, -0.4 if k else 0.0)
        builder.joint(f"joint_{k}", "revolute", parent, f"link_{k}", placement=place, axis=(0, 1, 0))
        parent = f"link_{k}"
    builder.frame("tip", parent, (0, 0, -0.4))
    return builder.build()


@pytest.mark.parametrize("dt", [1e-3, 2e-3])
def test_an_anchored_tip_does_not_drift(dt: float) -> None:
    """Links turn by up to 27 rad/s: tangents alone would leave the tip by 0.1 mm."""
    scene = fw.Scene()
    scene.add(swing(), name="swing", q=[0.6, 0.5, -1.2, 0.4], self_collision=False)
    scene.constrain(fw.PointConstraint("swing/tip", rows=("x", "z")))
    sim = fw.Simulator(scene, dt=dt)
    trajectory = sim.rollout(sim.state(), n_steps=int(5.0 / dt))
    assert np.abs(trajectory.v).max() > 10.0, "it should swing"
    tip = fw.frame_placement(sim.model, trajectory.q, "swing/tip")[:, :3, 3]
    anchor = fw.frame_placement(sim.model, sim.scene.q0, "swing/tip")[:3, 3]
    assert np.abs(tip - anchor).max() < 1e-10
    energy = fw.kinetic_energy(sim.model, trajectory.q, trajectory.v) + fw.potential_energy(sim.model, trajectory.q)
    # velocities are half a step behind coordinates: of some 50 J that are exchanged, that is of first order, and stays
    assert np.abs(energy - energy[0]).max() < 250 * dt
    assert abs(energy[-1000:].mean() - energy[:1000].mean()) < 20 * dt


def test_closures_between_bodies() -> None:
    """Two boxes and a plate between them, thrown: a weld and a point, in every environment of a batch."""
    scene = fw.Scene()
    for k, name in enumerate(("left", "plate", "right")):
        scene.add(fw.box((0.2, 0.1, 0.05)), name=name, pose=(0.2 * k, 0, 1))
    scene.exclude("left", "plate")
    scene.exclude("plate", "right")
    scene.constrain(fw.FrameConstraint("left", to="plate", offset=fw.pose((0.2, 0, 0))))
    scene.constrain(fw.PointConstraint("right", to="plate", offset=(-0.1, 0, 0), to_offset=(0.1, 0, 0)))
    sim = fw.Simulator(scene, dt=2e-3)
    v = np.random.default_rng(0).normal(size=(5, 18))
    trajectory = sim.rollout(sim.state(batch=5, v=v), n_steps=300)
    X = {name: fw.frame_placement(sim.model, trajectory.q.reshape(-1, 21), name) for name in ("left", "plate", "right")}
    weld = np.linalg.inv(X["left"]) @ X["plate"]
    assert np.abs(weld - weld[0]).max() < 1e-9
    point = (X["right"] @ [-0.1, 0, 0, 1]) - (X["plate"] @ [0.1, 0, 0, 1])
    assert np.abs(point).max() < 1e-9
    assert not trajectory.final.failed.any()


@pytest.mark.parametrize("tilt", [0.0, 1e-7])
def test_hinges_of_bars_in_a_plane_hold_no_more_than_their_pins(tilt: float) -> None:
    """Of a hinge's five rows three have nothing to move, the turns all of them: what they see is rounding."""
    mechanism = parallelograms(0.7)
    v = mechanism.velocity(np.random.default_rng(0))
    runs = []
    for hinges in (False, True):
        scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
        scene.add(mechanism.model, name="m", q=mechanism.q, self_collision=False)
        for pin in mechanism.constraints:
            assert isinstance(pin, fw.HingeConstraint)
            ends = f"m/{pin.frame}", np.asarray(pin.offset), f"m/{pin.to}", np.asarray(pin.to_offset)
            frame, offset, to, to_offset = ends
            if hinges:
                offset = offset @ fw.pose((0.0, 0.0, 0.0), rpy=(tilt, tilt, 0.0))
                scene.constrain(fw.HingeConstraint(frame, to, axis="z", offset=offset, to_offset=to_offset))
            else:
                scene.constrain(fw.PointConstraint(frame, ("x", "y"), offset[:3, 3], to=to, to_offset=to_offset[:3, 3]))
        sim = fw.Simulator(scene, dt=1e-3)
        runs.append(sim.rollout(sim.state(v=v), n_steps=300))
    pins, hinges_ = runs
    assert hinges_.unconverged == 0 and not hinges_.final.failed
    np.testing.assert_allclose(hinges_.q, pins.q, rtol=0, atol=1e-9 + 10 * tilt)
