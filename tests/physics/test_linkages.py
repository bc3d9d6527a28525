"""Linkages and gears whose motion or forces geometry tells: straight lines, joints of shafts, screws, lifts, scales."""

from __future__ import annotations

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array


def bar(builder: fw.ModelBuilder, name: str, length: float, mass: float = 1.0, along: int = 0) -> None:
    """A thin rod from its joint along an axis of its own."""
    com, inertia = np.zeros(3), np.full(3, mass * length**2 / 12)
    com[along], inertia[along] = 0.5 * length, 1e-2 * inertia[along]
    builder.link(name, mass=mass, com=com, inertia=inertia)


def hinge(builder: fw.ModelBuilder, parent: str, child: str, at: float = 0.0) -> None:
    builder.joint(child, "continuous", parent, child, placement=(at, 0.0, 0.0), axis="y")


def pin(builder: fw.ModelBuilder, link: str, at: float, to: str, to_at: float) -> None:
    """In the plane of x and z."""
    ends = {"placement": (at, 0.0, 0.0), "to_placement": (to_at, 0.0, 0.0)}
    builder.close(f"{link} - {to}", link, to, rows=("x", "z"), **ends)


def coordinates(model: fw.Model, angles: dict[str, float]) -> Array:
    q = model.neutral()
    for joint, angle in angles.items():
        q[model.joint(joint).q_slice] = angle
    assert fw.loop_error(model, q, fw.constraints_of(model)).max() < 1e-14
    return q


def rates(model: fw.Model, q: Array, joint: str) -> Array:
    """Velocities of all joints while one moves at one."""
    return np.asarray(fw.loop_jacobian(model, q, fw.constraints_of(model), [joint])[:, 0])


def test_peaucelliers_cell_draws_a_straight_line() -> None:
    """Two long arms, a rhombus, and a crank that holds one of its corners on a circle through the pivot of the arms."""
    long, short, crank = 0.5, 0.2, 0.22
    builder = fw.ModelBuilder("cell", gravity=(0.0, 0.0, 0.0))
    for name in ("upper", "lower"):
        bar(builder, name, long)
        hinge(builder, "world", name)
        for end in ("near", "far"):
            bar(builder, f"{name} {end}", short)
            hinge(builder, name, f"{name} {end}", long)
    bar(builder, "crank", crank)
    hinge(builder, "world", "crank", crank)
    for name in ("upper", "lower"):
        pin(builder, f"{name} near", short, "crank", crank)
    pin(builder, "upper far", short, "lower far", short)
    model = builder.build()

    def angle(of: complex) -> float:
        return -float(np.angle(of))  # about y

    near = crank + crank * np.exp(0.5j)
    middle = (long**2 - short**2 + abs(near) ** 2) / (2 * abs(near))
    along, across = near / abs(near), 1j * np.sqrt(long**2 - middle**2)
    far = along * (2 * middle) - near
    angles = {"crank": angle(near - crank)}
    for name, sign in (("upper", 1), ("lower", -1)):
        corner = along * (middle + sign * across)
        angles |= {name: angle(corner), f"{name} near": angle(near - corner) - angle(corner)}
        angles |= {f"{name} far": angle(far - corner) - angle(corner)}
    q = coordinates(model, angles)
    assert int(fw.mobility(model, q, fw.constraints_of(model)).dof) == 1
    sim = fw.Simulator(model, dt=1e-3)
    run = sim.rollout(sim.state(q=q, v=-rates(model, q, "crank")), n_steps=600)
    tip = (fw.frame_placement(model, run.q, "upper far") @ [short, 0.0, 0.0, 1.0])[:, :3]
    assert np.ptp(tip[:, 2]) > 0.1
    assert np.abs(tip[:, 0] - (long**2 - short**2) / (2 * crank)).max() < 1e-11


