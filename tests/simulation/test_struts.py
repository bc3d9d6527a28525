"""Springs and dampers between points of links: oscillators, momentum, energy, MuJoCo's spatial tendons, the twin."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array
from featherweight.model.builder import ModelBuilder
from featherweight.model.description import ModelDescription


def two_balls(stiffness: float, damping: float = 0.0, beside: float = 0.05) -> fw.Model:
    """2 kg and 1 kg, a metre apart in free space, each held so far beside its centre."""
    builder = fw.ModelBuilder("balls", gravity=(0.0, 0.0, 0.0))
    for name, mass, x in (("a", 2.0, 0.0), ("b", 1.0, 1.0)):
        builder.solid(name, "sphere", (0.1,), mass=mass)
        builder.joint(name, "free", "world", name, start=(x, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    points = [("a", (0.0, beside, 0.0)), ("b", (0.0, beside, 0.0))]
    return builder.strut("spring", points, stiffness=stiffness, damping=damping, rest_length=0.8).build()


def total_energy(run: fw.Trajectory) -> Array:
    """As it is shown beside a motion, springs included."""
    energy: Array = run.animation().curves["energy [J]"][0]
    return energy


def test_the_period_of_a_mass_on_a_spring() -> None:
    builder = ModelBuilder("bob", gravity=(0.0, 0.0, 0.0)).solid("bob", "sphere", (0.1,), mass=2.0)
    builder.joint("slide", "prismatic", "world", "bob", axis="x", start=[0.6])
    builder.strut("spring", [("world", (-1.0, 0, 0)), ("bob", (0, 0, 0))], stiffness=50.0, rest_length=1.5)
    sim = fw.Simulator(builder.build(), dt=1e-4, integrator="verlet")
    run = sim.rollout(sim.state(), n_steps=20_000)
    t = 1e-4 * np.arange(1, 20_001)
    np.testing.assert_allclose(run.q[:, 0], 0.5 + 0.1 * np.cos(5.0 * t), atol=1e-7)  # the second order of a step


def test_momentum_stays_and_energy_too() -> None:
    """The spring acts beside the centres, so that balls turn."""
    model = two_balls(stiffness=80.0)
    sim = fw.Simulator(model, dt=5e-4, integrator="verlet")
    state = sim.state(v=np.random.default_rng(0).normal(scale=0.3, size=model.nv))
    run = sim.rollout(state, n_steps=4000)
    momentum = fw.centroidal_momentum(model, run.q, run.v)
    start = fw.centroidal_momentum(model, state.q, state.v)
    assert np.abs(momentum[:, :3] - start[:3]).max() < 1e-12
    assert np.abs(momentum[:, 3:] - start[3:]).max() < 1e-5  # as exact as the second order of a step
    energy = total_energy(run)
    assert np.ptp(energy) < 2e-5 * np.abs(energy).max()


def test_a_damper_takes_energy_only() -> None:
    sim = fw.Simulator(two_balls(stiffness=80.0, damping=3.0, beside=0.0), dt=1e-3)
    run = sim.rollout(sim.state(), n_steps=10_000)
    last = run.q[-1]
    assert np.linalg.norm(last[7:10] - last[:3]) == pytest.approx(0.8, abs=1e-6)
    assert total_energy(run)[-1] < 1e-9


def test_a_rope_does_not_push() -> None:
    builder = ModelBuilder("hanging", gravity=(0.0, 0.0, -10.0)).solid("ball", "sphere", (0.05,), mass=1.0)
    builder.joint("root", "free", "world", "ball")
    builder.strut("rope", [("world", (0, 0, 0)), ("ball", (0, 0, 0))], stiffness=1e3, damping=5.0, rest_length=(0, 0.5))
    sim = fw.Simulator(builder.build(), dt=1e-3)
    falling = sim.rollout(sim.state(), n_steps=200).final
    assert falling.v[2] == pytest.approx(-2.0 * (1.0 - np.exp(-1.0)), abs=5e-3)  # slack, but for its damper
    assert sim.rollout(sim.state(), n_steps=20_000).final.q[2] == pytest.approx(-0.51, abs=1e-6)


def test_points_that_coincide_pull_nowhere() -> None:
    builder = ModelBuilder("at rest", gravity=(0.0, 0.0, 0.0)).solid("ball", "sphere", (0.05,), mass=1.0)
    builder.joint("root", "free", "world", "ball")
    builder.strut("spring", [("world", (0, 0, 0)), ("ball", (0, 0, 0))], stiffness=1e3, damping=5.0, rest_length=0.1)
    sim = fw.Simulator(builder.build())
    assert not np.any(sim.step(sim.state()).v)


def arm() -> ModelDescription:
    """Without dry friction, which would take up small forces."""
    description = fw.models.arm().description
    return replace(description, joints=tuple(replace(joint, friction=None) for joint in description.joints))


def braced_arm() -> fw.Model:
    """Through three points, from the world over one link to another."""
    builder = ModelBuilder.from_description(arm())
    points: list[tuple[str, Any]] = [("world", (0.3, 0.2, 0.4)), ("link_3", (0.05, 0.0, 0.1)), ("link_5", (0, 0.1, 0))]
    return builder.strut("over", points, stiffness=120.0, damping=4.0, rest_length=(0.1, 0.3)).build()


def test_forces_agree_with_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco")
    model = braced_arm()
    theirs = mujoco.MjModel.from_xml_string(fw.to_mjcf(model))
    data = mujoco.MjData(theirs)
    back = fw.loads(fw.to_mjcf(model), format="mjcf", strict=False)
    assert back.description.struts[0].rest_range == (0.1, 0.3) and len(back.description.struts[0].points) == 3
    convert = importlib.import_module("featherweight.model.convert")
    rng = np.random.default_rng(0)
    for strength in (1.0, 0.0):
        for _ in range(5):
            q, v = model.random(rng), strength * rng.normal(size=model.nv)
            data.qpos[:], data.qvel[:] = convert.to_mujoco(model, q, v)
            mujoco.mj_forward(theirs, data)
            passive = data.qfrc_passive + model.damping * v
            assert np.abs(passive).max() > 1e-3
            dt = 1e-6
            plain = ModelBuilder.from_description(arm()).build()
            change = [
                (each.step(each.state(q=q, v=v)).v - v) / dt
                for each in (fw.Simulator(model, dt=dt), fw.Simulator(plain, dt=dt))
            ]
            force = fw.crba(model, q) @ (change[0] - change[1])
            np.testing.assert_allclose(force, passive, atol=2e-4 * np.abs(passive).max())  # of so short a step


def test_the_twin_takes_the_same_step() -> None:
    model = braced_arm()
    rng = np.random.default_rng(3)
    sim = fw.Simulator(model, dt=1e-3)
    q, v = model.random(rng), rng.normal(size=model.nv)
    state = sim.state(q=q, v=v)
    ours = sim.step(state)
    contacts = fw.reference.contact_points(sim, state, ours)
    twin = fw.reference.step(fw.reference.step_scene(sim), q, v, contacts)
    np.testing.assert_allclose(ours.v, twin.v, atol=1e-8)


def test_what_is_wrong_is_named() -> None:
    builder = two_balls(1.0)
    base = ModelBuilder.from_description(builder.description)
    for points, said in (
        ([("a", (0, 0, 0))], "two points or more"),
        ([("a", (0, 0)), ("b", (0, 0, 0))], "point 0"),
        (["a", "b"], "name of a link and a position"),
    ):
        with pytest.raises(fw.ModelError, match=said):
            base.strut("wrong", points, stiffness=1.0)  # type: ignore[arg-type]
    with pytest.raises(fw.ModelError, match="stiffness must not be negative"):
        base.strut("wrong", [("a", (0, 0, 0)), ("b", (0, 0, 0))], stiffness=-1.0)
    with pytest.raises(fw.ModelError, match="the name is used twice"):
        base.strut("spring", [("a", (0, 0, 0)), ("b", (0, 0, 0))], stiffness=1.0)
    base.strut("astray", [("a", (0, 0, 0)), ("c", (0, 0, 0))], stiffness=1.0)
    with pytest.raises(fw.ModelError, match=r"strut 'astray'.*'c'"):
        base.build()


def test_it_travels(tmp_path: Path) -> None:
    model = braced_arm()
    model.save(tmp_path / "arm.json")
    assert fw.load(tmp_path / "arm.json").description.struts == model.description.struts
    two = (
        fw.ModelBuilder("two").add(model, prefix="left_", placement=(0.0, 1.0, 0.0)).add(model, prefix="right_").build()
    )
    (link, point), *_ = two.description.struts[0].points
    assert link == "world" and point == pytest.approx((0.3, 1.2, 0.4))
    assert two.description.struts[1].points[1][0] == "right_link_3"
