"""Derivatives of a step by heights of what stands in the world and by restitution: those of other worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array

EXACT = fw.Newton(tolerance=1e-13)
DT = 2e-3


def world(heights: Array, restitution: float = 0.0, friction: float = 0.4, **options: Any) -> fw.Simulator:
    """A ball on a plane, a box on a static box, and a slab on a field."""
    law: dict[str, Any] = {"friction": friction, "restitution": restitution}
    scene = fw.Scene(ground=fw.Plane(offset=heights[0], **law))
    scene.add(fw.box((1.0, 1.0, 0.4), static=True, **law), name="table", pose=(2, 0, 0.2 + heights[1]))
    bumps = 0.2 + 0.1 * np.random.default_rng(1).random((12, 12))
    scene.add(fw.HeightField(bumps, (1.5, 1.5), **law), name="field", pose=(-2, 0, heights[2]))
    scene.add(fw.sphere(0.1, mass=0.7), name="ball", pose=(0, 0, 0.1))
    scene.add(fw.box((0.2, 0.3, 0.1)), name="box", pose=(2, 0, 0.45))
    scene.add(fw.box((0.4, 0.5, 0.1)), name="slab", pose=(-2, 0.03, 0.4))
    return fw.Simulator(scene, dt=DT, solver=EXACT, **options)


def after(sim: fw.Simulator, q: Array, v: Array, base: Array) -> Array:
    state = sim.step(sim.state(q=q, v=v))
    return np.concatenate([sim.model.difference(base, state.q), state.v])


def start(sim: fw.Simulator, gap: float) -> Array:
    """All have come to rest, and are over what they lie on by so much."""
    q = np.array(sim.rollout(sim.state(), n_steps=300).final.q)
    q[[2, 9, 16]] += gap
    return q


@pytest.mark.parametrize("gap", [1e-5, -3e-5], ids=["gap", "overlap"])
@pytest.mark.parametrize("slides", [False, True], ids=["sticks", "slides"])
def test_heights_of_the_world(gap: float, slides: bool) -> None:
    still = np.zeros(3)
    sim = world(still)
    v = np.zeros(18)
    v[[0, 6]] = 1.0 if slides else 1e-3
    v[[2, 8, 14]] = -0.03
    q = start(sim, gap)
    d = sim.step_derivatives(sim.state(q=q, v=v), wrt=("heights",))
    matrix, base, h = np.vstack([d.dq["heights"], d.dv["heights"]]), sim.step(sim.state(q=q, v=v)).q, 1e-6
    for k, name in enumerate(("ground", "table", "field")):
        change = h * np.eye(3)[k]
        wanted = (after(world(change), q, v, base) - after(world(-change), q, v, base)) / (2 * h)
        assert np.abs(matrix[:, k] - wanted).max() < 1e-3 * (1 + np.abs(wanted).max()), name
        assert np.abs(matrix[:, k]).max() > 0.1


@pytest.mark.parametrize("speed", [0.0, 0.8])
@pytest.mark.parametrize("restitution", [0.3, 0.9])
def test_restitution_of_the_world(restitution: float, speed: float) -> None:
    sim = world(np.zeros(3), restitution)
    v = np.zeros(18)
    v[[0, 6]], v[[2, 8, 14]] = speed, -1.5
    q = start(world(np.zeros(3)), 1e-3)
    d = sim.step_derivatives(sim.state(q=q, v=v), wrt=("restitution",))
    matrix, base, h = np.vstack([d.dq["restitution"], d.dv["restitution"]])[:, 0], sim.step(sim.state(q=q, v=v)).q, 1e-6
    wanted = after(world(np.zeros(3), restitution + h), q, v, base)
    wanted = (wanted - after(world(np.zeros(3), restitution - h), q, v, base)) / (2 * h)
    assert wanted[20] == pytest.approx(1.5, rel=0.02)  # of the ball
    assert np.abs(matrix[:6] - wanted[:6]).max() < 1e-6 and np.abs(matrix[18:24] - wanted[18:24]).max() < 1e-6
