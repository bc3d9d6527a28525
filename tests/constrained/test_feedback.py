"""Feedback on positions and velocities keeps constraints from drifting: the laws it makes them obey."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.constraints import random_constraints, twin_rows, with_gains
from helpers.forests import random_forest

import featherweight as fw
from featherweight.arrays import Array
from featherweight.reference.kkt import equations, kkt

FEET = [f"{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]


@pytest.mark.parametrize("seed", range(20))
def test_accelerations_are_those_of_the_twin(seed: int) -> None:
    forest = random_forest(seed, n_links=4 + seed % 10)
    model, s, description = fw.Model(forest.description), forest.state(), forest.description
    constraints = with_gains(random_constraints(forest, model, 1 + seed % 3), stiffness=40.0, damping=3.0)
    rows = twin_rows(description, s.q, s.v, constraints)
    H, _, J, _ = equations(description, s.q, s.v, rows)
    values = np.linalg.eigvalsh(J @ np.linalg.solve(H, J.T))
    if ((values > 1e-13 * values[-1]) & (values < 1e-7 * values[-1])).any():
        pytest.skip("neither singular nor regular: the dense twin itself cannot tell")
    solution = fw.constrained_dynamics(model, s.q, s.v, s.tau, constraints, f_ext=s.f_ext)
    assert_close(solution.a, kkt(description, s.q, s.v, s.tau, rows, s.f_ext).a, 1e-8)
    left = fw.constraint_residual(model, s.q, s.v, solution.a, constraints)
    assert_close(np.abs(left).max(), solution.residual, 1e-9)


def test_a_point_mass_is_a_damped_oscillator() -> None:
    """e'' + kd e' + kp e = 0, whatever its mass, weight and driving force, row by row."""
    builder = fw.ModelBuilder("mass")
    builder.link("x")
    builder.link("y")
    builder.link("mass", mass=3.0)
    for parent, child in (("world", "x"), ("x", "y"), ("y", "mass")):
        builder.joint(f"along {child}", "prismatic", parent, child, axis="z" if child == "mass" else child)
    model = builder.build()
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 50, 3))
    where, kp, kd = np.array([0.3, -0.1, 0.7]), np.array([100.0, 25.0, 0.0]), np.array([20.0, 0.0, 4.0])
    hold = [fw.PointConstraint("mass", position=where, stiffness=kp, damping=kd)]
    solution = fw.constrained_dynamics(model, q, v, tau, hold)
    assert_close(solution.a, -kp * (q - where) - kd * v, 1e-12)
    assert_close(solution.forces, 3.0 * solution.a - tau + [0, 0, 3 * 9.81], 1e-12)
    feed_forward = np.array([1.0, 2.0, 3.0])
    following = [fw.PointConstraint("mass", position=where, stiffness=kp, damping=kd, acceleration=feed_forward)]
    assert_close(fw.constrained_dynamics(model, q, v, tau, following).a, solution.a + feed_forward, 1e-12)


def test_a_turned_weld_is_a_damped_oscillator() -> None:
    """About a fixed axis the rotation vector's rate is the angular velocity: theta'' + kd theta' + kp theta = 0."""
    model = fw.models.chain(3)
    axis = fw.jacobian(model, model.neutral(), model.link_names[0])[3:, 0]
    kp, kd = 50.0, 8.0
    hold = fw.ConstraintSet(
        model,
        [fw.FrameConstraint(model.link_names[0], ("rx", "ry", "rz"), position=np.eye(4), stiffness=kp, damping=kd)],
    )
    start = fw.frame_placement(model, model.neutral(), model.link_names[0])
    np.testing.assert_allclose(start[:3, :3], np.eye(3), atol=1e-15)
    for theta in (-3.0, -1.0, 1e-9, 0.4, 2.0):
        for rate in (-2.0, 0.0, 1.0):
            q, v = np.array([theta, 0.3, -0.8]), np.array([rate, 0.5, 0.2])
            a = fw.constrained_dynamics(model, q, v, np.zeros(3), hold).a
            np.testing.assert_allclose(a[0], -kp * theta - kd * rate, rtol=1e-12, atol=1e-12)
            error = fw.constraint_position_error(model, q, hold)
            np.testing.assert_allclose(error, theta * axis, atol=1e-14)


