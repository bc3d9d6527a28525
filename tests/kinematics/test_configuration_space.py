"""neutral, integrate and difference on the configuration manifold."""

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.forests import MOVING_JOINTS, Forest, LinkPlan, forests
from hypothesis import given

import featherweight as fw
from featherweight import reference
from featherweight.model.description import JointType


@given(forests())
def test_neutral_matches_the_twin(forest: Forest) -> None:
    assert np.array_equal(fw.Model(forest.description).neutral(), reference.neutral(forest.description))


@given(forests())
def test_integrate_matches_the_twin(forest: Forest) -> None:
    s = forest.state()
    actual = fw.Model(forest.description).integrate(s.q, s.v)
    assert_close(actual, reference.integrate(forest.description, s.q, s.v))


@given(forests())
def test_difference_matches_the_twin(forest: Forest) -> None:
    q0, q1 = forest.state(0).q, forest.state(1).q
    actual = fw.Model(forest.description).difference(q0, q1)
    assert_close(actual, reference.difference(forest.description, q0, q1))


@given(forests())
def test_difference_undoes_integrate(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    dv = s.v / (1 + np.max(np.abs(s.v)))  # less than half a turn
    assert_close(model.difference(s.q, model.integrate(s.q, dv)), dv)


@given(forests())
def test_integrate_undoes_difference(forest: Forest) -> None:
    """Up to the sign of quaternions, so compared by where the links are."""
    model = fw.Model(forest.description)
    q0, q1 = forest.state(0).q, forest.state(1).q
    back = model.integrate(q0, model.difference(q0, q1))
    assert_close(fw.forward_kinematics(model, back), fw.forward_kinematics(model, q1))


@given(forests())
def test_integrate_stays_on_the_manifold(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    q = s.q
    for _ in range(50):
        q = model.integrate(q, s.v)
    for joint in model.joints:
        if joint.type in ("spherical", "free"):
            assert abs(np.linalg.norm(q[joint.q_slice][-4:]) - 1) < 1e-14


@pytest.mark.parametrize("kind", MOVING_JOINTS)
@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-5, 1e-4, 1e-3, 1e-2, 1.0])
def test_steps_of_any_size_come_back(kind: JointType, scale: float) -> None:
    forest = Forest((LinkPlan(kind),))
    model, s = fw.Model(forest.description), forest.state()
    dv = scale * s.v / np.linalg.norm(s.v)
    back = model.difference(s.q, model.integrate(s.q, dv))
    assert np.max(np.abs(back - dv)) <= 1e-15 * (1 + 2 * np.max(np.abs(s.q)))


@pytest.mark.parametrize("angle", [np.pi - 1e-3, np.pi - 1e-7, np.pi - 1e-12])
def test_difference_close_to_half_a_turn(angle: float) -> None:
    forest = Forest((LinkPlan("free"),))
    model, q = fw.Model(forest.description), forest.state().q
    dv = np.array([0.3, -0.2, 0.1, 0.0, angle * 0.6, angle * 0.8])
    assert_close(model.difference(q, model.integrate(q, dv)), dv, 1e-12)


def test_opposite_quaternions_are_the_same_rotation() -> None:
    forest = Forest((LinkPlan("free"),))
    model, q = fw.Model(forest.description), forest.state().q
    flipped = np.concatenate([q[:3], -q[3:]])
    assert_close(model.difference(q, flipped), np.zeros(6), 1e-15)
    assert_close(fw.forward_kinematics(model, flipped), fw.forward_kinematics(model, q), 1e-15)


def test_batches() -> None:
    forest = Forest((LinkPlan("free"), LinkPlan("spherical"), LinkPlan("planar"), LinkPlan("revolute")))
    model = fw.Model(forest.description)
    states = [forest.state(seed) for seed in range(5)]
    q, v = np.stack([s.q for s in states]), np.stack([s.v for s in states])
    moved = model.integrate(q, v)
    assert np.array_equal(moved, [model.integrate(s.q, s.v) for s in states])
    assert np.array_equal(model.difference(q, moved), [model.difference(*pair) for pair in zip(q, moved, strict=True)])
    assert np.array_equal(model.integrate(q[0], v), [model.integrate(q[0], dv) for dv in v])


def test_held_twist_moves_the_body_along_a_screw() -> None:
    """Half a turn about z while walking forwards: a half circle of diameter 2 v / w."""
    model = fw.Model(Forest((LinkPlan("free"),)).description)
    q = model.integrate(model.neutral(), [np.pi, 0, 0, 0, 0, np.pi])
    assert_close(q, [0, 2, 0, 0, 0, 1, 0], 1e-15)
