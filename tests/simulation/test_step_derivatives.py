"""Derivatives of a step are those of central differences, wherever contacts keep their modes.

Bounds are what differences leave: rounding over the step of the difference, its curvature where gaps are micrometres,
and where overlaps are taken out, the sweeps that the step stops at a thousandth (separate.hpp).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from helpers.step_differences import worst_errors

import featherweight as fw
from featherweight.arrays import Array

EXACT = fw.Newton(tolerance=1e-13)


def robot(
    kind: str,
    *,
    integrator: Literal["semi_implicit", "implicit"] = "implicit",
    gains: tuple[float, float] = (60.0, 4.0),
    ground: fw.Body | None = None,
) -> tuple[fw.Simulator, fw.State, Array]:
    """A robot that stands, and the control that makes it."""
    scene = fw.Scene(ground=ground or fw.Plane(friction=0.8))
    part = scene.add(getattr(fw.models, kind)(), name="r", pose=(0, 0, 0.45))
    scene.servo(part, kp=gains[0], kd=gains[1])
    sim = fw.Simulator(scene, dt=2e-3 if integrator == "implicit" else 1e-3, integrator=integrator, solver=EXACT)
    rng = np.random.default_rng(0)
    bend = {"thigh": 0.7, "calf": -1.4} if kind == "quadruped" else {"thigh": -0.3, "shin": 0.6, "ankle": -0.3}
    names = [joint.name.split("/")[1] for joint in sim.model.joints[1:]]
    control = np.array([sum(x for part, x in bend.items() if part in name) for name in names])
    if kind == "quadruped":
        control += 0.05 * rng.normal(size=len(control))
    q = np.r_[sim.scene.q0[:7], control]
    if kind == "humanoid":
        q[2] -= fw.frame_placement(sim.model, q, "r/left_sole")[2, 3]
    return sim, sim.rollout(sim.state(q=q), control=control, n_steps=500 if kind == "quadruped" else 60).final, control


def shifted(state: fw.State, height: float, v: Array) -> fw.State:
    q = np.array(state.q)
    q[2] += height
    return state.replace(q=q, v=v)


def bodies(*shapes: tuple[fw.Body, Any], friction: float = 0.5, **law: Any) -> fw.Simulator:
    scene = fw.Scene(ground=fw.Plane(friction=friction, **law))
    for k, (shape, pose) in enumerate(shapes):
        scene.add(shape, name=f"b{k}", pose=pose)
    return fw.Simulator(scene, dt=2e-3, solver=EXACT)


def assert_close(errors: dict[str, float], *, q: float, v: float = 1e-8, products: float = 1e-12) -> None:
    assert errors.pop("products") < products
    assert errors.pop("q") < q
    assert max(errors.values()) < v, errors


@pytest.fixture(scope="module")
def quadruped() -> tuple[fw.Simulator, fw.State, Array]:
    return robot("quadruped")


def test_free_flight(quadruped: tuple[fw.Simulator, fw.State, Array]) -> None:
    sim, standing, control = quadruped
    rng = np.random.default_rng(1)
    q = sim.model.integrate(standing.q, np.r_[0, 0, 1, 0.2 * rng.normal(size=15)])
    state = sim.state(q=q, v=rng.normal(size=18))
    f_ext = rng.normal(size=(sim.model.n_links, 6))
    assert_close(worst_errors(sim, state, rng.normal(size=18), control, f_ext=f_ext), q=1e-9)


@pytest.mark.parametrize(("height", "q"), [(1e-5, 1e-5), (-2e-5, 1e-5)], ids=["gap", "overlap"])
@pytest.mark.parametrize("slides", [False, True], ids=["sticks", "slides"])
def test_quadruped_on_four_feet(
    quadruped: tuple[fw.Simulator, fw.State, Array], height: float, q: float, slides: bool
) -> None:
    sim, standing, control = quadruped
    v = 0.01 * np.random.default_rng(2).normal(size=18) + slides * np.r_[1, 0.3, np.zeros(16)]
    assert_close(worst_errors(sim, shifted(standing, height, v), None, control), q=q)


def test_servos_at_their_effort_have_no_slope(quadruped: tuple[fw.Simulator, fw.State, Array]) -> None:
    sim, standing, control = quadruped
    state = shifted(standing, 1e-5, 0.01 * np.random.default_rng(2).normal(size=18))
    assert_close(worst_errors(sim, state, None, control + 3), q=1e-5, v=1e-7)
    assert not sim.step_derivatives(state, control=control + 3).B.any()


def test_explicit_servos_within_their_effort_and_beyond() -> None:
    sim, standing, control = robot("quadruped", integrator="semi_implicit", gains=(60.0, 2.0))
    state = shifted(standing, -2e-5, 0.01 * np.random.default_rng(2).normal(size=18))
    assert_close(worst_errors(sim, state, None, control), q=1e-4)
    assert_close(worst_errors(sim, state, None, control + 3), q=1e-4)


def test_feet_on_a_height_field() -> None:
    heights = 0.1 * np.random.default_rng(3).random((20, 20))
    sim, standing, control = robot("quadruped", ground=fw.HeightField(heights, (4, 4), friction=0.5))
    state = shifted(standing, 4e-6, 0.01 * np.random.default_rng(2).normal(size=18))
    assert_close(worst_errors(sim, state, None, control, h=1e-7, columns=("q", "v", "control")), q=1e-5, v=1e-7)


@pytest.mark.parametrize("height", [1e-5, -2e-5], ids=["gap", "overlap"])
def test_flat_feet_carry_loads_in_more_ways_than_one(height: float) -> None:
    sim, standing, control = robot("humanoid", gains=(2000.0, 100.0))
    state = shifted(standing, height, standing.v + 0.003 * np.random.default_rng(3).normal(size=33))
    columns = ("q", "v", "tau", "control", "gravity")
    assert_close(worst_errors(sim, state, None, control, h=1e-7, columns=columns), q=1e-4, v=1e-7)


BOX = (fw.box((0.2, 0.3, 0.1)), (0, 0, 0.05))


@pytest.mark.parametrize("height", [5e-6, -2e-5], ids=["gap", "overlap"])
def test_box_on_four_corners(height: float) -> None:
    sim = bodies(BOX)
    q = sim.model.integrate(sim.scene.q0, np.r_[0, 0, height, 1e-6, 2e-6, 0.3])
    push = np.r_[0.5, 0.2, 0, 0, 0, 0.05]
    assert_close(worst_errors(sim, sim.state(q=q), push), q=1e-3)
    slides = sim.state(q=q, v=np.r_[1, 0.3, np.zeros(4)])
    assert_close(worst_errors(sim, slides, push), q=1e-3, v=1e-5, products=1e-8)


def test_what_solvers_choose_is_marked_as_not_unique() -> None:
    """A patch that slides and spins: its corners share the friction in many ways, and each moves it differently."""
    sim = bodies(BOX)
    q = sim.model.integrate(sim.scene.q0, np.r_[0, 0, 5e-6, 1e-6, 2e-6, 0.3])
    assert not sim.step_derivatives(sim.state(q=q, v=np.r_[1, 0.3, np.zeros(3), 2])).unique
    assert sim.step_derivatives(sim.state(q=q)).unique


@pytest.mark.parametrize("height", [5e-6, -2e-5], ids=["gap", "overlap"])
def test_stacked_boxes(height: float) -> None:
    sim = bodies((fw.box((0.4, 0.5, 0.1)), (0, 0, 0.05)), (fw.box((0.2, 0.3, 0.1)), (0.02, 0.01, 0.15)))
    q = sim.model.integrate(sim.scene.q0, np.r_[0, 0, height, 1e-6, -2e-6, 0.1, 0, 0, 2 * height, 3e-6, 2e-6, 0.4])
    push = 0.1 * np.random.default_rng(4).normal(size=12)
    assert_close(worst_errors(sim, sim.state(q=q), push, h=1e-7), q=1e-3, v=1e-6)


@pytest.mark.parametrize("height", [5e-6, -2e-5], ids=["gap", "overlap"])
@pytest.mark.parametrize("speed", [0.1, 1.0], ids=["rolls", "slides"])
def test_balls_on_each_other(height: float, speed: float) -> None:
    lower = (fw.sphere(0.1), (0, 0, 0.1 + height))
    sim = bodies(lower, (fw.sphere(0.08, friction=0.6), (0.03, 0.02, 0.2751 + height)))
    state = sim.state(v=np.r_[speed, speed / 2, 0, 0, 1, 0.5, np.zeros(6)])
    assert_close(worst_errors(sim, state), q=1e-4, v=1e-5)


@pytest.mark.parametrize(("restitution", "spin"), [(0.8, 3.0), (1.0, 200.0)])
def test_bounces(restitution: float, spin: float) -> None:
    sim = bodies((fw.sphere(0.1), (0, 0, 0.101)), friction=0.3, restitution=restitution)
    state = sim.state(v=[0.3, 0.2, -2, 0, spin, 1])
    assert_close(worst_errors(sim, state), q=1e-8, v=1e-6)
    d = sim.step_derivatives(state, wrt=("restitution",))
    if spin < 10:
        assert d.dv["restitution"][2, 0] == pytest.approx(2.0, rel=1e-3)  # what it comes with


def chain() -> fw.Model:
    builder = fw.ModelBuilder("chain")
    for k in range(5):
        builder.solid(f"l{k}", "capsule", (0.03, 0.2), mass=1.0, placement=(0, 0, -0.15))
        builder.joint(f"j{k}", "revolute", f"l{k - 1}" if k else "world", f"l{k}", axis="xyx"[k % 3],
                      placement=(0, 0, -0.3), lower=-0.3, upper=0.2, friction=0.2 * k, damping=0.05,
                      stiffness=3.0 + k, rest_position=0.1, effort_limit=None if k < 3 else 3.0)  # fmt: skip
        if k != 2:
            builder.actuator(f"s{k}", f"j{k}", "position", kp=20.0, kd=0.5, gear=1.1)
    return builder.build()


@pytest.mark.parametrize(
    ("integrator", "gap", "speed"),
    [("semi_implicit", 1e-4, 1.0), ("implicit", 1e-4, 1.0), ("implicit", -1e-4, 0.02)],
)
def test_limits_dry_friction_and_servos_of_a_chain(integrator: Any, gap: float, speed: float) -> None:
    sim, rng = fw.Simulator(chain(), dt=2e-3, integrator=integrator, solver=EXACT), np.random.default_rng(6)
    v = speed * rng.normal(size=5) + [0, speed, 0, -speed, 0]
    state = sim.state(q=[0.1, 0.2 - gap, -0.1, gap - 0.3, 0.05], v=v)
    assert_close(worst_errors(sim, state, None, 0.2 * rng.normal(size=4)), q=1e-8, v=1e-7)


def with_ball_joints() -> fw.Model:
    """Three links that touch nothing."""
    builder = fw.ModelBuilder("balls")
    builder.link("l0", mass=1.0, com=(0.02, 0.01, 0), inertia=(0.02, 0.03, 0.01))
    builder.joint("j0", "free", "world", "l0")
    builder.link("l1", mass=0.7, com=(0.1, 0, -0.15), inertia=(0.01, 0.012, 0.004))
    builder.joint("j1", "spherical", "l0", "l1", placement=(0, 0, -0.2))
    builder.link("l2", mass=0.5, com=(0, 0, -0.15), inertia=(0.005, 0.005, 0.001))
    builder.joint("j2", "revolute", "l1", "l2", axis="x", placement=(0, 0, -0.3), stiffness=3.0, damping=0.1)
    return builder.build()


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "rk4"])
@pytest.mark.parametrize("speed", [0.3, 8.0], ids=["slow", "tumbles"])
def test_trees_with_ball_joints(integrator: Any, speed: float) -> None:
    sim, rng = fw.Simulator(with_ball_joints(), dt=2e-3, integrator=integrator), np.random.default_rng(10)
    q = sim.model.integrate(sim.scene.q0, rng.normal(size=sim.model.nv))
    state = sim.state(q=q, v=speed * rng.normal(size=sim.model.nv))
    assert_close(worst_errors(sim, state, rng.normal(size=sim.model.nv)), q=1e-7, v=1e-6)


@pytest.mark.parametrize("spin", [0.5, 30.0, 300.0])
def test_a_body_that_tumbles(spin: float) -> None:
    sim = bodies((fw.box((0.2, 0.3, 0.1)), (0, 0, 1.0)))
    state = sim.state(v=np.r_[1, 2, 3, spin * np.array([0.3, 0.8, 0.5])])
    assert_close(worst_errors(sim, state, 0.3 * np.random.default_rng(11).normal(size=6)), q=1e-7, v=1e-6)


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
def test_what_a_medium_drags_at(integrator: Any) -> None:
    scene = fw.Scene(medium=fw.Medium(density=1000.0, viscosity=0.5, wind=(0.3, -0.2, 0.1)))
    scene.add(with_ball_joints(), name="swimmer")
    sim, rng = fw.Simulator(scene, dt=2e-3, integrator=integrator), np.random.default_rng(12)
    q = sim.model.integrate(sim.scene.q0, rng.normal(size=sim.model.nv))
    state = sim.state(q=q, v=rng.normal(size=sim.model.nv))
    assert_close(worst_errors(sim, state, columns=("q", "v", "tau", "gravity")), q=1e-7, v=1e-6)


@pytest.mark.parametrize("speed", [0.5, 3.0])
def test_frames_of_bodies_that_are_held_together(speed: float) -> None:
    scene = fw.Scene()
    for k in range(3):
        scene.add(fw.box((0.1, 0.1, 0.2)), name=f"b{k}", pose=(0.3 * k, 0, 1))
    scene.constrain(fw.FrameConstraint("b0", to="b1"))
    scene.constrain(fw.FrameConstraint("b1", rows=("x", "y", "z", "ry", "rz"), to="b2"))
    sim = fw.Simulator(scene, dt=2e-3, solver=EXACT)
    state = sim.rollout(sim.state(v=speed * np.random.default_rng(13).normal(size=18)), n_steps=20).final
    assert_close(worst_errors(sim, state), q=1e-6, v=1e-6)


def on_two_wheels(*rules: Any) -> fw.Simulator:
    """Weights on wheels side by side, which move each other."""
    builder = fw.ModelBuilder("wheels")
    for k, name in enumerate("abc"):
        builder.link(name, mass=1.0 + k, com=(0.0, 0.1, -0.2), inertia=(0.02, 0.05, 0.05))
        builder.joint(name, "continuous", "world", name, placement=(0.0, 0.3 * k, 0.0), axis="x")
    scene = fw.Scene()
    scene.add(builder.build(), name="m")
    for rule in rules:
        scene.constrain(rule)
    return fw.Simulator(scene, dt=2e-3, solver=EXACT)


@pytest.mark.parametrize(
    "rules",
    [
        [fw.JointCoupling("m/b", to="m/a", polynomial=(0.0, -0.4))],
        [
            fw.JointCoupling("m/b", to="m/a", polynomial=(0.0, 0.3, 0.2, -0.1)),
            fw.JointCoupling("m/c", polynomial=(0.0,)),
        ],
        [fw.JointCombination({"m/a": 0.5, "m/b": 0.5, "m/c": -1.0})],
    ],
    ids=["gear", "cam", "differential"],
)
def test_joints_that_move_each_other(rules: list[Any]) -> None:
    sim = on_two_wheels(*rules)
    state = sim.rollout(sim.state(), tau=[2.0, 0.3, -0.5], n_steps=150).final
    assert np.abs(state.v).max() > 1.0
    assert_close(worst_errors(sim, state, [0.3, 0.1, -0.2]), q=1e-6, v=1e-6)


@pytest.mark.parametrize("name", ["four_bar", "delta"])
def test_mechanisms_with_loops(name: str) -> None:
    sim = fw.Simulator(getattr(fw.models, name)(), dt=1e-3, solver=EXACT)
    state = sim.rollout(sim.state(), tau=0.3 * np.ones(sim.model.nv), n_steps=200).final
    assert_close(worst_errors(sim, state), q=1e-5, v=1e-5)


def test_bodies_on_a_rod() -> None:
    scene = fw.Scene()
    for k, name in enumerate("ab"):
        scene.add(fw.box((0.1, 0.2, 0.3)), name=name, pose=(0.3, 0.6 * k, 1.0))
    scene.constrain(fw.DistanceConstraint("a", "b", offset=(0.05, 0.02, 0.1), to_offset=(0.03, 0.02, 0.1)))
    sim = fw.Simulator(scene, dt=1e-3, solver=EXACT)
    state = sim.rollout(sim.state(v=3 * np.random.default_rng(0).normal(size=12)), n_steps=100).final
    assert_close(worst_errors(sim, state), q=1e-5, v=1e-5)


@pytest.mark.parametrize("slides", [False, True], ids=["sticks", "slides"])
def test_closed_legs_whose_feet_are_in_the_ground(slides: bool) -> None:
    """Overlaps go while loops stay closed; eight corners of two feet repeat each other, and sweeps end early."""
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(fw.models.loop_biped())
    sim = fw.Simulator(scene, dt=1e-3, integrator="implicit", solver=EXACT)
    standing = sim.rollout(sim.state(), n_steps=300).final
    v = np.zeros(sim.model.nv)
    v[:2] = (1.0, 0.3) if slides else 0.0
    assert_close(worst_errors(sim, shifted(standing, -2e-5, v)), q=2e-2, v=2e-5)


def test_thrashing_quadrupeds(quadruped: tuple[fw.Simulator, fw.State, Array]) -> None:
    """Left out: contacts at rest, which sit on a kink of which differences see both sides; what is not unique."""
    sim, standing, control = quadruped
    compared = 0
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        wild, tau = control + 0.6 * rng.normal(size=12), 2 * rng.normal(size=18)
        state = standing.replace(v=rng.normal(size=18))
        state = sim.rollout(state, control=wild, n_steps=int(rng.integers(5, 60))).final
        contacts = sim.step(state, tau, control=wild).contacts
        rests = (np.abs(contacts.gap[contacts.impulse[:, 2] > 0]) < 1e-6).any()
        if rests or not sim.step_derivatives(state, tau, control=wild).unique:
            continue
        errors = worst_errors(sim, state, tau, wild, columns=("q", "v", "tau", "control"), h=1e-7)
        assert_close(errors, q=1e-5, v=1e-6)
        compared += 1
    assert compared >= 3


def test_gradient_of_a_rollout_is_the_chain_of_its_steps(quadruped: tuple[fw.Simulator, fw.State, Array]) -> None:
    sim, standing, control = quadruped
    drive = control + 0.02 * np.random.default_rng(7).normal(size=(2, 7, 12))
    start = sim.state(2, q=standing.q, v=standing.v)
    trajectory = sim.rollout(start, control=drive, tape=True)
    rng = np.random.default_rng(8)
    dq, dv = rng.normal(size=(2, 7, 18)), rng.normal(size=(2, 7, 18))
    g = sim.rollout_vjp(trajectory, dq, dv, parameters=("friction", "masses"))
    for tape in (True, "all"):
        again = sim.rollout_vjp(sim.rollout(start, control=drive, tape=tape), dq, dv, parameters=("friction", "masses"))
        assert again == g
    lines = sim.linearise(trajectory)
    assert lines.A.shape == (2, 7, 36, 36) and lines.B.shape == (2, 7, 36, 12)
    x = np.zeros((2, 36))
    for k in reversed(range(7)):
        x = x + np.concatenate([dq[:, k], dv[:, k]], axis=1)
        np.testing.assert_allclose(g.control[:, k], np.einsum("bi,biu->bu", x, lines.B[:, k]), rtol=1e-9, atol=1e-9)
        x = np.einsum("bi,bij->bj", x, lines.A[:, k])
    np.testing.assert_allclose(np.concatenate([g.q0, g.v0], axis=1), x, rtol=1e-9, atol=1e-9)


def test_batches_and_neighbours_change_nothing(quadruped: tuple[fw.Simulator, fw.State, Array]) -> None:
    sim, standing, control = quadruped
    rng = np.random.default_rng(9)
    q, v = np.tile(standing.q, (11, 1)), rng.normal(size=(11, 18))
    q[:, 2] += np.linspace(-1e-3, 0.05, 11)
    state = sim.state(11, q=q, v=v)
    whole = sim.step_derivatives(state, control=control)
    assert whole.state == sim.step(state, control=control)
    for k in (0, 4, 10):
        one = sim.step_derivatives(sim.state(q=q[k], v=v[k]), control=control)
        assert np.array_equal(one.A, whole.A[k]) and np.array_equal(one.B, whole.B[k])


@pytest.mark.parametrize("parameters", [(), ("friction",)])
def test_gradients_in_batches_are_those_alone(
    parameters: tuple[str, ...], quadruped: tuple[fw.Simulator, fw.State, Array]
) -> None:
    """Packs are filled with what is there: bits do not depend on it, nor on a neighbour that tumbles or flies."""
    sim, standing, control = quadruped
    rng = np.random.default_rng(9)
    q, v = np.tile(standing.q, (11, 1)), 0.1 * rng.normal(size=(11, 18))
    q[3, 2] += 1.0
    v[4, 3:6] = 200.0
    w = rng.normal(size=(2, 11, 18))
    g = sim.step_vjp(sim.state(11, q=q, v=v), control=control, parameters=parameters)[1](*w)
    for k in range(11):
        pull = sim.step_vjp(sim.state(q=q[k], v=v[k]), control=control, parameters=parameters)[1]
        one = pull(w[0, k], w[1, k])
        for found, alone in ((g.q, one.q), (g.v, one.v), (g.tau, one.tau), (g.control, one.control)):
            np.testing.assert_array_equal(found[k], alone)


def test_failed_environments_have_zeros_and_harm_nobody(quadruped: tuple[fw.Simulator, fw.State, Array]) -> None:
    sim, standing, control = quadruped
    state, tau = sim.state(3, q=standing.q, v=standing.v), np.zeros((3, 18))
    healthy = sim.step_derivatives(state, tau, control=control)
    tau[1] = 1e30
    with pytest.warns(fw.SimulationWarning):
        d = sim.step_derivatives(state, tau, control=control)
    assert d.state.failed.tolist() == [False, True, False]
    assert not d.A[1].any() and not d.B[1].any()
    assert np.array_equal(d.A[[0, 2]], healthy.A[[0, 2]])


def _no_number(sim: fw.Simulator) -> object:
    return sim.step_vjp(sim.state())[1](np.full(6, np.nan))


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda sim: sim.step_derivatives(sim.state(), wrt=("q", "colour")), "wrt: unknown 'colour'"),
        (lambda sim: sim.step_derivatives(sim.state(), wrt=("q", "q")), "twice"),
        (lambda sim: sim.step_vjp(sim.state())[1](np.zeros(5)), r"dq: expected shape \(6,\)"),
        (_no_number, "dq: contains numbers that are not finite"),
        (lambda sim: sim.step_vjp(sim.state(), parameters=("mass",)), "parameters: unknown 'mass'"),
        (lambda sim: sim.step_jvp(sim.state())[1](q=np.zeros(3)), r"q: expected shape \(6,\)"),
        (lambda sim: sim.rollout_vjp(sim.rollout(sim.state(), n_steps=2)), "has no tape"),
        (lambda sim: sim.rollout(sim.state(), policy=lambda s: None, n_steps=2, tape=True), "not a policy"),
        (lambda sim: sim.rollout_vjp(sim.rollout(sim.state(), n_steps=2, tape=True), np.zeros((3, 6))), "dq: expected"),
        (lambda sim: sim.step_derivatives(sim.state(), wrt=("v",)).A, "name it in wrt"),
    ],
)
def test_bad_input_is_named(ask: Callable[[fw.Simulator], object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ask(bodies(BOX))


#: A million of them take some minutes: FEATHERWEIGHT_RANDOM_STATES=200000 for each kind.
RANDOM_STATES = int(os.environ.get("FEATHERWEIGHT_RANDOM_STATES", "40"))


def random_state(sim: fw.Simulator, standing: fw.State, kind: str, n: int, rng: np.random.Generator) -> fw.State:
    q, v = np.tile(standing.q, (n, 1)), rng.normal(scale=0.1, size=(n, 18))
    q[:, 7:] += rng.normal(scale=0.1, size=(n, 12))
    if kind == "sliding":
        v[:, :2] += rng.normal(scale=2.0, size=(n, 2))
    elif kind == "falling":
        q[:, 2] += rng.uniform(0.0, 0.3, n)
        v += rng.normal(size=(n, 18))
    elif kind == "at limits":
        lower, upper = sim.model.lower[7:], sim.model.upper[7:]
        q[:, 7:] = lower + (upper - lower) * rng.choice([0.0, 0.5, 1.0], size=(n, 12))
        v[:, 6:] = rng.normal(scale=3.0, size=(n, 12))
    elif kind == "thrashing":
        v += rng.normal(scale=20.0, size=(n, 18))
    return sim.state(n, q=q, v=v)


@pytest.mark.parametrize("kind", ["standing", "sliding", "falling", "at limits", "thrashing"])
@pytest.mark.filterwarnings("ignore::featherweight.SimulationWarning")
def test_random_states_have_finite_derivatives(kind: str, quadruped: tuple[fw.Simulator, fw.State, Array]) -> None:
    """What is not finite would come as zeros: no environment may have nothing else."""
    sim, standing, control = quadruped
    rng = np.random.default_rng(3)
    for first in range(0, RANDOM_STATES, 2000):
        n = min(2000, RANDOM_STATES - first)
        state = random_state(sim, standing, kind, n, rng)
        for wrt in (("q", "v", "tau", "control"), ("q", "v", "friction", "gains", "gravity", "masses", "restitution")):
            state = sim.rollout(state, control=control, n_steps=5).final
            d = sim.step_derivatives(state, control=control, wrt=wrt)
            matrix = np.concatenate([np.concatenate([d.dq[x], d.dv[x]], axis=1) for x in wrt], axis=2)
            assert np.isfinite(matrix).all()
            assert (np.abs(matrix).max(axis=(1, 2)) > 0)[~d.state.failed].all()
            g = sim.step_vjp(state, control=control)[1](np.ones((n, 18)), np.ones((n, 18)))
            assert np.isfinite(g.q).all() and np.isfinite(g.v).all()
            assert (np.abs(g.v).max(axis=1) > 0)[~d.state.failed].all()


def test_tapes_and_what_goes_back_through_them_hold_the_root_of_the_steps() -> None:
    sim = bodies(BOX)
    for steps in (100, 400, 1600):
        trajectory = sim.rollout(sim.state(), n_steps=steps, tape=True)
        tape = trajectory._tape
        assert tape is not None
        starts = [start for start, _ in tape.starts]
        stretches = np.diff([*starts, steps])  # taken again, and held, one at a time
        assert len(starts) <= 1.5 * np.sqrt(steps) and stretches.max() <= 1.5 * np.sqrt(steps)
    whole = sim.rollout(sim.state(), n_steps=100, tape="all")._tape
    assert whole is not None and len(whole.starts) == 100