def test_sarrus_linkage_rises_straight_and_stays_level() -> None:
    """Two chains of three hinges each, across each other: five of six directions are held, by six rows less one."""
    length, bend = 0.3, 0.8
    builder = fw.ModelBuilder("sarrus").link("top", mass=1.0, com=(0.0, 0.0, 0.0), inertia=(0.01, 0.01, 0.01))
    for name, axis, along in (("a", "y", 0), ("b", "x", 1)):
        side = np.eye(3)[along]
        for k in (1, 2):
            bar(builder, f"{name}{k}", length, 0.3, along)
            at = length * side if k == 2 else 0.2 * side
            builder.joint(
                f"{name}{k}", "continuous", f"{name}1" if k == 2 else "world", f"{name}{k}", placement=at, axis=axis
            )
    builder.joint("a3", "continuous", "a2", "top", placement=(length, 0, 0), child_placement=(-0.2, 0, 0), axis="y")
    ends = {"placement": fw.pose((0.0, length, 0.0)), "to_placement": fw.pose((0.0, 0.2, 0.0))}
    builder.close("b3", "b2", "top", rows=("x", "y", "z", "ry", "rz"), **ends)
    model = builder.build()
    q = coordinates(
        model, {"a1": -bend, "a2": 2 * bend - np.pi, "a3": np.pi - bend, "b1": bend, "b2": np.pi - 2 * bend}
    )
    found = fw.mobility(model, q, fw.constraints_of(model))
    assert (int(found.dof), int(found.redundant)) == (1, 1)
    sim = fw.Simulator(model, dt=1e-3)
    run = sim.rollout(sim.state(q=q), n_steps=150)
    top = fw.frame_placement(model, run.q, "top")
    assert np.ptp(top[:, 2, 3]) > 0.05
    assert np.abs(top[:, :2, 3]).max() < 1e-11 and np.abs(top[:, :3, :3] - np.eye(3)).max() < 1e-11


def test_shafts_that_meet_at_an_angle_turn_unevenly() -> None:
    """Hooke's joint: tan of one angle is tan of the other times the cosine of the bend."""
    bend = 0.6
    builder = fw.ModelBuilder("hooke", gravity=(0.0, 0.0, 0.0))
    for name, inertia in (("in", 0.01), ("cross", 0.001), ("out", 0.01)):
        builder.link(name, mass=1.0, inertia=(inertia, inertia, inertia))
    builder.joint("in", "continuous", "world", "in", axis="z")
    builder.joint("fork", "universal", "in", "cross", axis="x", axis2="y", start=(bend, 0.0))
    builder.joint("out", "continuous", "world", "out", placement=fw.pose((0, 0, 0), rpy=(bend, 0.0, 0.0)), axis="z")
    builder.close("yoke", "cross", "out", placement=np.eye(4), rows=("x", "y", "z", "rx", "ry", "rz"))
    model = builder.build()
    sim = fw.Simulator(model, dt=1e-3)
    run = sim.rollout(sim.state(v=3.0 * rates(model, model.q0, "in")), n_steps=2000)
    first, second = (run.q[:, model.joint(name).q_slice.start] for name in ("in", "out"))
    assert np.ptp(first) > 5.0
    uneven = np.sin(second) * np.cos(first) - np.sin(first) * np.cos(second) * np.cos(bend)
    other = np.sin(second) * np.cos(first) * np.cos(bend) - np.sin(first) * np.cos(second)
    assert min(np.abs(uneven).max(), np.abs(other).max()) < 1e-11


def test_a_nut_that_may_not_turn_sinks_along_its_screw() -> None:
    pitch, inertia, mass = 0.01, 0.01, 2.0
    builder = fw.ModelBuilder("jack").link("screw", mass=1.0, inertia=(inertia, inertia, inertia))
    builder.link("nut", mass=mass, inertia=(0.1, 0.1, 0.1)).link("post", mass=1e-6, inertia=(1e-9, 1e-9, 1e-9))
    builder.joint("spin", "continuous", "world", "screw", axis="z")
    builder.joint("thread", "helical", "screw", "nut", axis="z", pitch=pitch)
    builder.joint("rail", "prismatic", "world", "post", axis="z")
    builder.close("guide", "nut", "post", rows=("z", "rz"))
    sim = fw.Simulator(builder.build(), dt=1e-3)
    after = sim.rollout(sim.state(), n_steps=500).final
    rate = (mass + 1e-6) * 9.81 * pitch / (inertia + (mass + 1e-6) * pitch**2)
    spin = sim.model.joint("jack/spin").v_slice
    np.testing.assert_allclose(after.v[spin], 0.5 * rate, rtol=1e-9)


