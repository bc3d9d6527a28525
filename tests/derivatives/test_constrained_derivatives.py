"""Derivatives of constrained dynamics and of impacts against central differences and dense algebra."""

from collections.abc import Sequence

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.constraints import random_constraints
from helpers.derivatives import DIFFERENCES, check_derivatives
from helpers.forests import Forest, LinkPlan, leg

import featherweight as fw
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import AnyConstraint
from featherweight.derivatives.constrained import _closed

FEET = [fw.PointConstraint(f"{leg}_foot") for leg in ("front_left", "front_right", "hind_left", "hind_right")]
SOLES = [fw.FrameConstraint(f"{side}_foot") for side in ("left", "right")]


def state(model: fw.Model, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
    v, tau = rng.normal(size=(2, model.nv))
    return q, v, tau


def check(
    model: fw.Model, constraints: Sequence[AnyConstraint], tolerance: float = 100 * DIFFERENCES, forces: bool = True
) -> None:
    q, v, tau = state(model)
    f_ext = np.random.default_rng(1).normal(size=(model.n_links, 6))
    compiled = fw.ConstraintSet(model, constraints)
    d = fw.constrained_dynamics_derivatives(model, q, v, tau, compiled, f_ext=f_ext, tolerance=1e-12)
    at = {"q": q, "v": v, "tau": tau}

    def solved(q: Array, v: Array, tau: Array) -> fw.ConstrainedSolution:
        return fw.constrained_dynamics(model, q, v, tau, compiled, f_ext=f_ext, tolerance=1e-12)

    assert_close(d.a, solved(**at).a, 1e-15)
    check_derivatives(model, lambda **at: solved(**at).a, at, {"q": d.a_dq, "v": d.a_dv, "tau": d.a_dtau}, tolerance)
    if forces:
        found = {"q": d.forces_dq, "v": d.forces_dv, "tau": d.forces_dtau}
        check_derivatives(model, lambda **at: solved(**at).forces, at, found, tolerance)


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_standing_quadruped(damping: float) -> None:
    check(fw.models.quadruped(), [fw.PointConstraint(foot.frame, damping=damping) for foot in FEET])


def test_frames_held_by_six_rows() -> None:
    check(fw.models.humanoid(), SOLES)


def test_stiffness_is_differentiated() -> None:
    model = fw.models.quadruped()
    at = fw.exp6([0.1, -0.2, 0.3, 0.4, -0.2, 0.3])
    held: list[AnyConstraint] = [
        fw.PointConstraint("front_left_foot", ("x", "z"), position=[0.3, 0.2, 0.1], stiffness=20.0, damping=2.0),
        fw.FrameConstraint("trunk", position=at, stiffness=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)),
    ]
    check(model, held)


def test_stiffness_about_some_axes_only_is_refused() -> None:
    model = fw.models.quadruped()
    held = [fw.FrameConstraint("trunk", ("x", "rz"), position=np.eye(4), stiffness=1.0)]
    v = np.zeros(model.nv)
    with pytest.raises(ValueError, match=r"constraint 0 on 'trunk'.*rx, ry and rz"):
        fw.constrained_dynamics_derivatives(model, model.neutral(), v, v, held)


def test_compliance() -> None:
    check(fw.models.quadruped(), [fw.PointConstraint(foot.frame, compliance=0.3) for foot in FEET])


@pytest.mark.parametrize("base", ["free", "spherical", "planar", "universal", "prismatic"])
def test_every_joint_type_on_the_way_to_the_rows(base: str) -> None:
    plans = (LinkPlan(base, armature=True, placement="general"), *leg(LinkPlan("spherical", placement="shifted")))  # type: ignore[arg-type]
    forest = Forest((*plans, LinkPlan("helical", axis="tilted", placement="general")), seed=3)
    model = fw.Model(forest.description)
    rows = ("x", "y") if base == "prismatic" else ("x", "y", "z")
    check(model, [fw.PointConstraint("frame_2", rows, offset=[0.1, 0.2, 0.3])])


def test_redundant_rows_have_the_derivatives_of_independent_ones() -> None:
    """Twice the same foot, and more points of it than it has freedoms: accelerations do not notice."""
    model = fw.models.quadruped()
    q, v, tau = state(model)
    d = fw.constrained_dynamics_derivatives(model, q, v, tau, FEET)
    twice = fw.constrained_dynamics_derivatives(model, q, v, tau, [*FEET, *FEET])
    for name in ("a_dq", "a_dv", "a_dtau"):
        assert_close(getattr(twice, name), getattr(d, name), 1e-7, name)
    for name in ("forces_dq", "forces_dv", "forces_dtau"):  # of least norm: each bears half
        halves = getattr(twice, name)
        assert_close(halves[:12] + halves[12:], getattr(d, name), 1e-6, name)
        assert_close(halves[:12], halves[12:], 1e-6, name)


