"""Actuators with states of their own, on tendons and sites, muscles, and gravity compensation: as in MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.actuated_robot import ALL, BODIES, LAWS, robot
from helpers.compare import assert_close

import featherweight as fw
from featherweight.arrays import Array
from featherweight.model.description import Activation, Muscle

mujoco = pytest.importorskip("mujoco")

DT = 1e-7  # so short that the mean acceleration of a step is that at its start


def accelerations(text: str, seed: int, sim: fw.Simulator) -> tuple[Array, Array, Array, Array]:
    """Ours and MuJoCo's in a random state; and activations after a step."""
    model, m = sim.model, mujoco.MjModel.from_xml_string(text)
    data, rng = mujoco.MjData(m), np.random.default_rng(seed)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    activation, control = rng.uniform(-0.3, 1.2, sim.na), rng.uniform(-1.0, 1.5, sim.nu)
    data.qpos, data.qvel = fw.convert.to_mujoco(model, q, v)
    data.act, data.ctrl = activation, control
    mujoco.mj_forward(m, data)
    theirs = np.linalg.solve(to_mujoco(model, q), data.qacc)
    for joint in model.joints:
        if joint.type == "free":  # theirs is that of the velocity in the world
            linear, angular = np.split(v[joint.v_slice], 2)
            theirs[joint.v_slice.start : joint.v_slice.start + 3] -= np.cross(angular, linear)
    mujoco.mj_step(m, data)
    after = sim.step(sim.state(q=q, v=v, activation=activation), control=control if sim.nu else None)
    return after.acceleration, theirs, after.activation, data.act.copy()


def to_mujoco(model: fw.Model, q: Array) -> Array:
    """MuJoCo's velocities for each of ours, as columns."""
    return np.stack([fw.convert.to_mujoco(model, q, column)[1] for column in np.eye(model.nv)], axis=1)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_actuators_accelerate_as_in_mujoco(law: str) -> None:
    text = robot(law)
    sim = fw.Simulator(fw.loads(text, "mjcf", strict=True), dt=DT)
    for seed in range(6):
        ours, theirs, activation, expected = accelerations(text, seed, sim)
        # a mean over the step, of velocities that are rounded
        assert_close(ours, theirs, tolerance=1e-7 * max(1.0, float(np.abs(theirs).max())))
        assert_close(activation, expected, tolerance=1e-14)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_activations_follow_their_controls_as_in_mujoco(law: str) -> None:
    text = robot(law, dt=2e-3)
    m = mujoco.MjModel.from_xml_string(text)
    data, sim = mujoco.MjData(m), fw.Simulator(fw.loads(text, "mjcf"), dt=2e-3)
    state, rng = sim.state(), np.random.default_rng(0)
    for _ in range(40):
        data.ctrl = control = np.repeat(rng.uniform(-1.0, 2.0), sim.nu)
        mujoco.mj_step(m, data)
        state = sim.step(state, control=control)
        assert_close(state.activation, data.act, tolerance=1e-13)


@pytest.mark.parametrize(
    "shares",
    [{"upper": 1.0}, {"cap": 0.5, "fore": 1.3}, dict.fromkeys(BODIES, 1.0), {"ball": -0.4}, {"fore": -0.4, "cap": 1}],
)
def test_gravity_compensation_carries_as_in_mujoco(shares: dict[str, float]) -> None:
    text = robot("", carried=shares)
    model = fw.loads(text, "mjcf", strict=True)
    sim = fw.Simulator(model, dt=DT)
    for seed in range(4):
        ours, theirs, _, _ = accelerations(text, seed, sim)
        assert_close(ours, theirs, tolerance=1e-7 * max(1.0, float(np.abs(theirs).max())))
    # What is left of the weight is what has to be balanced.
    q = model.random(np.random.default_rng(1))
    tau = sim.gravity_compensation(sim.state(q=q))
    held = sim.step(sim.state(q=q), tau=tau).acceleration[:2]
    assert_close(held, np.zeros(2), tolerance=1e-6)


def test_what_is_carried_has_the_mass_and_the_gravity_of_its_environment() -> None:
    text = robot("", carried={"drone": 1.0, "ball": 1.0})
    sim = fw.Simulator(fw.loads(text, "mjcf"), dt=1e-3)
    masses, gravity = np.ones((3, sim.model.n_links)), np.tile(sim.model.gravity, (3, 1))
    masses[1] = 2.5
    gravity[2] = (1.0, 2.0, -3.0)
    after = sim.rollout(sim.state(3).randomised(masses=masses, gravity=gravity), n_steps=20).final
    assert np.abs(after.v[:, 2:]).max() <= 1e-12  # it floats
    alone = sim.rollout(sim.state(1).randomised(masses=masses[1:2]), n_steps=20).final
    np.testing.assert_array_equal(alone.v[0], after.v[1])


