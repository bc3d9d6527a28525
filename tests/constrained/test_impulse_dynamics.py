"""Impacts against textbook collisions, conservation laws and dense algebra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.constraints import random_constraints, twin_rows
from helpers.forests import Forest, forests
from hypothesis import assume, given
from hypothesis import strategies as st

import featherweight as fw
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import Constraint
from featherweight.constraints.dynamics import Method
from featherweight.reference.impulse import impulse_dynamics
from featherweight.reference.kkt import equations

FEET = [f"{leg}_foot" for leg in ("front_left", "front_right", "hind_left", "hind_right")]
METHODS = [method for method in get_args(Method) if method not in ("auto", "pv_soft")]  # rigid rows here
every_method = pytest.mark.parametrize("method", METHODS)


def digits(method: Method) -> float:
    """To which a method is exact on these small problems."""
    return 1e-9 if method == "constrained_aba" else 1e-13


def single_body(mass: float, inertia: float | None = None, length: float = 0.0) -> fw.Model:
    """A free body; with a length, a thin rod along x."""
    builder = fw.ModelBuilder("body")
    moments = None if inertia is None else (1e-3, inertia, inertia)
    builder.link("body", mass=mass, inertia=np.diag(moments) if moments else np.eye(3))
    builder.joint("floating", "free", "world", "body")
    builder.frame("end", "body", (length / 2, 0, 0))
    return builder.build()


def impact_matrices(forest: Forest, q: Array, v: Array, constraints: Sequence[Constraint]) -> tuple[Array, Array]:
    rows = twin_rows(forest.description, q, v, constraints)
    H, _, J, _ = equations(forest.description, q, v, rows)
    return H, J


def is_regular_or_singular(H: Array, J: Array) -> bool:
    """Whether the rank of the rows is beyond doubt."""
    values = np.linalg.eigvalsh(J @ np.linalg.solve(H, J.T))
    return not ((values > 1e-13 * values[-1]) & (values < 1e-7 * values[-1])).any()


@every_method
@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_a_ball_bounces(method: Method, e: float) -> None:
    """The normal velocity is reversed and reduced, the impulse is (1 + e) m v_n, nothing happens sideways."""
    model = single_body(0.4)
    v = np.array([0.7, -0.2, -3.0, 0.1, 0.2, 0.3])
    floor = [fw.PointConstraint("body", ("z",))]
    after = fw.impulse_dynamics(model, model.neutral(), v, floor, restitution=e, method=method)
    assert after.converged
    np.testing.assert_allclose(after.v, [0.7, -0.2, 3.0 * e, 0.1, 0.2, 0.3], atol=digits(method))
    np.testing.assert_allclose(after.impulses, [(1 + e) * 0.4 * 3.0], rtol=digits(method))


@every_method
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_falling_rod_hits_with_one_end(method: Method, e: float) -> None:
    """A uniform rod: the end feels a quarter of its mass, which sets the impulse, and the rod starts to spin."""
    m, length, speed = 2.0, 1.2, 5.0
    inertia = m * length**2 / 12
    model = single_body(m, inertia, length)
    v = np.array([0, 0, -speed, 0, 0, 0])
    after = fw.impulse_dynamics(
        model, model.neutral(), v, [fw.PointConstraint("end", ("z",))], restitution=e, method=method
    )
    impulse = (1 + e) * m * speed / 4
    np.testing.assert_allclose(after.impulses, [impulse], rtol=digits(method))
    np.testing.assert_allclose(after.v[2], -speed + impulse / m, rtol=digits(method))
    np.testing.assert_allclose(after.v[4], -impulse * length / 2 / inertia, rtol=digits(method))


@given(forests(), st.integers(1, 3), st.sampled_from([0.0, 0.4, 1.0]))
def test_impacts_match_their_twin(forest: Forest, number: int, e: float) -> None:
    model, s = fw.Model(forest.description), forest.state()
    constraints = random_constraints(forest, model, number)
    H, J = impact_matrices(forest, s.q, s.v, constraints)
    assume(np.linalg.cond(H) < 1e8 and is_regular_or_singular(H, J))
    restitution = [e] + [0.2] * (number - 1)
    rows = twin_rows(forest.description, s.q, s.v, constraints)
    v, impulses = impulse_dynamics(forest.description, s.q, s.v, rows, restitution)
    after = fw.impulse_dynamics(model, s.q, s.v, constraints, restitution=restitution)
    assert after.converged
    assert_close(after.v, v, 1e-8)
    assert_close(J.T @ after.impulses, J.T @ np.concatenate(impulses), 1e-8)
    if np.linalg.matrix_rank(J, 1e-6) == len(J):  # where rows depend on each other, rounding shows in what cancels
        for k, impulse in enumerate(impulses):
            assert_close(after.impulse(k), impulse, 1e-6)


@given(forests(), st.integers(1, 3), st.sampled_from([0.0, 0.5, 1.0]))
def test_momentum_and_energy_balance(forest: Forest, number: int, e: float) -> None:
    """H (v+ - v) = J^T impulses, J v+ = -e J v: the energy lost is (1 - e) / (1 + e) of what the jump carries."""
    model, s = fw.Model(forest.description), forest.state()
    constraints = random_constraints(forest, model, number)
    H, J = impact_matrices(forest, s.q, s.v, constraints)
    assume(np.linalg.cond(H) < 1e8 and is_regular_or_singular(H, J))
    after = fw.impulse_dynamics(model, s.q, s.v, constraints, restitution=e)
    jump = after.v - s.v
    assert_close(H @ jump, J.T @ after.impulses, 1e-9)
    if after.residual < 1e-9:  # rows that contradict each other cannot all be met
        assert_close(J @ after.v, -e * J @ s.v, 1e-9)
        lost = fw.kinetic_energy(model, s.q, s.v) - fw.kinetic_energy(model, s.q, after.v)
        assert_close(lost, (1 - e) / (1 + e) * jump @ H @ jump / 2, 1e-8)


@every_method
def test_landing_changes_the_momentum_by_the_impulses(method: Method) -> None:
    model = fw.models.quadruped()
    rng = np.random.default_rng(0)
    q, v = model.random(rng, batch=40), rng.normal(size=(40, model.nv))
    feet = [fw.PointConstraint(foot) for foot in FEET]
    after = fw.impulse_dynamics(model, q, v, feet, method=method)
    gained = fw.centroidal_momentum(model, q, after.v) - fw.centroidal_momentum(model, q, v)
    pushed = sum(
        np.einsum("kij,kj->ki", fw.frame_placement(model, q, foot)[:, :3, :3], after.impulse(c))
        for c, foot in enumerate(FEET)
    )
    assert_close(gained[:, :3], pushed, 1e-9)
    assert_close(fw.constraint_velocity(model, q, after.v, feet), np.zeros((40, 12)), 1e-9)


def test_rows_without_compliance_are_not_for_pv_soft() -> None:
    model = single_body(0.4)
    with pytest.raises(ValueError, match="needs compliance > 0"):
        fw.impulse_dynamics(model, model.neutral(), np.ones(6), [fw.PointConstraint("body")], method="pv_soft")


def test_gravity_and_velocity_products_play_no_part() -> None:
    """An impact takes no time: in a robot at rest nothing happens, whatever it weighs or its constraints ask for."""
    model = fw.models.quadruped()
    held: list[Constraint] = [
        fw.PointConstraint(FEET[0], acceleration=3.0, position=(9, 9, 9), stiffness=100.0, damping=3.0)
    ]
    after = fw.impulse_dynamics(model, model.neutral(), np.zeros(model.nv), held, restitution=0.5)
    assert not after.v.any() and not after.impulses.any()


def test_redundant_rows_share_the_impulse() -> None:
    model = single_body(2.0)
    v = np.array([0, 0, -1.0, 0, 0, 0])
    after = fw.impulse_dynamics(model, model.neutral(), v, [fw.PointConstraint("body", ("z",))] * 4)
    assert after.converged
    np.testing.assert_allclose(after.impulses, np.full(4, 0.5), rtol=1e-9)
    np.testing.assert_allclose(after.v, np.zeros(6), atol=1e-9)


def test_a_compliant_row_keeps_some_velocity() -> None:
    """J v+ + R impulse = 0 with a mass m: v+ = v R m / (1 + R m)."""
    model, m, R = single_body(2.0), 2.0, 0.25
    v = np.array([0, 0, -3.0, 0, 0, 0])
    after = fw.impulse_dynamics(model, model.neutral(), v, [fw.PointConstraint("body", ("z",), compliance=R)])
    np.testing.assert_allclose(after.v[2], -3.0 * R * m / (1 + R * m), rtol=1e-12)
    np.testing.assert_allclose(after.v[2] + R * after.impulses[0], 0.0, atol=1e-12)


def test_samples_strike_each_with_their_own_feet() -> None:
    model = fw.models.quadruped()
    rng = np.random.default_rng(1)
    q, v = model.random(rng, batch=33), rng.normal(size=(33, model.nv))
    feet, active, e = [fw.PointConstraint(foot) for foot in FEET], rng.random((33, 4)) > 0.5, [0.0, 0.1, 0.5, 1.0]
    together = fw.impulse_dynamics(model, q, v, feet, active=active, restitution=e)
    assert together.v.shape == v.shape and together.converged.all()
    for k in range(33):
        alone = fw.impulse_dynamics(model, q[k], v[k], feet, active=active[k], restitution=e)
        np.testing.assert_array_equal(alone.v, together.v[k])
        np.testing.assert_array_equal(alone.impulses, together.impulses[k])
        struck = [c for c in range(4) if active[k, c]]
        if not struck:
            np.testing.assert_array_equal(alone.v, v[k])
            continue
        only = fw.impulse_dynamics(model, q[k], v[k], [feet[c] for c in struck], restitution=[e[c] for c in struck])
        assert_close(alone.v, only.v, 1e-11)
    shared = fw.impulse_dynamics(model, q[0], v, feet)
    assert_close(shared.v[5], fw.impulse_dynamics(model, q[0], v[5], feet).v, 0.0)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"restitution": -0.1}, "restitution: expected numbers from 0 to 1"),
        ({"restitution": 1.1}, "restitution: expected numbers from 0 to 1"),
        ({"restitution": np.nan}, "restitution: expected numbers from 0 to 1"),
        ({"restitution": [0.1, 0.2]}, r"restitution: expected a number or one per constraint \(1,\)"),
        ({"restitution": "bouncy"}, "restitution: expected a number"),
        ({"constraints": []}, "at least one"),
        ({"method": "magic"}, "method: expected one of"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"active": np.ones(1)}, "active: expected an array of bool"),
        ({"active": np.ones(3, bool)}, r"active: expected shape \(1,\)"),
        ({"q": np.full(19, np.nan)}, "q: entry 0"),
        ({"q": np.zeros(3)}, "q: expected shape"),
        ({"v": np.full(18, np.inf)}, "v: entry 0"),
        ({"v": np.zeros(3)}, "v: expected shape"),
    ],
)
def test_nonsense_is_refused(change: dict[str, Any], complaint: str) -> None:
    model = fw.models.quadruped()
    arguments = {"q": model.neutral(), "v": np.zeros(model.nv), "constraints": [fw.PointConstraint(FEET[0])]}
    with pytest.raises(ValueError, match=complaint):
        fw.impulse_dynamics(model, **{**arguments, **change})
