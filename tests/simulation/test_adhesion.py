"""Links that stick to what they touch: weights that hang and slide, MuJoCo's adhesion, and what travels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.model.builder import ModelBuilder


def sucker(**options: Any) -> fw.Model:
    """2 kg under a plate at the height of a metre; a plate that moves only with the world."""
    builder = ModelBuilder("sucker", gravity=(0.0, 0.0, -10.0))
    builder.link("plate", geometries=[fw.Geometry("plate", "collision", "box", (1.0, 1.0, 0.1), material=RUBBER)])
    builder.joint("plate", "fixed", "world", "plate", placement=(0.0, 0.0, 1.05))
    shape = fw.Geometry("cup", "collision", "box", (0.2, 0.2, 0.1), material=RUBBER)
    builder.link("cup", inertia=fw.solid_inertia("box", (0.2, 0.2, 0.1), 2.0), geometries=[shape])
    builder.joint("root", "free", "world", "cup", start=(0.0, 0.0, 0.95, 0.0, 0.0, 0.0, 1.0))
    return builder.actuator("vacuum", None, sticky="cup", **options).build()


RUBBER = fw.Material(friction=0.5)


def test_a_weight_hangs_or_falls() -> None:
    """Where it pulls more than the weight, the rest is the force of the contacts."""
    sim = fw.Simulator(sucker(kp=10.0, reach=1e-4), dt=1e-3)
    held = sim.step(sim.state())  # it has to touch before it sticks
    final = sim.rollout(held, control=[5.0], n_steps=500).final
    assert np.abs(final.v).max() < 1e-6 and abs(final.q[2] - 0.95) < 2e-5
    assert final.contacts.force[:, 2].sum() == pytest.approx(30.0, rel=1e-6)
    assert sim.rollout(held, control=[1.9], n_steps=300).final.q[2] < 0.7


def test_friction_grows_with_the_pull() -> None:
    """A push along the plate of 14 N is held by 0.5 (50 - 20) = 15 N, and moves the body otherwise."""
    sim = fw.Simulator(sucker(kp=10.0, reach=1e-4), dt=1e-3)
    held = sim.rollout(sim.step(sim.state()), control=[5.0], n_steps=10).final
    push = np.zeros((sim.model.n_links, 6))
    for force, moved in ((14.0, 0.0), (17.0, (17.0 - 15.0) / 2.0 * 0.2)):
        push[sim.model.link("sucker/cup").index, 0] = force
        final = sim.rollout(held, control=[5.0], f_ext=push, n_steps=200).final
        assert final.v[0] == pytest.approx(moved, abs=2e-3)


def test_environments_do_not_see_each_other() -> None:
    sim = fw.Simulator(sucker(kp=10.0, reach=1e-3), dt=1e-3)
    q = np.tile(sim.model.q0, (9, 1))
    q[:, 2] -= np.linspace(0.0, 2e-3, 9)
    together = sim.rollout(sim.state(q=q, batch=9), control=[6.0], n_steps=50).final
    for k in (0, 4, 8):
        alone = sim.rollout(sim.state(q=q[k]), control=[6.0], n_steps=50).final
        assert np.array_equal(alone.q, together.q[k])


def test_it_pulls_like_mujoco() -> None:
    """A ball on a wall: adhesion presses it on, and friction carries it, in files as in MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><option timestep="0.001" cone="elliptic" impratio="1000"/><worldbody>
      <geom type="box" size=".1 1 1" pos="-.1 0 0" friction="0.8"/>
      <body name="b" pos=".1 0 0"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
        <geom size=".1" mass="1" margin=".001" gap=".001" friction="0.8" condim="3"/></body></worldbody>
      <actuator><adhesion name="grip" body="b" gain="5" ctrlrange="0 10"/></actuator></mujoco>"""
    model = fw.loads(text, "mjcf", strict=True)
    [actuator] = model.description.actuators
    assert (actuator.sticky, actuator.kp, actuator.reach) == ("b", 5.0, 0.001)
    theirs = mujoco.MjModel.from_xml_string(text)
    sim = fw.Simulator(model, dt=1e-3)
    for control in (1.0, 4.0):  # 0.8 * 5 N is less than the weight, and 0.8 * 20 N is more
        data = mujoco.MjData(theirs)
        data.ctrl[:] = control
        for _ in range(300):
            mujoco.mj_step(theirs, data)
        final = sim.rollout(sim.state(), control=[control], n_steps=300).final
        assert abs(final.v[0]) < 1e-9
        assert final.v[1] == pytest.approx(min(-9.81 + 0.8 * 5.0 * control, 0.0) * 0.3, abs=1e-2)
        assert final.v[1] == pytest.approx(data.qvel[1], abs=5e-2)


def test_it_travels_and_is_checked(tmp_path: Path) -> None:
    model = sucker(kp=10.0, reach=1e-3)
    model.save(tmp_path / "sucker.json")
    assert fw.load(tmp_path / "sucker.json").description.actuators == model.description.actuators
    two = fw.ModelBuilder("two").add(model, prefix="a_").build()
    assert two.description.actuators[0].sticky == "a_cup"
    pytest.importorskip("mujoco")
    back = fw.loads(fw.to_mjcf(sucker(kp=10.0)), "mjcf", strict=True).description.actuators
    assert back[0].sticky == "cup" and back[0].kp == 10.0
    for options, said in (
        ({"sticky": "cap"}, "sticky link 'cap' is not a link"),
        ({"sticky": "cup", "kind": "position"}, "by a sticky link: then its force must not depend"),
        ({"sticky": "cup", "reach": -1.0}, "reach must not be negative"),
    ):
        with pytest.raises(fw.ModelError, match=said):
            ModelBuilder.from_description(model.description).actuator("wrong", None, **options).build()
