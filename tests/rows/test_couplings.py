"""Hinges, rods and couplings of joints: Jacobians, velocities, biases and errors, against finite differences."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from helpers.forests import Forest, forests
from hypothesis import assume, given
from hypothesis import strategies as st

import featherweight as fw
from featherweight.arrays import Array
from featherweight.constraints.constraint_set import AnyConstraint


def axis_joints(model: fw.Model) -> list[str]:
    return [joint.name for joint in model.joints if joint.v_slice.stop - joint.v_slice.start == 1]


def random_couplings(model: fw.Model, rng: np.random.Generator) -> list[AnyConstraint]:
    names = axis_joints(model)
    assume(len(names) > 2)
    a, b, c = rng.permutation(names)[:3].tolist()
    return [
        fw.JointCoupling(a, to=b, polynomial=rng.normal(size=rng.integers(1, 9))),
        fw.JointCombination(dict(zip((a, b, c), rng.normal(size=3).tolist(), strict=True)), value=0.3),
        fw.JointCoupling(c, polynomial=(0.4,)),
    ]


def rods(model: fw.Model, rng: np.random.Generator) -> list[AnyConstraint]:
    names = [name for name in model.link_names if np.any(fw.jacobian(model, model.neutral(), name))]
    assume(names)
    a, b = rng.choice(names, 2).tolist()
    found: list[AnyConstraint] = [fw.DistanceConstraint(a, to_offset=(1.0, 2.0, 3.0))]
    between = fw.DistanceConstraint(a, b, length=0.7, offset=rng.normal(size=3), to_offset=rng.normal(size=3))
    try:
        fw.ConstraintSet(model, [between])
    except ValueError as error:
        assert "same link" in str(error)
    else:
        found.append(between)
    return found


@pytest.mark.parametrize("make", [random_couplings, rods])
@given(forest=forests(max_links=6), seed=st.integers(0, 99))
def test_errors_velocities_and_biases_are_derivatives_of_each_other(make: Any, forest: Forest, seed: int) -> None:
    model, s = fw.Model(forest.description), forest.state()
    rows = fw.ConstraintSet(model, make(model, np.random.default_rng(seed)))
    h = 1e-5

    def ahead(t: float) -> Array:
        return model.integrate(s.q, t * s.v)

    error = [fw.constraint_position_error(model, ahead(t), rows) for t in (h, -h)]
    velocity = fw.constraint_velocity(model, s.q, s.v, rows)
    size = 1 + np.abs(s.v).max() ** 3 * (1 + np.abs(s.q).max() ** 7)
    assert np.abs((error[0] - error[1]) / (2 * h) - velocity).max() < 1e-7 * size * (1 + np.abs(velocity).max())
    rate = [fw.constraint_velocity(model, ahead(t), s.v, rows) for t in (h, -h)]
    bias = fw.constraint_bias(model, s.q, s.v, rows)
    assert np.abs((rate[0] - rate[1]) / (2 * h) - bias).max() < 1e-6 * size * (1 + np.abs(bias).max())
    J = fw.constraint_jacobian(model, s.q, rows)
    assert np.abs(J @ s.v - velocity).max() < 1e-11 * size
    residual = fw.constraint_residual(model, s.q, s.v, s.a, rows)
    assert np.abs(J @ s.a + bias - residual).max() < 1e-11 * size * (1 + np.abs(residual).max())
    # forces along the rows act on joints as the Jacobian says: Delassus matrices come by ends on links instead
    delta = J @ np.linalg.solve(fw.crba(model, s.q), J.T)
    assert np.abs(fw.delassus(model, s.q, rows) - delta).max() < 1e-8 * (1e-6 + np.abs(delta).max())


def test_a_coupling_has_entries_at_its_joints_only() -> None:
    model = fw.models.quadruped()
    a, b = axis_joints(model)[2], axis_joints(model)[5]
    J = fw.constraint_jacobian(model, model.neutral(), [fw.JointCoupling(a, to=b, polynomial=(1.0, 2.0, 3.0))])
    assert np.count_nonzero(J) == 2
    assert J[0, model.joint(a).v_slice] == 1.0 and J[0, model.joint(b).v_slice] == -2.0


def test_hinges_are_frames_that_may_turn_about_an_axis() -> None:
    model = fw.models.four_bar()
    q = model.neutral() + 0.1
    for axis in ("x", "y", "z"):
        rows = [row for row in ("x", "y", "z", "rx", "ry", "rz") if row != "r" + axis]
        hinge = fw.HingeConstraint("coupler_end", "rocker_end", axis=axis)
        same = fw.FrameConstraint("coupler_end", rows, to="rocker_end")
        for of in (fw.constraint_jacobian, fw.constraint_position_error):
            assert np.array_equal(of(model, q, [hinge]), of(model, q, [same]))
    few = fw.HingeConstraint("coupler_end", "rocker_end", axis="y", rows=("z", "x"))
    assert fw.constraint_jacobian(model, q, [few]).shape == (2, model.nv)


def test_points_of_a_rod_that_meet_give_a_row_of_zeros() -> None:
    model = fw.models.four_bar()
    rod = [fw.DistanceConstraint("coupler_end", "coupler_end", length=1.0)]
    with pytest.raises(ValueError, match="on the same link"):
        fw.constraint_jacobian(model, model.neutral(), rod)
    point = fw.frame_placement(model, model.neutral(), "crank")[:3, 3]
    rod = [fw.DistanceConstraint("crank", length=1.0, to_offset=point)]
    assert not fw.constraint_jacobian(model, model.neutral(), rod).any()
    assert np.isfinite(fw.constraint_bias(model, model.neutral(), np.ones(model.nv), rod)).all()


def test_feedback_draws_loops_and_couplings_back() -> None:
    model = fw.models.four_bar()
    q, v = model.neutral() + np.array([0.1, -0.2, 0.05]), np.array([0.3, 0.1, -0.2])
    joints = axis_joints(model)
    rows: list[AnyConstraint] = [
        fw.PointConstraint("coupler_end", ("x", "z"), to="rocker_end", stiffness=9.0, damping=2.0),
        fw.JointCoupling(joints[0], to=joints[1], stiffness=4.0, damping=1.0),
        fw.DistanceConstraint("coupler_end", "crank", stiffness=(5.0,), damping=0.5, acceleration=0.1),
    ]
    error, velocity = fw.constraint_position_error(model, q, rows), fw.constraint_velocity(model, q, v, rows)
    wanted = np.array([0, 0, 0, 0.1]) - [9, 9, 4, 5] * error - [2, 2, 1, 0.5] * velocity
    none = np.zeros(model.nv)
    bias = fw.constraint_bias(model, q, v, rows)
    assert np.allclose(fw.constraint_residual(model, q, v, none, rows), bias - wanted, rtol=0, atol=1e-12)


def test_inverse_dynamics_know_the_forces_of_couplings() -> None:
    model = fw.models.four_bar()
    joints = axis_joints(model)
    rows = [fw.JointCombination({joints[0]: 1.0, joints[1]: -2.0})]
    a = np.array([2.0, 1.0, 0.5])
    mask = np.array([True, False, True])
    found = fw.constrained_inverse_dynamics(model, model.neutral(), 0 * a, a, rows, actuated=mask)
    J = fw.constraint_jacobian(model, model.neutral(), rows)
    needed = fw.rnea(model, model.neutral(), 0 * a, a)
    assert np.allclose(found.tau + J.T @ found.forces, needed, rtol=0, atol=1e-12)
    off = fw.constrained_inverse_dynamics(model, model.neutral(), 0 * a, a, rows, actuated=mask, active=[False])
    assert not off.forces.any()


def test_sets_pickle_and_compare_by_value() -> None:
    model = fw.models.four_bar()
    joints = axis_joints(model)

    def rows() -> list[AnyConstraint]:
        return [
            fw.HingeConstraint("coupler_end", "rocker_end", axis="y"),
            fw.DistanceConstraint("coupler_end", "crank"),
            fw.JointCoupling(joints[0], to=joints[1], polynomial=np.array([0.0, 1.0, 0.5])),
            fw.JointCombination({joints[0]: 1.0, joints[2]: -2.0}, value=0.5),
        ]

    one = fw.ConstraintSet(model, rows())
    assert one == fw.ConstraintSet(model, rows()) and hash(one) == hash(fw.ConstraintSet(model, rows()))
    assert pickle.loads(pickle.dumps(one)) == one
    assert one.n_rows == 8 and one.slices[-1] == slice(7, 8)
    assert rows()[3] != fw.JointCombination({joints[0]: 1.0, joints[2]: -2.0})


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (
            [fw.JointCoupling("crank_hinge", to="crank_hinge")],
            "constraint 0 on joint 'crank_hinge': .*coupled to itself",
        ),
        ([fw.JointCoupling("crank_hing", to="coupler_hinge")], "unknown joint 'crank_hing'.*crank_hinge"),
        ([fw.JointCoupling("crank_hinge", to="coupler_hinge", polynomial=np.ones(9))], "1 to 8 coefficients, got 9"),
        ([fw.JointCoupling("crank_hinge", to="coupler_hinge", polynomial=("a",))], "polynomial must be"),
        ([fw.JointCoupling("crank_hinge", polynomial=(1.0, 2.0))], "without a second joint"),
        ([fw.JointCombination({})], "must map names"),
        ([fw.JointCombination({"crank_hinge": 0.0})], "all coefficients are zero"),
        ([fw.JointCombination({"crank_hinge": np.nan})], "coefficient of 'crank_hinge'"),
        (
            [
                fw.JointCoupling("crank_hinge", to="coupler_hinge"),
                fw.JointCoupling("coupler_hinge", to="rocker_hinge"),
                fw.JointCoupling("rocker_hinge", to="crank_hinge"),
            ],
            "constraint 2 .*circle, rocker_hinge -> crank_hinge -> coupler_hinge -> rocker_hinge",
        ),
        (
            [fw.JointCoupling("crank_hinge", to="coupler_hinge"), fw.JointCoupling("crank_hinge", to="coupler_hinge")],
            "already follows",
        ),
        (
            [
                fw.JointCoupling("crank_hinge", to="coupler_hinge", polynomial=(0.1, 2.0)),
                fw.JointCombination({"crank_hinge": 2.0, "coupler_hinge": -4.0}, value=0.3),
            ],
            "constraint 1 on joints 'crank_hinge', 'coupler_hinge': contradicts .*by 0.1",
        ),
        ([fw.HingeConstraint("coupler_end", "coupler")], "is on the same link"),
        ([fw.HingeConstraint("coupler_end", "rocker_end", axis="w")], "axis must be"),  # type: ignore[arg-type]
        (
            [fw.HingeConstraint("coupler_end", "rocker_end", rows=("rz",))],
            "rows must be distinct and among x, y, z, rx, ry",
        ),
        ([fw.DistanceConstraint("coupler_end", "rocker_end")], "the points meet"),
        ([fw.DistanceConstraint("coupler_end", "crank", length=-1.0)], "length must be positive"),
        ([fw.DistanceConstraint("nobody", "crank")], "nobody"),
        ([fw.DistanceConstraint("crank", "coupler", compliance=-1.0)], "compliance must not be negative"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(rows: list[AnyConstraint], complaint: str) -> None:
    with pytest.raises((ValueError, KeyError), match=complaint):
        fw.ConstraintSet(fw.models.four_bar(), rows)


def test_couplings_of_joints_with_several_axes_are_refused() -> None:
    model = fw.models.quadruped()
    free = next(joint.name for joint in model.joints if joint.type == "free")
    with pytest.raises(ValueError, match="is free and has 6 degrees of freedom, not one"):
        fw.ConstraintSet(model, [fw.JointCombination({free: 1.0})])


def test_redundant_couplings_are_no_contradiction() -> None:
    model = fw.models.four_bar()
    rows: list[AnyConstraint] = [
        fw.JointCoupling("crank_hinge", to="coupler_hinge", polynomial=(0.1, 2.0)),
        fw.JointCombination({"crank_hinge": 2.0, "coupler_hinge": -4.0}, value=0.2),
    ]
    assert fw.ConstraintSet(model, rows).n_rows == 2