FOOT, OTHER = "front_left_foot", "front_right_foot"
LOOPS: dict[str, list[AnyConstraint]] = {
    "point": [fw.PointConstraint(FOOT, to=OTHER, offset=(0.1, 0, 0.2), to_offset=(0, 0.1, 0), stiffness=3, damping=2)],
    "frame": [fw.FrameConstraint(FOOT, to=OTHER, stiffness=3.0, damping=2.0)],
    "some rows": [fw.FrameConstraint(FOOT, ("x", "rz"), to="trunk", damping=2.0), fw.PointConstraint(OTHER, "z")],
    "hinge": [fw.HingeConstraint(FOOT, OTHER, axis="y", damping=2.0), fw.PointConstraint("hind_left_foot")],
    "rod": [fw.DistanceConstraint(FOOT, OTHER, length=0.3, offset=(0.1, 0, 0.2), stiffness=3.0, damping=2.0)],
    "rod to the world": [fw.DistanceConstraint(FOOT, length=0.3, to_offset=(0.2, 0.1, 0), stiffness=3.0)],
    "coupling": [
        fw.JointCoupling(
            "front_left_thigh_joint", to="hind_left_calf_joint", polynomial=(0.1, 0.5, 0.3, 0.2), damping=1
        ),
        fw.JointCombination(
            {"front_right_calf_joint": 1.0, "hind_right_calf_joint": -0.5}, compliance=0.1, stiffness=2.0
        ),
    ],
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_rods_and_couplings(name: str) -> None:
    check(fw.models.quadruped(), LOOPS[name])


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "slider_crank", "delta"])
def test_mechanisms(name: str) -> None:
    model = getattr(fw.models, name)()
    check(model, fw.constraints_of(model), tolerance=1e-6)


def test_dense_algebra_agrees_with_the_sweeps_about_anchors() -> None:
    model = fw.models.quadruped()
    q, v, tau = state(model)
    at = fw.exp6([0.1, -0.2, 0.3, 0.4, -0.2, 0.3])
    trunk = fw.FrameConstraint("trunk", ("x", "rx", "ry", "rz"), position=at, stiffness=2.0, offset=at, compliance=0.1)
    held = fw.ConstraintSet(model, [*FEET[:3], trunk])
    active = np.array([True, True, False, True])
    found = fw.constrained_dynamics(model, q, v, tau, held, active=active, tolerance=1e-12)
    d = fw.constrained_dynamics_derivatives(model, q, v, tau, held, active=active, tolerance=1e-12)
    dense = _closed(model, q, v, held, found, None, active, None)
    for part in ("a_dq", "a_dv", "a_dtau", "forces_dq", "forces_dv", "forces_dtau"):
        assert_close(getattr(dense, part), getattr(d, part), 1e-9, part)


@pytest.mark.parametrize("name", ["point", "hinge", "rod", "coupling"])
def test_impacts_of_loops(name: str) -> None:
    model = fw.models.quadruped()
    q, v, _ = state(model)
    held = fw.ConstraintSet(model, LOOPS[name])

    def solved(q: Array, v: Array) -> fw.ImpulseSolution:
        return fw.impulse_dynamics(model, q, v, held, restitution=0.3, tolerance=1e-12)

    d = fw.impulse_dynamics_derivatives(model, q, v, held, restitution=0.3, tolerance=1e-12)
    at = {"q": q, "v": v}
    check_derivatives(model, lambda **at: solved(**at).v, at, {"q": d.v_dq, "v": d.v_dv}, 100 * DIFFERENCES)
    found = {"q": d.impulses_dq, "v": d.impulses_dv}
    check_derivatives(model, lambda **at: solved(**at).impulses, at, found, 100 * DIFFERENCES)


@pytest.mark.parametrize("apart", [0.0, 0.01], ids=["alike", "nearly alike"])
def test_contradicting_rows_have_the_derivative_of_least_squares(apart: float) -> None:
    asked = [fw.PointConstraint(foot.frame, acceleration=1.0, offset=(apart, 0, 0)) for foot in FEET[:2]]
    check(fw.models.quadruped(), [*FEET[:2], *asked], tolerance=1e-6)


def test_contradicting_loops_have_the_derivative_of_least_squares() -> None:
    loop = fw.PointConstraint(FOOT, to=OTHER, acceleration=1.0, offset=(0.01, 0, 0))
    check(fw.models.quadruped(), [fw.PointConstraint(FOOT, to=OTHER), loop], tolerance=1e-6)


def test_more_rows_than_an_arm_can_follow() -> None:
    arm = fw.models.arm()
    rows: list[AnyConstraint] = [fw.FrameConstraint("flange")]
    check(arm, [*rows, fw.PointConstraint(arm.link_names[4], acceleration=1.0)], tolerance=1e-5)


