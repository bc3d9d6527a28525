"""Inverse kinematics: forward kinematics lead back to the targets, within limits, batch or not."""

from typing import Any

import numpy as np
import pytest

import featherweight as fw

ARM = fw.models.arm()
HAND = ARM.link_names[-1]


def reachable(rng: np.random.Generator, batch: int) -> tuple[np.ndarray, np.ndarray]:
    q = ARM.random(rng, batch=batch)
    return q, fw.frame_placement(ARM, q, HAND)


def test_reachable_poses_are_reached() -> None:
    q, goals = reachable(np.random.default_rng(1), 200)
    near = np.clip(ARM.integrate(q, 0.3 * np.random.default_rng(2).standard_normal(q.shape)), ARM.lower, ARM.upper)
    found = fw.inverse_kinematics(ARM, {HAND: goals}, near)
    assert found.converged.mean() > 0.95
    good = found.converged
    assert np.abs(fw.frame_placement(ARM, found.q, HAND) - goals)[good].max() < 1e-8
    assert (found.q >= ARM.lower).all()
    assert (found.q <= ARM.upper).all()


def test_two_feet_and_a_trunk_of_a_free_robot() -> None:
    model = fw.models.quadruped()
    feet = [name for name in model.link_names if name.endswith("foot")]
    rng = np.random.default_rng(0)
    q = model.neutral()
    q[7:] = np.clip(0.3 * rng.standard_normal(model.nq - 7), model.lower[7:], model.upper[7:])
    targets = {foot: fw.frame_placement(model, q, foot)[:3, 3] + [0.02, 0.01, 0.03] for foot in feet}
    trunk = fw.frame_placement(model, q, model.link_names[0])
    trunk[2, 3] -= 0.03
    found = fw.inverse_kinematics(model, {**targets, model.link_names[0]: trunk}, q)
    assert found.converged
    for foot, target in targets.items():
        assert np.allclose(fw.frame_placement(model, found.q, foot)[:3, 3], target, atol=1e-8)


def test_out_of_reach_says_how_far() -> None:
    """The straight arm points at the target: the error is the distance less the reach."""
    model = fw.models.pendulum()
    tip = model.link_names[-1]
    lengths = np.linalg.norm(fw.frame_placement(model, model.neutral(), tip)[:3, 3])
    found = fw.inverse_kinematics(model, {tip: [0.0, 0.0, 100.0]}, np.full(model.nq, 0.3))
    assert not found.converged
    assert found.position_error[0] >= 100.0 - lengths - 1.0


def test_a_sample_does_not_depend_on_its_batch() -> None:
    _, goals = reachable(np.random.default_rng(3), 8)
    together = fw.inverse_kinematics(ARM, {HAND: goals}, np.zeros(ARM.nq))
    alone = fw.inverse_kinematics(ARM, {HAND: goals[5]}, np.zeros(ARM.nq))
    assert np.allclose(together.q[5], alone.q, atol=1e-12)
    assert alone.q.shape == (ARM.nq,)
    assert together.position_error.shape == (8, 1)


def test_posture_decides_what_targets_leave_free() -> None:
    wanted = np.clip(np.full(ARM.nq, 0.4), ARM.lower, ARM.upper)
    goal = fw.frame_placement(ARM, wanted, HAND)[:3, 3]
    found = fw.inverse_kinematics(
        ARM, {HAND: goal}, np.zeros(ARM.nq), posture=wanted, posture_weight=1e-3, tolerance=1e-6
    )
    assert np.allclose(found.q, wanted, atol=1e-4)


@pytest.mark.parametrize(
    "targets, options, message",
    [
        ({}, {}, "a dictionary from links or frames"),
        (np.eye(4), {}, "a dictionary from links or frames"),
        ({HAND[:-1]: np.zeros(3)}, {}, f"did you mean '{HAND}'"),
        ({"nobody": np.zeros(3)}, {}, "no link or frame 'nobody'"),
        ({HAND: np.zeros(5)}, {}, r"has shape \(5,\), expected"),
        ({HAND: 2.0 * np.eye(4)}, {}, "not a rotation"),
        ({HAND: np.full(3, np.inf)}, {}, "not finite"),
        ({HAND: np.zeros(3)}, {"q0": np.zeros(99)}, r"q0: expected shape"),
        ({HAND: np.zeros((4, 3))}, {"q0": np.zeros((3, ARM.nq))}, "batches of 3 and 4"),
        ({HAND: np.zeros(3)}, {"weights": {HAND: -1.0}}, "positive"),
    ],
)
def test_bad_input_is_named(targets: Any, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fw.inverse_kinematics(ARM, targets, **options)  # type: ignore[arg-type]