def test_what_is_carried_has_no_potential_energy() -> None:
    model = fw.loads(robot("", carried=dict.fromkeys(BODIES, 1.0)), "mjcf")
    sim = fw.Simulator(model, dt=1e-3)
    motion = sim.rollout(sim.state(v=0.3 * np.ones(model.nv)), n_steps=50)
    energies = motion.animation().curves
    assert_close(energies["energy [J]"], energies["kinetic energy [J]"], tolerance=1e-12)


def test_disabled_passive_forces_carry_nothing() -> None:
    text = robot("", carried={"upper": 1.0}).replace(
        "<option ", '<option><flag spring="disable" damper="disable"/></option><option '
    )
    sim = fw.Simulator(fw.loads(text, "mjcf"), dt=DT)
    ours, theirs, _, _ = accelerations(text, 0, sim)
    assert_close(ours, theirs, tolerance=1e-6)


def test_compensation_that_counts_as_force_of_a_limited_actuator_is_told() -> None:
    text = robot("", carried={"upper": 1.0}).replace(
        'name="a" axis', 'name="a" actuatorgravcomp="true" actuatorfrcrange="-1 1" axis'
    )
    assert "gravity compensation" in fw.loads(text, "mjcf").import_report.not_honoured[0].message


TENDONS = {
    "spring": 'stiffness="30" springlength="0.1"',
    "spring with slack": 'stiffness="30" springlength="-0.2 0.3"',
    "damper": 'damping="3"',
    "both": 'stiffness="20" springlength="-0.1" damping="0.5"',
}


@pytest.mark.parametrize("tendon", TENDONS.values(), ids=TENDONS.keys())
def test_tendons_pull_as_in_mujoco(tendon: str) -> None:
    text = robot(LAWS["servo on a tendon"]).replace('name="t"', f'name="t" {tendon}')
    sim = fw.Simulator(fw.loads(text, "mjcf", strict=True), dt=DT)
    for seed in range(6):
        ours, theirs, _, _ = accelerations(text, seed, sim)
        assert_close(ours, theirs, tolerance=1e-7 * max(1.0, float(np.abs(theirs).max())))


def test_springs_along_tendons_keep_energy() -> None:
    text = robot("").replace('name="t"', 'name="t" stiffness="50" springlength="-0.1 0.1"')
    sim = fw.Simulator(fw.loads(text, "mjcf", strict=True), dt=1e-3, integrator="rk4")
    start = sim.state(q=np.concatenate([[0.5, 0.4], sim.scene.q0[2:]]))
    energy = sim.rollout(start, n_steps=300).animation().curves["energy [J]"]
    assert np.ptp(energy) <= 1e-6 * np.abs(energy).max()
    changed = sim.state(2).randomised(gains=np.ones((2, 0)))  # nobody's gains are those of a tendon
    np.testing.assert_array_equal(sim.step(changed).v[0], sim.step(sim.state()).v)


KEY = '<keyframe><key name="home" qpos="{q}" act="{act}" ctrl="{ctrl}"/></keyframe>'


def activated() -> tuple[fw.Model, list[float]]:
    names = [name for name in LAWS if name not in ("thruster", "muscle without dynamics")]
    m = mujoco.MjModel.from_xml_string(robot("".join(LAWS[name] for name in names)))
    act = [0.01 * (k + 1) for k in range(m.na)]
    numbers = {"q": m.qpos0, "act": act, "ctrl": np.zeros(m.nu)}
    key = KEY.format(**{name: " ".join(f"{x:g}" for x in np.asarray(values)) for name, values in numbers.items()})
    return fw.loads(robot("".join(LAWS[name] for name in names), key), "mjcf", strict=True), act


@pytest.mark.filterwarnings("ignore:.*nothing can touch it")
def test_keyframes_have_activations(tmp_path: Path) -> None:
    model, act = activated()
    assert_close(model.keyframe("home").activation, act)
    scene = fw.Scene()
    scene.add(fw.loads(robot(LAWS["filter"]), "mjcf"), name="first")
    scene.add(model, name="second")  # nothing can touch either
    sim = fw.Simulator(scene)
    assert_close(sim.state(keyframe="home").activation, [0.0, *act])
    model.save(tmp_path / "robot.json")
    assert fw.load(tmp_path / "robot.json") == model


