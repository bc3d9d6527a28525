"""Struts with limits and dry friction, around balls and cylinders, over pulleys and with actuators: beside MuJoCo's
spatial tendons, beside finite differences and the twin."""

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

mujoco = pytest.importorskip("mujoco")
convert = importlib.import_module("featherweight.model.convert")

# Hinges, a ball joint and a free body; a tendon over two of three parts, which may bend around one shape twice.
ROBOT = """<mujoco><option gravity="0 0 -9.81"/><compiler autolimits="true"/><worldbody>
  <site name="w" pos="{w}"/>
  <body name="b0"><joint axis="{axis}"/><joint type="slide" axis="1 0 0"/>
    <geom size=".1" mass="1" contype="0" conaffinity="0"/><site name="a" pos="{a}"/>
    <body name="mid" pos="{mid}" quat="{quat}"><joint type="ball"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
      <geom name="g" type="{kind}" size="{size}" contype="0" conaffinity="0" pos="{geom}" euler="10 20 30"/>
      <body><site name="side" pos="{side}"/></body>
      <body name="tip" pos="{tip}"><joint axis="{axis}"/><geom size=".1" mass="1" contype="0" conaffinity="0"/>
        <site name="b" pos="{b}"/></body></body></body>
  <body name="free" pos="0 0 1"><freejoint/><geom size=".1" mass="1" contype="0" conaffinity="0"/>
    <site name="f" pos="{f}"/></body>
</worldbody>
<tendon><spatial name="t" stiffness="10" damping="1" {law}><site site="w"/><site site="a"/><geom geom="g" {of_side}/>
  <site site="b"/>{more}</spatial></tendon>{rest}</mujoco>"""
PULLEYS = """<pulley divisor="2.5"/><site site="f"/><geom geom="g" {of_side}/><site site="a"/>
  <pulley divisor="1"/><site site="f"/><site site="w"/>"""


def robot(rng: np.random.Generator, side: str, *, law: str = "", more: str = PULLEYS, rest: str = "") -> str:
    """side: none, outside or inside."""
    kind, radius = str(rng.choice(["sphere", "cylinder"])), float(rng.uniform(0.05, 0.25))
    direction = rng.normal(size=3)
    far = {"none": 1.0, "outside": 1.3, "inside": 0.5}[side] * radius
    of_side = "" if side == "none" else 'sidesite="side"'
    names = ("w", "a", "axis", "mid", "tip", "geom", "b", "f")
    points = {name: rng.uniform(-0.5, 0.5, size=3) for name in names}
    points |= {"side": far * direction / np.linalg.norm(direction), "quat": rng.normal(size=4)}
    text = {name: " ".join(map(str, point)) for name, point in points.items()}
    size = f"{radius}" if kind == "sphere" else f"{radius} 0.5"
    return ROBOT.format(
        kind=kind, size=size, of_side=of_side, law=law, more=more.format(of_side=of_side), rest=rest, **text
    )


def placed(theirs: Any, ours: fw.Model, q: Array, v: Array) -> Any:
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = convert.to_mujoco(ours, q, v)
    mujoco.mj_forward(theirs, data)
    return data


def start(rng: np.random.Generator, model: fw.Model) -> tuple[Array, Array]:
    q = model.random(rng)
    q[-7:-4] = rng.normal(scale=0.3, size=3)  # the free body is not far
    return q, rng.normal(size=model.nv)


@pytest.mark.parametrize("side", ["none", "outside", "inside"])
def test_lengths_and_their_rates_are_mujocos(side: str) -> None:
    rng = np.random.default_rng(0)
    bent = 0
    for _ in range(12):
        text = robot(rng, side)
        theirs, ours = mujoco.MjModel.from_xml_string(text), fw.loads(text, "mjcf", strict=True)
        sim = fw.Simulator(ours, dt=1e-3)
        for _ in range(8):
            q, v = start(rng, ours)
            data = placed(theirs, ours, q, v)
            lengths, arms = sim._core.measure_struts(q[None])
            assert lengths[0, 0] == pytest.approx(data.ten_length[0], abs=1e-9)
            # where it deflects a tendon inside, MuJoCo stops at 1e-6 of an angle
            assert arms[0, 0] @ v == pytest.approx(data.ten_velocity[0], abs=1e-9 if side != "inside" else 1e-5)
            bent += int(data.ten_wrapnum[0]) > 7
    assert bent > 10