def test_loops_in_batches_are_their_samples() -> None:
    model = fw.models.quadruped()
    q, v, tau = (np.array(x) for x in zip(*(state(model, seed) for seed in range(3)), strict=True))
    d = fw.constrained_dynamics_derivatives(model, q, v, tau, LOOPS["hinge"])
    for k in range(3):
        one = fw.constrained_dynamics_derivatives(model, q[k], v[k], tau[k], LOOPS["hinge"])
        assert_close(d.a_dq[k], one.a_dq, 1e-12)
        assert_close(d.forces_dtau[k], one.forces_dtau, 1e-12)


def test_contradicting_rows_stay_finite() -> None:
    model = fw.models.quadruped()
    q, v, tau = state(model)
    held = [*FEET, *(fw.PointConstraint(foot.frame, acceleration=1.0) for foot in FEET)]
    d = fw.constrained_dynamics_derivatives(model, q, v, tau, held)
    agreeing = fw.constrained_dynamics_derivatives(
        model, q, v, tau, [fw.PointConstraint(foot.frame, acceleration=0.5) for foot in FEET]
    )
    assert all(np.isfinite(x).all() for x in vars(d).values())
    assert_close(d.a, agreeing.a, 1e-7)
    assert_close(d.a_dv, agreeing.a_dv, 1e-6)


def test_stretched_leg_stays_finite() -> None:
    """A foot that its leg cannot move along itself: rows of rank two."""
    model = fw.models.quadruped()
    q = model.neutral()
    q[7:] = 0.0
    v = np.zeros(model.nv)
    fixed: list[AnyConstraint] = [fw.FrameConstraint("trunk"), *FEET]
    d = fw.constrained_dynamics_derivatives(model, q, v, v, fixed)
    assert all(np.isfinite(x).all() for x in vars(d).values())


def test_inactive_constraints_have_no_part() -> None:
    model = fw.models.quadruped()
    q, v, tau = state(model)
    all_of_them = fw.constrained_dynamics_derivatives(model, q, v, tau, FEET, active=[True, False, True, False])
    some = fw.constrained_dynamics_derivatives(model, q, v, tau, [FEET[0], FEET[2]])
    assert_close(all_of_them.a_dq, some.a_dq, 1e-9)
    assert_close(all_of_them.forces_dq[[0, 1, 2, 6, 7, 8]], some.forces_dq, 1e-9)
    assert not all_of_them.forces_dq[3:6].any()


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 9])
def test_batch_is_its_samples_bit_for_bit(batch: int) -> None:
    model = fw.models.quadruped()
    states = [state(model, k) for k in range(batch)]
    q, v, tau = (np.stack(x) for x in zip(*states, strict=True))
    d = fw.constrained_dynamics_derivatives(model, q, v, tau, FEET)
    impact = fw.impulse_dynamics_derivatives(model, q, v, FEET)
    for k in range(batch):
        one = fw.constrained_dynamics_derivatives(model, q[k], v[k], tau[k], FEET)
        assert all(np.array_equal(getattr(d, name)[k], value) for name, value in vars(one).items())
        one_impact = fw.impulse_dynamics_derivatives(model, q[k], v[k], FEET)
        assert all(np.array_equal(getattr(impact, name)[k], value) for name, value in vars(one_impact).items())


@pytest.mark.parametrize("restitution", [0.0, 0.7, (0.0, 0.2, 0.5, 1.0)])
def test_impacts(restitution: float | tuple[float, ...]) -> None:
    model = fw.models.quadruped()
    q, v, _ = state(model)
    d = fw.impulse_dynamics_derivatives(model, q, v, FEET, restitution=restitution)

    def struck(q: Array, v: Array) -> fw.ImpulseSolution:
        return fw.impulse_dynamics(model, q, v, FEET, restitution=restitution, tolerance=1e-12)

    at = {"q": q, "v": v}
    check_derivatives(model, lambda **at: struck(**at).v, at, {"q": d.v_dq, "v": d.v_dv}, 100 * DIFFERENCES)
    found = {"q": d.impulses_dq, "v": d.impulses_dv}
    check_derivatives(model, lambda **at: struck(**at).impulses, at, found, 100 * DIFFERENCES)


@pytest.mark.parametrize("seed", range(4))
def test_random_constraints_on_a_random_robot(seed: int) -> None:
    plans = (LinkPlan("free"), *leg(LinkPlan("revolute", placement="general")), *leg(LinkPlan("revolute", up=3)))
    forest = Forest(plans, seed)
    model = fw.Model(forest.description)
    check(model, random_constraints(forest, model, 1, seed), 1e-6)
