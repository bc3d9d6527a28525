"""Failure is loud: absurd velocities, starts that rigid bodies cannot have, numbers that are none."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array


def pendulum_and_ball(height: float = 0.1, dt: float = 1e-2) -> fw.Simulator:
    scene = fw.Scene(ground=fw.Plane())
    scene.add(fw.sphere(0.1), name="ball", pose=(0, 0, height))
    builder = fw.ModelBuilder("arm")
    builder.solid("rod", "capsule", (0.02, 0.5), mass=1.0, placement=(0, 0, -0.25))
    builder.joint("hinge", "revolute", "world", "rod", axis="y", lower=-1.0, upper=1.0, effort_limit=np.inf)
    scene.add(builder.build(), name="arm", pose=(3, 0, 3))
    return fw.Simulator(scene, dt)


def hurled(sim: fw.Simulator, batch: int, which: list[int], torque: float = 1e11) -> Array:
    tau = np.zeros((batch, sim.model.nv))
    tau[which, sim.model.joint("arm/hinge").v_slice.start] = torque
    return tau


def test_velocities_beyond_physics_fail_long_before_they_overflow() -> None:
    scene = fw.Scene(gravity=(0, 0, 0))
    scene.add(fw.sphere(0.1), name="ball")
    sim = fw.Simulator(scene, 1e-2)
    tau = np.zeros((3, 6))
    tau[1, 2] = 1e11  # some 2e8 m/s faster in each step
    with pytest.warns(fw.SimulationWarning, match=r"environment 1 failed at t=0\.\d+ s, joint 'ball'"):
        trajectory = sim.rollout(sim.state(batch=3), tau, n_steps=100)
    final = trajectory.final
    np.testing.assert_array_equal(final.failed, [False, True, False])
    np.testing.assert_array_equal(final.converged, [True, False, True])
    assert 1e8 < np.abs(trajectory.v).max() <= 1e9
    assert "1 FAILED" in repr(final) and "1 FAILED" in repr(trajectory)
    assert np.isfinite(final.q).all() and np.isfinite(final.v).all()


@pytest.mark.parametrize("torque", [np.nan, np.inf, 1e200, 1e308])
def test_what_is_no_number_fails_at_once(torque: float) -> None:
    sim = pendulum_and_ball()
    with pytest.warns(fw.SimulationWarning, match="joint 'arm/hinge'") as caught:
        state = sim.step(sim.state(batch=2), hurled(sim, 2, [0], torque))
    assert len(caught) == 1 and caught[0].filename == __file__
    assert state.failed[0] and not state.failed[1]
    assert not state.converged[0] and state.converged[1]


def test_a_failure_is_told_once() -> None:
    sim = pendulum_and_ball()
    with pytest.warns(fw.SimulationWarning, match="and 1 others"):
        state = sim.rollout(sim.state(batch=3), hurled(sim, 3, [0, 2], 1e200), n_steps=3).final
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state = sim.step(sim.rollout(state, n_steps=3).final)
        again = pickle.loads(pickle.dumps(state))
        again = sim.step(again.reset(np.array([True, False, False])))
    np.testing.assert_array_equal(again.failed, [False, False, True])
    assert again.converged[0] and "1 FAILED" in repr(again)


def test_a_single_environment_says_so_too() -> None:
    sim = pendulum_and_ball()
    with pytest.warns(fw.SimulationWarning):
        state = sim.step(sim.state(), hurled(sim, 1, [0], 1e200)[0])
    assert state.failed and not state.converged
    assert repr(state).endswith("FAILED>")


def test_neighbours_of_a_failure_go_on_bit_for_bit() -> None:
    sim = pendulum_and_ball()
    start = sim.state(batch=9, v=0.1 * np.random.default_rng(0).standard_normal((9, sim.model.nv)))
    calm = sim.rollout(start, n_steps=50).final
    with pytest.warns(fw.SimulationWarning):
        wild = sim.rollout(start, hurled(sim, 9, [4]), n_steps=50).final
    others = np.arange(9) != 4
    assert wild.failed[4]
    np.testing.assert_array_equal(calm.q[others], wild.q[others])


def test_fast_but_sane_motion_does_not_fail() -> None:
    """A millionth of the bound, and a wheel of a dentist's drill."""
    sim = pendulum_and_ball(height=1.0, dt=1e-3)
    v = np.zeros(sim.model.nv)
    v[:6] = (900.0, 0.0, 100.0, 0.0, 0.0, 5e4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        final = sim.rollout(sim.state(v=v), n_steps=100).final
    assert not final.failed and final.v[0] ** 2 + final.v[1] ** 2 == pytest.approx(900.0**2)


# -- starts ----------------------------------------------------------------------------------------------------------


def test_a_start_inside_the_ground_is_named_once() -> None:
    sim = pendulum_and_ball(height=0.05)
    with pytest.warns(fw.SimulationWarning, match="environment 0 starts with 'ball' 50 mm inside 'ground'") as caught:
        state = sim.rollout(sim.state(batch=2), n_steps=20).final
    assert len(caught) == 1 and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.rollout(state, n_steps=5)
        sim.step(sim.state())  # it has been said


def test_a_start_beyond_a_limit_is_named() -> None:
    sim = pendulum_and_ball()
    q = np.tile(sim.scene.q0, (3, 1))
    q[2, sim.model.joint("arm/hinge").q_slice] = 1.25
    with pytest.warns(fw.SimulationWarning, match=r"environment 2 starts with joint 'arm/hinge' 0\.25 rad beyond"):
        state = sim.step(sim.state(batch=3, q=q))
    np.testing.assert_allclose(sim.state(batch=3, q=q).limit_violation, [0, 0, 0.25])
    np.testing.assert_allclose(state.penetration, 0.0, atol=1e-12)


def test_starts_are_judged_when_they_are_made_and_not_later() -> None:
    """What comes to overlap on the way is the motion's; rounding of a start is nobody's."""
    sim = pendulum_and_ball(height=0.0999)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state = sim.step(sim.state())
        state = sim.step(state.replace(v=np.zeros(sim.model.nv)))
    q = np.array(state.q)
    q[2] = 0.05
    with pytest.warns(fw.SimulationWarning, match="inside 'ground'"):
        sim.step(state.replace(q=q))
    other = pendulum_and_ball(height=0.1)
    with pytest.warns(fw.SimulationWarning, match="inside 'ground'"):
        other.rollout(other.state(batch=2).reset(np.array([False, True]), q=q), n_steps=3)


# -- input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [["1"], "1", [1j], [True], [None], [[1.0], [1.0, 2.0]], {"a": 1}], ids=repr)
def test_forces_are_numbers(value: object) -> None:
    sim = pendulum_and_ball()
    scene = fw.Scene()
    arm = scene.add(fw.models.arm(), name="arm")
    scene.servo(arm, kp=10, kd=1)
    driven = fw.Simulator(scene)
    for call in (
        lambda: sim.step(sim.state(), value),  # type: ignore[arg-type]
        lambda: driven.step(driven.state(), control=value),  # type: ignore[arg-type]
        lambda: driven.rollout(driven.state(), control=value, n_steps=3),  # type: ignore[arg-type]
        lambda: driven.rollout(driven.state(), policy=lambda _: (None, value), n_steps=3),  # type: ignore[arg-type,return-value]
        lambda: sim.step(sim.state(), f_ext=value),  # type: ignore[arg-type]
        lambda: sim.state(q=value),  # type: ignore[arg-type]
        lambda: sim.state().randomised(friction=value),  # type: ignore[arg-type]
        lambda: sim.push(sim.state(), "ball", value),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="expected an array of numbers"):
            call()


# -- functions -------------------------------------------------------------------------------------------------------


def test_constrained_dynamics_that_overflow_have_not_converged() -> None:
    model = fw.models.quadruped()
    feet = [fw.PointConstraint(f"{leg}_foot") for leg in ("front_left", "hind_right")]
    q, zero = model.neutral(), np.zeros(model.nv)
    for method in ("auto", "pv", "prox_pv", "ltl", "kkt", "constrained_aba"):
        fast = fw.constrained_dynamics(model, q, np.full(model.nv, 1e200), zero, feet, method=method)
        assert not fast.converged, method
        assert fw.constrained_dynamics(model, q, zero, zero, feet, method=method).converged, method
    both = fw.constrained_dynamics(model, q, np.stack([zero, np.full(model.nv, 1e200)]), zero, feet)
    np.testing.assert_array_equal(both.converged, [True, False])
