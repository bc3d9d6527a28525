"""Constrained dynamics of mechanisms with loops and couplings, against dense algebra in extended precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from helpers.loops import Mechanism, bennett, bricard, four_bars, parallelograms, random_mechanism

import featherweight as fw
from benchmarks import oracle
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import AnyConstraint

METHODS = ("limb_pv", "prox_pv", "kkt")


def error(found: Array, exact: Array) -> float:
    return float(np.abs(found - exact).max() / (1.0 + np.abs(exact).max()))


def errors(mechanism: Mechanism, seed: int, *, method: str = "auto", feasible: bool = True) -> tuple[float, float]:
    """Of accelerations and of the motion that forces cause."""
    model, q, constraints = mechanism
    rng = np.random.default_rng(seed)
    v = mechanism.velocity(rng) if feasible else rng.normal(size=model.nv)
    tau = rng.normal(size=model.nv)
    exact = oracle.solve(model, q, v, tau, constraints)
    found = fw.constrained_dynamics(model, q, v, tau, constraints, method=method)  # type: ignore[arg-type]
    J = fw.constraint_jacobian(model, q, constraints)
    missed = np.abs(fw.constraint_residual(model, q, v, found.a, constraints)).max()
    assert abs(found.residual - missed) < 1e-9 * (1 + np.abs(exact.a).max())
    return error(found.a, exact.a), error(J.T @ found.forces, J.T @ exact.forces)


@pytest.mark.parametrize("method", METHODS)
def test_random_looped_trees(method: str) -> None:
    """Of one to six loops, redundant and overlapping, with points on the ground, rods and couplings."""
    trees = 200 if method == "limb_pv" else 48
    found = np.array([errors(random_mechanism(seed, 1 + seed % 6), seed, method=method) for seed in range(trees)])
    assert np.median(found[:, 0]) < 1e-14, np.median(found, axis=0)
    worst = 1e-11 if method == "limb_pv" else 1e-9  # those that take steps stop at what they promise
    assert found[:, 0].max() < worst, found.max(axis=0)
    assert found[:, 1].max() < 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_rows_that_contradict_each_other_are_solved_in_the_least_squares_sense(method: str) -> None:
    found = np.array(
        [errors(random_mechanism(seed, 1 + seed % 5), seed, method=method, feasible=False) for seed in range(24)]
    )
    assert np.median(found[:, 0]) < 1e-13 and found[:, 0].max() < 1e-9, found[:, 0]


def test_stiff_loops_on_links_that_they_tie() -> None:
    """constrained_aba: ties of links are eliminated with their joints. Stiffness takes digits, to about eight."""
    method = "constrained_aba"
    for feasible in (True, False):
        trees = [random_mechanism(seed, 1 + seed % 6) for seed in range(48)]
        found = np.array([errors(each, k, method=method, feasible=feasible)[0] for k, each in enumerate(trees)])
        assert np.median(found) < 1e-10 and found.max() < 1e-6, found
    for flat in (0.3, 1e-2, 1e-3):
        assert errors(parallelograms(flat), 0, method=method)[0] < 1e-9
    for make in (bricard, bennett):
        assert errors(make(1), 0, method=method)[0] < 1e-9


@pytest.mark.parametrize(("flat", "tolerance"), [(0.3, 1e-13), (1e-2, 1e-12), (1e-3, 1e-10), (1e-4, 1e-8)])
def test_parallelograms_that_are_nearly_flat(flat: float, tolerance: float) -> None:
    """The condition grows with the square of how flat they are, to 1e10."""
    found = [errors(parallelograms(flat), seed)[0] for seed in range(4)]
    assert max(found) < tolerance, found


@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-8, 1e-7, 1e-6])
def test_one_rod_too_many_does_not_lock_a_parallelogram(off: float) -> None:
    """Nor does one whose anchors are rounded, as numbers in files are."""
    needed, more = parallelograms(0.7), parallelograms(0.7, rods=2, off=off)
    crank = needed.model.joint("crank_0").v_slice.start
    assert more.model.joint("crank_0").v_slice.start == crank

    def pushed(mechanism: Mechanism) -> float:
        tau = np.zeros(mechanism.model.nv)
        tau[crank] = 3.0
        still = np.zeros(mechanism.model.nv)
        return float(fw.constrained_dynamics(mechanism.model, mechanism.q, still, tau, mechanism.constraints).a[crank])

    assert 0.3 < pushed(more) / pushed(needed) < 1.0  # the further rods have mass
    if off == 0.0:
        assert errors(more, 0)[0] < 1e-12


@pytest.mark.parametrize(("make", "rank"), [(bricard, 5), (bennett, 3)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mechanisms_that_move_although_they_should_not(make: Callable[[int], Mechanism], rank: int, seed: int) -> None:
    mechanism = make(seed)
    assert int(fw.mobility(mechanism.model, mechanism.q, mechanism.constraints).redundant) == 6 - rank
    assert errors(mechanism, seed)[0] < 1e-12
    assert errors(mechanism, seed, feasible=False)[0] < 1e-9


def test_independent_rows_by_methods_that_need_them() -> None:
    model = fw.models.four_bar()
    pin = [fw.PointConstraint("coupler_end", ("x", "z"), to="rocker_end")]
    mechanism = Mechanism(model, fw.close_loops(model, model.neutral() + 0.2, pin).q, [*pin])
    for method in ("ltl", "pv", "limb_pv", "prox_pv", "kkt"):
        assert errors(mechanism, 0, method=method)[0] < 1e-13


@pytest.mark.parametrize("method", ["pv_early", "pv_soft"])
def test_methods_for_single_links_say_so(method: str) -> None:
    model = fw.models.four_bar()
    pin = [fw.PointConstraint("coupler_end", to="rocker_end", compliance=1.0)]
    with pytest.raises(ValueError, match=f"'{method}' knows no loops"):
        fw.constrained_dynamics(model, model.neutral(), np.zeros(3), np.zeros(3), pin, method=method)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["limb_pv", "constrained_aba"])
def test_samples_do_not_depend_on_their_neighbours(method: Literal["limb_pv", "constrained_aba"]) -> None:
    """Bit for bit, with loops switched on and off, some samples singular and some contradictory."""
    model, q, constraints = parallelograms(0.6)
    rng = np.random.default_rng(0)
    qs = np.stack([q, parallelograms(0.0).q, parallelograms(1e-3).q, q, q, q, q])
    vs = rng.normal(size=(7, model.nv))
    vs[3:] = 0.0
    taus, active = rng.normal(size=(7, model.nv)), rng.random((7, len(constraints))) < 0.7
    together = fw.constrained_dynamics(model, qs, vs, taus, constraints, active=active, method=method)
    for k in range(7):
        alone = fw.constrained_dynamics(model, qs[k], vs[k], taus[k], constraints, active=active[k], method=method)
        assert np.array_equal(alone.a, together.a[k]) and np.array_equal(alone.forces, together.forces[k])
        held = [c for c, on in zip(constraints, active[k], strict=True) if on]
        a = oracle.solve(model, qs[k], vs[k], taus[k], held).a if held else fw.aba(model, qs[k], vs[k], taus[k])
        assert error(together.a[k], a) < (1e-9 if method == "limb_pv" else 1e-6)
        assert not np.any(together.forces[k].reshape(len(constraints), -1)[~active[k]])


def test_soft_loops_give_way() -> None:
    model, q, _ = four_bars(2)
    pins: list[AnyConstraint] = [
        fw.PointConstraint("rocker_0_0", ("y", "x"), offset=(0.4, 0.0, 0.0), to="coupler_0", compliance=(0.5, 2.0)),
        fw.PointConstraint("rocker_1_0", offset=(0.4, 0.0, 0.0), to="coupler_1", compliance=0.1),
        fw.JointCoupling("crank_0", to="crank_1", compliance=3.0),
    ]
    rng = np.random.default_rng(1)
    v, tau = rng.normal(size=(2, model.nv))
    exact = oracle.solve(model, q, v, tau, pins)
    for method in (*METHODS, "constrained_aba"):
        found = fw.constrained_dynamics(model, q, v, tau, pins, method=method)  # type: ignore[arg-type]
        digits = 1e-9 if method == "constrained_aba" else 1e-12
        assert error(found.a, exact.a) < digits and error(found.forces, exact.forces) < 10 * digits


def test_impacts_of_loops() -> None:
    mechanism = random_mechanism(4, 3)
    model, q, constraints = mechanism
    v = np.random.default_rng(2).normal(size=model.nv)
    after = fw.impulse_dynamics(model, q, v, constraints)
    J = fw.constraint_jacobian(model, q, constraints)
    assert np.abs(J @ after.v).max() < 1e-11
    assert error(fw.crba(model, q) @ (after.v - v), J.T @ after.impulses) < 1e-10


def test_momentum_of_a_floating_mechanism_is_kept() -> None:
    """Forces of loops balance, however far the frames are apart: they do not move the centre of mass, nor turn it."""
    mechanism = parallelograms(0.7)
    model, q, constraints = mechanism
    v = np.random.default_rng(0).normal(size=model.nv)
    q = model.integrate(q, 0.1 * v)  # open
    solution = fw.constrained_dynamics(model, q, v, np.zeros(model.nv), constraints)
    J = fw.constraint_jacobian(model, q, constraints)
    assert np.abs(solution.forces).max() > 1.0
    assert np.abs((J.T @ solution.forces)[:6]).max() < 1e-12 * np.abs(solution.forces).max()


def test_a_gear_and_a_differential() -> None:
    builder = fw.ModelBuilder("gears")
    for name, inertia in (("sun", 0.1), ("ring", 0.4), ("carrier", 0.2)):
        builder.link(name, mass=1.0, inertia=(inertia, inertia, inertia))
        builder.joint(name, "continuous", "world", name, axis="x")
    model = builder.build()
    none = np.zeros(3)
    geared = fw.constrained_dynamics(
        model, none, none, np.array([1.0, 0.0, 0.0]), [fw.JointCoupling("ring", "sun", (0, -0.5))]
    )
    assert geared.a == pytest.approx([1 / (0.1 + 0.25 * 0.4), -0.5 / (0.1 + 0.25 * 0.4), 0.0], abs=1e-13)
    open_differential = [fw.JointCombination({"sun": 0.5, "ring": 0.5, "carrier": -1.0})]
    found = fw.constrained_dynamics(model, none, none, np.array([0.0, 0.0, 1.0]), open_differential)
    assert np.array([0.1, 0.4]) * found.a[:2] == pytest.approx([0.5 * found.forces[0]] * 2, abs=1e-13)
    assert 0.5 * (found.a[0] + found.a[1]) == pytest.approx(found.a[2], abs=1e-13)
