"""Inverse dynamics and its special cases against the NumPy twin and the dense oracle."""

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.forests import MOVING_JOINTS, Forest, LinkPlan, forests, random_forest
from hypothesis import given

import featherweight as fw
from featherweight import reference
from featherweight.model.description import JointType
from featherweight.reference import dense


@given(forests())
def test_rnea_matches_the_twin(forest: Forest) -> None:
    s = forest.state()
    actual = fw.rnea(fw.Model(forest.description), s.q, s.v, s.a)
    assert_close(actual, reference.rnea(forest.description, s.q, s.v, s.a))


@given(forests())
def test_external_forces_act_on_every_link(forest: Forest) -> None:
    """Fixed links included: their forces reach the link they are merged into."""
    s = forest.state()
    actual = fw.rnea(fw.Model(forest.description), s.q, s.v, s.a, s.f_ext)
    assert_close(actual, reference.rnea(forest.description, s.q, s.v, s.a, s.f_ext))


@given(forests(max_links=6))
def test_rnea_matches_dense_newton_euler(forest: Forest) -> None:
    description, s = forest.description, forest.state()
    expected = dense.mass_matrix(description, s.q) @ s.a + dense.bias_forces(description, s.q, s.v, s.f_ext)
    assert_close(fw.rnea(fw.Model(description), s.q, s.v, s.a, s.f_ext), expected)


@given(forests())
def test_bias_and_gravity_forces_match_the_twin(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    assert_close(fw.bias_forces(model, s.q, s.v), reference.bias_forces(forest.description, s.q, s.v))
    assert_close(fw.gravity_forces(model, s.q), reference.gravity_forces(forest.description, s.q))


@given(forests())
def test_special_cases_are_consistent(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    zero = np.zeros(model.nv)
    assert_close(fw.bias_forces(model, s.q, s.v), fw.rnea(model, s.q, s.v, zero))
    assert_close(fw.gravity_forces(model, s.q), fw.rnea(model, s.q, zero, zero))
    assert_close(fw.rnea(model, s.q, s.v, s.a, np.zeros_like(s.f_ext)), fw.rnea(model, s.q, s.v, s.a))


@given(forests())
def test_external_force_enters_through_the_jacobian(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    expected = fw.rnea(model, s.q, s.v, s.a)
    for link, wrench in zip(model.link_names, s.f_ext, strict=True):
        expected = expected - fw.jacobian(model, s.q, link).T @ wrench
    assert_close(fw.rnea(model, s.q, s.v, s.a, s.f_ext), expected)


@pytest.mark.parametrize("seed", range(5))
def test_large_forests(seed: int) -> None:
    forest = random_forest(seed, 40)
    s = forest.state()
    actual = fw.rnea(fw.Model(forest.description), s.q, s.v, s.a, s.f_ext)
    assert_close(actual, reference.rnea(forest.description, s.q, s.v, s.a, s.f_ext))


@pytest.mark.parametrize("kind", MOVING_JOINTS)
def test_armature_adds_its_inertia_to_the_joint_only(kind: JointType) -> None:
    light = Forest((LinkPlan(kind, axis="tilted"), LinkPlan("revolute", placement="general")))
    heavy = Forest((LinkPlan(kind, axis="tilted", armature=True), LinkPlan("revolute", placement="general")))
    s, armature = light.state(), heavy.description.joints[0].armature
    assert armature is not None
    # of ball joints at rest: turning, what is added has Coriolis forces of its own (tests/physics/test_tumbling.py)
    v = np.zeros_like(s.v) if kind in ("spherical", "free") else s.v
    difference = fw.rnea(fw.Model(heavy.description), s.q, v, s.a) - fw.rnea(fw.Model(light.description), s.q, v, s.a)
    assert_close(difference, [*(armature * s.a[:-1]), 0.0])


def test_robot_hanging_at_rest_needs_no_torque() -> None:
    """A chain hanging along gravity is in equilibrium."""
    model = fw.models.chain(5)
    tau = fw.gravity_forces(model, model.neutral())
    lifted = fw.gravity_forces(model, model.neutral() + 0.3)
    assert_close(tau, np.zeros(model.nv), 1e-12)
    assert np.max(np.abs(lifted)) > 0.1
