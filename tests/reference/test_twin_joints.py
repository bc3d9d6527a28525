"""Each joint twin against matrix exponentials, finite differences and its own inverse."""

from typing import get_args

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.finite_differences import time_derivative
from helpers.forests import Forest, LinkPlan, forests
from hypothesis import given

from featherweight import reference
from featherweight.arrays import Array
from featherweight.model.description import JOINT_SIZES, Joint, JointType
from featherweight.reference import dense, joints

EVERY_TYPE = get_args(JointType)


def sample(kind: JointType, seed: int) -> tuple[Joint, Array, Array, Array]:
    forest = Forest((LinkPlan(kind, axis="tilted", axis2="tilted"),), seed)
    state = forest.state()
    return forest.description.joints[0], state.q, state.v, state.a


def twist_of(X: Array, dX: Array) -> Array:
    """Body velocity [linear; angular] of a pose with rate dX."""
    V = np.linalg.inv(X) @ dX
    return np.array([*V[:3, 3], V[2, 1], V[0, 2], V[1, 0]])


@pytest.mark.parametrize("kind", EVERY_TYPE)
@pytest.mark.parametrize("seed", range(5))
class TestEveryJoint:
    def test_motion_is_a_product_of_exponentials(self, kind: JointType, seed: int) -> None:
        joint, q, v, a = sample(kind, seed)
        assert_close(joints.motion(joint, q), dense._joint_jet(joint, q, v, a)[0], 1e-14)

    def test_neutral_motion_is_the_identity(self, kind: JointType, seed: int) -> None:
        joint, *_ = sample(kind, seed)
        assert np.array_equal(joints.motion(joint, joints.neutral(joint)), np.eye(4))

    def test_subspace_maps_to_the_rate_of_the_motion(self, kind: JointType, seed: int) -> None:
        joint, q, v, _ = sample(kind, seed)
        rate = time_derivative(lambda t: joints.motion(joint, joints.integrate(joint, q, t * v)))
        assert_close(joints.subspace(joint, q) @ v, twist_of(joints.motion(joint, q), rate), 1e-10)

    def test_bias_is_the_rate_of_the_subspace_times_velocity(self, kind: JointType, seed: int) -> None:
        joint, q, v, _ = sample(kind, seed)
        rate = time_derivative(lambda t: joints.subspace(joint, joints.integrate(joint, q, t * v)))
        assert_close(joints.bias(joint, q, v), rate @ v, 1e-10)

    def test_difference_undoes_integrate(self, kind: JointType, seed: int) -> None:
        joint, q, v, _ = sample(kind, seed)
        assert_close(joints.difference(joint, q, joints.integrate(joint, q, v)), v, 1e-13)

    def test_integrate_undoes_difference(self, kind: JointType, seed: int) -> None:
        joint, q0, *_ = sample(kind, seed)
        _, q1, *_ = sample(kind, seed + 100)
        back = joints.integrate(joint, q0, joints.difference(joint, q0, q1))
        assert_close(joints.motion(joint, back), joints.motion(joint, q1), 1e-13)

    @pytest.mark.parametrize("scale", [0.0, 1e-12, 1e-8, 0.99e-4, 1.01e-4, 1e-3])
    def test_small_steps_keep_their_digits(self, kind: JointType, seed: int, scale: float) -> None:
        joint, q, v, _ = sample(kind, seed)
        back = joints.difference(joint, q, joints.integrate(joint, q, scale * v))
        assert np.max(np.abs(back - scale * v), initial=0.0) <= 1e-15 * (1 + 2 * np.max(np.abs(q), initial=0.0))

    def test_sizes(self, kind: JointType, seed: int) -> None:
        joint, q, v, _ = sample(kind, seed)
        assert (q.size, v.size) == JOINT_SIZES[kind]
        assert joints.subspace(joint, q).shape == (6, v.size)


def test_helical_joint_advances_by_its_pitch() -> None:
    screw = Joint("screw", "helical", "world", "nut", axis=np.array([0.0, 0.0, 1.0]), pitch=0.01)
    assert_close(joints.motion(screw, np.array([2 * np.pi]))[:3, 3], [0, 0, 0.02 * np.pi], 1e-15)


def test_half_turn_difference_has_the_length_of_half_a_turn() -> None:
    ball = Joint("ball", "spherical", "world", "link")
    identity, half_turn = np.array([0.0, 0, 0, 1]), np.array([1.0, 0, 0, 0])
    assert np.linalg.norm(joints.difference(ball, identity, half_turn)) == pytest.approx(np.pi)


@given(forests())
def test_integrate_and_difference_are_inverse_on_forests(forest: Forest) -> None:
    description, state = forest.description, forest.state()
    moved = reference.integrate(description, state.q, state.v)
    back = reference.integrate(description, state.q, reference.difference(description, state.q, moved))
    assert_close(
        reference.forward_kinematics(description, back), reference.forward_kinematics(description, moved), 1e-12
    )
