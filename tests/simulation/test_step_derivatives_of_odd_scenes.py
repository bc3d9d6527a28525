"""Derivatives of steps in scenes that nobody would think of: odd joints, shapes, parameters and batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.step_differences import worst_errors

import featherweight as fw

EXACT = fw.Newton(tolerance=1e-13)
DT = 2e-3


def tetrahedron(size: float = 0.2) -> fw.Body:
    return fw.convex(size * np.array([[1.0, 0, -0.3], [-0.5, 0.8, -0.3], [-0.5, -0.8, -0.3], [0, 0, 1.0]]))


def crawler(kind: Any) -> fw.Model:
    """A trunk that drags a ball on an odd joint behind it."""
    builder = fw.ModelBuilder("crawler")
    builder.solid("trunk", "box", (0.3, 0.2, 0.1), mass=2.0)
    builder.joint("free", "free", "world", "trunk")
    builder.solid("tail", "sphere", (0.05,), mass=0.4)
    along: dict[str, Any] = {} if kind in ("spherical", "free", "planar") else {"axis": "y"}
    along |= {"axis2": "z"} if kind == "universal" else {"pitch": 0.1} if kind == "helical" else {}
    builder.joint("odd", kind, "trunk", "tail", placement=(-0.35, 0.0, 0.0), damping=0.05, **along)
    return builder.build()


@pytest.mark.parametrize("kind", ["spherical", "planar", "universal", "helical", "prismatic", "free"])
@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_odd_joints_on_the_ground(kind: Any, integrator: Any) -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    scene.add(crawler(kind), name="c", pose=(0, 0, 0.0501), self_collision=False)
    sim = fw.Simulator(scene, dt=DT, integrator=integrator, solver=EXACT)
    rng = np.random.default_rng(3)
    v = 0.02 * rng.normal(size=sim.model.nv)
    v[0] = 0.5
    state = sim.state(q=sim.scene.q0, v=v)
    errors = worst_errors(sim, state, 0.2 * rng.normal(size=sim.model.nv), h=1e-7)
    assert errors.pop("products") < 1e-8
    assert errors.pop("q") < 1e-4 and max(errors.values()) < 1e-5, errors


@pytest.mark.parametrize("restitution", [0.0, 0.6])
@pytest.mark.parametrize("turn", [(0.3, 0.2, 0.1), (0.0, 0.7, 0.4)])
def test_hulls_on_fields_and_edges(restitution: float, turn: tuple[float, float, float]) -> None:
    bumps = 0.05 * np.random.default_rng(5).random((16, 16))
    scene = fw.Scene(ground=fw.HeightField(bumps, (2.0, 2.0), friction=0.6, restitution=restitution))
    scene.add(tetrahedron(), name="hull", pose=(0.03, 0.05, 0.3))
    scene.add(fw.box((0.2, 0.1, 0.1)), name="box", pose=(0.7, 0.05, 0.3))
    sim = fw.Simulator(scene, dt=DT, solver=EXACT)
    q = sim.model.integrate(sim.scene.q0, np.r_[0, 0, 0, turn, 0, 0, 0, turn[::-1]])
    state = sim.rollout(sim.state(q=q), n_steps=150).final
    compared = 0
    for _ in range(6):
        contacts = sim.step(state).contacts
        rests = (np.abs(contacts.gap[contacts.impulse[:, 2] > 0]) < 1e-6).any()
        d = sim.step_derivatives(state)
        assert np.isfinite(d.A).all()
        if not rests and np.all(d.unique):
            errors = worst_errors(sim, state, columns=("v", "tau", "gravity", "masses"), h=1e-7)
            assert errors.pop("products") < 1e-8
            assert max(errors.values()) < 1e-4
            compared += 1
        state = sim.rollout(state, n_steps=7).final
    assert compared or not restitution


def pendulum(**joint: Any) -> fw.Model:
    builder = fw.ModelBuilder("p")
    builder.solid("bob", "sphere", (0.05,), mass=1.0, placement=(0, 0, -0.3))
    builder.joint("hinge", "revolute", "world", "bob", axis="y", **joint)
    return builder.actuator("servo", "hinge", "position", kp=80.0, kd=2.0).build()


@pytest.mark.parametrize(
    ("q", "v", "control"),
    [
        (0.5, 0.3, 2.0),
        (-0.5, -0.3, -2.0),
        (0.4999, 1.0, 0.5),
        (-0.4999, -1.0, -0.5),
        (0.0, 0.0, 0.01),
        (0.2, 3.0, -9.0),
    ],
)
@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit"])
def test_limits_at_both_ends_saturated_servos_and_dry_friction(
    q: float, v: float, control: float, integrator: Any
) -> None:
    model = pendulum(lower=-0.5, upper=0.5, friction=0.3, effort_limit=5.0, velocity_limit=2.0)
    sim = fw.Simulator(model, dt=DT, integrator=integrator, solver=EXACT)
    state = sim.state(q=[q - 1e-5 * np.sign(q)], v=[v])
    errors = worst_errors(sim, state, None, [control], h=1e-7)
    assert errors.pop("products") < 1e-12
    assert max(errors.values()) < 1e-5, errors


def quadruped() -> tuple[fw.Simulator, np.ndarray[Any, Any]]:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    part = scene.add(fw.models.quadruped(), name="r", pose=(0, 0, 0.4))
    scene.servo(part, kp=60.0, kd=4.0)
    return fw.Simulator(scene, dt=DT, integrator="implicit", solver=EXACT), np.tile([0.0, 0.7, -1.4], 4)


def test_environments_with_parameters_of_their_own() -> None:
    sim, stance = quadruped()
    n, rng = 9, np.random.default_rng(0)
    state = sim.rollout(sim.state(n), control=stance, n_steps=100).final.replace(v=0.05 * rng.normal(size=(n, 18)))
    own: dict[str, Any] = {
        "friction": rng.uniform(0.3, 1.2, n),
        "gains": rng.uniform(0.5, 2.0, (n, 12)),
        "gravity": np.array([0, 0, -9.81]) + rng.normal(size=(n, 3)),
        "masses": rng.uniform(0.5, 2.0, (n, sim.model.n_links)),
    }
    wrt = ("q", "v", "control", *own, "restitution", "heights")
    many = sim.step_derivatives(state.randomised(**own), control=stance, wrt=wrt)
    w = rng.normal(size=(2, n, 18))
    g = sim.step_vjp(state.randomised(**own), control=stance, parameters=tuple(own))[1](*w)
    for k in (0, 4, 8):
        matrix = {name: np.vstack([many.dq[name][k], many.dv[name][k]]) for name in wrt}
        for name, found in (("q", g.q), ("v", g.v), ("control", g.control), *g.parameters.items()):
            back = np.r_[w[0, k], w[1, k]] @ matrix[name]
            assert np.abs(found[k] - back).max() < 1e-9 * (1 + np.abs(back).max()), name
        alone = sim.state(q=state.q[k], v=state.v[k]).randomised(**{name: x[k : k + 1] for name, x in own.items()})
        errors = worst_errors(sim, alone, None, stance, columns=("v", "control", *own), h=1e-6)
        assert errors.pop("products") < 1e-11
        assert max(errors.values()) < 1e-5, errors


def test_failed_environments_pull_back_zeros_beside_healthy_neighbours() -> None:
    sim, stance = quadruped()
    state = sim.rollout(sim.state(5), control=stance, n_steps=50).final
    tau = np.zeros((5, 18))
    tau[2] = 1e30
    with pytest.warns(fw.SimulationWarning):
        after, pull = sim.step_vjp(state, tau, control=stance, parameters=("masses",))
    with pytest.warns(fw.SimulationWarning):
        _, push = sim.step_jvp(state, tau, control=stance)
    g = pull(np.ones((5, 18)), np.ones((5, 18)))
    assert after.failed.tolist() == g.failed.tolist() == [False, False, True, False, False]
    for x in (g.q, g.v, g.control, g.parameters["masses"], *push(q=np.ones((5, 18)))):
        assert not x[2].any() and all(x[k].any() for k in (0, 1, 3, 4))
    healthy = sim.step_vjp(state, control=stance, parameters=("masses",))[1](np.ones((5, 18)), np.ones((5, 18)))
    np.testing.assert_array_equal(np.delete(g.q, 2, axis=0), np.delete(healthy.q, 2, axis=0))


def test_nothing_asked_for_and_no_steps() -> None:
    sim, stance = quadruped()
    d = sim.step_derivatives(sim.state(2), control=stance, wrt=())
    assert d.dq == {} and d.state == sim.step(sim.state(2), control=stance)
    _, pull = sim.step_vjp(sim.state(2), control=stance)
    assert not pull().q.any() and not pull().control.any()
    tape = sim.rollout(sim.state(2), control=stance, n_steps=1, tape=True)
    assert not sim.rollout_vjp(tape).v0.any()
    empty = sim.rollout(sim.state(2), control=stance, n_steps=0, tape=True)
    cotangent = np.zeros((2, 0, 18))
    assert not sim.rollout_vjp(empty, cotangent).q0.any()
    assert sim.linearise(empty).A.shape == (2, 0, 36, 36)


def test_closures_with_contacts_and_servos_at_their_effort() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    scene.add(fw.box((0.3, 0.2, 0.1)), name="base", pose=(0, 0, 0.0501))
    scene.add(pendulum(effort_limit=2.0, friction=0.1), name="arm", pose=(0, 0, 0.6))
    scene.constrain(fw.DistanceConstraint("base", "arm/bob", offset=(0, 0, 0.05), to_offset=(0, 0, -0.3)))
    sim = fw.Simulator(scene, dt=DT, solver=EXACT)
    for control, v in ((0.0, 0.0), (3.0, 0.5), (-3.0, -0.5)):
        state = sim.rollout(sim.state(v=np.r_[v, 0, 0, 0, 0, 0, 0]), control=[control], n_steps=3).final
        q = np.array(state.q)
        d = sim.step_derivatives(state.replace(q=q), control=[control])
        assert np.isfinite(d.A).all() and np.isfinite(d.B).all()
        errors = worst_errors(sim, state, None, [control], columns=("v", "tau", "control"), h=1e-7)
        assert errors.pop("products") < 1e-9
        assert max(errors.values()) < 1e-4, errors