def follow(model: fw.Model, constraints: fw.ConstraintSet, q: Array, tau: Array, step: float, n: int) -> list[float]:
    """Largest position error along a motion that starts at rest, by semi-implicit Euler."""
    v, errors = np.zeros(model.nv), []
    for _ in range(n):
        errors.append(float(np.abs(fw.constraint_position_error(model, q, constraints)).max()))
        v = v + step * fw.constrained_dynamics(model, q, v, tau, constraints).a
        q = model.integrate(q, step * v)
    return errors


def test_drifted_feet_are_drawn_back_in_a_few_time_constants() -> None:
    """Critically damped with time constant T: (1 + t / T) exp(-t / T), here after ten of them."""
    model = fw.models.quadruped()
    q = model.neutral()
    for joint in model.joints:
        if joint.name.endswith("thigh_joint"):
            q[joint.q_slice] = 0.7
        if joint.name.endswith("calf_joint"):
            q[joint.q_slice] = -1.4
    rng = np.random.default_rng(1)
    T, step = 0.02, 1e-3
    feet = [
        fw.PointConstraint(
            foot,
            position=fw.frame_placement(model, q, foot)[:3, 3] + rng.uniform(-0.01, 0.01, 3),
            stiffness=1 / T**2,
            damping=2 / T,
        )
        for foot in FEET
    ]
    errors = follow(model, fw.ConstraintSet(model, feet), q, fw.gravity_forces(model, q), step, round(10 * T / step))
    assert errors[0] > 5e-3
    assert errors[-1] < 2e-3 * errors[0]
    loose = fw.ConstraintSet(model, [fw.PointConstraint(foot.frame, position=foot.position) for foot in feet])
    assert follow(model, loose, q, fw.gravity_forces(model, q), step, 200)[-1] > 0.9 * errors[0]  # nothing pulls


def test_a_pendulum_on_a_drifted_weld_is_drawn_back() -> None:
    builder = fw.ModelBuilder("clock")
    builder.solid("case", "box", (0.2, 0.1, 0.4), mass=2.0)
    builder.link("bob", mass=0.5, com=(0, 0, -0.3))
    builder.joint("floating", "free", "world", "case")
    builder.joint("pivot", "revolute", "case", "bob", axis="y")
    model = builder.build()
    wall = fw.pose((0.5, 0.0, 1.0), rpy=(0.0, 0.0, 0.3))
    q = model.neutral()
    q[:3], q[-1] = (0.52, -0.03, 1.01), 0.8
    T, step = 0.05, 1e-3
    weld = [fw.FrameConstraint("case", position=wall, stiffness=1 / T**2, damping=2 / T)]
    errors = follow(model, fw.ConstraintSet(model, weld), q, np.zeros(model.nv), step, round(10 * T / step))
    assert errors[0] > 0.25
    assert errors[-1] < 2e-3 * errors[0]


def test_every_sample_is_drawn_to_its_own_place() -> None:
    model = fw.models.quadruped()
    rng = np.random.default_rng(2)
    q, v, tau = model.random(rng, batch=9), rng.normal(size=(9, model.nv)), rng.normal(size=(9, model.nv))
    where = rng.normal(size=(9, 3))
    both = [
        fw.PointConstraint(FEET[0], position=where, stiffness=100.0, damping=20.0),
        fw.PointConstraint(FEET[1], damping=5.0),
    ]
    together = fw.constrained_dynamics(model, q, v, tau, both)
    for k in range(9):
        alone = [fw.PointConstraint(FEET[0], position=where[k], stiffness=100.0, damping=20.0), both[1]]
        np.testing.assert_array_equal(fw.constrained_dynamics(model, q[k], v[k], tau[k], alone).a, together.a[k])
