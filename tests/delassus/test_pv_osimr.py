"""Where pv_osimr stops: what that saves, counted, and what it computes on trees large enough for it to stop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from helpers.compare import assert_close, solve_tolerance
from helpers.constraints import free_frames, random_constraints
from helpers.forests import random_forest

import featherweight as fw
from benchmarks.constrained_growth import Problem, anchored_chain, anchored_tree, broom
from benchmarks.growth import total_flops
from featherweight import ConstraintSet, _testing, delassus
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import ROWS, Constraint


def operations(problem: Problem, kernel: str) -> int:
    model, constraints = problem
    return total_flops(_testing.operation_counts(model, kernel, constraints=ConstraintSet(model, constraints)))


def feet_and_hands() -> Problem:
    return fw.models.humanoid(), [
        fw.FrameConstraint(f"{side}_{end}") for side in ("left", "right") for end in ("foot", "hand")
    ]


def feet() -> Problem:
    corners = [f"{end}_{side}_foot" for end in ("front", "hind") for side in ("left", "right")]
    return fw.models.quadruped(), [fw.PointConstraint(foot) for foot in corners]


def links_of_a_chain(every: int) -> Problem:
    model = fw.models.chain(120)
    return model, [fw.FrameConstraint(link) for link in model.link_names[::every]]


def test_a_joint_of_the_trunk_costs_the_same_whatever_it_carries() -> None:
    costs = {
        operations(broom(32, limbs), "pv_osimr") - operations(broom(16, limbs), "pv_osimr") for limbs in (4, 16, 32)
    }
    assert len(costs) == 1
    assert costs.pop() <= 16 * 520  # counted at the time of writing


def test_many_fingers_on_a_long_trunk_take_a_fraction_of_the_work() -> None:
    """Seven times less, counted at the time of writing."""
    assert 7 * operations(broom(60, 32), "pv_osimr") < operations(broom(60, 32), "pv_osim")


@pytest.mark.parametrize(
    "problem",
    [
        feet(),
        feet_and_hands(),
        anchored_chain(40),
        anchored_tree(255),
        links_of_a_chain(4),
        links_of_a_chain(20),
        *(broom(trunk, 4) for trunk in (0, 2, 4, 6, 8)),
        broom(0, 4, floating=True),
    ],
    ids=lambda problem: problem[0].name,
)
def test_stops_never_cost_more_than_they_save(problem: Problem) -> None:
    """Up to one percent, for the plan knows costs only roughly."""
    assert operations(problem, "pv_osimr") <= 1.01 * operations(problem, "pv_osim")


def dense_jacobian(model: fw.Model, q: Array, constraints: Sequence[Constraint]) -> Array:
    """By frames; of rows between two links, both sides are taken at the origin of the first."""
    blocks = []
    for c in constraints:
        J = fw.jacobian(model, q, c.frame)
        if c.to is not None:
            a, b = (fw.frame_placement(model, q, frame) for frame in (c.frame, c.to))
            J_a, J_b = (fw.jacobian(model, q, frame, reference="local_world_aligned") for frame in (c.frame, c.to))
            J = a[:3, :3].T @ (J_a[:3] - J_b[:3] - np.cross(J_b[3:].T, a[:3, 3] - b[:3, 3]).T)
        blocks.append(J[[ROWS.index(row) for row in c.rows]])
    return np.vstack(blocks)


@pytest.mark.parametrize("seed", range(12))
def test_rows_that_stop_are_those_of_dense_algebra(seed: int) -> None:
    """Every joint type, nested stops, several trees, many rows on one link, some of them between two."""
    forest = random_forest(seed, 90)
    model, q = fw.Model(forest.description), forest.state().q
    frames = free_frames(forest, model)
    between = [fw.PointConstraint(frames[k], to=frames[-1 - k]) for k in (3, 17)]
    crowd = [fw.FrameConstraint(frames[len(frames) // 2])] * 2
    constraints = [*random_constraints(forest, model, 24), *between, *crowd]
    assert operations((model, constraints), "pv_osimr") < 0.8 * operations((model, constraints), "pv_osim")

    J = dense_jacobian(model, q, constraints)
    H = fw.crba(model, q)
    assert_close(delassus(model, q, constraints, method="pv_osimr"), J @ np.linalg.solve(H, J.T), solve_tolerance(H))


def test_inactive_rows_leave_the_others_as_they_are() -> None:
    model, constraints = links_of_a_chain(10)
    active = np.arange(len(constraints)) % 3 > 0
    q = model.random(np.random.default_rng(1))
    mask = np.repeat(active, 6)
    expected = np.where(np.outer(mask, mask), delassus(model, q, constraints, method="pv_osimr"), 0.0)
    np.testing.assert_array_equal(delassus(model, q, constraints, method="pv_osimr", active=active), expected)
