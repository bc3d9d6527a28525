"""Environments of one batch with parameters of their own."""

from __future__ import annotations

import numpy as np
import pytest

import featherweight as fw


def block_on_a_slope() -> fw.Simulator:
    """At 0.3 rad with friction 0.5: sticks, and slides when friction is halved."""
    scene = fw.Scene(ground=fw.Plane(friction=0.5), gravity=9.81 * np.array([np.sin(0.3), 0.0, -np.cos(0.3)]))
    scene.add(fw.box((0.2, 0.2, 0.1)), name="block", pose=(0, 0, 0.05))
    return fw.Simulator(scene, dt=2e-3)


def test_friction_of_each_environment() -> None:
    sim = block_on_a_slope()
    state = sim.state(batch=5).randomised(friction=[1.0, 0.5, 1.0, 0.0, 0.25])
    final = sim.rollout(state, n_steps=250).final
    expected = [9.81 * max(0.0, np.sin(0.3) - mu * np.cos(0.3)) * 0.5 for mu in (0.5, 0.25, 0.5, 0.0, 0.125)]
    np.testing.assert_allclose(final.v[:, 0], expected, rtol=1e-8, atol=1e-9)


def test_gains_of_each_environment() -> None:
    """A motor on a free axis turns in proportion."""
    builder = fw.ModelBuilder("wheel")
    builder.solid("wheel", "cylinder", (0.1, 0.02), mass=1.0)
    builder.joint("axle", "continuous", "world", "wheel", axis=(0, 0, 1))
    builder.actuator("motor", "axle", kind="motor")
    sim = fw.Simulator(builder.build(), dt=1e-3)
    state = sim.state(batch=3).randomised(gains=[1.0, 2.0, 0.0])
    v = sim.rollout(state, control=[0.1], n_steps=100).final.v[:, 0]
    np.testing.assert_allclose(v, v[0] * np.array([1.0, 2.0, 0.0]), rtol=1e-12)
    assert v[0] > 0.0


def test_parameters_survive_a_file(tmp_path: object) -> None:
    sim = block_on_a_slope()
    state = sim.state(batch=2).randomised(friction=[1.0, 0.1])
    state.save(f"{tmp_path}/state.npz")
    again = fw.State.load(sim, f"{tmp_path}/state.npz")
    a, b = (sim.rollout(each, n_steps=20).final for each in (state, again))
    np.testing.assert_array_equal(a.q, b.q)


def test_bad_parameters_are_named() -> None:
    state = block_on_a_slope().state(batch=2)
    with pytest.raises(ValueError, match=r"friction: expected shape \(2,\)"):
        state.randomised(friction=[1.0])
    with pytest.raises(ValueError, match="friction: factors must be finite and not negative"):
        state.randomised(friction=[1.0, -1.0])
