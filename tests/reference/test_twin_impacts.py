"""The twins of impacts and of inverse dynamics under constraints: laws that dense algebra must obey too."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.forests import random_forest

from featherweight import Inertia, ModelDescription
from featherweight.arrays import Array
from featherweight.model.description import Joint, Link
from featherweight.reference.constrained_inverse import constrained_inverse_dynamics
from featherweight.reference.constraints import Rows, frame_rows, point_rows
from featherweight.reference.impulse import impulse_dynamics
from featherweight.reference.kkt import equations, kkt


def two_constraints(seed: int) -> tuple[ModelDescription, Array, Array, Array, list[Rows]]:
    forest = random_forest(seed, n_links=10)
    s = forest.state()
    rows = [
        point_rows(forest.description, s.q, s.v, "frame_2", axes=(2, 0)),
        frame_rows(forest.description, s.q, s.v, "frame_1", axes=(4,)),
    ]
    return forest.description, s.q, s.v, s.tau, rows


def test_a_ball_bounces() -> None:
    ball = Link("ball", Inertia(0.5, np.zeros(3), 0.01 * np.eye(3)))
    model = ModelDescription("ball", (ball,), (Joint("fall", "free", "world", "ball"),))
    q, v = np.array([0, 0, 0, 0, 0, 0, 1.0]), np.array([1.0, 2.0, -3.0, 0, 0, 0])
    after, (impulse,) = impulse_dynamics(model, q, v, [point_rows(model, q, v, "ball", axes=(2,))], [0.8])
    assert_close(after, [1.0, 2.0, 2.4, 0, 0, 0], 1e-14)
    assert_close(impulse, [0.5 * 1.8 * 3.0], 1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_perfect_restitution_keeps_the_energy(seed: int) -> None:
    model, q, v, _, rows = two_constraints(seed)
    H, _, J, _ = equations(model, q, v, rows)
    after, impulses = impulse_dynamics(model, q, v, rows, [1.0, 1.0])
    assert_close(after @ H @ after, v @ H @ v, 1e-9)
    assert_close(H @ (after - v), J.T @ np.concatenate(impulses), 1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_inverse_dynamics_give_the_accelerations_back(seed: int) -> None:
    model, q, v, tau, rows = two_constraints(seed)
    actuated = np.random.default_rng(seed).random(v.size) < 0.9
    a = kkt(model, q, v, np.where(actuated, tau, 0.0), rows).a
    found, forces, residual = constrained_inverse_dynamics(model, q, v, a, rows, actuated)
    assert residual < 1e-8 * (1 + np.abs(tau).max() + np.abs(a).max())
    assert not found[~actuated].any()
    H, h, J, _ = equations(model, q, v, rows)
    assert_close(found + J.T @ np.concatenate(forces), H @ a + h, 1e-8)
    assert_close(kkt(model, q, v, found, rows).a, a, 1e-7)
