"""Placements of links and frames against the NumPy twins, which neither merge, re-frame nor split joints."""

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.forests import Forest, LinkPlan, forests, random_forest
from hypothesis import given

import featherweight as fw
from featherweight import Inertia, ModelDescription, reference
from featherweight.model.description import Frame, Joint, Link


@given(forests())
def test_link_placements_match_the_twin(forest: Forest) -> None:
    q = forest.state().q
    actual = fw.forward_kinematics(fw.Model(forest.description), q)
    assert_close(actual, reference.forward_kinematics(forest.description, q))


@given(forests())
def test_frame_placements_match_the_twin(forest: Forest) -> None:
    model, q = fw.Model(forest.description), forest.state().q
    for frame in forest.frame_names:
        expected = reference.frame_placement(forest.description, q, frame)
        assert_close(fw.frame_placement(model, q, frame), expected, what=frame)


@pytest.mark.parametrize("seed", range(5))
def test_large_forests(seed: int) -> None:
    forest = random_forest(seed, 40)
    q = forest.state().q
    actual = fw.forward_kinematics(fw.Model(forest.description), q)
    assert_close(actual, reference.forward_kinematics(forest.description, q))


@given(forests())
def test_placements_are_rigid(forest: Forest) -> None:
    X = fw.forward_kinematics(fw.Model(forest.description), forest.state().q)
    R = X[:, :3, :3]
    assert_close(R @ R.transpose(0, 2, 1), np.tile(np.eye(3), (len(X), 1, 1)))
    assert np.array_equal(X[:, 3], np.tile([0.0, 0, 0, 1], (len(X), 1)))


def test_every_link_is_a_frame() -> None:
    forest = random_forest(seed=7)
    model, q = fw.Model(forest.description), forest.state().q
    for name, X in zip(model.link_names, fw.forward_kinematics(model, q), strict=True):
        assert_close(fw.frame_placement(model, q, name), X, 1e-14)


def test_model_without_dof_still_has_placements() -> None:
    statue = Link("statue", Inertia(1.0, np.zeros(3), np.eye(3)))
    placement = np.eye(4)
    placement[:3, 3] = 1.0, 2.0, 3.0
    description = ModelDescription(
        "museum",
        (statue,),
        (Joint("bolts", "fixed", "world", "statue", placement=placement),),
        (Frame("hand", "statue", placement),),
    )
    model = fw.Model(description)
    assert (model.nq, model.nv) == (0, 0)
    assert_close(fw.forward_kinematics(model, np.zeros(0)), [placement], 0.0)
    assert_close(fw.frame_placement(model, np.zeros(0), "hand")[:3, 3], [2.0, 4.0, 6.0], 0.0)


@pytest.mark.parametrize("angle", [0.0, 1e-8, 0.5, -0.5, np.pi / 2, np.pi, -np.pi, 3 * np.pi, 100.0, 1e4])
def test_revolute_joint_at_any_angle(angle: float) -> None:
    model = fw.Model(Forest((LinkPlan("revolute", axis="+z"),)).description)
    c, s = np.cos(angle), np.sin(angle)
    assert_close(fw.forward_kinematics(model, [angle])[0, :3, :3], [[c, -s, 0], [s, c, 0], [0, 0, 1]], 1e-15)
