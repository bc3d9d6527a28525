"""Tasks: slopes against finite differences, curvatures against those of the parabolas they stand for, bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight import _core

FEET = ("robot/left_foot", "robot/right_foot")
N = 3

Added = Callable[[fw.mpc.Task], object]
RESIDUALS: dict[str, Callable[[], fw.mpc.Residual]] = {
    "position": lambda: fw.mpc.frame_position(FEET, "xz"),
    "axis": lambda: fw.mpc.frame_axis(FEET, "z", "xy"),
    "orientation": lambda: fw.mpc.frame_orientation("robot/torso"),
    "velocity": lambda: fw.mpc.frame_velocity(FEET[0], axes="local"),
    "velocity in the world": lambda: fw.mpc.frame_velocity(FEET[1], "zx"),
    "angular velocity": lambda: fw.mpc.frame_angular_velocity("robot/torso", "yz", axes="local"),
    "joints": lambda: fw.mpc.joint_position("robot"),
    "some joints": lambda: fw.mpc.joint_position(joints=["robot/left_shin_joint", "robot/right_thigh_joint"]),
    "rates": lambda: fw.mpc.joint_velocity("robot"),
    "centre of mass": lambda: fw.mpc.center_of_mass("xz"),
    "centre of mass above the feet": lambda: fw.mpc.center_of_mass("xy", above=FEET),
    "control": fw.mpc.control,
}


@pytest.fixture(scope="module")
def sim() -> fw.Simulator:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    robot = scene.add(fw.models.humanoid(), name="robot", pose=(0, 0, 1), self_collision=False)
    scene.servo(robot, kp=100, kd=5)
    return fw.Simulator(scene, dt=0.02, integrator="implicit")


def close(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b))


def plan(sim: fw.Simulator, seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    q = sim.model.random(rng, batch=N + 1)
    return q, rng.normal(size=(N + 1, sim.model.nv)), rng.normal(size=(N, sim.nu))


def random_target(residual: fw.mpc.Residual, sim: fw.Simulator, rng: np.random.Generator) -> Any:
    if residual.width == 4 and residual.rows == 3:
        return fw.quaternion_from_rotation(fw.exp3(rng.normal(size=3)))
    return 0.5 * rng.normal(size=residual.bound(sim).width)


@pytest.mark.parametrize("norm", ["quadratic", "smooth_abs", "one_sided"])
@pytest.mark.parametrize("name", RESIDUALS)
def test_slopes_are_those_of_the_cost(sim: fw.Simulator, name: str, norm: Any) -> None:
    rng = np.random.default_rng(len(name))
    residual = RESIDUALS[name]()
    task = fw.mpc.Task(sim, terminal=2.5)
    rows = residual.bound(sim).rows
    task.add(name, residual, target=random_target(residual, sim, rng), weight=rng.uniform(0.5, 2.0, rows), norm=norm)
    q, v, u = plan(sim, 5)
    times = np.linspace(0.0, 0.3, N + 1)
    quadratic = task.quadratic(q, v, u, times)

    def cost(q: Any, v: Any, u: Any) -> float:
        return float(task.costs(q[None], v[None], u[None], times)[name][0])

    assert quadratic.value == pytest.approx(cost(q, v, u), rel=1e-12)
    h, nv = 1e-5, sim.model.nv
    directions = rng.normal(size=(6, N + 1, 2 * nv)), rng.normal(size=(6, N, sim.nu))
    for dx, du in zip(*directions, strict=True):

        def moved(s: float, dx: Any = dx, du: Any = du) -> float:
            return cost(sim.model.integrate(q, s * dx[:, :nv]), v + s * dx[:, nv:], u + s * du)

        difference = (moved(h) - moved(-h)) / (2 * h)
        slope = (quadratic.q * dx).sum() + (quadratic.r * du).sum()
        # central differences: h^2 of third derivatives, rounding / h of a cost of some hundreds
        assert slope == pytest.approx(difference, rel=1e-6, abs=1e-6)


def test_curvature_is_that_of_squares_of_linear_residuals(sim: fw.Simulator) -> None:
    task = fw.mpc.Task(sim, terminal=3.0)
    task.add("rates", fw.mpc.joint_velocity("robot"), weight=2.0)
    task.add("forward", fw.mpc.frame_velocity("robot/torso", "x"), target=0.4, weight=5.0)
    task.add("effort", fw.mpc.control(), weight=0.5)
    q, v, u = plan(sim, 6)
    times = np.zeros(N + 1)
    quadratic = task.quadratic(q, v, u, times)
    rng = np.random.default_rng(7)
    dv, du = rng.normal(size=v.shape), rng.normal(size=u.shape)
    x = np.concatenate([np.zeros_like(dv), dv], axis=1)
    moved = sum(x[0] for x in task.costs(q[None], (v + dv)[None], (u + du)[None], times).values())
    change = (quadratic.q * x).sum() + (quadratic.r * du).sum()
    change += 0.5 * np.einsum("ni,nij,nj", x, quadratic.Q, x) + 0.5 * np.einsum("ni,nij,nj", du, quadratic.R, du)
    assert quadratic.value + change == pytest.approx(moved, rel=1e-12)


def test_smooth_abs_has_the_curvature_of_a_parabola_above_it() -> None:
    from featherweight.mpc.norms import smooth_abs

    y, x = np.meshgrid(np.linspace(-5, 5, 41), np.linspace(-5, 5, 41))
    cost, slope, curvature = smooth_abs(y)
    assert (cost + slope * (x - y) + 0.5 * curvature * (x - y) ** 2 >= smooth_abs(x)[0] - 1e-12).all()


def test_targets_follow_times_and_functions(sim: fw.Simulator) -> None:
    task = fw.mpc.Task(sim)
    feet = fw.mpc.frame_position(FEET, "z")
    task.add("walk", feet, target=fw.mpc.walk(period=1.0, lift=0.1, swing=0.5, height=0.02))
    task.add("line", feet, target=[[0.0, 1.0], [2.0, 3.0]], times=[0.0, 1.0])
    times = np.array([-1.0, 0.25, 0.75, 2.0])
    assert close(task["walk"].targets(times), [[0.02, 0.02], [0.12, 0.02], [0.02, 0.12], [0.02, 0.02]])
    assert close(task["line"].targets(times), [[0, 1], [0.5, 1.5], [1.5, 2.5], [2, 3]])
    q, v, u = plan(sim, 8)
    before = task.costs(q[None], v[None], u[None], times)["line"][0]
    task["line"].weight = 3.0  # live
    assert task.costs(q[None], v[None], u[None], times)["line"][0] == pytest.approx(9.0 * before)
    task["line"].target = 0.0
    assert np.array_equal(task["line"].targets(times), [[0.0, 0.0]])


def test_trot_lifts_feet_across_each_other() -> None:
    heights = fw.mpc.trot(period=0.4, lift=0.08, start=0.4)([0.1, 0.5, 0.7])
    assert close(heights, [[0, 0, 0, 0], [0.08, 0, 0, 0.08], [0, 0.08, 0.08, 0]])


BAD: dict[str, tuple[Added, str]] = {
    "frame": (lambda t: t.add("a", fw.mpc.frame_position("robot/nose")), "a: unknown frame 'robot/nose'"),
    "joint": (lambda t: t.add("a", fw.mpc.joint_velocity(joints=["knee"])), "a: unknown joint 'knee'"),
    "free joint": (
        lambda t: t.add("a", fw.mpc.joint_position(joints=["robot/root_joint"])),
        "a: joint 'robot/root_joint': expected one of a single number",
    ),
    "part": (lambda t: t.add("a", fw.mpc.joint_position("cat")), "a: no joints in 'cat'"),
    "components": (lambda t: t.add("a", fw.mpc.frame_position(FEET, "w")), 'components: expected some of "xyz"'),
    "axes": (lambda t: t.add("a", fw.mpc.frame_velocity(FEET, axes="mine")), 'axes: expected "world" or "local"'),  # type: ignore[arg-type]
    "target": (
        lambda t: t.add("a", fw.mpc.frame_position(FEET, "z"), target=[1, 2, 3]),
        r"a: target: expected shape \(2,\), got \(3,\)",
    ),
    "not a number": (
        lambda t: t.add("a", fw.mpc.frame_position(FEET, "z"), target=np.nan),
        "a: target: contains numbers that are not finite",
    ),
    "function": (
        lambda t: t.add("a", fw.mpc.frame_position(FEET, "z"), target=lambda times: np.zeros((7, 2))),
        r"a: target: expected shape \(2,\) or, for 2 times, \(2, 2\), got \(7, 2\)",
    ),
    "times": (
        lambda t: t.add("a", fw.mpc.frame_position(FEET, "z"), target=np.zeros((2, 2)), times=[1, 0]),
        "a: times: expected rising numbers",
    ),
    "rows at times": (
        lambda t: t.add("a", fw.mpc.frame_position(FEET, "z"), target=np.zeros((3, 2)), times=[0, 1]),
        r"a: target: expected shape \(2, 2\), one row for each of the times, got \(3, 2\)",
    ),
    "weight": (lambda t: t.add("a", fw.mpc.control(), weight=-1), "a: weight: expected a number"),
    "norm": (lambda t: t.add("a", fw.mpc.control(), norm="L1"), "a: norm must be one of quadratic"),  # type: ignore[arg-type]
    "twice": (lambda t: [t.add("a", fw.mpc.control()) for _ in range(2)], "there is a term 'a' already"),
    "no residual": (lambda t: t.add("a", "height"), "a: expected a residual"),  # type: ignore[arg-type]
    "term": (lambda t: t["b"], "no term 'b'"),
    "gait": (lambda t: fw.mpc.trot(period=0.0), "period: expected a positive number"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tasks_are_refused_by_name(sim: fw.Simulator, name: str) -> None:
    act, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        act(fw.mpc.Task(sim))


def test_tasks_without_actuators_have_no_control() -> None:
    task = fw.mpc.Task(fw.Simulator(fw.models.pendulum()))
    with pytest.raises(ValueError, match="effort: control: the scene has no actuators"):
        task.add("effort", fw.mpc.control())


@pytest.mark.parametrize("start", [0, 1])
def test_curvatures_of_rows_are_summed_as_numpy_does(start: int) -> None:
    rng = np.random.default_rng(start)
    J = rng.normal(size=(4, 5, 7)) * (rng.random((4, 5, 7)) < 0.6)
    slope, curvature = rng.normal(size=(4, 5)), rng.random((4, 5))
    q, Q = _core.gauss_newton(J, slope, curvature, start)
    assert not q[:start].any() and not Q[:start].any()
    assert close(q[start:], np.einsum("kri,kr->ki", J, slope))
    assert close(Q[start:], np.einsum("kri,kr,krj->kij", J, curvature, J))
    with pytest.raises(ValueError, match="slope"):
        _core.gauss_newton(J, slope[:, :3], curvature, start)
