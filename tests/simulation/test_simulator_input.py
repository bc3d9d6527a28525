"""What makes no sense is refused where it enters, by a ValueError that says what was got and what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw


@pytest.fixture(scope="module")
def sim() -> fw.Simulator:
    """A box over the ground, and a robot with one motor."""
    builder = fw.ModelBuilder("pendulum")
    builder.solid("rod", "capsule", (0.02, 0.5), mass=1.0, placement=(0, 0, -0.25))
    builder.joint("hinge", "revolute", "world", "rod", axis="y", placement=(0, 0, 2))
    builder.actuator("motor", "hinge", ctrl_range=(-1.0, 2.0))
    scene = fw.Scene(ground=fw.Plane())
    scene.add(builder.build(), name="pendulum", pose=(2, 0, 0))
    scene.add(fw.box((0.1, 0.1, 0.1)), name="box", pose=(0, 0, 0.5))
    return fw.Simulator(scene, dt=1e-3)


@pytest.mark.parametrize("dt", [0.0, -1e-3, float("nan"), float("inf"), 1e3, "fast", None, True])
def test_absurd_steps(dt: Any) -> None:
    with pytest.raises(ValueError, match="dt"):
        fw.Simulator(fw.models.arm(), dt=dt)


BAD_CALLS: dict[str, tuple[str, Callable[[fw.Simulator], object]]] = {
    "tau too long": (r"tau: expected shape \(7,\), got \(8,\)", lambda sim: sim.step(sim.state(), np.zeros(8))),
    "tau of a batch": ("tau: expected shape", lambda sim: sim.step(sim.state(), np.zeros((2, 7)))),
    "tau of another batch": ("tau: expected shape", lambda sim: sim.step(sim.state(3), np.zeros((2, 7)))),
    "tau of words": ("tau: expected an array of numbers", lambda sim: sim.step(sim.state(), ["a"] * 7)),
    "tau ragged": ("tau: expected an array of numbers", lambda sim: sim.step(sim.state(), [[1.0], [1.0, 2.0]])),
    "control too long": ("control: expected shape", lambda sim: sim.step(sim.state(), control=np.zeros(2))),
    "f_ext flat": ("f_ext: expected shape", lambda sim: sim.step(sim.state(), f_ext=np.zeros(12))),
    "q too short": (r"q: expected shape \(8,\)", lambda sim: sim.state(q=np.zeros(7))),
    "q not finite": ("q: contains numbers that are not finite", lambda sim: sim.state(q=np.full(8, np.nan))),
    "q without direction": (
        "q: the quaternion of joint 'box' has length 0, expected 1",
        lambda sim: sim.state(q=np.zeros(8)),
    ),
    "q stretched": (
        "q: the quaternion of joint 'box' has length 2, expected 1",
        lambda sim: sim.state(5, q=sim.scene.q0 * np.array([1, 1, 1, 1, 1, 1, 1, 2.0])),
    ),
    "v of another batch": ("v: expected shape", lambda sim: sim.state(3, v=np.zeros((2, 7)))),
    "batch of none": ("batch must be a positive integer", lambda sim: sim.state(0)),
    "batch of a half": ("batch must be a positive integer", lambda sim: sim.state(0.5)),  # type: ignore[arg-type]
    "steps backwards": ("n_steps must be a non-negative integer", lambda sim: sim.rollout(sim.state(), n_steps=-1)),
    "half a step": ("n_steps must be a non-negative integer", lambda sim: sim.rollout(sim.state(), n_steps=0.5)),  # type: ignore[arg-type]
    "steps unknown": ("give n_steps", lambda sim: sim.rollout(sim.state())),
    "steps unknown, one force": ("give n_steps", lambda sim: sim.rollout(sim.state(), np.zeros(7))),
    "steps that differ": (
        "control: expected shape",
        lambda sim: sim.rollout(sim.state(), np.zeros((5, 7)), control=np.zeros((4, 1))),
    ),
    "policy and forces": (
        "either a policy or",
        lambda sim: sim.rollout(sim.state(), np.zeros(7), n_steps=2, policy=lambda state: None),
    ),
    "policy of the wrong shape": (
        "policy: tau: expected shape",
        lambda sim: sim.rollout(sim.state(), n_steps=2, policy=lambda state: np.zeros(3)),
    ),
    "controls in place of forces": (
        r"policy: tau: expected 7 joint forces, got 1 numbers; to return controls .* return \(None, control\)",
        lambda sim: sim.rollout(sim.state(), n_steps=2, policy=lambda state: np.zeros(1)),
    ),
    "no state": ("state must come from", lambda sim: sim.step(np.zeros(8))),  # type: ignore[arg-type]
    "foreign state": (
        "belongs to a different simulator",
        lambda sim: sim.step(fw.Simulator(fw.models.arm()).state()),
    ),
    "mask too long": ("mask: expected", lambda sim: sim.state(3).reset(np.zeros(4, dtype=bool))),
    "mask of numbers": ("mask: expected", lambda sim: sim.state(3).reset([0, 1, 2])),
    "unknown solver": ("solver must be", lambda sim: fw.Simulator(sim.scene, solver="fast")),
    "unknown integrator": ("integrator must be", lambda sim: fw.Simulator(sim.scene, integrator="euler")),  # type: ignore[arg-type]
    "rk4 with contacts": ("rk4", lambda sim: fw.Simulator(sim.scene, integrator="rk4")),
    "threads": ("num_threads", lambda sim: fw.Simulator(sim.scene, num_threads=0)),
    "no scene": ("scene must be", lambda sim: fw.Simulator("robot.urdf")),  # type: ignore[arg-type]
    "empty scene": ("nothing in it can move", lambda sim: fw.Simulator(fw.Scene(ground=fw.Plane()))),
    "unknown name": ("no part, link or shape 'bax'.*'box'", lambda sim: _box_scene().exclude("bax", "ground")),
    "unknown frame": ("no link or frame 'bax'", lambda sim: _box_scene().constrain(fw.PointConstraint("bax"))),
    "flat box": ("box.*size must be positive", lambda sim: fw.box((0.1, 0.1, 0.0))),
    "no radius": ("sphere.*radius must be positive", lambda sim: fw.sphere(0.0)),
    "flat hull": ("convex", lambda sim: fw.convex([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])),
    "weightless": ("mass must be positive", lambda sim: fw.sphere(0.1, mass=0.0)),
    "tolerance": ("tolerance", lambda sim: fw.Newton(tolerance=0.0)),
    "iterations": ("max_iterations", lambda sim: fw.ADMM(max_iterations=0)),
    "iterations of Gauss-Seidel": ("max_iterations", lambda sim: fw.Automatic(max_iterations=-1)),
    "iterations of piles": (
        "pile_iterations must be a positive integer, got 0",
        lambda sim: fw.Automatic(pile_iterations=0),
    ),
    "matrix free or not": ("matrix_free must be", lambda sim: fw.ADMM(matrix_free="yes")),  # type: ignore[arg-type]
}


def _box_scene() -> fw.Scene:
    scene = fw.Scene(ground=fw.Plane())
    scene.add(fw.box((0.1, 0.1, 0.1)), name="box")
    return scene


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_calls(case: str, sim: fw.Simulator) -> None:
    message, call = BAD_CALLS[case]
    with pytest.raises(ValueError, match=message):
        call(sim)


def test_saved_states_of_other_scenes(sim: fw.Simulator, tmp_path: Path) -> None:
    other = fw.Simulator(_box_scene())
    other.state().save(tmp_path / "box.npz")
    with pytest.raises(ValueError, match=r"q is \(1, 7\), this scene wants \(1, 8\)"):
        fw.State.load(sim, tmp_path / "box.npz")
    np.savez(tmp_path / "else.npz", x=1)
    with pytest.raises(ValueError, match="not a saved state"):
        fw.State.load(sim, tmp_path / "else.npz")


def test_no_steps_at_all(sim: fw.Simulator) -> None:
    trajectory = sim.rollout(sim.state(4), n_steps=0)
    assert trajectory.q.shape == (4, 0, 8) and len(trajectory) == 0
    assert np.array_equal(trajectory.final.q, sim.state(4).q)


def test_controls_are_cut_to_their_range(sim: fw.Simulator) -> None:
    """The motor takes -1 to 2."""
    torque = [sim.step(sim.state(), control=[u]).v[0] for u in (-5.0, -1.0, 1.0, 2.0, 9.0)]
    assert torque[0] == torque[1] and torque[3] == torque[4] and torque[1] < torque[2] < torque[3]


def test_rows_are_steps_unless_their_number_is_given(sim: fw.Simulator) -> None:
    """With as many steps as environments, (n, nv) could be either."""
    tau = np.zeros((4, 7))
    tau[0, 0] = 1.0
    steps = sim.rollout(sim.state(4), tau)
    assert len(steps) == 4 and np.ptp(steps.final.q[:, 0]) == 0.0 and steps.final.q[0, 0] > 0
    held = sim.rollout(sim.state(4), tau, n_steps=4)
    assert held.final.q[0, 0] > 0 and not held.final.q[1:, 0].any()
