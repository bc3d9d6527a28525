"""Derivatives of steps with forces that act where a step begins, and with rows over several joints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.actuated_robot import ALL, BODIES, LAWS, robot
from helpers.step_differences import worst_errors

import featherweight as fw

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