def test_a_scissor_lift_is_held_by_what_virtual_work_says() -> None:
    """Five stages on a slide: ten bars, five pins; forces grow with the stages, and nothing moves."""
    stages, length, lean = 5, 0.6, 0.5
    builder = fw.ModelBuilder("scissors").link("slide", mass=0.5, inertia=(0.01, 0.01, 0.01))
    builder.joint("slide", "prismatic", "world", "slide", axis="x")
    for k in range(stages):
        bar(builder, f"a{k}", length)
        bar(builder, f"b{k}", length)
    for k in range(stages):
        hinge(builder, f"b{k - 1}" if k else "world", f"a{k}", length if k else 0.0)
        hinge(builder, f"a{k - 1}" if k else "slide", f"b{k}", length if k else 0.0)
        pin(builder, f"a{k}", 0.5 * length, f"b{k}", 0.5 * length)
    model = builder.build()
    back = np.pi - lean
    angles = {"slide": length * np.cos(lean), "a0": -lean, "b0": -back}
    for k in range(1, stages):
        angles |= {f"a{k}": back - lean, f"b{k}": lean - back}
    q = coordinates(model, angles)
    weight = sum(2 * 9.81 * (k + 0.5) for k in range(stages))
    tau = np.zeros(model.nv)
    tau[model.joint("slide").v_slice] = -weight / np.tan(lean)
    a = fw.constrained_dynamics(model, q, np.zeros(model.nv), tau, fw.constraints_of(model)).a
    assert np.abs(a).max() < 1e-9
    sim = fw.Simulator(model, dt=1e-3)
    assert np.abs(sim.rollout(sim.state(q=q), tau=tau, n_steps=50).q - q).max() < 1e-10


def test_torques_of_a_planetary_gear() -> None:
    """Teeth: sun 20, ring 60. Nothing but the sum of all three is held."""
    inertias, teeth = np.array([0.01, 0.05, 0.03]), np.array([20.0, 60.0, -80.0])
    builder = fw.ModelBuilder("planetary", gravity=(0.0, 0.0, 0.0))
    for name, inertia in zip(("sun", "ring", "carrier"), inertias, strict=True):
        builder.link(name, mass=1.0, inertia=(inertia, inertia, inertia))
        builder.joint(name, "continuous", "world", name, axis="z")
    scene = fw.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(builder.build(), name="m")
    scene.constrain(fw.JointCombination(dict(zip(("m/sun", "m/ring", "m/carrier"), teeth, strict=True))))
    sim = fw.Simulator(scene, dt=1e-3)
    tau = np.array([0.3, -0.1, 0.05])
    after = sim.rollout(sim.state(), tau=tau, n_steps=500).final
    held = -(teeth @ (tau / inertias)) / (teeth @ (teeth / inertias))
    np.testing.assert_allclose(after.v, 0.5 * (tau + held * teeth) / inertias, rtol=1e-10)


@pytest.mark.parametrize("scale", [5e-3, 50.0])
def test_small_and_large_mechanisms_swing_alike(scale: float) -> None:
    """A crank of 1 mm and one of 10 m beside one of 0.2 m, in as much more gravity."""
    runs = []
    for size in (1.0, scale):
        builder = fw.ModelBuilder("four-bar", gravity=(0.0, 0.0, -9.81 * size))
        for name, parent, at, length in (("a", "world", 0.0, 0.2), ("b", "a", 0.2, 0.5), ("c", "world", 0.5, 0.4)):
            bar(builder, name, length * size)
            hinge(builder, parent, name, at * size)
        pin(builder, "b", 0.5 * size, "c", 0.4 * size)
        model = builder.build()
        if size == 1.0:
            start = fw.close_loops(model, [-1.0, 0.4, -2.0], fw.constraints_of(model), fixed=["a"], tolerance=1e-14)
            assert start.converged
        sim = fw.Simulator(model, dt=1e-3)
        runs.append(sim.rollout(sim.state(q=start.q), n_steps=500))
        assert runs[-1].unconverged == 0
    assert np.ptp(runs[0].q) > 1.0
    np.testing.assert_allclose(runs[1].q, runs[0].q, rtol=0, atol=1e-7)