def test_activations_are_part_of_states(tmp_path: Path) -> None:
    sim = fw.Simulator(fw.loads(robot(ALL), "mjcf"), dt=1e-3)
    control = np.random.default_rng(0).uniform(0.0, 0.3, (5, sim.nu))
    whole = sim.rollout(sim.state(5), control=control, n_steps=20).final
    half = sim.rollout(sim.state(5), control=control, n_steps=10).final
    half.save(tmp_path / "half.npz")
    assert sim.rollout(fw.State.load(sim, tmp_path / "half.npz"), control=control, n_steps=10).final == whole
    assert not np.array_equal(whole.activation[0], whole.activation[1])
    for k in range(5):  # bits do not depend on neighbours
        alone = sim.rollout(sim.state(), control=control[k], n_steps=20).final
        np.testing.assert_array_equal(alone.activation, whole.activation[k])
        np.testing.assert_array_equal(alone.q, whole.q[k])
    again = whole.reset(np.array([True, False, False, False, True]), activation=np.full(sim.na, 0.25))
    np.testing.assert_array_equal(again.activation[[0, 4]], 0.25)
    np.testing.assert_array_equal(again.activation[1:4], whole.activation[1:4])
    np.testing.assert_array_equal(whole.reset().activation, 0.0)
    assert whole.replace(activation=np.zeros(sim.na)) != whole


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_the_twin_steps_alike(integrator: Any) -> None:
    text = robot(ALL, carried={"upper": 0.3, "ball": 1.0}).replace('name="t"', f'name="t" {TENDONS["both"]}')
    sim = fw.Simulator(fw.loads(text, "mjcf"), dt=1e-3, integrator=integrator)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v = sim.model.random(rng), 0.3 * rng.standard_normal(sim.model.nv)
        activation, control = rng.uniform(0.0, 1.0, sim.na), rng.uniform(-1.0, 1.0, sim.nu)
        after = sim.step(sim.state(q=q, v=v, activation=activation), control=control)
        twin = fw.reference.step(fw.reference.step_scene(sim), q, v, control=control, activation=activation)
        assert_close(after.v, twin.v, tolerance=1e-11)
        assert_close(after.activation, twin.activation, tolerance=1e-14)


def test_runge_kutta_evaluates_laws_at_its_stages() -> None:
    text = robot('<position tendon="t" kp="5" kv="0.2"/>' + LAWS["thruster"], carried={"upper": 0.5})
    model = fw.loads(text, "mjcf")
    ends = []
    for steps in (25, 50, 400):
        sim = fw.Simulator(model, dt=0.2 / steps, integrator="rk4")
        ends.append(sim.rollout(sim.state(), control=[0.2, 0.4], n_steps=steps).final.q[:2])
    errors = [np.abs(end - ends[-1]).max() for end in ends[:2]]
    assert errors[1] < errors[0] / 8.0


def test_a_control_that_is_no_number_stops_its_environment_alone() -> None:
    sim = fw.Simulator(fw.loads(robot(LAWS["filter"]), "mjcf"), dt=1e-3)
    control = np.array([[0.1], [np.nan], [0.2]])
    with pytest.warns(fw.SimulationWarning):
        after = sim.rollout(sim.state(3), control=control, n_steps=3).final
    np.testing.assert_array_equal(after.failed, [False, True, False])
    assert np.isfinite(after.activation).all() and after.activation[0, 0] > 0.0


def test_files_with_activations_are_checked(tmp_path: Path) -> None:
    sim = fw.Simulator(fw.loads(robot(LAWS["filter"]), "mjcf"))
    sim.state().save(tmp_path / "state.npz")
    with np.load(tmp_path / "state.npz") as file:
        arrays = dict(file)
    for wrong in (np.array([[np.nan]]), np.zeros((1, 2)), np.zeros((2, 1))):
        np.savez(tmp_path / "wrong.npz", **(arrays | {"activation": wrong}))
        with pytest.raises(ValueError, match="activation"):
            fw.State.load(sim, tmp_path / "wrong.npz")


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"kind": "muscle"}, "needs a Muscle"),
        ({"muscle": Muscle(1.0, 0.0, 1.0)}, "no other kind has one"),
        ({"kind": "muscle", "muscle": Muscle(1.0, 0.0, 0.0)}, "must be positive"),
        ({"kind": "muscle", "muscle": Muscle(1.0, 0.0, 1.0, shortest=1.2)}, "shortest < 1 < longest"),
        ({"kind": "muscle", "muscle": Muscle(1.0, 0.0, 1.0, eccentric=0.5)}, "at least 1"),
        ({"activation": Activation("filter")}, "time_constants"),
        ({"activation": Activation("filter", (0.0,))}, "must be positive"),
        ({"activation": Activation("integrator", (), (1.0, -1.0))}, "range"),
        ({"activation": Activation("quick", ())}, "must be one of"),  # type: ignore[arg-type]
        ({"slopes": (1.0, 0.0)}, "slopes belong"),
        ({"frame": "rod"}, "on a joint, on a frame, along a strut or by a sticky link"),
        ({"joint": None}, "on a joint, on a frame, along a strut or by a sticky link"),
        ({"joint": None, "strut": "shock", "others": [("j", 1.0)]}, "then it has no joints"),
        ({"joint": None, "strut": "shock"}, "unknown strut 'shock'"),
        ({"joint": None, "frame": "rod"}, "wrench"),
        ({"joint": None, "frame": "rod", "kind": "position", "wrench": np.ones(6)}, "must not depend"),
        ({"joint": None, "frame": "road", "wrench": np.ones(6)}, "neither a link nor a frame"),
    ],
)
def test_actuators_without_sense_are_refused(options: dict[str, Any], problem: str) -> None:
    builder = (
        fw.ModelBuilder().solid("rod", "sphere", (0.1,), mass=1.0).joint("j", "revolute", "world", "rod", axis="x")
    )
    with pytest.raises(fw.ModelError, match=problem):
        builder.actuator("motor", options.pop("joint", "j"), **options).build()
