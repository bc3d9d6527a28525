"""The built-in robots are what their descriptions say, and physical."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from helpers.compare import assert_close

import featherweight as fw
from featherweight import reference
from featherweight.model.description import JOINT_SIZES

BUILT_IN: list[Callable[[], fw.Model]] = [
    fw.models.pendulum,
    fw.models.arm,
    fw.models.quadruped,
    fw.models.humanoid,
    fw.models.four_bar,
    fw.models.n_four_bar,
    fw.models.slider_crank,
    fw.models.five_bar,
    fw.models.stewart,
    fw.models.delta,
    fw.models.loop_biped,
    fw.models.box,
]


@pytest.mark.parametrize("build", BUILT_IN, ids=lambda build: build.__name__)
def test_mass_matrix_is_positive_and_nothing_is_reported(build: Callable[[], fw.Model]) -> None:
    model = build()
    assert not model.import_report
    assert np.linalg.eigvalsh(reference.crba(model.description, model.random(0)))[0] > 0.0


@pytest.mark.parametrize("build", BUILT_IN, ids=lambda build: build.__name__)
def test_neutral_is_within_limits(build: Callable[[], fw.Model]) -> None:
    model = build()
    q = model.neutral()
    assert ((model.lower <= q) & (q <= model.upper)).all()


@pytest.mark.parametrize("build", [fw.models.arm, fw.models.quadruped, fw.models.humanoid], ids=lambda b: b.__name__)
def test_robots_have_motors_limits_and_shapes(build: Callable[[], fw.Model]) -> None:
    model = build()
    for joint in model.joints:
        if joint.type == "revolute":
            for value in (joint.lower, joint.upper, joint.effort_limit, joint.velocity_limit):
                assert np.isfinite(value).all()
            assert (joint.armature > 0.0).all()
    for link in model.description.links:
        assert {geometry.role for geometry in link.geometries} == {"visual", "collision"}


def test_pendulum_is_the_textbooks() -> None:
    model = fw.models.pendulum(length=0.7, mass=2.0)
    assert_close(reference.crba(model.description, np.zeros(1)), [[2.0 * 0.7**2]])
    assert_close(reference.gravity_forces(model.description, np.array([0.3])), [2.0 * 9.81 * 0.7 * math.sin(0.3)])


def test_chain_and_tree() -> None:
    chain, tree = fw.models.chain(9), fw.models.tree(15, floating=True)
    assert (chain.nq, chain.nv, chain.n_links) == (9, 9, 9)
    assert (tree.nq, tree.nv, tree.n_links) == (7 + 14, 6 + 14, 15)
    assert chain.joint("joint_8").parent == "link_7"
    assert tree.joint("joint_14").parent == "link_6"
    q = np.zeros(9)
    assert_close(reference.frame_placement(chain.description, q, "tip")[:3, 3], [0, 0, -9 * 0.2])


@pytest.mark.parametrize("n", [0, -1])
def test_no_links_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match="positive"):
        fw.models.chain(n)


def test_arm() -> None:
    model = fw.models.arm()
    assert model.nv == 7
    assert_close(reference.frame_placement(model.description, np.zeros(7), "flange")[:3, 3], [0, 0, 1.3])


def test_quadruped_is_symmetric() -> None:
    model = fw.models.quadruped()
    assert (model.nq, model.nv) == (19, 18)
    q = model.neutral()
    assert_close(reference.center_of_mass(model.description, q)[:2], [0.0, 0.0])
    for front, x in (("front", 1), ("hind", -1)):
        for side, y in (("left", 1), ("right", -1)):
            foot = reference.frame_placement(model.description, q, f"{front}_{side}_foot")[:3, 3]
            assert_close(foot, [0.19 * x, 0.145 * y, -0.4])


def test_humanoid_is_symmetric_and_stands_on_flat_feet() -> None:
    model = fw.models.humanoid()
    assert (model.nq, model.nv) == (7 + 27, 6 + 27)
    assert 55.0 < model.mass < 60.0
    q = model.neutral()
    assert_close(reference.center_of_mass(model.description, q)[1], 0.0)
    for side, y in (("left", 1), ("right", -1)):
        assert_close(reference.frame_placement(model.description, q, f"{side}_sole")[:3, 3], [0.04, 0.1 * y, -0.96])


def test_four_bar_closes_at_neutral() -> None:
    model = fw.models.four_bar()
    q = np.zeros(3)
    ends = [reference.frame_placement(model.description, q, name)[:3, 3] for name in ("coupler_end", "rocker_end")]
    assert_close(ends[0], ends[1])
    assert ends[0][2] > 0.1


def test_free_bodies() -> None:
    model = fw.models.free_body("sphere", (0.5,), 2.0, name="ball")
    assert (model.nq, model.nv, model.joint_names, model.link_names) == (7, 6, ("root_joint",), ("ball",))
    assert_close(np.diag(reference.crba(model.description, model.neutral())), [2, 2, 2, 0.2, 0.2, 0.2])


def test_random_trees_repeat_and_have_every_joint_type() -> None:
    a, b = fw.models.random_tree(4, 80), fw.models.random_tree(4, 80)
    assert [joint.name for joint in a.joints] == [joint.name for joint in b.joints]
    assert_close(a.description.joints[5].placement, b.description.joints[5].placement, tolerance=0.0)
    assert {joint.type for joint in a.description.joints} == set(JOINT_SIZES)
    assert fw.models.random_tree(5, 80).nv != a.nv


def test_random_tree_options() -> None:
    model = fw.models.random_tree(0, 20, floating=True, types=["revolute"], armature=False)
    assert (model.nq, model.nv) == (27, 26)
    assert not model.armature.any()
    assert fw.models.random_tree(0, 20).armature.any()


@pytest.mark.parametrize("seed", range(10))
def test_random_trees_are_physical(seed: int) -> None:
    model = fw.models.random_tree(seed, 20, floating=seed % 2 == 0)
    assert np.linalg.eigvalsh(reference.crba(model.description, model.random(seed)))[0] > 0.0
