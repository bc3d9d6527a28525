"""Derivatives of steps with forces that act where a step begins, and with rows over several joints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.actuated_robot import ALL, BODIES, LAWS, robot
from helpers.step_differences import differences, worst_errors

import featherweight as fw
from featherweight.arrays import Array

EXACT = fw.Newton(tolerance=1e-13)
DT = 2e-3


def random_state(sim: fw.Simulator, seed: int, speed: float = 1.0) -> fw.State:
    rng = np.random.default_rng(seed)
    q = sim.model.integrate(sim.scene.q0, 0.5 * rng.normal(size=sim.model.nv))
    return sim.state(q=q, v=speed * rng.normal(size=sim.model.nv), activation=rng.uniform(0.1, 0.9, sim.na))


def worst(sim: fw.Simulator, state: fw.State, seed: int = 7, **options: Any) -> float:
    control = np.random.default_rng(seed).uniform(0.1, 0.9, sim.nu) if sim.nu else None
    errors = worst_errors(sim, state, None, control, **options)
    assert errors.pop("products") < 1e-11
    return max(errors.values())


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_actuators_of_every_kind(law: str) -> None:
    sim = fw.Simulator(fw.loads(robot(law), "mjcf"), dt=DT, integrator="implicit", solver=EXACT)
    for seed in range(3):
        assert worst(sim, random_state(sim, seed), seed) < 1e-7


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "rk4"])
def test_all_of_them_at_once_with_weight_that_is_carried(integrator: Any) -> None:
    text = robot(ALL, carried=dict.fromkeys(BODIES, 0.6))
    scene = fw.Scene()
    scene.add(fw.loads(text, "mjcf"), name="robot")
    sim = fw.Simulator(scene, dt=DT, integrator=integrator, solver=EXACT)
    state = random_state(sim, 3)
    assert worst(sim, state) < 1e-7
    many = state.randomised(masses=np.full((1, sim.model.n_links), 1.3), gravity=np.array([[0.5, -0.3, -8.0]]))
    assert worst(sim, many) < 1e-7


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
@pytest.mark.parametrize("rest", [(0.1, 0.3), (0.0, 9.0)], ids=["taut", "slack"])
def test_struts_over_three_points(integrator: Any, rest: tuple[float, float]) -> None:
    builder = fw.ModelBuilder("braced")
    builder.link("a", mass=1.0, com=(0.02, 0.01, 0), inertia=(0.02, 0.03, 0.01))
    builder.joint("free", "free", "world", "a")
    builder.link("b", mass=0.7, com=(0.1, 0, -0.15), inertia=(0.01, 0.012, 0.004))
    builder.joint("ball", "spherical", "a", "b", placement=(0, 0, -0.2))
    builder.link("c", mass=0.5, com=(0, 0, -0.15), inertia=(0.005, 0.005, 0.001))
    builder.joint("hinge", "revolute", "b", "c", axis="x", placement=(0, 0, -0.3))
    builder.strut("over", [("world", (0.3, 0.2, 0.4)), ("a", (0.05, 0, 0.1)), ("c", (0, 0.1, 0))],
                  stiffness=120.0, damping=4.0, rest_length=rest)  # fmt: skip
    builder.strut("between", [("b", (0.1, 0.0, 0.0)), ("c", (0.0, 0.1, -0.1))], stiffness=50.0, damping=1.0)
    scene = fw.Scene()
    scene.add(builder.build(), name="m")
    sim = fw.Simulator(scene, dt=DT, integrator=integrator, solver=EXACT)
    for seed in range(2):
        assert worst(sim, random_state(sim, seed)) < 1e-7


def slides(**tendon: Any) -> fw.Model:
    builder = fw.ModelBuilder("slides")
    kinds: list[Any] = ["revolute", "prismatic", "revolute"]
    for k, kind in enumerate(kinds):
        builder.link(f"l{k}", mass=1.0 + k, com=(0.1, 0.05, 0), inertia=(0.02, 0.03, 0.03))
        builder.joint(f"j{k}", kind, f"l{k - 1}" if k else "world", f"l{k}", axis="yxz"[k], placement=(0.2, 0, 0))
    return builder.tendon("rope", {"j0": 1.0, "j1": -0.5, "j2": 2.0}, **tendon).build()


@pytest.mark.parametrize(
    ("tendon", "stretch", "speed"),
    [
        ({"range": (-0.2, 0.3)}, 0.29999, 1.0),  # arrives at its limit
        ({"range": (-0.2, 0.3)}, 0.3003, 0.05),  # is beyond it
        ({"range": (-0.2, 0.3)}, 0.0, 1.0),  # is far from it
        ({"friction": 200.0}, 0.0, 0.05),  # sticks
        ({"friction": 0.5}, 0.0, 1.0),  # slips
        ({"friction": 0.5, "range": (-0.2, 0.3)}, 0.299, 2.0),
    ],
)
def test_limits_and_dry_friction_of_tendons(tendon: dict[str, Any], stretch: float, speed: float) -> None:
    sim = fw.Simulator(slides(**tendon), dt=DT, solver=EXACT)
    state = sim.state(q=[0.05, 0.2, (stretch - 0.05 + 0.1) / 2], v=speed * np.array([0.5, -0.3, 0.8]))
    assert worst(sim, state) < 1e-6


def test_ropes_hold_feet_on_the_ground() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    builder = fw.ModelBuilder.from_description(fw.models.quadruped().description)
    names = [joint.name for joint in fw.models.quadruped().joints[1:]]
    model = builder.tendon("rope", {names[1]: 1.0, names[4]: -1.0}, friction=30.0, range=(-0.5, 0.5)).build()
    part = scene.add(model, name="r", pose=(0, 0, 0.4))
    scene.servo(part, kp=60.0, kd=4.0)
    sim = fw.Simulator(scene, dt=DT, integrator="implicit", solver=EXACT)
    stance = np.tile([0.0, 0.7, -1.4], 4)
    standing = sim.rollout(sim.state(), control=stance, n_steps=300).final
    q = np.array(standing.q)
    q[2] += 1e-5
    state = standing.replace(q=q, v=0.01 * np.random.default_rng(2).normal(size=18))
    errors = worst_errors(sim, state, None, stance)
    assert errors.pop("products") < 1e-12
    assert errors.pop("q") < 1e-5 and max(errors.values()) < 1e-8


def test_gradients_of_rollouts_go_through_activations() -> None:
    sim = fw.Simulator(fw.loads(robot(ALL), "mjcf"), dt=DT, solver=EXACT)
    start, rng, steps = random_state(sim, 0), np.random.default_rng(1), 6
    control = rng.uniform(0.1, 0.9, (steps, sim.nu))
    tape = sim.rollout(start, control=control, tape=True)
    dq, dv = rng.normal(size=(2, steps, sim.model.nv))
    g = sim.rollout_vjp(tape, dq, dv)
    lines, n = sim.linearise(tape), 2 * sim.model.nv
    assert lines.A.shape == (steps, n + sim.na, n + sim.na) and lines.B.shape == (steps, n + sim.na, sim.nu)
    x = np.zeros(n + sim.na)
    for k in reversed(range(steps)):
        x[:n] += np.r_[dq[k], dv[k]]
        np.testing.assert_allclose(g.control[k], x @ lines.B[k], rtol=1e-9, atol=1e-9)
        x = x @ lines.A[k]
    np.testing.assert_allclose(np.r_[g.q0, g.v0, g.activation0], x, rtol=1e-9, atol=1e-9)
    push = rng.normal(size=sim.na)
    to_q, to_v = sim.rollout_jvp(tape, activation=push, control=control)
    y = np.r_[np.zeros(n), push]
    for k in range(steps):
        y = lines.A[k] @ y + lines.B[k] @ control[k]
        np.testing.assert_allclose(np.r_[to_q[k], to_v[k]], y[:n], rtol=1e-9, atol=1e-9)


def two_bodies(*constraints: Any, dt: float = DT, integrator: Any = "semi_implicit") -> fw.Simulator:
    scene = fw.Scene()
    for k in range(2):
        scene.add(fw.box((0.1, 0.15, 0.2)), name=f"b{k}", pose=(0.3 * k, 0, 1))
    for each in constraints:
        scene.constrain(each)
    return fw.Simulator(scene, dt=dt, integrator=integrator, solver=EXACT)


SPRING: dict[str, Any] = {"compliance": 0.01, "stiffness": 30.0, "damping": 2.0}
STIFF: dict[str, Any] = {"stiffness": 400.0, "damping": 40.0}


@pytest.mark.parametrize("law", [SPRING, STIFF, {"compliance": 0.2}], ids=["spring", "guided", "compliant"])
@pytest.mark.parametrize("rows", [("x", "y", "z", "rx", "ry", "rz"), ("x", "y", "z", "ry", "rz"), ("x", "ry")])
@pytest.mark.parametrize("speed", [0.5, 3.0])
def test_frames_that_are_guided(law: dict[str, Any], rows: Any, speed: float) -> None:
    sim = two_bodies(fw.FrameConstraint("b0", rows=rows, to="b1", **law))
    v = speed * np.random.default_rng(13).normal(size=12)
    state = sim.rollout(sim.state(v=v), n_steps=25).final
    assert worst(sim, state) < 1e-6


@pytest.mark.parametrize("law", [SPRING, STIFF], ids=["spring", "guided"])
def test_rods_and_gears_that_are_guided(law: dict[str, Any]) -> None:
    rod = fw.DistanceConstraint("b0", "b1", offset=(0.05, 0.02, 0.1), to_offset=(0.03, 0.02, 0.1), **law)
    sim = two_bodies(rod)
    state = sim.rollout(sim.state(v=2 * np.random.default_rng(0).normal(size=12)), n_steps=40).final
    assert worst(sim, state) < 1e-6
    builder = fw.ModelBuilder("wheels")
    for k, name in enumerate("ab"):
        builder.link(name, mass=1.0 + k, com=(0.0, 0.1, -0.2), inertia=(0.02, 0.05, 0.05))
        builder.joint(name, "continuous", "world", name, placement=(0.0, 0.3 * k, 0.0), axis="x")
    scene = fw.Scene()
    scene.add(builder.build(), name="m")
    scene.constrain(fw.JointCoupling("m/b", to="m/a", polynomial=(0.1, 0.3, 0.2), **law))
    geared = fw.Simulator(scene, dt=DT, solver=EXACT)
    assert worst(geared, geared.rollout(geared.state(), tau=[2.0, 0.3], n_steps=100).final) < 1e-6


def test_a_guided_leg_on_the_ground_beside_what_is_held() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(fw.box((0.3, 0.2, 0.1)), name="base", pose=(0, 0, 0.05))
    for k in range(2):
        scene.add(fw.box((0.1, 0.1, 0.2)), name=f"b{k}", pose=(0.25 * k - 0.1, 0, 0.5))
    spring: dict[str, Any] = {"compliance": 0.02, "stiffness": 80.0, "damping": 3.0}
    scene.constrain(fw.FrameConstraint("base", rows=("x", "y", "z"), to="b0", **spring))
    scene.constrain(fw.FrameConstraint("b0", rows=("x", "y", "z", "ry", "rz"), to="b1"))
    sim = fw.Simulator(scene, dt=DT, solver=EXACT)
    state = sim.rollout(sim.state(), n_steps=40).final
    q = np.array(state.q)
    q[2] += 1e-5
    errors = worst_errors(sim, state.replace(q=q), h=1e-7)
    assert errors.pop("products") < 1e-11
    assert errors.pop("q") < 1e-3  # what is apart comes together along rows whose own turn is left out
    assert max(errors.values()) < 1e-6


# -- steps in halves: by differences


@pytest.mark.parametrize("name", ["pendulum", "four_bar", "arm"])
def test_steps_in_halves(name: str) -> None:
    sim = fw.Simulator(getattr(fw.models, name)(), dt=1e-3, integrator="verlet", solver=EXACT)
    state = sim.rollout(sim.state(v=0.1 * np.ones(sim.model.nv)), n_steps=20).final
    control = 0.1 * np.ones(sim.nu) if sim.nu else None
    columns = ("q", "v", "tau", "control", "friction", "gains", "gravity", "masses", "f_ext")
    d = sim.step_derivatives(
        state, control=control, wrt=[x for x in columns if sim.nu or x not in ("control", "gains")]
    )
    expected = differences(sim, state, None, control, None, list(d.dq), 3e-6)
    for each in d.dq:
        assert_allclose_to_largest(np.vstack([d.dq[each], d.dv[each]]), expected.matrix[each], 1e-6)
    w = np.random.default_rng(0).normal(size=2 * sim.model.nv)
    nv = sim.model.nv
    after, pull = sim.step_vjp(state, control=control)
    assert after == d.state == sim.step(state, control=control)
    np.testing.assert_allclose(np.r_[pull(w[:nv], w[nv:]).q, pull(w[:nv], w[nv:]).v], w @ d.A, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="verlet"):
        sim.step_derivatives(state, wrt=("restitution",))


def test_steps_in_halves_with_contacts_and_in_batches() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(fw.box((0.2, 0.3, 0.1)), name="b", pose=(0, 0, 0.05))
    sim = fw.Simulator(scene, dt=DT, integrator="verlet")
    v = np.array([[1.0, 0.3, 0, 0, 0, 0], [0, 0, 1.0, 0, 0, 0], [2.0, 0, 0, 0, 0, 0]])
    state = sim.rollout(sim.state(3, v=v), n_steps=10).final
    d = sim.step_derivatives(state)
    assert np.isfinite(d.A).all()
    np.testing.assert_allclose(d.dv["v"][1], np.eye(6), atol=3e-3)  # it flies
    assert abs(d.dv["v"][0, 0, 0] - 1.0) < 0.2  # it slides
    tape = sim.rollout(state, n_steps=4, tape=True)
    cotangents = np.zeros((3, 4, 6))
    cotangents[:, -1, 0] = 1.0
    g = sim.rollout_vjp(tape, dq=cotangents)
    np.testing.assert_allclose(g.v0[1, 0], 4 * DT, rtol=1e-6)


def assert_allclose_to_largest(found: Array, wanted: Array, tolerance: float) -> None:
    assert np.abs(found - wanted).max(initial=0.0) < tolerance * (1 + np.abs(wanted).max(initial=0.0))
