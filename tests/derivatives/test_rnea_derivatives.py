"""Derivatives of inverse dynamics against central differences, the dense twin and laws of mechanics."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.finite_differences import gradient, tangent_derivative
from helpers.forests import Forest, LinkPlan, forests, random_forest
from hypothesis import given, settings

import featherweight as fw
from featherweight import reference

#: Sixth-order differences of functions of order one to hundred are good to this.
DIFFERENCES = 1e-9


def check_against_differences(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    d = fw.rnea_derivatives(model, s.q, s.v, s.a, s.f_ext)

    def tau_at(q: np.ndarray) -> np.ndarray:
        return fw.rnea(model, q, s.v, s.a, s.f_ext)

    assert_close(d.tau, tau_at(s.q), 1e-13, "tau")
    assert_close(d.dq, tangent_derivative(tau_at, model.integrate, s.q, model.nv), DIFFERENCES, "by q")
    assert_close(d.dv, gradient(lambda v: fw.rnea(model, s.q, v, s.a, s.f_ext), s.v), DIFFERENCES, "by v")
    assert_close(d.da, fw.crba(model, s.q), 1e-14, "by a")


@settings(max_examples=25)
@given(forests(max_links=7))
def test_every_joint_type_agrees_with_differences(forest: Forest) -> None:
    check_against_differences(forest)


@pytest.mark.parametrize("armature", [False, True])
@pytest.mark.parametrize("joint", ["free", "spherical", "planar", "universal", "helical", "prismatic"])
def test_each_joint_at_the_root_in_the_middle_and_at_the_end(joint: str, armature: bool) -> None:
    plan = LinkPlan(joint, axis="tilted", axis2="-y", placement="general", child_placement="general", armature=armature)  # type: ignore[arg-type]
    hinge = LinkPlan("revolute", axis="-z", placement="general")
    for plans in ((plan,), (plan, hinge, hinge), (hinge, plan, hinge), (hinge, hinge, plan), (plan, plan, plan)):
        check_against_differences(Forest(plans))


@settings(max_examples=25)
@given(forests())
def test_matches_the_twin(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    d = fw.rnea_derivatives(model, s.q, s.v, s.a, s.f_ext)
    for got, expected in zip(
        (d.tau, d.dq, d.dv, d.da), reference.rnea_derivatives(forest.description, s.q, s.v, s.a, s.f_ext), strict=True
    ):
        assert_close(got, expected)


@pytest.mark.parametrize("seed", range(3))
def test_large_forests(seed: int) -> None:
    forest = random_forest(seed, 40)
    model, s = fw.Model(forest.description), forest.state()
    d = fw.rnea_derivatives(model, s.q, s.v, s.a, s.f_ext)
    for got, expected in zip(
        (d.tau, d.dq, d.dv, d.da), reference.rnea_derivatives(forest.description, s.q, s.v, s.a, s.f_ext), strict=True
    ):
        assert_close(got, expected)


@settings(max_examples=25)
@given(forests())
def test_products_are_those_with_the_matrices(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    d = fw.rnea_derivatives(model, s.q, s.v, s.a, s.f_ext)
    by_q, by_v, by_a = fw.rnea_vjp(model, s.q, s.v, s.a, s.tau, s.f_ext)
    assert_close(by_q, s.tau @ d.dq, what="by q")
    assert_close(by_v, s.tau @ d.dv, what="by v")
    assert_close(by_a, s.tau @ d.da, what="by a")


def test_gravity_has_a_potential() -> None:
    """At rest, without other forces, d tau / d q is the Hessian of a potential: symmetric where coordinates are angles
    and travels."""
    forest = random_forest(3, 20, ("revolute", "prismatic", "helical", "universal", "planar"))
    model, s = fw.Model(forest.description), forest.state()
    zero = np.zeros(model.nv)
    dq = fw.rnea_derivatives(model, s.q, zero, zero).dq
    assert_close(dq, dq.T)
    assert np.max(np.abs(dq)) > 1


def test_v_times_the_derivative_is_twice_the_forces_of_velocities() -> None:
    """Coriolis forces are of second degree in v (Euler)."""
    forest = random_forest(4, 20)
    model, s = fw.Model(forest.description), forest.state()
    zero = np.zeros(model.nv)
    expected = 2 * (fw.bias_forces(model, s.q, s.v) - fw.gravity_forces(model, s.q))
    assert_close(fw.rnea_derivatives(model, s.q, s.v, zero).dv @ s.v, expected)


def test_place_and_heading_of_a_floating_robot_do_not_matter() -> None:
    model = fw.models.quadruped()
    rng = np.random.default_rng(0)
    v, a = rng.normal(size=(2, model.nv))
    q = model.random(rng)
    dq = fw.rnea_derivatives(model, q, v, a).dq
    R = fw.rotation_from_quaternion(q[3:7])
    assert np.all(dq[:, :3] == 0)
    assert_close(dq[:, 3:6] @ R.T @ [0.0, 0.0, 1.0], np.zeros(model.nv))  # a turn about the vertical


def test_forces_on_links_turn_with_them() -> None:
    """A force on a free body, in its axes, is felt the same in every posture."""
    model = fw.models.quadruped()
    v = np.zeros(model.nv)
    f_ext = np.zeros((model.n_links, 6))
    f_ext[0] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    q = model.random(np.random.default_rng(1))
    with_force, without = (fw.rnea_derivatives(model, q, v, v, f).dq for f in (f_ext, None))
    assert_close(with_force, without)


def test_a_sample_that_overflows_leaves_its_neighbours_alone() -> None:
    forest = random_forest(5, 8)
    model = fw.Model(forest.description)
    states = [forest.state(k) for k in range(9)]
    states[4] = replace(states[4], v=np.full(model.nv, 1e200))
    q, v, a = (np.stack([getattr(s, name) for s in states]) for name in ("q", "v", "a"))
    d = fw.rnea_derivatives(model, q, v, a)
    for k in (0, 3, 5, 8):
        assert np.array_equal(d.dq[k], fw.rnea_derivatives(model, q[k], v[k], a[k]).dq)


def test_record_compares_by_value_and_survives_pickling() -> None:
    import pickle

    model = fw.models.arm()
    q, v = model.neutral(), np.ones(model.nv)
    d = fw.rnea_derivatives(model, q, v, v)
    assert pickle.loads(pickle.dumps(d)) == d
    assert d != fw.rnea_derivatives(model, q, v, 2 * v)
