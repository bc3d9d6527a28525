"""Closed loops: delays, pushes, other plants, failures, and controllers that give up on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.compare import assert_same_bits

import featherweight as fw

DT = 0.02


def slider(mass: float = 2.0, dt: float = DT) -> fw.Simulator:
    builder = fw.ModelBuilder("slider")
    builder.solid("cart", "box", (0.4, 0.4, 0.1), mass=mass)
    builder.joint("way", "prismatic", "world", "cart", axis="x")
    scene = fw.Scene()
    scene.add(builder.build(), name="slider")
    scene.motor(["slider/way"])
    return fw.Simulator(scene, dt=dt)


def controller(sim: fw.Simulator) -> fw.mpc.ILQR:
    task = fw.mpc.Task(sim)
    task.add("place", fw.mpc.joint_position(), target=0.5, weight=5)
    task.add("rates", fw.mpc.joint_velocity(), weight=1)
    task.add("effort", fw.mpc.control(), weight=0.02)
    return fw.mpc.ILQR(sim, task, nodes=40)


def test_slider_arrives_though_it_is_heavier_and_the_controller_late() -> None:
    plant = slider(mass=2.6, dt=0.002)
    log = fw.mpc.run(controller(slider()), plant, plant.state(), 2.0, delay=0.01)
    assert abs(log.q[-1, 0] - 0.5) < 0.01
    assert log.failed_at is None and log.refused == 0
    assert len(log.time) == 1000 and len(log.update_time) == 100
    assert log.time[-1] == pytest.approx(2.0) and log.rate > 0
    assert np.array_equal(log.control[3], log.control[3]) and log.control.shape == (1000, 1)
    assert log.update_time[:2] == pytest.approx([0.0, 0.03])  # for when it will be ready
    assert "Hz" in repr(log) and log.animation() is not None


def test_known_delay_of_a_known_plant_hardly_matters() -> None:
    """The prediction is exact where plant and plan are one; without it the cart would be 1 to 3 cm elsewhere."""
    plant = slider()
    early = fw.mpc.run(controller(slider()), plant, plant.state(), 1.0)
    late = fw.mpc.run(controller(slider()), plant, plant.state(), 1.0, delay=DT)
    assert np.allclose(early.q, late.q, rtol=0, atol=1e-3)


def test_feedback_answers_a_push_before_the_next_update() -> None:
    plant = slider(dt=0.002)
    push = lambda t, s: plant.push(s, "slider/cart", (30.0, 0, 0)) if 0.5 <= t < 0.51 else None  # noqa: E731
    logs = [
        fw.mpc.run(controller(slider()), plant, plant.state(), 0.6, push=p, period=0.1, feedback=1.0)
        for p in (push, None)
    ]
    asked = np.abs(logs[0].control - logs[1].control)[:, 0]
    assert not asked[:251].any()
    assert asked[252:300].min() > 0.1  # in the period in which it was pushed
    assert_same_bits(logs[0].q[:250], logs[1].q[:250])


def test_runs_repeat_to_the_bit() -> None:
    plant = slider(dt=0.002)
    a, b = (fw.mpc.run(controller(slider()), plant, plant.state(), 0.3, delay=0.004) for _ in range(2))
    for name in ("q", "v", "control", "cost"):
        assert_same_bits(getattr(a, name), getattr(b, name))


def test_run_ends_where_it_is_told_to_and_where_the_plant_fails() -> None:
    plant = slider(dt=0.002)
    log = fw.mpc.run(controller(slider()), plant, plant.state(), 2.0, until=lambda s: bool(s.q[0] > 0.2))
    assert log.failed_at is not None and log.failed_at < 1.0 and log.time[-1] == log.failed_at
    assert "failed at" in repr(log)
    blow = lambda t, s: plant.push(s, "slider/cart", (1e15, 0, 0)) if t > 0.1 else None  # noqa: E731
    with pytest.warns(fw.SimulationWarning):
        log = fw.mpc.run(controller(slider()), plant, plant.state(), 2.0, push=blow)
    assert log.failed_at == pytest.approx(0.104) and np.isfinite(log.q).all()


class GivesUp:
    """Plans once."""

    def __init__(self, mpc: fw.mpc.ILQR) -> None:
        self.mpc, self.sim, self.dt, self.count = mpc, mpc.sim, mpc.dt, 0

    def update(self, state: fw.State, time: float = 0.0) -> fw.mpc.Plan:
        self.count += 1
        if self.count > 1:
            raise ValueError("no")
        return self.mpc.update(state, time)


def test_plans_are_followed_further_where_there_is_no_new_one() -> None:
    plant = slider()
    log = fw.mpc.run(GivesUp(controller(slider())), plant, plant.state(), 1.6)
    assert log.refused == 79 and len(log.update_time) == 1
    assert abs(log.q[35, 0] - 0.5) < 0.05 and np.isfinite(log.q).all()
    never = GivesUp(controller(slider()))
    never.count = 1
    with pytest.raises(ValueError, match="no"):
        fw.mpc.run(never, plant, plant.state(), 1.0)


def test_runs_are_saved_as_web_pages(tmp_path: Path) -> None:
    plant = slider()
    fw.mpc.run(controller(slider()), plant, plant.state(), 0.1).html(tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size > 10_000


def test_states_are_shown_25_times_a_second() -> None:
    plant = slider()
    shown: list[fw.State] = []
    fw.mpc.run(controller(slider()), plant, plant.state(), 0.4, show=shown.append)
    assert len(shown) == 10


def test_bad_arguments_are_refused_by_name() -> None:
    plant, mpc = slider(), controller(slider())
    bad: list[tuple[dict[str, Any], str]] = [
        ({"seconds": 0.011}, "seconds: expected a whole number of the plant's steps"),
        ({"seconds": np.nan}, "seconds: expected a whole number"),
        ({"feedback": 2.0}, "feedback: expected a share from 0 to 1"),
        ({"delay": 0.04}, "delay: expected at most the period"),
        ({"state": plant.state(batch=2)}, "state: expected one of a single environment"),
        ({"state": slider(dt=0.001).state()}, "state: expected one of a single environment of the plant"),
        ({"push": lambda t, s: "hard"}, "push: expected an array of numbers"),
    ]
    for arguments, message in bad:
        with pytest.raises(ValueError, match=message):
            fw.mpc.run(mpc, **{"plant": plant, "state": plant.state(), "seconds": 0.1, **arguments})
    other = fw.Simulator(fw.models.pendulum())
    with pytest.raises(ValueError, match="plant: has other joints"):
        fw.mpc.run(mpc, other, other.state(), 0.1)
