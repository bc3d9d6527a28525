"""Plans of iLQR: linear problems in one step, swings to the top, bounds, bits, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits

import featherweight as fw
from featherweight import _core

DT = 0.02


def sliders(*, dt: float = DT) -> fw.Simulator:
    """Two carts, one on the other, without gravity along their way: linear."""
    builder = fw.ModelBuilder("sliders")
    builder.solid("lower", "box", (0.4, 0.4, 0.1), mass=2.0).solid("upper", "box", (0.2, 0.2, 0.1), mass=1.0)
    builder.joint("a", "prismatic", "world", "lower", axis="x", damping=0.3)
    builder.joint("b", "prismatic", "lower", "upper", axis="x")
    scene = fw.Scene()
    scene.add(builder.build(), name="sliders")
    scene.motor(["sliders/a", "sliders/b"])
    return fw.Simulator(scene, dt=dt)


def brought_to(sim: fw.Simulator, goal: Any, effort: float = 0.05, terminal: float = 10.0) -> fw.mpc.Task:
    task = fw.mpc.Task(sim, terminal=terminal)
    task.add("place", fw.mpc.joint_position(), target=goal, weight=3.0)
    task.add("rates", fw.mpc.joint_velocity(), weight=0.3)
    task.add("effort", fw.mpc.control(), weight=effort)
    return task


def test_linear_problem_is_solved_in_one_step_and_equals_lqr() -> None:
    sim = sliders()
    goal = np.array([0.5, -0.2])
    task = brought_to(sim, goal)
    N = 30
    mpc = fw.mpc.ILQR(sim, task, nodes=N, regularisation=0.0, first_iterations=1)
    state = sim.state(v=[0.3, -0.1])
    plan = mpc.update(state)
    d = sim.step_derivatives(state, control=np.zeros(2))
    Q = np.tile([9.0, 9.0, 0.09, 0.09], (N + 1, 1))
    Q[0], Q[-1] = 0.0, 10.0 * Q[-1]
    q = np.zeros_like(Q)
    q[:, :2] = -Q[:, :2] * goal
    x0 = np.concatenate([state.q, state.v])
    best = fw.mpc.lqr(
        np.tile(d.A, (N, 1, 1)), np.tile(d.B, (N, 1, 1)), Q, np.full((N, 2), 0.05**2), q=q, x0=x0
    )  # fmt: skip
    assert plan.length == 1.0
    assert np.allclose(plan.control, best.u, rtol=0, atol=1e-9 * np.abs(best.u).max())
    assert np.allclose(np.hstack([plan.q, plan.v]), best.x, rtol=0, atol=1e-9)
    assert np.allclose(plan.gain, best.gain, rtol=0, atol=1e-9 * np.abs(best.gain).max())
    again = mpc.update(state)  # nothing is left to gain
    assert again.cost == pytest.approx(plan.cost, rel=1e-9)


def test_nodes_of_several_steps_are_linearised_through_all_of_them() -> None:
    sim = sliders(dt=DT / 4)
    mpc = fw.mpc.ILQR(sim, brought_to(sim, 0.3), nodes=20, dt=DT, regularisation=0.0, first_iterations=1)
    first = mpc.update(sim.state())
    assert first.length == 1.0
    assert mpc.update(sim.state()).cost == pytest.approx(first.cost, rel=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_controls_at_bounds_are_the_best_there_are(seed: int) -> None:
    """One node: against all sets of controls that may be at a bound."""
    rng = np.random.default_rng(seed)
    n, m = 3, 4
    A, B, root = rng.normal(size=(n, n)), rng.normal(size=(n, m)), rng.normal(size=(m, m))
    Q, R, q, r = np.eye(n), root @ root.T + 0.1 * np.eye(m), 3 * rng.normal(size=n), rng.normal(size=m)
    lower, upper = -rng.uniform(0.0, 0.5, m), rng.uniform(0.0, 0.5, m)
    gain, feedforward, *_, failed = _core.riccati(
        A[None, None], B[None, None], np.stack([np.zeros((n, n)), Q])[None], R[None, None], None,
        np.stack([np.zeros(n), q])[None], r[None, None], None, None, None, None, [0], 0.0,
        lower[None, None], upper[None, None], 1,
    )  # fmt: skip
    H, g = B.T @ Q @ B + R, B.T @ q + r
    costs = []
    for where in itertools.product((-1, 0, 1), repeat=m):
        u = np.where(np.array(where) < 0, lower, upper)
        free = np.array(where) == 0
        if free.any():
            held = H[np.ix_(free, ~free)] @ u[~free]
            u[free] = np.linalg.solve(H[np.ix_(free, free)], -g[free] - held)
        if (u >= lower - 1e-12).all() and (u <= upper + 1e-12).all():
            costs.append((0.5 * u @ H @ u + g @ u, tuple(u)))
    best = np.array(min(costs)[1])
    assert failed == [-1]
    assert np.allclose(feedforward[0, 0], best, rtol=0, atol=1e-9)
    at_bound = (np.abs(best - lower) < 1e-12) | (np.abs(best - upper) < 1e-12)
    assert not gain[0, 0][at_bound].any() and gain[0, 0][~at_bound].all()


def test_bounds_hold_in_the_plan_and_in_its_feedback() -> None:
    sim = sliders()
    mpc = fw.mpc.ILQR(sim, brought_to(sim, [0.1, -0.05]), nodes=40, iterations=20, bounds=(-0.8, 0.8))
    plan = mpc.update(sim.state())
    assert np.abs(plan.control).max() == pytest.approx(0.8)
    assert (np.abs(plan.control) <= 0.8).all() and (np.abs(plan.control) < 0.79).any()
    assert (np.abs(plan.feedback(sim.state(q=[-9.0, 9.0]))) <= 0.8).all()
    # no better plan within the bounds: slopes of the cost point out of them
    state = sim.state()
    tape = sim.rollout(state, control=plan.control, tape=True)
    x = mpc.task.quadratic(plan.q, plan.v, plan.control, np.linspace(0.0, 40 * DT, 41))
    pulled = sim.rollout_vjp(tape, dq=x.q[1:, :2], dv=x.q[1:, 2:]).control + x.r
    inside = np.abs(plan.control) < 0.8 - 1e-6
    assert np.abs(pulled[inside]).max() < 1e-3 * np.abs(pulled).max() + 1e-6
    assert (pulled[~inside] * np.sign(plan.control[~inside]) < 1e-6).all()


def cart_pole(links: int) -> fw.Simulator:
    builder = fw.ModelBuilder("cart_pole")
    builder.solid("cart", "box", (0.4, 0.2, 0.15), mass=1.0)
    builder.joint("track", "prismatic", "world", "cart", axis="x")
    parent = "cart"
    for k in range(links):
        builder.link(f"pole_{k}", mass=0.3, com=(0, 0, 0.3))
        at = (0, 0, 0.6) if k else (0, 0, 0)
        builder.joint(f"hinge_{k}", "revolute", parent, f"pole_{k}", axis="y", placement=at, damping=0.01)
        parent = f"pole_{k}"
    scene = fw.Scene()
    scene.add(builder.build(), name="cart_pole")
    scene.motor(["cart_pole/track"])
    return fw.Simulator(scene, dt=DT)


@pytest.mark.parametrize(("links", "seconds", "nodes"), [(1, 3.0, 50), (2, 5.0, 70)])
def test_poles_swing_up_in_closed_loop(links: int, seconds: float, nodes: int) -> None:
    sim = cart_pole(links)
    joints = [f"cart_pole/hinge_{k}" for k in range(links)]
    task = fw.mpc.Task(sim, terminal=20.0)
    task.add("place", fw.mpc.joint_position(joints=["cart_pole/track"]), weight=0.5)
    task.add("upright", fw.mpc.joint_position(joints=joints), weight=1.0)
    task.add("rates", fw.mpc.joint_velocity(), weight=0.1)
    task.add("effort", fw.mpc.control(), weight=0.01)
    mpc = fw.mpc.ILQR(sim, task, nodes=nodes, iterations=3, bounds=(-40.0, 40.0))
    state = sim.state(q=[0.0, np.pi, *[0.0] * (links - 1)])
    for k in range(round(seconds / DT)):
        plan = mpc.update(state, k * DT)
        state = sim.step(state, control=plan.control[0])
    assert np.abs(state.q[1:]).max() < 0.05 and np.abs(state.v).max() < 0.3


def hopper(num_threads: int | None) -> fw.Simulator:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.32), self_collision=False)
    scene.servo(robot, kp=60, kd=1.5)
    return fw.Simulator(scene, dt=DT, integrator="implicit", num_threads=num_threads)


STANCE = np.tile([0.0, 0.8, -1.6], 4)


def standing(sim: fw.Simulator) -> fw.mpc.ILQR:
    task = fw.mpc.Task(sim, terminal=5.0)
    task.add("height", fw.mpc.frame_position("robot/trunk", "z"), target=0.3, weight=15)
    task.add("upright", fw.mpc.frame_orientation("robot/trunk"), weight=6)
    task.add("speed", fw.mpc.frame_velocity("robot/trunk"), weight=2)
    task.add("posture", fw.mpc.joint_position("robot"), target=STANCE, weight=0.6)
    task.add("effort", fw.mpc.control(), target=STANCE, weight=0.4)
    smoothing = fw.mpc.Smoothing(std=0.01, samples=3)
    return fw.mpc.ILQR(sim, task, nodes=12, smoothing=smoothing, control=STANCE)


def test_plans_have_the_same_bits_with_any_number_of_threads() -> None:
    plans = []
    for threads in (1, 2):
        sim = hopper(threads)
        mpc, state = standing(sim), sim.state(v=[0.3, 0.2, -0.5, *[0.0] * 15])
        for k in range(4):
            plan = mpc.update(state, k * DT)
            state = sim.step(state, control=plan.feedback(state))
        plans.append(plan)
    for name in ("q", "v", "control", "gain"):
        assert_same_bits(getattr(plans[0], name), getattr(plans[1], name))
    assert plans[0].terms == plans[1].terms


def test_a_reset_controller_begins_as_a_new_one() -> None:
    sim = hopper(1)
    mpc = standing(sim)
    first = mpc.update(sim.state())
    mpc.update(sim.state(), DT)
    mpc.reset()
    assert_same_bits(mpc.update(sim.state()).control, first.control)


def test_feedback_is_the_plan_where_the_state_is_as_planned() -> None:
    sim = hopper(1)
    plan = standing(sim).update(sim.state())
    for k in (0, 3, 11):
        there = sim.state(q=plan.q[k], v=plan.v[k])
        assert np.allclose(plan.feedback(there, k * DT), plan.control[k], atol=1e-9)
    late = sim.state(q=plan.q[12], v=plan.v[12])
    assert np.allclose(plan.feedback(late, 99.0), plan.control[11], atol=1e-9)
    assert [plan.node(t) for t in (-1.0, 0.0, 0.019, 0.02, 0.5)] == [0, 0, 0, 1, 11]


def test_plans_are_what_the_simulator_does() -> None:
    sim = hopper(1)
    plan = standing(sim).update(sim.state())
    path = sim.rollout(sim.state(), control=plan.control)
    assert_same_bits(path.q, plan.q[1:])
    assert_same_bits(path.v, plan.v[1:])
    assert plan.cost == pytest.approx(sum(plan.terms.values())) and plan.cost < plan.start


def test_a_state_that_failed_is_refused() -> None:
    sim = hopper(1)
    with pytest.warns(fw.SimulationWarning):
        failed = sim.step(sim.state(), tau=np.full(18, 1e15))
    assert failed.failed
    with pytest.raises(ValueError, match="state: its environment failed"):
        standing(sim).update(failed)


def test_bad_arguments_are_refused_by_name() -> None:
    sim = sliders()
    task = brought_to(sim, 0.0)
    bad: list[tuple[dict[str, Any], str]] = [
        ({"nodes": 0}, "nodes: expected a positive integer"),
        ({"dt": 0.03}, "dt: expected a whole number of steps of 0.02 s"),
        ({"bounds": (2.0, 1.0)}, "bounds: no control of .* is within them"),
        ({"control": np.zeros(3)}, r"control: expected \(2,\) or \(25, 2\), got \(3,\)"),
        ({"iterations": 0}, "iterations: expected a positive integer"),
        ({"lengths": [2.0]}, "lengths: expected numbers from 0 to 1"),
    ]
    for arguments, message in bad:
        with pytest.raises(ValueError, match=message):
            fw.mpc.ILQR(sim, task, **arguments)
    with pytest.raises(ValueError, match="task: belongs to another simulator"):
        fw.mpc.ILQR(sliders(), task)
    with pytest.raises(ValueError, match="task: has no terms"):
        fw.mpc.ILQR(sim, fw.mpc.Task(sim))
    with pytest.raises(ValueError, match="state: expected that of a single environment"):
        fw.mpc.ILQR(sim, task).update(sim.state(batch=3))
    with pytest.raises(ValueError, match="std: expected a number"):
        fw.mpc.Smoothing(std=-1.0)


def test_first_plan_goes_on_after_bad_steps() -> None:
    """A hand that must go behind the arm: the second direction is too long at the only length that is tried."""
    scene = fw.Scene()
    scene.motor(scene.add(fw.models.arm(), name="arm"))
    sim = fw.Simulator(scene, dt=DT, integrator="implicit", num_threads=1)
    task = fw.mpc.Task(sim, terminal=10.0)
    task.add("hand", fw.mpc.frame_position("arm/flange"), target=(-0.6, 0.0, 0.6), weight=10)
    task.add("effort", fw.mpc.control(), weight=1e-3)
    start = sim.state(q=[0.0, 0.6, 0.0, 1.5, 0.0, 1.0, 0.0])

    def planned(first_iterations: int) -> fw.mpc.Plan:
        mpc = fw.mpc.ILQR(sim, task, nodes=20, lengths=(1.0,), regularisation=1e-8, first_iterations=first_iterations)
        return mpc.update(start)

    two = planned(2)
    assert two.length == 0.0
    assert planned(20).cost < 0.9 * two.cost
