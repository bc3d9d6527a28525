"""Relaxed steps: on the central path, smooth with exact derivatives, and the exact step in the limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array

EXACT = fw.Newton(tolerance=1e-13)


def bodies(*shapes: tuple[fw.Body, Any], dt: float = 2e-3) -> fw.Simulator:
    scene = fw.Scene(ground=fw.Plane(friction=0.5))
    for k, (shape, pose) in enumerate(shapes):
        scene.add(shape, name=f"b{k}", pose=pose)
    return fw.Simulator(scene, dt=dt, solver=EXACT)


def worst_error(
    sim: fw.Simulator, state: fw.State, kappa: float, reach: float = 0.05, control: Array | None = None
) -> float:
    """Of all columns against central differences, relative to one and the largest entry."""
    model, h = sim.model, 1e-8
    given: dict[str, Any] = {"kappa": kappa, "reach": reach, "control": control}
    wrt = ("q", "v", "tau", "friction", *(("control",) if sim.nu else ()))
    d = fw.relaxed_step(sim, state, wrt=wrt, **given)
    assert d.converged

    def end(state: fw.State, tau: Array | None = None, control: Array | None = control) -> Array:
        s = fw.relaxed_step(sim, state, tau, kappa=kappa, reach=reach, control=control, wrt=("v",)).state
        return np.concatenate([model.difference(d.state.q, s.q), s.v])

    moves = {
        "q": lambda x: end(state.replace(q=model.integrate(state.q, x))),
        "v": lambda x: end(state.replace(v=state.v + x)),
        "tau": lambda x: end(state, x),
        "friction": lambda x: end(state.randomised(friction=1 + x)),
        "control": lambda x: end(state, control=control + x),
    }
    worst = 0.0
    for name in wrt:
        found = np.vstack([d.dq[name], d.dv[name]])
        unit = h * np.eye(found.shape[1])
        expected = np.stack([(moves[name](e) - moves[name](-e)) / (2 * h) for e in unit], axis=1)
        worst = max(worst, float(np.abs(found - expected).max() / (1 + np.abs(expected).max())))
    return worst


@pytest.mark.parametrize("kappa", [1e-1, 1e-3, 1e-6])
def test_a_ball_above_the_ground(kappa: float) -> None:
    sim = bodies((fw.sphere(0.1), (0, 0, 0.12)), dt=0.01)
    assert worst_error(sim, sim.state(v=[1, 0.2, -0.5, 0.1, 0.2, 0.3]), kappa) < 1e-6


@pytest.mark.parametrize("v", [[0, 0, 0, 0, 0, 0], [1, 0.3, 0, 0, 0, 0.5]], ids=["rests", "slides"])
@pytest.mark.parametrize("kappa", [1e-3, 1e-5, 1e-7])
def test_a_box_on_four_corners(v: list[float], kappa: float) -> None:
    """Hyperstatic: the central path has one solution nevertheless. (Tilted a little, as flat is a tie of corners.)"""
    sim = bodies((fw.box((0.2, 0.3, 0.1)), (0, 0, 0.0501)))
    q = sim.model.integrate(sim.scene.q0, np.r_[0, 0, 0, 1e-5, 2e-5, 0.3])
    assert worst_error(sim, sim.state(q=q, v=v), kappa) < 1e-6


def test_boxes_that_approach_each_other() -> None:
    sim = bodies((fw.box((0.2, 0.2, 0.2)), (0, 0, 0.101)), (fw.box((0.1, 0.1, 0.1)), (0.1, 0.02, 0.3)))
    q = sim.model.integrate(sim.scene.q0, np.r_[np.zeros(3), 1e-4, 2e-4, 0, np.zeros(3), 0.2, 0.1, 0.3])
    assert worst_error(sim, sim.state(q=q, v=[*[0] * 6, 0.1, 0, -0.5, 1, 0, 0]), 1e-3, reach=0.2) < 1e-6


@pytest.fixture(scope="module")
def standing() -> tuple[fw.Simulator, fw.State, Array]:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    robot = scene.add(fw.models.quadruped(), pose=(0, 0, 0.45))
    scene.servo(robot, kp=60.0, kd=4.0)
    sim = fw.Simulator(scene, dt=2e-3, integrator="implicit", solver=EXACT)
    control = np.tile([0.0, 0.7, -1.4], 4) + 0.05 * np.random.default_rng(0).normal(size=12)  # no ties of symmetry
    return sim, sim.rollout(sim.state(), control=control, n_steps=300).final, control


@pytest.mark.parametrize("kappa", [1e-2, 1e-4, 1e-6])
def test_a_quadruped_on_its_feet(standing: tuple[fw.Simulator, fw.State, Array], kappa: float) -> None:
    sim, state, control = standing
    assert worst_error(sim, state, kappa, reach=0.02, control=control) < 1e-6


def test_the_limit_is_the_step(standing: tuple[fw.Simulator, fw.State, Array]) -> None:
    """Errors are proportional to kappa."""
    sim, state, control = standing
    state = state.replace(v=state.v + np.r_[0.5, 0.2, np.zeros(16)])  # slides
    exact = sim.step(state, control=control)
    errors = []
    for kappa in (1e-5, 1e-6, 1e-7):
        step = fw.relaxed_step(sim, state, kappa=kappa, reach=0.02, control=control)
        assert step.converged
        errors.append(np.abs(step.state.v - exact.v).max())
    assert errors[2] < 1e-3
    assert errors[0] > 5 * errors[1] > 25 * errors[2]


def test_impulses_obey_the_relaxed_law() -> None:
    """A ball alone: v_n lambda_n = kappa, with the gap at the end of the step for a velocity."""
    sim, kappa = bodies((fw.sphere(0.1, mass=2.0), (0, 0, 0.11)), dt=0.01), 0.02
    after = fw.relaxed_step(sim, sim.state(), kappa=kappa).state
    impulse = 2.0 * (after.v[2] + 9.81 * 0.01)
    gap = after.q[2] - 0.1
    assert impulse * gap / 0.01 == pytest.approx(kappa, rel=1e-9)


def test_beyond_reach_nothing_is_felt() -> None:
    sim = bodies((fw.sphere(0.1), (0, 0, 0.3)))
    step = fw.relaxed_step(sim, sim.state(), kappa=1e-2, reach=0.1)
    assert step.state == sim.step(sim.state())
    np.testing.assert_allclose(step.A, sim.step_derivatives(sim.state()).A, rtol=1e-12, atol=1e-12)


def test_gradients_of_rollouts_are_those_of_differences() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.3))
    builder = fw.ModelBuilder("finger")
    builder.solid("tip", "sphere", (0.05,), mass=0.5)
    builder.joint("rail", "prismatic", "world", "tip", axis="x")
    scene.add(builder.build(), name="finger", pose=(-0.3, 0, 0.1))
    scene.add(fw.box((0.2, 0.2, 0.2), mass=1.0, friction=0.3), name="box", pose=(0, 0, 0.1))
    scene.motor(["finger/rail"])
    sim = fw.Simulator(scene, dt=0.01)

    def end(control: Array) -> fw.Relaxed:
        def cost(rollout: fw.RelaxedRollout) -> tuple[float, Array, None]:
            dq = np.zeros_like(rollout.v)
            dq[-1, 1] = 1.0
            return rollout.q[-1, 1], dq, None

        return fw.relaxed(sim, sim.state(), cost, control=control, n_steps=30, kappa=1e-2, reach=0.5)

    found, h = end(np.array([0.8])), 1e-5
    slope = (end(np.array([0.8 + h])).value - end(np.array([0.8 - h])).value) / (2 * h)
    assert found.converged and slope > 1e-5
    assert found.gradient["control"][0] == pytest.approx(slope, rel=1e-4)


def test_batches_are_their_environments(standing: tuple[fw.Simulator, fw.State, Array]) -> None:
    sim, state, control = standing
    q = np.tile(state.q, (5, 1))
    q[:, 2] += np.linspace(0, 0.01, 5)
    both = fw.relaxed_step(sim, sim.state(5, q=q), kappa=1e-3, control=control)
    for k in range(5):
        one = fw.relaxed_step(sim, sim.state(q=q[k]), kappa=1e-3, control=control)
        np.testing.assert_array_equal(both.A[k], one.A)
        np.testing.assert_array_equal(both.state.q[k], one.state.q)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kappa": 0.0}, "kappa: expected a positive number"),
        ({"kappa": np.nan}, "kappa: expected a positive number"),
        ({"kappa": 1e-3, "reach": -1.0}, "reach: expected a positive number"),
        ({"kappa": 1e-3, "wrt": ("w",)}, "wrt: unknown 'w'"),
    ],
)
def test_bad_input_is_named(given: dict[str, Any], told: str) -> None:
    sim = bodies((fw.sphere(0.1), (0, 0, 0.12)))
    with pytest.raises(ValueError, match=told):
        fw.relaxed_step(sim, sim.state(), **given)


def test_loops_are_refused() -> None:
    sim = fw.Simulator(fw.models.four_bar())
    with pytest.raises(ValueError, match="without loops"):
        fw.relaxed_step(sim, sim.state(), kappa=1e-3)