@pytest.mark.parametrize("side", ["none", "outside", "inside"])
def test_rates_are_the_differences_of_lengths(side: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(6):
        model = fw.loads(robot(rng, side), "mjcf", strict=True)
        sim = fw.Simulator(model, dt=1e-3)
        q, v = start(rng, model)
        h = 1e-6
        ends, _ = sim._core.measure_struts(np.array([model.integrate(q, h * v), model.integrate(q, -h * v)]))
        _, arms = sim._core.measure_struts(q[None])
        assert arms[0, 0] @ v == pytest.approx((ends[0, 0] - ends[1, 0]) / (2 * h), abs=1e-7)


def test_forces_of_springs_dampers_and_actuators_are_mujocos() -> None:
    actuators = """<actuator><motor tendon="t" gear="3"/><position tendon="t" kp="40" kv="2"/>
      <muscle tendon="t" lengthrange=".5 3" force="70"/></actuator>"""
    rng = np.random.default_rng(2)
    for side in ("none", "outside"):
        text = robot(rng, side, rest=actuators)
        theirs, ours = mujoco.MjModel.from_xml_string(text), fw.loads(text, "mjcf", strict=True)
        q, v = start(rng, ours)
        data = placed(theirs, ours, q, v)
        control = np.array([0.7, 0.5, 0.9])
        data.ctrl[:], data.act[:] = control, 0.6
        mujoco.mj_forward(theirs, data)
        theirs_a = convert.from_mujoco(ours, data.qpos, data.qacc)[1] - _bias_of_axes(ours, q, v)
        sim = fw.Simulator(ours, dt=1e-7)
        after = sim.step(sim.state(q=q, v=v, activation=[0.6]), control=control)
        np.testing.assert_allclose((after.v - v) / 1e-7, theirs_a, atol=3e-4 * np.abs(theirs_a).max())


def _bias_of_axes(model: fw.Model, q: Array, v: Array) -> Array:
    """What velocities of free bodies in their own axes change by as these turn."""
    turned = np.zeros(model.nv)
    at = model.joint("free_joint").v_slice if "free_joint" in model.joint_names else slice(model.nv - 6, model.nv)
    turned[at.start : at.start + 3] = np.cross(v[at][3:], v[at][:3])
    return turned


def hung(**law: Any) -> ModelBuilder:
    builder = ModelBuilder("hung", gravity=(0.0, 0.0, -10.0)).solid("ball", "sphere", (0.05,), mass=2.0)
    builder.joint("root", "free", "world", "ball", start=(0.3, 0.0, -0.1, 0.0, 0.0, 0.0, 1.0))
    return builder.strut("rope", [("world", (0, 0, 0)), ("ball", (0.0, 0.0, 0.0))], **law)


def test_a_rope_holds_and_its_force_is_read() -> None:
    """It falls freely while the rope is slack; then the rope is as long as it may be, and carries the weight."""
    sim = fw.Simulator(hung(range=(0.0, 0.5)).build(), dt=1e-3)
    falling = sim.rollout(sim.state(), n_steps=100)
    assert falling.final.v[2] == pytest.approx(-1.0, abs=1e-9) and not np.any(falling.final.forces.limits)
    run = sim.rollout(sim.state(), n_steps=4000)
    assert run.residual < 1e-8 and run.final.limit_violation < 1e-5
    assert np.linalg.norm(run.q[400:, :3], axis=1).max() < 0.5 + 1e-3
    rest = sim.rollout(sim.state(q=[0, 0, -0.5, 0, 0, 0, 1]), n_steps=10).final
    np.testing.assert_allclose(rest.forces.limits, [0, 0, 20.0, 0, 0, 0], atol=1e-8)


def test_a_rod_of_both_limits_swings_like_a_pendulum() -> None:
    """Its energy stays, and its length to what a step moves."""
    sim = fw.Simulator(hung(range=(0.5, 0.5)).build(), dt=1e-4)
    run = sim.rollout(sim.state(q=[0.3, 0, -0.4, 0, 0, 0, 1]), n_steps=10_000)
    assert np.ptp(np.linalg.norm(run.q[:, :3], axis=1)) < 1e-6
    energy = run.animation().curves["energy [J]"][0]
    assert np.ptp(energy) < 2e-3 * 2.0 * 10.0 * 0.5


def test_dry_friction_of_a_rope() -> None:
    """Below its bound nothing moves; above, the rest of the weight accelerates."""
    q = [0, 0, -0.5, 0, 0, 0, 1]
    held = fw.Simulator(hung(friction=25.0).build(), dt=1e-3)
    final = held.rollout(held.state(q=q), n_steps=50).final
    assert np.abs(final.v).max() < 1e-9 and final.forces.friction[2] == pytest.approx(20.0)
    slips = fw.Simulator(hung(friction=5.0).build(), dt=1e-3)
    assert slips.rollout(slips.state(q=q), n_steps=100).final.v[2] == pytest.approx(-0.75, abs=1e-6)


@pytest.mark.parametrize(("integrator", "error"), [("rk4", 2e-5), ("semi_implicit", 0.05)])
def test_a_motion_is_mujocos(integrator: Any, error: float) -> None:
    """A spring, a damper, a servo, bends and pulleys, for a fifth of a second; beside small steps of fourth order."""
    servo = '<actuator><position tendon="t" kp="40" kv="2"/></actuator>'
    rng = np.random.default_rng(5)
    text = robot(rng, "none", rest=servo)
    theirs, ours = mujoco.MjModel.from_xml_string(text), fw.loads(text, "mjcf", strict=True)
    q, v = start(rng, ours)
    theirs.opt.timestep = 1e-4
    theirs.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = placed(theirs, ours, q, 0.2 * v)
    data.ctrl[:] = 1.0
    for _ in range(2000):
        mujoco.mj_step(theirs, data)
    expected, _ = convert.from_mujoco(ours, data.qpos, data.qvel)
    errors = []
    for dt in (1e-3, 2.5e-4):
        sim = fw.Simulator(ours, dt=dt, integrator=integrator)
        run = sim.rollout(sim.state(q=q, v=0.2 * v), n_steps=round(0.2 / dt), control=[1.0])
        errors.append(float(np.abs(ours.difference(expected, run.final.q)).max()))
    assert errors[0] < error and errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("side", ["none", "outside", "inside"])
def test_the_twin_takes_the_same_step(side: str) -> None:
    rng = np.random.default_rng(6)
    for _ in range(3):
        text = robot(
            rng, side, rest='<actuator><motor tendon="t" gear="3"/></actuator>', law='frictionloss="2"', more=""
        )
        model = fw.loads(text, "mjcf", strict=True)
        q, v = start(rng, model)
        sim = fw.Simulator(model, dt=1e-3)
        length = float(sim._core.measure_struts(q[None])[0][0, 0])
        [strut] = model.description.struts
        for limits in (None, (0.0, length - 1e-3), (length + 1e-4, length + 1.0)):
            limited = replace(model.description, struts=(replace(strut, range=limits),))
            sim = fw.Simulator(ModelBuilder.from_description(limited).build(), dt=1e-3)
            state = sim.state(q=q, v=v)
            ours = sim.step(state, control=[0.4])
            contacts = fw.reference.contact_points(sim, state, ours)
            scene = fw.reference.step_scene(sim)
            twin = fw.reference.step(scene, q, v, contacts, control=np.array([0.4]))
            np.testing.assert_allclose(ours.v, twin.v, atol=1e-7)


def test_derivatives_are_those_of_differences_or_refused() -> None:
    rng = np.random.default_rng(8)
    text = robot(rng, "outside", rest='<actuator><motor tendon="t"/></actuator>', more="")
    sim = fw.Simulator(fw.loads(text, "mjcf", strict=True), dt=1e-3)
    q, v = start(rng, sim.model)
    state = sim.state(q=q, v=v)
    slope = sim.step_derivatives(state, control=[0.5], wrt=("control",)).dv["control"][:, 0]
    ends = [sim.step(state, control=[0.5 + x]).v for x in (1e-3, -1e-3)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-3, atol=1e-8)
    with pytest.raises(ValueError, match="struts with limits"):
        fw.relaxed_step(sim, state, control=[0.5], kappa=1e-2)


def test_environments_do_not_see_each_other() -> None:
    """Threads that bend beside some that are straight, and limits that hold beside some that do not."""
    rng = np.random.default_rng(7)
    model = fw.loads(robot(rng, "outside", law='range="0 1.2"', more=""), "mjcf", strict=True)
    sim = fw.Simulator(model, dt=2e-3)
    q, v = (np.array(x) for x in zip(*(start(rng, model) for _ in range(16)), strict=True))
    together = sim.rollout(sim.state(q=q, v=v, batch=16), n_steps=20).final
    for k in (0, 5, 15):
        alone = sim.rollout(sim.state(q=q[k], v=v[k]), n_steps=20).final
        assert np.array_equal(alone.q, together.q[k]) and np.array_equal(alone.v, together.v[k])


def test_what_files_have_of_them() -> None:
    text = """<mujoco><worldbody>{0}</worldbody><tendon>
      <spatial name="three" limited="true" range="0 1"><site site="a"/><site site="b"/><site site="c"/></spatial>
      <spatial name="heavy" stiffness="1" armature="2"><site site="a"/><site site="b"/></spatial>
      <spatial name="shown"><site site="a"/><site site="b"/></spatial></tendon></mujoco>"""
    body = '<body name="{0}" pos="{1} 0 0"><joint/><geom size=".1"/><site name="{0}"/></body>'
    model = fw.loads(text.format("".join(body.format(name, k) for k, name in enumerate("abc"))), "mjcf")
    assert [strut.name for strut in model.description.struts] == ["three", "heavy"]
    said = {note.element: (note.message, note.severity) for note in model.import_report if "tendon" in note.element}
    message = "a spatial tendon with limits over more than two branches: that is not imported"
    assert said["tendon 'three'"] == (message, fw.Severity.MOTION)
    assert said["tendon 'heavy'"][0] == "a spatial tendon with armature: that is not imported"
    assert said["tendon 'shown'"][1] is fw.Severity.PICTURE


def laced() -> fw.Model:
    """All that struts have."""
    builder = ModelBuilder.from_description(fw.models.arm().description)
    points = [("world", (0.3, 0.2, 0.4)), ("link_3", (0.05, 0.0, 0.1)), ("link_5", (0, 0.1, 0)), ("world", (0, 0, 1))]
    post = fw.Bend(0, "world", "cylinder", 0.05, fw.pose((0.2, 0.1, 0.3), rpy=(1, 0, 0)), ("link_1", (0, 0, 0.1)))
    ball = fw.Bend(1, "link_4", "sphere", 0.03)
    builder.strut(
        "laced", points, stiffness=10.0, range=(0.0, 3.0), friction=0.5, shares=(1, 1, 0.5), bends=[post, ball]
    )
    return builder.actuator("winch", None, strut="laced", gear=-2.0).build()


def test_they_travel(tmp_path: Path) -> None:
    model = laced()
    model.save(tmp_path / "laced.json")
    again = fw.load(tmp_path / "laced.json")
    assert again.description.struts == model.description.struts
    assert again.description.actuators == model.description.actuators
    two = fw.ModelBuilder("two").add(model, prefix="l_", placement=(0.0, 1.0, 0.0)).add(model, prefix="r_").build()
    post, ball = two.description.struts[0].bends
    assert post.link == "world" and post.placement[:3, 3] == pytest.approx((0.2, 1.1, 0.3))
    assert post.side is not None and post.side[0] == "l_link_1" and ball.link == "l_link_4"
    assert two.description.actuators[-1].strut == "r_laced"
    back = fw.loads(fw.to_mjcf(model), "mjcf")
    q = model.random(np.random.default_rng(0), batch=5)
    lengths, arms = (fw.Simulator(each)._core.measure_struts(q) for each in (model, back))
    assert back.description.actuators[-1].gear == -2.0 and len(back.description.struts[0].bends) == 2
    np.testing.assert_allclose(lengths[0], arms[0], atol=1e-12)
    np.testing.assert_allclose(lengths[1], arms[1], atol=1e-12)


def test_what_is_wrong_is_named() -> None:
    points = [("world", (0, 0, 0)), ("ball", (0, 0, 0))]
    for options, said in (
        ({"bends": [fw.Bend(1, "world", "sphere", 0.1)]}, "the spans are 0 to 0, got 1"),
        ({"bends": [fw.Bend(0, "world", "box", 0.1)]}, 'must be "sphere" or "cylinder"'),  # type: ignore[arg-type]
        ({"bends": [fw.Bend(0, "world", "sphere", -0.1)]}, "radius must not be negative"),
        ({"bends": [fw.Bend(0, "world", "sphere", 0.1)] * 2}, "two shapes in the same span"),
        ({"shares": (1.0, 1.0)}, "shares"),
        ({"friction": -1.0}, "friction must not be negative"),
        ({"range": (2.0, 1.0)}, "range"),
    ):
        with pytest.raises(fw.ModelError, match=said):
            hung().strut("wrong", points, **options)
    with pytest.raises(fw.ModelError, match=r"strut 'astray'.*'ship'"):
        hung().strut("astray", points, bends=[fw.Bend(0, "ship", "sphere", 0.1)]).build()


def test_a_strut_over_three_branches_is_named() -> None:
    builder = ModelBuilder("three")
    for name in "abc":
        builder.solid(name, "sphere", (0.1,), mass=1.0).joint(name, "continuous", "world", name, axis="z")
    builder.strut("net", [(name, (0.1, 0, 0)) for name in "abc"], range=(0.0, 1.0))
    with pytest.raises(ValueError, match=r"strut 'three/net': .*two branches at most, this one has 3"):
        fw.Simulator(builder.build())
