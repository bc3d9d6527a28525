"""Plans from samples: swing-up, linear problems within reach of the optimum, bits, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits

import featherweight as fw

DT = 0.02
KINDS = {
    "predictive": fw.mpc.PredictiveSampling,
    "MPPI": fw.mpc.MPPI,
    "CEM": fw.mpc.CEM,
    "DIAL": fw.mpc.DIAL,
}


def cart_pole(num_threads: int | None = None) -> fw.Simulator:
    builder = fw.ModelBuilder("cart_pole")
    builder.solid("cart", "box", (0.4, 0.2, 0.15), mass=1.0)
    builder.link("pole", mass=0.3, com=(0, 0, 0.5))
    builder.joint("track", "prismatic", "world", "cart", axis="x")
    builder.joint("hinge", "revolute", "cart", "pole", axis="y")
    scene = fw.Scene()
    scene.add(builder.build(), name="cart_pole")
    scene.motor(["cart_pole/track"])
    return fw.Simulator(scene, dt=DT, num_threads=num_threads)


def upright(sim: fw.Simulator) -> fw.mpc.Task:
    task = fw.mpc.Task(sim, terminal=10.0)
    task.add("place", fw.mpc.joint_position(joints=["cart_pole/track"]), weight=0.5)
    task.add("upright", fw.mpc.frame_axis("cart_pole/pole", "z", "xz"), target=(0, 1), weight=2.0)
    task.add("rates", fw.mpc.joint_velocity(), weight=0.1)
    task.add("effort", fw.mpc.control(), weight=0.005)
    return task


def sampler(kind: str, sim: fw.Simulator, **settings: Any) -> Any:
    settings = {"nodes": 50, "samples": 128, "knots": 8, "noise": 12.0, "bounds": (-30.0, 30.0), **settings}
    return KINDS[kind](sim, upright(sim), **settings)


@pytest.mark.parametrize("kind", KINDS)
def test_pole_swings_up(kind: str) -> None:
    sim = cart_pole()
    mpc, state = sampler(kind, sim), sim.state(q=[0.0, np.pi])
    for k in range(170):
        state = sim.step(state, control=mpc.update(state, k * DT).control[0])
        if np.cos(state.q[1]) > 0.99:
            return
    pytest.fail("did not come to the top")


@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_threads_and_repeat_after_a_reset(kind: str) -> None:
    plans = []
    for threads in (1, 2):
        sim = cart_pole(threads)
        mpc, state = sampler(kind, sim, nodes=10, knots=4, samples=80), sim.state(q=[0.0, 3.0])
        plans.append([mpc.update(state, k * DT).control for k in range(3)])
        mpc.reset()
        plans.append([mpc.update(state, k * DT).control for k in range(3)])
    for other in plans[1:]:
        for a, b in zip(plans[0], other, strict=True):
            assert_same_bits(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_come_near_the_plan_of_slopes(kind: str) -> None:
    sim = cart_pole()
    start = sim.state(q=[0.1, 0.05])
    best = fw.mpc.ILQR(sim, upright(sim), nodes=20, iterations=10).update(start)
    mpc = sampler(kind, sim, nodes=20, knots=6, noise=2.0, samples=256)
    plans = [mpc.update(start) for _ in range(30)]
    assert best.cost <= plans[-1].cost < 1.5 * best.cost < plans[0].start  # averages lag by their noise
    assert plans[-1].cost == pytest.approx(sum(plans[-1].terms.values()))


def test_quadruped_keeps_standing_by_samples() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.31), self_collision=False)
    scene.servo(robot, kp=60, kd=1.5)
    sim = fw.Simulator(scene, dt=DT, integrator="implicit")
    stance = np.tile([0.0, 0.8, -1.6], 4)
    task = fw.mpc.Task(sim)
    task.add("height", fw.mpc.frame_position("robot/trunk", "z"), target=0.25, weight=15)
    task.add("upright", fw.mpc.frame_orientation("robot/trunk"), weight=6)
    task.add("effort", fw.mpc.control(), target=stance, weight=0.2)
    mpc = fw.mpc.MPPI(sim, task, nodes=15, samples=64, noise=0.15, control=stance)
    log = fw.mpc.run(mpc, sim, sim.state(q=[0, 0, 0.31, 0, 0, 0, 1, *stance]), 0.6)
    assert abs(log.q[-1, 2] - 0.25) < 0.03 and abs(log.q[-1, 3:6]).max() < 0.1


def test_bad_arguments_are_refused_by_name() -> None:
    sim = cart_pole()
    bad: list[tuple[str, dict[str, Any], str]] = [
        ("MPPI", {"samples": 1}, "samples: expected an integer of at least 2"),
        ("MPPI", {"knots": 51}, "knots: expected at most one for each of 50 nodes"),
        ("MPPI", {"noise": -1.0}, "noise: expected a number"),
        ("MPPI", {"noise": [1.0, 2.0]}, "noise: expected a number"),
        ("MPPI", {"temperature": 0.0}, "temperature: expected a positive number"),
        ("CEM", {"elites": 1}, "elites: expected an integer of at least 2"),
        ("DIAL", {"shrink": 2.0}, "shrink: expected a factor"),
        ("predictive", {"iterations": 0}, "iterations: expected a positive integer"),
    ]
    for kind, settings, message in bad:
        with pytest.raises(ValueError, match=message):
            sampler(kind, sim, **settings)
